"""What is known of one rebalance: when, by whom and why, who came and went, what it cost."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from rota.explain.reasons import UNTOLD, Trigger
from rota.history import Event, Source

WITHIN = re.compile(r"-([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
UUID = re.compile(f"{WITHIN.pattern}$")
"""What brokers put behind a client's id, or an instance's, to make a member id of it."""

KEPT = 40
"""Events and members of a rebalance that are kept; of other events only the number."""


class Ending(StrEnum):
    """How a rebalance ended, as far as the source tells."""

    ASSIGNED = "assigned"
    """The leader's assignment was there: the group is Stable."""
    EMPTY = "empty"
    """Nobody was left."""
    OVERTAKEN = "overtaken"
    """The next one began before there was an assignment."""
    UNLOADED = "unloaded"
    """This broker ceased to coordinate the group."""
    QUIET = "quiet"
    """There was none: a static member came back into the generation that goes on."""
    OPEN = "open"
    """Not ended where the source ends."""


def client_of(member: str) -> str:
    """The client id, or the instance id, that a member id begins with."""
    return UUID.sub("", member)


def short(member: str) -> str:
    """A member id as people tell it: what the broker has put behind is cut."""
    found = UUID.search(member)
    return f"{member[: found.start()]}-{found[1]}…" if found else member


@dataclass(slots=True)
class Rebalance:
    """One rebalance, while it goes on and, told whole, when it has ended; nothing changes it then. Times are
    seconds since 1970, None where the source does not tell.

    who: the member that began it; began: when it was prepared; joined: when the join phase ended; assigned:
    when there was an assignment; ended: that, or when it ended otherwise, or as late as the source goes.
    last: the member that came last, "" where that is not visible; sessions: session timeouts in ms by member;
    longest_ms: the longest rebalance timeout; came, gone: members that the source shows without telling how;
    gaps: seconds in which a partition had no consumer, by its name. waiting: members that were missing in the
    end. events: those that it rests on; unkept: how many more there were.

    by_broker: a broker has told that it began. While it goes on, rejoined: members, or clients, that have
    sent JoinGroup and when; awaited: those that were told to; settling: clients that have no assignment yet;
    fetched: when the first had one; anew: the JoinGroup of one that joins again instead of fetching its own.
    """

    group: str
    trigger: Trigger = UNTOLD
    who: str = ""
    reason: str = ""
    began: float | None = None
    joined: float | None = None
    assigned: float | None = None
    ended: float | None = None
    ending: Ending = Ending.OPEN
    from_generation: int | None = None
    to_generation: int | None = None
    members_before: int | None = None
    members_after: int | None = None
    from_empty: bool = False
    moved: bool = False
    by_broker: bool = False
    protocol: str = ""
    last: str = ""
    rejoined: dict[str, float | None] = field(default_factory=dict)
    awaited: set[str] = field(default_factory=set)
    settling: set[str] = field(default_factory=set)
    fetched: float | None = None
    anew: Event | None = None
    waiting: tuple[str, ...] = ()
    sessions: dict[str, int] = field(default_factory=dict)
    longest_ms: int | None = None
    came: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    gaps: dict[str, float] = field(default_factory=dict)
    sources: set[Source] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)
    unkept: int = 0

    @property
    def seconds(self) -> float | None:
        """How long the group had no assignment, at least; None where that is not visible."""
        if self.began is None or self.ended is None:
            return None
        return max(0.0, self.ended - self.began)

    @property
    def missing(self) -> list[str]:
        """Members that were told to join again and have not."""
        return sorted(self.awaited - self.rejoined.keys())

    def note(self, event: Event) -> None:
        """An event that it rests on. What begins it is noted as that already."""
        if event in self.events[-1:]:
            return
        self.sources.add(event.source)
        if len(self.events) < KEPT:
            self.events.append(event)
        else:
            self.unkept += 1

    def end(self, ending: Ending, at: float | None) -> None:
        """It is over. Of those who came and went, as of events, some are kept: there may be thousands."""
        self.ending = ending
        self.ended = at if self.assigned is None else self.assigned
        self.waiting = tuple(self.missing[:KEPT])
        self.came, self.gone = self.came[:KEPT], self.gone[:KEPT]
        self.rejoined, self.awaited, self.settling, self.anew = {}, set(), set(), None
