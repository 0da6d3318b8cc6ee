"""The settings and the result of random walks; `rota.explore.walks.simulate` walks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rota.explore.result import Result

DEPTH = 200
"""Steps of a walk at most, by default."""

WalkProgress = Callable[[int, int, int, int, float], None]
"""Called after each round of walks: walks, distinct states, steps, transitions so far, seconds."""


@dataclass(frozen=True)
class Walks:
    """What to walk. seed; runs: how many walks, and seconds: how long (None: no bound); depth: steps of each.

    With a bound on time the walks are the same, only how many there are differs.
    """

    seed: int = 0
    runs: int | None = None
    seconds: float | None = None
    depth: int = DEPTH


@dataclass(frozen=True)
class Coverage:
    """What walks have met.

    walks: those that were ended; steps: of all; longest: steps of one; distinct: states met, those beside the
    walks included, at least so many unless `exact`; values: distinct values per machine; outcomes: distinct
    (value, input, outcome) of machines that took part in a transition.
    """

    walks: int
    steps: int
    longest: int
    distinct: int
    exact: bool
    values: Mapping[str, int]
    outcomes: int


@dataclass(frozen=True)
class Simulation:
    """The result, never `holds`, and what it rests on.

    result: as of an engine, but distinct and depth are those of the walks (a witness's too), generated counts
    the transitions out of states on walks, and the violation's path is not shortest. walk: the number of the
    walk that met the violation, and walked: its steps before it was shortened; None where there was none.
    """

    result: Result
    coverage: Coverage
    walk: int | None = None
    walked: int | None = None
