"""Every mutant dies where and by what the registry says; every property kills something by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.explore.fast import explore
from rota.explore.result import DEADLOCK, Limits, Outcome, Result
from rota.kernel import Kind
from rota.mutants import MUTANTS, UnknownMutantError, system
from rota.scopes import load
from rota.spec import RULES

SMALL = load("small")

ALONE = {
    "shape.fields-match-state": ("change-without-rebalance", "leave-and-rejoin"),
    "join.one-leader-per-generation": ("generation-stands-still", "fault"),
    "join.list-is-the-membership": ("generation-stands-still", "fault"),
    "sync.one-owner": ("generation-stands-still", "fault"),
    "sync.assignment-fixed-in-a-generation": ("late-answer-believed", "core"),
    DEADLOCK: ("pending-without-timer", "fault"),
}
"""Properties that are never the first to report a mutant, and one that each kills when judged alone."""


def run(mutant: str, configuration: str, only: str | None = None) -> Result:
    """Explore a mutant, judged by one property alone if one is named."""
    world = system(SMALL.configuration(configuration).settings, mutant)
    if only is not None:
        kept = tuple(
            p for p in world.properties if p.name == only or (only == DEADLOCK and p.kind is Kind.TERMINAL)
        )
        world = replace(world, properties=kept)
    return explore(world, Limits(30_000))


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(name: str) -> None:
    mutant = MUTANTS[name]
    result = run(name, mutant.configuration)
    assert result.outcome is Outcome.VIOLATED
    assert result.violation is not None
    assert result.violation.name == mutant.killer


@pytest.mark.parametrize("name", ALONE)
def test_property_kills_alone(name: str) -> None:
    mutant, configuration = ALONE[name]
    result = run(mutant, configuration, only=name)
    assert result.violation is not None
    assert result.violation.name == name


def test_every_property_kills_something() -> None:
    kinds = (Kind.SHAPE, Kind.SAFETY, Kind.STEP)
    world = system(SMALL.configuration("fault").settings)
    names = {prop.name for prop in world.properties if prop.kind in kinds} | {DEADLOCK}
    assert names == {mutant.killer for mutant in MUTANTS.values()} | set(ALONE)


def test_each_handler_and_timer_has_a_mutant() -> None:
    parts = {RULES[mutant.slug].part for mutant in MUTANTS.values()}
    assert {"join", "sync", "heartbeat", "leave", "voting", "persistence", "timers"} <= parts
    timers = {slug for slug in RULES if slug.startswith("timers.") and "extended" not in slug}
    assert timers == {mutant.slug for mutant in MUTANTS.values() if mutant.slug.startswith("timers.")}


def test_unknown_mutant() -> None:
    with pytest.raises(UnknownMutantError, match="there is no mutant nonsense"):
        system({}, "nonsense")
