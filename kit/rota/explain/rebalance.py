"""What is known of one rebalance: when, by whom and why, who came and went, what it cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rota.explain.reasons import UNTOLD, Trigger
from rota.history import Event, Source

WITHIN = re.compile(r"-([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
UUID = re.compile(f"{WITHIN.pattern}$")
"""What brokers put behind a client's id, or an instance's, to make a member id of it."""


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


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance. Times are seconds since 1970, None where the source does not tell.

    who: the member that began it; began: when it was prepared; joined: when the join phase ended; ended: when
    there was an assignment, or it ended otherwise, or as late as the source goes. waiting: members that were
    missing in the end; last: the one that came last, "" where that is not visible; sessions: session timeouts
    in ms by member; longest_ms: the longest rebalance timeout; came, gone: members that the source shows
    without telling how; gaps: seconds in which a partition had no consumer, by its name. unkept: how many
    events there were beside `events`, which are those that it rests on.
    """

    group: str
    trigger: Trigger = UNTOLD
    who: str = ""
    reason: str = ""
    began: float | None = None
    joined: float | None = None
    ended: float | None = None
    ending: Ending = Ending.OPEN
    from_generation: int | None = None
    to_generation: int | None = None
    members_before: int | None = None
    members_after: int | None = None
    from_empty: bool = False
    moved: bool = False
    protocol: str = ""
    last: str = ""
    waiting: tuple[str, ...] = ()
    sessions: Mapping[str, int] = field(default_factory=dict)
    longest_ms: int | None = None
    came: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    gaps: Mapping[str, float] = field(default_factory=dict)
    sources: frozenset[Source] = frozenset()
    events: tuple[Event, ...] = ()
    unkept: int = 0

    @property
    def seconds(self) -> float | None:
        """How long the group had no assignment, at least; None where that is not visible."""
        if self.began is None or self.ended is None:
            return None
        return max(0.0, self.ended - self.began)
