"""Rebalances that belong together as one incident: a cause, and what follows from it.

A rolling deploy, a member that leaves and comes, sessions of a whole host: each is many rebalances and one
story.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rota.explain.reasons import UNTOLD, Said, said
from rota.explain.rebalance import Ending, Rebalance
from rota.explain.signs import Seen
from rota.history import Event, Kind

GAP = 90.0
"""Seconds of quiet after which a rebalance is a story of its own."""

BURST = 10.0
"""Seconds within which members that come do so together; the first ones are those of the first rebalance."""

KEPT = 12
"""Rebalances of an incident that are kept, beside the last ones."""

LATEST = 4

COMING = frozenset({"joined", "static-joined", "static-back", "static-vote", "static-while", "rejoined"})
GOING = frozenset({"left"})
LOSING = frozenset({"failed"})
DEPARTING = frozenset({"going", "losing", "late"})
FOLLOWING = frozenset({"not-synced", "not-stored", "capacity"})


@dataclass(slots=True)
class Incident:
    """Rebalances of one group with one cause. number: of them; first ones and latest ones are kept, all are
    counted.

    seconds: without an assignment, all together; gaps: the longest of each partition.
    """

    group: str
    rebalances: list[Rebalance] = field(default_factory=list)
    latest: list[Rebalance] = field(default_factory=list)
    number: int = 0
    seconds: float = 0.0
    untimed: int = 0
    gaps: dict[str, float] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    kinds: set[str] = field(default_factory=set)

    @property
    def began(self) -> float | None:
        """When the first of them began, or ended where that alone is told."""
        first = self.rebalances[0]
        return first.ended if first.began is None else first.began

    @property
    def ended(self) -> float | None:
        """When the last of them ended."""
        return self.last.ended

    @property
    def last(self) -> Rebalance:
        """The last of them."""
        return (self.latest or self.rebalances)[-1]

    @property
    def told(self) -> list[Rebalance]:
        """Those that are kept."""
        return [*self.rebalances, *self.latest]

    @property
    def open(self) -> bool:
        """Whether it goes on where the source ends."""
        return self.last.ending is Ending.OPEN

    def add(self, rebalance: Rebalance) -> None:
        """One more."""
        self.number += 1
        if len(self.rebalances) < KEPT:
            self.rebalances.append(rebalance)
        else:
            self.latest = [*self.latest[1 - LATEST :], rebalance]
        if rebalance.ending is not Ending.QUIET:
            self.untimed += rebalance.seconds is None
            self.seconds += rebalance.seconds or 0.0
        for partition, seconds in rebalance.gaps.items():
            self.gaps[partition] = max(seconds, self.gaps.get(partition, 0.0))
        self.kinds.add(_family(rebalance))
        self.seen.take(rebalance)

    def takes(self, rebalance: Rebalance) -> bool:
        """Whether a rebalance belongs to it."""
        last = self.last
        if last.ending is Ending.OVERTAKEN:
            return True
        begins = rebalance.ended if rebalance.began is None else rebalance.began
        if None not in (begins, last.ended) and begins - last.ended > GAP:  # type: ignore[operator]
            return False
        family = _family(rebalance)
        if family == "following" or said(rebalance.reason) is Said.FOLLOW_UP:
            return True
        if family == "quiet":  # nothing that a group does by itself has static members come back
            return bool(self.kinds - {"coming"})
        if family == "coming":  # somebody comes after others went, or at the time when others do
            others_come = not self.rebalances[0].from_empty and _at_once(last.ended, begins)
            return bool(self.kinds & DEPARTING) or others_come
        known = self.kinds & DEPARTING and any(self.seen.knows(one) for one in _gone(rebalance))
        return (family in self.kinds and family != UNTOLD.name) or bool(known)


def _at_once(ended: float | None, begins: float | None) -> bool:
    return ended is None or begins is None or begins - ended <= BURST


def _family(rebalance: Rebalance) -> str:
    """What kind of thing began it: of one kind several belong together."""
    name = rebalance.trigger.name
    if rebalance.ending is Ending.QUIET:
        return "quiet"
    if name == UNTOLD.name:
        return _shown(rebalance)
    if name in COMING:
        return "coming"
    if name in LOSING:
        return "losing"
    if name in GOING:
        return _leaving(rebalance)
    return "following" if name in FOLLOWING else name


def _shown(rebalance: Rebalance) -> str:
    """The same where nobody told why it began: by who went and came."""
    kinds = {one.kind for one in rebalance.events}
    if Kind.FAILED in kinds:
        return "losing"
    if kinds & {Kind.LEFT, Kind.LEAVING}:
        return _leaving(rebalance)
    return "coming" if rebalance.came and not rebalance.gone else UNTOLD.name


def _leaving(rebalance: Rebalance) -> str:
    left = (one for one in rebalance.events if one.kind in (Kind.LEFT, Kind.LEAVING))
    return "late" if any(said(one.reason) is Said.LATE_POLL for one in left) else "going"


def _gone(rebalance: Rebalance) -> list[str]:
    """Members that went in it."""
    return [one.member for one in rebalance.events if _goes(one)]


def _goes(event: Event) -> bool:
    return event.kind in (Kind.LEFT, Kind.FAILED) and bool(event.member)


class Incidents:
    """The second fold: rebalances to incidents, one open for each group. finished: is called with each."""

    def __init__(self, finished: Callable[[Incident], None]) -> None:
        self._finished = finished
        self._open: dict[str, Incident] = {}

    @property
    def kept(self) -> int:
        """How many are open."""
        return len(self._open)

    def take(self, rebalance: Rebalance) -> None:
        """The next rebalance."""
        incident = self._open.get(rebalance.group)
        if incident is not None and not incident.takes(rebalance):
            self._finished(self._open.pop(rebalance.group))
            incident = None
        if incident is None:
            incident = self._open[rebalance.group] = Incident(rebalance.group)
        incident.add(rebalance)

    def close(self, before: float | None = None) -> None:
        """What ended longer ago than `GAP` before a moment is an incident; without one, all are."""
        for group, one in list(self._open.items()):
            if before is None or (one.ended is not None and before - one.ended > GAP):
                self._finished(self._open.pop(group))
