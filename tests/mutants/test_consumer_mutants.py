"""Mutants of the consumer protocol die where and by what their marks say; every property kills one alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.explore.fast.engine import explore
from rota.explore.result import DEADLOCK, Limits, Result, Verdict
from rota.invariants.consumer import consumer
from rota.kernel import IN_STATES, Kind
from rota.mutants.consumer import BUGS, system
from rota.scopes import consumer as suite
from rota.spec.consumer.handlers import CONSUMER_RULES

KILLS_ALONE = {
    "consumer.one-user-of-an-epoch": ("epochs-stand-still", "late"),
    "consumer.at-target-nothing-of-others": ("nothing-is-given-up", "pair"),
    "consumer.one-owner": ("nobody-waits", "pair"),
    "consumer.pending-is-waited-for": ("stable-while-giving-up", "pair"),
}
"""Properties that are never the first to report a mutant → one that each kills judged alone, and where."""


def run(mutant: str | None, configuration: str, only: str | None = None) -> Result:
    """Explore a world, judged by one property alone if one is named."""
    world = system(suite().configuration(configuration).settings, mutant)
    if only is not None:
        world = replace(world, properties=tuple(one for one in world.properties if one.name == only))
    return explore(world, Limits(30_000))


@pytest.mark.parametrize("name", BUGS)
def test_mutant_is_killed(name: str) -> None:
    mutant = BUGS[name]
    assert mutant.slug in CONSUMER_RULES
    result = run(name, mutant.configuration)
    assert result.verdict is Verdict.VIOLATED
    assert result.violation is not None
    assert result.violation.name == mutant.killer


@pytest.mark.parametrize("name", KILLS_ALONE)
def test_property_kills_alone(name: str) -> None:
    mutant, configuration = KILLS_ALONE[name]
    result = run(mutant, configuration, only=name)
    assert result.violation is not None
    assert result.violation.name == name


def test_every_property_kills_something() -> None:
    """A known weakness, which is looked for and found, aside."""
    kinds = (*IN_STATES, Kind.STEP)
    everywhere = (prop for one in suite().configurations for prop in consumer(one.settings))
    names = {prop.name for prop in everywhere if prop.kind in kinds} | {DEADLOCK}
    killers = {mutant.killer for mutant in BUGS.values()}
    assert {name for name in names if not name.startswith("weakness.")} == killers | set(KILLS_ALONE)
    assert not killers & set(KILLS_ALONE)
