"""Requests that a broker has not answered although it lives on: it has ended their connection instead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rota.validate.asked import Asked

PROMPTLY = 2.0
"""Seconds after its request within which a connection ends that has not been idle for too long; and after
which a broker that was going down when it ended a connection has ended all of them."""

AT_ONCE = 2.0
"""Seconds within which connections end that end at once."""


@dataclass(frozen=True)
class Dropped:
    """A request whose connection the broker has ended. others: connections to it that were open before."""

    asked: Asked
    at: float
    origin: str
    others: frozenset[int]

    @property
    def told(self) -> str:
        """What is wrong, in words."""
        whose = f"{self.asked.api} v{self.asked.version} of {self.asked.client}"
        return f"{whose} is not answered: the broker has ended its connection, and lives on"


class Connections:
    """The connections of a group, and what was not answered on those that the broker has ended.

    Only such a request counts as was answered before in its version: a broker that cannot read one ends the
    connection.
    """

    def __init__(self) -> None:
        self._brokers: dict[int, str] = {}
        self._coordinator: str | None = None
        self._read: set[tuple[str, str, int]] = set()
        self._dropped: Dropped | None = None

    def __len__(self) -> int:
        return len(self._brokers)

    def size(self) -> int:
        """How many things are kept."""
        return len(self._brokers) + len(self._read)

    def asked(self, asked: Asked) -> None:
        """A request was sent."""
        self._brokers[asked.connection] = asked.broker

    def __contains__(self, connection: int) -> bool:
        return connection in self._brokers

    def ended(self, connection: int, at: float, origin: str, waiting: Iterable[Asked]) -> None:
        """A connection is no more. waiting: what is not answered there, if that is the broker's doing;
        origin: where its end stands."""
        if self._dropped is not None:
            others = self._dropped.others - {connection}
            self._dropped = replace(self._dropped, others=others) if others else None
        broker = self._brokers.pop(connection, "")
        first = min(waiting, key=lambda one: one.number, default=None)
        if first is None or at - first.at > PROMPTLY or (broker, first.api, first.version) not in self._read:
            return
        others = frozenset(number for number, other in self._brokers.items() if other == broker)
        if others:
            self._dropped = self._dropped or Dropped(first, at, origin, others)

    def lead_to(self, asked: Asked) -> bool:
        """Whether whoever is asked has answered in the group last."""
        return asked.broker == self._coordinator

    def missed(self) -> None:
        """Frames are missing: whether a connection has ended is not known any more."""
        self._dropped = None

    def answered(self, asked: Asked) -> Dropped | None:
        """A request was answered. Returns what was not, as is sure now: had the broker gone down then, none
        of its connections would be left."""
        self._coordinator = asked.broker
        self._read.add((asked.broker, asked.api, asked.version))
        dropped = self._dropped
        if dropped is None or asked.broker != dropped.asked.broker or asked.at <= dropped.at + PROMPTLY:
            return None
        self._dropped = None
        return dropped
