"""What a scenario is, and the list of them: each asserts its point, so that a wrong dialogue still fails.

Numbers count the nineteen situations in which introductions to the rebalance protocol explain it; a letter
marks a variant. `WAITING` names what the spec cannot play yet, and what it lacks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stage import Stage

Play = Callable[[Stage], None]

DESIGN = "Kafka wiki, Kafka Client-side Assignment Proposal"
GUIDE = "Kafka documentation, protocol guide"
CONSUMER = "Kafka documentation, consumer configuration"
BROKER = "Kafka documentation, broker configuration"
CODES = "Kafka documentation, protocol guide, error codes"


@dataclass(frozen=True)
class Scenario:
    """A script, its point in a sentence or two, and where that is public."""

    label: str
    name: str
    point: str
    source: str
    play: Play

    @property
    def number(self) -> int:
        """Which of the nineteen."""
        return int(self.label.rstrip("abc"))


@dataclass(frozen=True)
class Waiting:
    """What cannot be played. feature: what the spec's profile omits; part: false where the whole waits."""

    number: int
    what: str
    feature: str
    part: bool


FAILOVER = "load, unload and fail-over of a coordinator"
WAITING = (
    Waiting(
        9,
        "offsets are committed with the old generation while a rebalance is prepared",
        "OffsetCommit, OffsetFetch and the other offset requests",
        part=False,
    ),
    Waiting(
        16,
        "the offsets of an Empty group expire, and then the group",
        "DescribeGroups, ListGroups, DeleteGroups, expiry of empty groups",
        part=True,
    ),
    Waiting(17, "the coordinator moves and the next one loads the group from the log", FAILOVER, part=False),
    Waiting(19, "a request reaches the wrong broker", FAILOVER, part=True),
    Waiting(19, "a request reaches a broker that is still loading", FAILOVER, part=True),
)

SCENARIOS: dict[str, Scenario] = {}


def scenario(label: str, source: str) -> Callable[[Play], Play]:
    """Puts a script among the scenarios; its docstring is the point."""

    def register(play: Play) -> Play:
        name = f"{label}-{play.__name__.replace('_', '-')}"
        SCENARIOS[name] = Scenario(label, name, " ".join((play.__doc__ or "").split()), source, play)
        return play

    return register
