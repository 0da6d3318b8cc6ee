"""What a client of the consumer protocol is: what it was told, what it is applying and what it uses."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from rota.environment.consumer.messages import TOPIC, Committed, Partitions
from rota.kernel import frozen
from rota.spec.consumer.messages import ConsumerGroupHeartbeatReply, ConsumerGroupHeartbeatRequest


class Phase(StrEnum):
    """How a client stands to its group."""

    JOINING = "joining"
    MEMBER = "member"
    LOSING = "losing"
    """It was fenced, and the callback for partitions lost has not ended."""
    CLOSING = "closing"
    """It will leave, and the callback for partitions given up has not ended."""
    LEFT = "left"
    CRASHED = "crashed"


ALIVE = frozenset({Phase.JOINING, Phase.MEMBER, Phase.CLOSING})
"""Phases in which a client heartbeats."""


class Owed(IntEnum):
    """What the next heartbeat has to say."""

    NOTHING = 0
    OWNED = 1
    """What it owns, since it has applied an assignment."""
    ALL = 2
    """Everything, since what was sent last may have been lost."""


@frozen
class Commit:
    """A commit under way.

    places: whose positions it took; epoch: at which it was sent, 0 before; used: whether the client has used
    all of that without a break since; told: the answer.
    """

    places: Partitions
    epoch: int = 0
    used: bool = True
    told: Committed | None = None


@frozen
class Consumer:
    """A client.

    topics: names that it subscribes to; unsaid: whether the coordinator has yet to hear of these; unknown:
    names that its metadata lack; target: what it was told last, None before that; newer: whether it has yet
    to begin to apply it; applying: for which assignment a callback runs; uses: the partitions that it reads;
    owed: of the next heartbeat; request: on its way; waits: a broker has it; answer: to be read; adrift:
    requests that will arrive and whose answers it does not read; commit: under way beside a heartbeat; term:
    of the coordinator that it believes in; wrong: an answer that it must not get.
    """

    member_id: str
    phase: Phase = Phase.JOINING
    epoch: int = 0
    topics: frozenset[str] = frozenset({TOPIC})
    unsaid: bool = False
    unknown: frozenset[str] = frozenset()
    target: Partitions | None = None
    newer: bool = False
    applying: Partitions | None = None
    uses: Partitions = frozenset()
    owed: Owed = Owed.ALL
    request: ConsumerGroupHeartbeatRequest | None = None
    waits: bool = False
    answer: ConsumerGroupHeartbeatReply | None = None
    adrift: frozenset[ConsumerGroupHeartbeatRequest] = frozenset()
    commit: Commit | None = None
    term: int = 0
    found: int = 0
    wrong: str = ""

    @property
    def quiet(self) -> bool:
        """Whether no heartbeat of it is under way."""
        return self.request is None and not self.waits and self.answer is None

    @property
    def settled(self) -> bool:
        """Whether it has applied and said all that it was told."""
        applied = self.applying is None and not self.newer
        said = self.owed is Owed.NOTHING and not self.unsaid
        return self.phase is Phase.MEMBER and applied and self.quiet and said

    @property
    def known(self) -> Partitions | None:
        """Of what it was told last, that of topics whose names it knows."""
        if self.target is None:
            return None
        return frozenset(one for one in self.target if one.topic not in self.unknown)
