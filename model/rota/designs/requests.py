"""The requests and responses of the second design."""

from __future__ import annotations

from enum import Enum

from rota.kernel import frozen


class Error(Enum):
    """The error of an answer."""

    NONE = "None"
    ILLEGAL_GENERATION = "IllegalGeneration"
    UNKNOWN_CONSUMER = "UnknownConsumer"
    NOT_COORDINATOR_FOR_GROUP = "NotCoordinatorForGroup"


@frozen
class ConsumerMetadata:
    """ConsumerMetadataRequest: who coordinates the group?"""


@frozen
class JoinGroup:
    """JoinGroupRequest, to a broker. strategy: the one that the member would like."""

    broker: int
    strategy: str


@frozen
class Heartbeat:
    """HeartbeatRequest, to a broker, in a generation."""

    broker: int
    generation: int


@frozen
class Coordinator:
    """ConsumerMetadataResponse."""

    broker: int


@frozen
class Joined:
    """JoinGroupResponse. partitions: those of the member; strategy: by which they were computed; broker: who
    answers."""

    generation: int
    partitions: tuple[int, ...]
    strategy: str
    broker: int


@frozen
class Answered:
    """Any other response."""

    error: Error


@frozen
class TakenForDead:
    """The coordinator misses heartbeats; a member that lives does not let it."""
