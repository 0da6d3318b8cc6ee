"""Messages between the machines of the world, and the topics that they are about."""

from __future__ import annotations

from rota.kernel import FrozenMap, frozen
from rota.spec.consumer.messages import (
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    OffsetCommitRequest,
    Topic,
    Topics,
)
from rota.spec.consumer.state import Partition
from rota.spec.consumer.vocabulary import ErrorCode

NOBODY = ""
"""The address of a request whose answer nobody reads."""

TOPIC, SECOND, ABSENT, GROUP_ID = "t", "u", "v", "g"
"""Names of the topics, which are their ids too; the last of them never exists."""

Partitions = frozenset[Partition]


def partitions(count: int, second: int = 0) -> Partitions:
    """All partitions of the topics. count: of the first; second: of the second."""
    sizes = ((TOPIC, count), (SECOND, second))
    return frozenset(Partition(name, index) for name, size in sizes for index in range(size))


def topics(count: int, second: int = 0) -> Topics:
    """What brokers know of the topics; one without partitions is not there."""
    sizes = ((TOPIC, count), (SECOND, second))
    return FrozenMap({name: Topic(name, size) for name, size in sizes if size})


def listed(some: Partitions) -> str:
    """Partitions in words."""
    return ", ".join(f"{one.topic}-{one.index}" for one in sorted(some)) or "no partition"


@frozen
class Take:
    """A broker takes a request.

    answered: whether somebody waits for the answer; term: the coordinator that its client believes in, by
    how often it had moved.
    """

    request: ConsumerGroupHeartbeatRequest | OffsetCommitRequest
    answered: bool
    term: int = 0


@frozen
class Answered:
    """An answer on its way.

    term: of the coordinator that is found if this one has moved away; left: it is the answer to a leave.
    """

    reply: ConsumerGroupHeartbeatReply
    term: int = 0
    left: bool = False


@frozen
class Committed:
    """The answer to a commit, and what was so when it was given.

    older: its epoch was less than the member's; held: all of it was its member's by the records.
    """

    error: ErrorCode
    older: bool
    held: bool


@frozen
class Expired:
    """A timer has removed this client's member; if the client lives it was late, which is charged."""


@frozen
class Disconnected:
    """Nobody waits any more for the answers to this client."""
