"""Counterexamples of mutants, found by the slowest engine in the smallest worlds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from rota.explore.reference import explore
from rota.mutants import MUTANTS
from rota.mutants.registry import system
from rota.scopes import load
from rota.trace import Run, Trace, origin_of, rebuild, record, replay


@cache
def counterexample(mutant: str) -> Trace:
    """The shortest run that shows a mutant in the configuration in which it dies first."""
    configuration = MUTANTS[mutant].configuration
    (chosen,) = (one for one in load("small").configurations if one.name == configuration)
    made = system(chosen.settings_for("kafka-4.x"), mutant)
    violation = explore(made).violation
    assert violation is not None
    origin = replace(
        origin_of(made), scope="small", configuration=configuration, profile="kafka-4.x", mutant=mutant
    )
    return record(made, violation.name, violation.start, violation.path, origin, violation.cycle)


def run_of(trace: Trace) -> Run:
    """The run in it."""
    return replay(trace, rebuild(trace))
