"""How groups are made: sizes, periods and what happens in them, drawn from distributions that are named here.

| what | distribution |
|---|---|
| members | 2 to 50: the power law with density n^-1.8, cut there: half of the groups have two to four |
| session timeout | 45 s (Kafka 3 and later) in six of ten groups, 10 s (before) in three, 30 s in one |
| heartbeats | every third of a session timeout, 3 s at most, each up to a tenth sooner |
| commits | every 5 s (`auto.commit.interval.ms`) in four of five groups, in the others never |
| how long a group is seen | 30 to 120 s, evenly |
| members come | the first within 2 s of one another, evenly |
| further changes | one to four at even moments |
| a change | a member leaves (4 of 10), one more comes (3), one is started anew (2), one crashes (1) |
| client ids | consumer-N; one of two assignors, range and roundrobin, listed by all |
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

LEAST, MOST = 2, 50
POWER = 1.8

SESSIONS, SESSION_WEIGHTS = (45_000, 10_000, 30_000), (6, 3, 1)
BEAT = 3.0
COMMITS, COMMITTING = 5.0, 0.8
SEEN = 30.0, 120.0
TOGETHER = 2.0
CHANGES = 1, 4
LEAVES, COMES, STARTS_ANEW, CRASHES = "leaves", "comes", "starts-anew", "crashes"
WEIGHTS = {LEAVES: 4, COMES: 3, STARTS_ANEW: 2, CRASHES: 1}


@dataclass(frozen=True)
class Life:
    """A member's: seconds from which on and until which it is there, None: to the end; how it goes."""

    begins: float
    ends: float | None = None
    how: str = LEAVES


@dataclass(frozen=True)
class Shape:
    """A group's. session: ms; beat, commit: seconds between two, commit 0: never; seen: seconds."""

    session: int
    beat: float
    commit: float
    seen: float
    lives: tuple[Life, ...]


def shape_of(seed: str) -> Shape:
    """The shape that a seed draws."""
    drawn = Random(seed)
    members = _members(drawn)
    session = drawn.choices(SESSIONS, SESSION_WEIGHTS)[0]
    seen = drawn.uniform(*SEEN)
    commit = COMMITS if drawn.random() < COMMITTING else 0.0
    lives = [Life(drawn.uniform(0.0, TOGETHER)) for _ in range(members)]
    for at in sorted(drawn.uniform(10.0, seen - 5.0) for _ in range(drawn.randint(*CHANGES))):
        change = drawn.choices([*WEIGHTS], [*WEIGHTS.values()])[0]
        there = [place for place, one in enumerate(lives) if one.ends is None and one.begins < at]
        if change == COMES or len(there) < LEAST:
            lives.append(Life(at))
            continue
        gone = drawn.choice(there)
        lives[gone] = Life(lives[gone].begins, at, change)
        if change == STARTS_ANEW:
            lives.append(Life(at + drawn.uniform(0.5, 5.0)))
    return Shape(session, min(BEAT, session / 3_000), commit, seen, tuple(lives))


def _members(drawn: Random) -> int:
    sizes = range(LEAST, MOST + 1)
    return drawn.choices(sizes, [size**-POWER for size in sizes])[0]
