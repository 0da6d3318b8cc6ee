"""Messages between the machines of the world, and the one topic that they are about."""

from __future__ import annotations

from rota.kernel import FrozenMap, frozen
from rota.spec.consumer.messages import (
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    Topic,
    Topics,
)
from rota.spec.consumer.state import Partition

NOBODY = ""
"""The address of a request whose answer nobody reads."""

TOPIC, TOPIC_ID, GROUP_ID = "t", "t", "g"

Partitions = frozenset[Partition]


def partitions(count: int) -> Partitions:
    """All partitions of the topic."""
    return frozenset(Partition(TOPIC_ID, index) for index in range(count))


def topics(count: int) -> Topics:
    """What brokers know of the topic; without partitions there is none."""
    return FrozenMap({TOPIC: Topic(TOPIC_ID, count)} if count else {})


def listed(some: Partitions) -> str:
    """Partitions in words."""
    return ", ".join(f"{one.topic}-{one.index}" for one in sorted(some)) or "no partition"


@frozen
class Take:
    """A broker takes a request.

    answered: whether somebody waits for the answer; term: the coordinator that its client believes in, by
    how often it had moved.
    """

    request: ConsumerGroupHeartbeatRequest
    answered: bool
    term: int = 0


@frozen
class Answered:
    """An answer on its way. term: of the coordinator that is found if this one has moved away."""

    reply: ConsumerGroupHeartbeatReply
    term: int = 0


@frozen
class Expired:
    """A timer has removed this client's member; if the client lives it was late, which is charged."""


@frozen
class Disconnected:
    """Nobody waits any more for the answers to this client."""
