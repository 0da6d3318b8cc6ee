"""Every mutant dies where and by what its mark says; every property kills something by itself."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from harness.thinned import some
from rota.explore.fast.engine import explore
from rota.explore.result import DEADLOCK, Limits, Result, Verdict
from rota.invariants import classic
from rota.kernel import IN_STATES, Kind
from rota.mutants import FOUND_BY_DIALOGUES, KILLS_ALONE, MUTANTS, UnknownMutantError, system
from rota.mutants.mutant import CHECKLIST, SCENARIOS, bug, collect
from rota.mutants.registry import OF_CLIENTS
from rota.report.counts import differing
from rota.scopes import load
from rota.spec import RULES

SMALL = load("small")


def run(mutant: str, configuration: str, only: str | None = None) -> Result:
    """Explore a mutant, judged by one property alone if one is named."""
    world = system(SMALL.configuration(configuration).settings, mutant)
    if only is not None:
        world = replace(world, properties=tuple(prop for prop in world.properties if prop.name == only))
    return explore(world, Limits(30_000))


@pytest.mark.parametrize("name", some(MUTANTS, 5, kind=lambda name: MUTANTS[name].slug))
def test_mutant_is_killed(name: str) -> None:
    """One of each rule at any rate, a fifth of what else there is of it."""
    mutant = MUTANTS[name]
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
    """Whatever it is about; a known weakness, which is looked for and found, aside."""
    kinds = (*IN_STATES, Kind.STEP)
    everywhere = (prop for one in SMALL.configurations for prop in classic(one.settings))
    names = {prop.name for prop in everywhere if prop.kind in kinds} | {DEADLOCK}
    killers = {mutant.killer for mutant in MUTANTS.values()}
    assert {name for name in names if not name.startswith("weakness.")} == killers | set(KILLS_ALONE)
    assert not killers & set(KILLS_ALONE)


def test_every_rule_has_a_mutant() -> None:
    mutants = (*MUTANTS.values(), *FOUND_BY_DIALOGUES.values())
    replaced = {mutant.slug for mutant in mutants if not mutant.slug.startswith(OF_CLIENTS)}
    assert replaced == set(RULES)


def test_what_no_property_sees_is_found_by_a_dialogue() -> None:
    """The tests of the dialogues show that it is."""
    assert {one.configuration for one in FOUND_BY_DIALOGUES.values()} == {CHECKLIST, SCENARIOS}
    assert not MUTANTS.keys() & FOUND_BY_DIALOGUES.keys()


COUNTED = {
    "last-leaver-unanswered": "leave",
    "first-type-for-ever": "raw",
    "answered-before-stored": "commit",
    "subscribed-offsets-deleted": "raw-offsets",
}
"""Mutants that break no property, and a configuration that they give other counts."""


@pytest.mark.parametrize("name", some(COUNTED, 2))
def test_a_mutant_that_breaks_nothing_has_other_counts(name: str) -> None:
    """In a world that clears dead data, as that of the pinned counts does; the rule itself has those."""
    assert name in FOUND_BY_DIALOGUES
    configuration = SMALL.configuration(COUNTED[name])
    assert configuration.expected is not None
    unsettled = explore(system(configuration.settings, name), Limits(60_000))
    assert unsettled.violation is None
    counted = explore(system(configuration.settings, name, settled=True), Limits(60_000))
    assert differing(configuration.expected, counted)
    sound = explore(system(configuration.settings), Limits(60_000))
    assert not differing(configuration.expected, sound)


def test_unknown_mutant() -> None:
    with pytest.raises(UnknownMutantError, match="there is no mutant nonsense"):
        system({}, "nonsense")


def test_a_name_is_one_mutants() -> None:
    @bug("join.barrier", dies_in="core", by="deadlock")
    def always_open(group: Any) -> bool:
        """Everybody may pass."""
        return True

    one, other = (SimpleNamespace(__name__=__name__, **{word: always_open}) for word in ("one", "other"))
    (found,) = collect(one).values()
    assert (found.name, found.meaning) == ("always-open", "Everybody may pass.")
    with pytest.raises(ValueError, match="two mutants are called always-open"):
        collect(one, other)


ORDER = [one.name for one in SMALL.configurations]
BUSIEST = "leave-and-rejoin"
"""Of the configurations in which clients only do what they like to do."""


def earlier(configuration: str) -> tuple[str, ...]:
    """Configurations before this one: the one that it adds something to, and the busiest without that."""
    before = ORDER[: ORDER.index(configuration)]
    likely = {SMALL.configuration(configuration).compared_with, BUSIEST}
    return tuple(name for name in before if name in likely)


LATER = [name for name, one in MUTANTS.items() if one.configuration != ORDER[0]]


@pytest.mark.parametrize("name", some(LATER, 40))
def test_mutant_lives_in_earlier_configurations(name: str) -> None:
    """A few of them, and all where that is asked for (-m long): that each dies is shown above."""
    alive = [where for where in earlier(MUTANTS[name].configuration) if run(name, where).violation is None]
    assert alive == list(earlier(MUTANTS[name].configuration))
