"""The requests and responses of the second design."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Error(Enum):
    """The error of an answer."""

    NONE = "None"
    ILLEGAL_GENERATION = "IllegalGeneration"
    UNKNOWN_CONSUMER = "UnknownConsumer"
    NOT_COORDINATOR_FOR_GROUP = "NotCoordinatorForGroup"


@dataclass(frozen=True)
class ConsumerMetadata:
    """ConsumerMetadataRequest: who coordinates the group?"""


@dataclass(frozen=True)
class JoinGroup:
    """JoinGroupRequest, to a broker. strategy: the one that the member would like."""

    broker: int
    strategy: str


@dataclass(frozen=True)
class Heartbeat:
    """HeartbeatRequest, to a broker, in a generation."""

    broker: int
    generation: int


@dataclass(frozen=True)
class Coordinator:
    """ConsumerMetadataResponse."""

    broker: int


@dataclass(frozen=True)
class Joined:
    """JoinGroupResponse. partitions: those of the member; strategy: by which they were computed; broker: who
    answers."""

    generation: int
    partitions: tuple[int, ...]
    strategy: str
    broker: int


@dataclass(frozen=True)
class Answered:
    """Any other response."""

    error: Error


@dataclass(frozen=True)
class TakenForDead:
    """The coordinator misses heartbeats; a member that lives does not let it."""
