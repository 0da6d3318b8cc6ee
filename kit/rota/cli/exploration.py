"""One configuration explored: until something is violated, or again until all that breaks is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rota.explore import Limits, Result, Verdict, Violation, engines
from rota.explore.result import DEADLOCK, Progress
from rota.kernel import Kind, System


@dataclass(frozen=True)
class Exploration:
    """What came of it. violations: of each property that broke the shortest, in the order they were found."""

    result: Result
    violations: tuple[Violation, ...] = ()


def explored(
    explore: engines.Engine, system: System, limits: Limits, progress: Progress, keep_going: bool = False
) -> Exploration:
    """Explore a system.

    keep_going: go on without each property that breaks, until nothing does; the counts are then those of the
    whole system.
    """
    first = explore(system, limits, progress=progress)
    if first.violation is None or not keep_going:
        return Exploration(first, (first.violation,) if first.violation else ())
    results = [first]
    while (violation := results[-1].violation) is not None:
        system = _without(system, violation.name)
        results.append(explore(system, limits, progress=progress))
    found = tuple(one.violation for one in results if one.violation is not None)
    return Exploration(_together(results), found)


def _without(system: System, name: str) -> System:
    """The system of which a property is not judged."""
    ends = name == DEADLOCK
    return replace(
        system,
        properties=tuple(
            one for one in system.properties if not (one.kind is Kind.TERMINAL if ends else one.name == name)
        ),
        liveness=tuple(one for one in system.liveness if one.name != name),
    )


def _together(results: Sequence[Result]) -> Result:
    """The counts of the last exploration, the verdict of the first, what is known of each property."""
    first, last = results[0], results[-1]
    broken = {one.violation.name for one in results if one.violation is not None}
    verdicts = {one.name: one for one in last.properties}
    return replace(
        last,
        verdict=Verdict.VIOLATED,
        violation=first.violation,
        properties=tuple(
            replace(one, verdict=Verdict.VIOLATED) if one.name in broken else verdicts[one.name]
            for one in first.properties
        ),
        seconds=sum(one.seconds for one in results),
    )
