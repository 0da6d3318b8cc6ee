"""The search for lassos as an engine: the same answer as from others, about a system's endless runs.

It visits every state too, so its counts and its digest are those of the other engines, while its properties
are the system's `liveness`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter

from rota.explore.liveness.check import Lasso, LivenessVerdict, judge, most_states
from rota.explore.liveness.graph import TooManyStates
from rota.explore.mistakes import finding_lasting
from rota.explore.result import Limits, Progress, PropertyVerdict, Result, Verdict, Violation
from rota.kernel import Digest, Kind, Liveness, System


@finding_lasting
def explore(system: System, limits: Limits | None = None, *, progress: Progress | None = None) -> Result:
    """Judge every liveness property of a system; undecided beyond so many states.

    The violation is the shortest of the lassos that were found, one per property; the counts are complete all
    the same. Errors: MissingExtra, ValueError for two properties of one name.
    """
    most = limits.max_states if limits else None
    started = perf_counter()
    try:
        graph, found = judge(system, system.liveness, most, progress)
    except TooManyStates:
        return _undecided(system, most or most_states(), perf_counter() - started)
    pairs = tuple(zip(system.liveness, found, strict=True))
    properties = tuple(_property_verdict(prop, verdict) for prop, verdict in pairs)
    return Result(
        engine="lasso",
        verdict=_overall(properties),
        distinct=graph.distinct,
        generated=graph.generated,
        depth=len(graph.histogram) - 1,
        histogram=graph.histogram,
        digest=graph.digest(),
        properties=properties,
        violation=_shortest([verdict for prop, verdict in pairs if not prop.broken]),
        rules_fired=graph.fired,
        seconds=perf_counter() - started,
        stats={
            "occasions": {verdict.name: verdict.occasions for verdict in found},
            "sampled": asdict(graph.sampled),
        },
    )


def _property_verdict(prop: Liveness, verdict: LivenessVerdict) -> PropertyVerdict:
    """A property that is known not to hold counts as a witness: a run that violates it must exist."""
    if not prop.broken:
        counts = verdict.judged, verdict.given
        return PropertyVerdict(prop.name, Kind.LIVENESS, prop.meaning, verdict.verdict, None, *counts)
    steps = None if verdict.lasso is None else length(verdict.lasso)
    found = Verdict.VIOLATED if steps is None else Verdict.HOLDS
    return PropertyVerdict(prop.name, Kind.WITNESS, prop.meaning, found, steps)


def length(lasso: Lasso) -> int:
    """The transitions of a lasso: the stem's, and the cycle's once."""
    return len(lasso.stem) + len(lasso.cycle)


def _shortest(verdicts: Sequence[LivenessVerdict]) -> Violation | None:
    found = [(length(verdict.lasso), at) for at, verdict in enumerate(verdicts) if verdict.lasso is not None]
    if not found:
        return None
    verdict = verdicts[min(found)[1]]
    assert verdict.lasso is not None
    lasso = verdict.lasso
    path = (*lasso.stem, *lasso.cycle)
    return Violation(verdict.name, verdict.meaning, lasso.start, path, len(lasso.cycle))


def _overall(properties: Sequence[PropertyVerdict]) -> Verdict:
    broken = any(one.verdict is Verdict.VIOLATED for one in properties)
    return Verdict.VIOLATED if broken else Verdict.HOLDS


def _undecided(system: System, most: int, seconds: float) -> Result:
    return Result(
        engine="lasso",
        verdict=Verdict.UNDECIDED,
        distinct=most,
        generated=0,
        depth=0,
        histogram=(),
        digest=Digest().hex(),
        properties=tuple(
            PropertyVerdict(
                one.name, Kind.WITNESS if one.broken else Kind.LIVENESS, one.meaning, Verdict.UNDECIDED
            )
            for one in system.liveness
        ),
        violation=None,
        rules_fired=frozenset(),
        seconds=seconds,
    )
