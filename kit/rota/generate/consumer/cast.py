"""Who takes part in a plan of the consumer protocol, and what each has been told if all goes as planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rota.generate.consumer.planned import GROUP, Told, told
from rota.spec.consumer.messages import LEAVE_EPOCH, ConsumerGroupHeartbeatReply
from rota.spec.consumer.vocabulary import ErrorCode

SHARED = {"rota-walk-1": 1, "rota-walk-2": 2, "rota-walk-3": 3}
"""Topics that all walks subscribe to and none changes, and how many partitions they have."""

OWN = (f"{GROUP}-x", f"{GROUP}-y")
"""Topics of one walk alone, which come, grow and go."""

MISSING = "rota-walk-missing"
"""A topic that there never is."""

ASSIGNORS = ("range", "uniform")
"""The assignors of Kafka's own."""

STRANGER = "nobody-knows-me"
"""A member id that nobody has."""

OUT = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)
"""Errors after which a member joins again."""


@dataclass
class ConsumerClient:
    """Somebody who asks.

    by: its heartbeats since it joined last, in their order; member_id: text or reference; names: what it
    subscribes to; line, waits: as of `rota.generate.cast.Client`; joined: whether it is in the group.
    """

    name: str
    names: tuple[str, ...]
    timeout_ms: int
    member_id: str = ""
    assignor: str | None = None
    by: tuple[int, ...] = ()
    line: int = 0
    waits: set[int] = field(default_factory=set)
    joined: bool = False
    times: int = 0
    told: Told = field(default_factory=Told)

    def begins(self, number: int, given: bool) -> None:
        """It joins, under an id of its own, or one that it is given in the answer to a request."""
        self.times += 1
        self.member_id = f"<{number}>" if given else f"{self.name}{self.times}"
        self.by, self.told, self.joined = (), Told(), False


class ConsumerCast:
    """The clients of one plan. topics: names that they subscribe to; lines: connections until now; wishes:
    assignors that they may wish for.

    Parameters: own, whether topics of the plan's own are among them; ties, as of `ConsumerTerms`.
    """

    def __init__(self, rng: Random, own: bool, ties: bool) -> None:
        self._rng = rng
        self.lines = 0
        self.answers: dict[int, Any] = {}
        few = rng.sample(sorted(SHARED), rng.choice((1, 1, 2)))
        self.topics = tuple(few) + (OWN[: rng.choice((1, 1, 2))] if own else ())
        self.same = rng.random() < 0.5
        self.wishes = ASSIGNORS if ties else (rng.choice(ASSIGNORS),)
        self.first = self.subscription()
        self.clients = [self._client(name) for name in ("a", "b", "c", "d")]
        self.operator = self._client("operator")

    def __iter__(self) -> Iterator[ConsumerClient]:
        return iter(self.clients)

    def connected(self) -> int:
        """One more connection."""
        self.lines += 1
        return self.lines - 1

    def subscription(self) -> tuple[str, ...]:
        """Some of the topics."""
        some = [one for one in self.topics if self._rng.random() < 0.7]
        return tuple(some or self.topics[:1])

    def _client(self, name: str) -> ConsumerClient:
        rng = self._rng
        names = self.first if self.same else self.subscription()
        timeout = rng.choice((800, 1000, 1500, 2500, 4000, 60_000))
        assignor = rng.choice((None, None, None, *self.wishes, *self.wishes)[:5])
        return ConsumerClient(name, names, timeout, f"{name}0", assignor, line=self.connected())

    def ids(self) -> list[str]:
        """Every member id that somebody has or had."""
        return sorted({one.member_id for one in self.clients if one.times})

    def heard(self, number: int, asker: ConsumerClient, reply: object) -> None:
        """The asker is answered."""
        asker.waits.discard(number)
        self.answers[number] = reply
        if not isinstance(reply, ConsumerGroupHeartbeatReply) or number not in asker.by:
            return
        if reply.error_code in OUT or reply.member_epoch == LEAVE_EPOCH:
            asker.joined = False
        elif reply.error_code is ErrorCode.NONE:
            asker.joined = True
        asker.told = told(asker.by, self.answers)
