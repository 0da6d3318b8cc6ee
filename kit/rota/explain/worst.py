"""What is worth telling of many groups: the costliest incidents and groups, in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count

from rota.explain.accounts import Accounts
from rota.explain.diagnosis import Diagnosis, diagnosed
from rota.explain.frames import Frames
from rota.explain.incidents import Incident, Incidents
from rota.explain.rebalance import Rebalance
from rota.explain.signs import Sign
from rota.history import Event, Source

MOST_GROUPS = 10_000
"""Groups that are counted one by one; of more, the costliest half."""


@dataclass(slots=True)
class Totals:
    """A group's sum. seconds: of those rebalances of which they are visible; untimed: how many are others;
    worst: its costliest incident's cause."""

    group: str
    rebalances: int = 0
    incidents: int = 0
    seconds: float = 0.0
    untimed: int = 0
    worst: str = ""
    worst_rank: tuple[bool, float] = (False, -1.0)
    last: float | None = None
    open: bool = False

    def add(self, one: Diagnosis) -> None:
        """An incident of it."""
        found = one.incident
        self.count(found.number, found.seconds, found.untimed)
        self.last, self.open = found.ended, found.open
        self.compare(one.cause.title, rank(one))

    def count(self, rebalances: int, seconds: float, untimed: int) -> None:
        """An incident of so many rebalances."""
        self.rebalances += rebalances
        self.incidents += 1
        self.seconds += seconds
        self.untimed += untimed

    def compare(self, title: str, cost: tuple[bool, float]) -> None:
        """Its costliest incident may be this one."""
        if cost > self.worst_rank:
            self.worst, self.worst_rank = title, cost


def costliest_first(totals: Iterable[Totals]) -> list[Totals]:
    """Groups in the order in which they are told."""
    return sorted(totals, key=lambda one: (-one.seconds, -one.rebalances, one.group))


@dataclass
class Wanted:
    """What is to be told of. groups: only these, all if there are none; since, until: seconds since 1970."""

    groups: frozenset[str] = frozenset()
    since: float | None = None
    until: float | None = None

    def group(self, name: str) -> bool:
        """Whether a group is told of."""
        return not self.groups or name in self.groups

    def takes(self, one: Rebalance) -> bool:
        """Whether a rebalance was in that time, be it in part."""
        begins = one.ended if one.began is None else one.began
        late = self.until is not None and begins is not None and begins > self.until
        early = self.since is not None and one.ended is not None and one.ended < self.since
        return not late and not early

    def after(self, now: float | None) -> bool:
        """Whether all that is asked for was after a moment."""
        return self.since is not None and now is not None and now < self.since


@dataclass
class Explained:
    """All that is told. incidents: the costliest, by time; left_out: how many more there were; groups:
    totals, the costliest first; more_groups: how many were not kept; seconds: of those rebalances of which
    they are visible; untimed: how many are others; events: about groups; elsewhere: rebalances at
    other times than those asked for; over: when the last event of any group was, if that is before these."""

    incidents: list[Diagnosis]
    left_out: int
    groups: list[Totals]
    more_groups: int
    rebalances: int
    seconds: float
    untimed: int
    events: int
    elsewhere: int = 0
    over: float | None = None

    @property
    def first(self) -> Diagnosis | None:
        """The one that is told first: what goes on, else the costliest; what rebalanced nobody comes last."""
        return max(self.incidents, key=rank, default=None)


@dataclass
class Explainer:
    """Folds events and keeps the worst. most: incidents that are kept; heard: is called with each as it
    ends."""

    wanted: Wanted
    most: int
    heard: Callable[[Diagnosis], None] | None = None
    totals: dict[str, Totals] = field(default_factory=dict)
    _heap: list[tuple[tuple[bool, float], int, Diagnosis]] = field(default_factory=list)
    _number: count[int] = field(default_factory=count)
    _incidents_seen: int = 0
    _rebalances: int = 0
    _seconds: float = 0.0
    _untimed: int = 0
    _forgotten: int = 0
    _elsewhere: int = 0
    _last: float | None = None

    def __post_init__(self) -> None:
        self.incidents = Incidents(self._ended)
        self.frames = Frames()
        self.accounts = Accounts(self._rebalanced, self.frames.gone)
        self._closed: float | None = None

    def take(self, event: Event) -> None:
        """The next event, by time."""
        self._last = self._last if event.at is None else event.at
        if event.group and not self.wanted.group(event.group):
            return
        if event.source is Source.FRAMES:
            for told in self.frames.told(event):
                self.accounts.take(told)
        else:
            self.accounts.take(event)
        now = self.accounts.now
        if now is not None and (self._closed is None or now - self._closed > 60):
            self._closed = now
            self.incidents.close(now)

    def done(self) -> Explained:
        """All that is to be told, when the events have ended."""
        for one in self.accounts.open_ones():
            self._rebalanced(one)
        self.incidents.close()
        kept = sorted(
            (one for *_, one in self._heap), key=lambda one: (one.incident.began or 0.0, one.incident.group)
        )
        return Explained(
            kept,
            self._incidents_seen - len(kept),
            costliest_first(self.totals.values()),
            self._forgotten,
            self._rebalances,
            self._seconds,
            self._untimed,
            self.accounts.seen,
            self._elsewhere,
            self._last if self.wanted.after(self._last) else None,
        )

    def _rebalanced(self, one: Rebalance) -> None:
        if self.wanted.takes(one):
            self.incidents.take(one)
        else:
            self._elsewhere += 1

    def _ended(self, incident: Incident) -> None:
        one = diagnosed(incident)
        self._incidents_seen += 1
        self._rebalances += incident.number
        self._seconds += incident.seconds
        self._untimed += incident.untimed
        totals = self.totals.get(incident.group)
        if totals is None:
            totals = self.totals[incident.group] = Totals(incident.group)
        totals.add(one)
        if len(self.totals) > MOST_GROUPS:
            self._forget()
        item = (rank(one), next(self._number), one)
        if len(self._heap) < self.most:
            heapq.heappush(self._heap, item)
        else:
            heapq.heappushpop(self._heap, item)
        if self.heard is not None:
            self.heard(one)

    def _forget(self) -> None:
        by_cost: Iterable[Totals] = sorted(self.totals.values(), key=lambda one: one.seconds)
        for one in list(by_cost)[: len(self.totals) // 2]:
            del self.totals[one.group]
            self._forgotten += 1


SESSION = 6.0
"""Seconds of a session that nobody tells: no less than brokers allow, unless they are told to."""


LOSING = (Sign.SESSION_OVER, Sign.FENCED, Sign.FULL)
"""Signs that somebody was without partitions though no rebalance shows it: silent, or refused for good."""


def visible(of: Totals | Explained) -> float | None:
    """Seconds without an assignment; None where they are visible of no rebalance."""
    return None if of.untimed and of.untimed == of.rebalances else of.seconds


def rank(one: Diagnosis) -> tuple[bool, float]:
    """What is told first: by seconds without a consumer; what is routine comes last."""
    lost = any(one.incident.seen.counts[sign] for sign in LOSING)
    return not one.cause.routine, one.incident.seconds + (one.session or SESSION if lost else 0.0)


__all__ = ["Explained", "Explainer", "Totals", "Wanted", "rank"]
