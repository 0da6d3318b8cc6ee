"""Liveness: whether every fair endless run does what it should, and a lasso where one does not.

The states that a violating run visits infinitely often lie in one strongly connected component of those that
it may still visit. Under weak fairness, if a part of a component has a fair cycle, so has the whole: maximal
components decide. The whole graph is held in memory: compiled code does the work where numba is there, plain
Python with networkx where it is not.

A counterexample is a lasso: a stem from an initial state, and a cycle that goes on for ever. An empty cycle
means that the run stays where it is, for nothing is left that fairness demands.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from rota.explore.liveness.graph import TooManyStates
from rota.explore.liveness.verdict import Explored, Lasso, LivenessVerdict
from rota.explore.result import Progress, Verdict
from rota.kernel import Fairness, Liveness, System, guarded

__all__ = ["Lasso", "LivenessResult", "LivenessVerdict", "check", "judge", "most_states"]

PLAIN, COMPILED = "rota.explore.liveness.plain_search", "rota.explore.liveness.compiled_search"
"""The modules of the two searches."""


@dataclass(frozen=True)
class LivenessResult:
    """Verdicts in the order of the properties. distinct, generated: as in `Result`, 0 where undecided."""

    verdict: Verdict
    verdicts: tuple[LivenessVerdict, ...]
    distinct: int
    generated: int
    seconds: float


def check(
    system: System,
    properties: Sequence[Liveness],
    fairness: Sequence[Fairness] | None = None,
    max_states: int | None = None,
) -> LivenessResult:
    """Judge liveness properties on every fair run of a system.

    Parameters: system, its own properties do not matter; properties; fairness, what is assumed instead
    of what each property states; max_states, beyond which all is undecided, None for `most_states()`.
    The answer is the same in every process. Errors: as of `judge`, but for TooManyStates.
    """
    started = perf_counter()
    assumed = properties
    if fairness is not None:
        assumed = [replace(prop, fairness=tuple(fairness)) for prop in properties]
    try:
        graph, verdicts = judge(system, assumed, max_states)
    except TooManyStates:
        unknown = tuple(LivenessVerdict(p.name, p.kind, p.meaning, Verdict.UNDECIDED) for p in properties)
        return LivenessResult(Verdict.UNDECIDED, unknown, 0, 0, perf_counter() - started)
    broken = any(verdict.lasso is not None for verdict in verdicts)
    return LivenessResult(
        verdict=Verdict.VIOLATED if broken else Verdict.HOLDS,
        verdicts=verdicts,
        distinct=graph.distinct,
        generated=graph.generated,
        seconds=perf_counter() - started,
    )


def judge(
    system: System,
    properties: Sequence[Liveness],
    max_states: int | None = None,
    progress: Progress | None = None,
) -> tuple[Explored[Any], tuple[LivenessVerdict, ...]]:
    """The graph of a system and the verdict on each property.

    Errors: TooManyStates, MissingExtra without numba and networkx, ValueError for two properties of one name;
    from compiled code those of `rota.explore.fast.engine.explore` too.
    """
    if len({prop.name for prop in properties}) != len(properties):
        raise ValueError("two liveness properties share a name")
    system = guarded(replace(system, properties=(), liveness=tuple(properties)))
    properties = system.liveness
    most = most_states() if max_states is None else max_states
    if _compiled():
        compiled = import_module(COMPILED)
        # an assumption that reads more than local steps is no error, the other search is taken
        with suppress(compiled.CannotTabulate):
            return compiled.judge(system, properties, most, progress)  # type: ignore[no-any-return]
        plain_most: int = import_module(PLAIN).MAX_STATES
        most = min(most, plain_most) if max_states is None else most
    return import_module(PLAIN).judge(system, properties, most, progress)  # type: ignore[no-any-return]


def most_states() -> int:
    """States that are held by default."""
    return int(import_module(COMPILED if _compiled() else PLAIN).MAX_STATES)


def _compiled() -> bool:
    return find_spec("numba") is not None
