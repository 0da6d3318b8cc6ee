"""Every rule of the older designs has a mutant, every mutant dies where and by what its mark says."""

from __future__ import annotations

import pytest

from rota.designs import suites
from rota.designs.suites import DESIGNS
from rota.explore import Verdict, engines
from rota.explore.result import DEADLOCK, Limits
from rota.kernel import Kind
from rota.mutants.designs import BUGS, system

EVERY = [(design, name) for design, bugs in BUGS.items() for name in bugs]


@pytest.mark.parametrize(("design", "name"), EVERY, ids=[f"{design}/{name}" for design, name in EVERY])
def test_mutant_is_killed(design: str, name: str) -> None:
    bug = BUGS[design][name]
    settings = suites.load(design).configuration(bug.configuration).settings
    mutated = system(design, settings, name)
    result = engines.choose("reference")(mutated, Limits(20_000))
    assert result.verdict is Verdict.VIOLATED
    if result.violation is not None:
        assert result.violation.name == bug.killer
    else:
        assert [one.name for one in result.properties if one.verdict is Verdict.VIOLATED] == [bug.killer]
    assert mutated.ref is not None
    assert mutated.ref.build().initial_states() == mutated.initial_states()


ENDLESS = [
    ("watchers", "waits-for-ever"),
    ("server-side", "tells-nobody"),
    ("server-side", "knows-everybody"),
]


@pytest.mark.parametrize(("design", "name"), ENDLESS)
def test_sentences_about_endless_runs_kill_too(design: str, name: str) -> None:
    settings = suites.load(design).configuration(BUGS[design][name].configuration).settings
    result = engines.choose(engines.LASSO)(system(design, settings, name))
    assert result.violation is not None
    assert result.violation.name == {"watchers": "watchers.finishes"}.get(design, "server-side.settles")


@pytest.mark.parametrize("design", DESIGNS)
def test_every_rule_has_a_mutant(design: str) -> None:
    assert {bug.slug for bug in BUGS[design].values()} == set(DESIGNS[design].rules)


@pytest.mark.parametrize("design", DESIGNS)
def test_every_property_kills_something(design: str) -> None:
    kinds = (Kind.SHAPE, Kind.SAFETY, Kind.STEP)
    killers = {bug.killer for bug in BUGS[design].values()}
    names = {
        prop.name
        for one in suites.load(design).configurations
        for prop in suites.system(design, one.settings).properties
        if prop.kind in kinds
    }
    assert names | {DEADLOCK} <= killers


def test_meanings_are_sentences() -> None:
    for bugs in BUGS.values():
        assert all(bug.meaning.endswith(".") for bug in bugs.values())


def test_an_old_coordinator_that_goes_on_brings_split_brain_back() -> None:
    """Two members rest with the same partitions, each at peace with a coordinator of its own."""
    settings = suites.load("server-side").configuration("move-expire").settings
    system_ = system("server-side", settings, "old-coordinator-goes-on")
    seen = dict.fromkeys(system_.initial_states())
    split = 0
    for state in (waiting := list(seen)):  # what is found is appended while it is gone through
        targets = {step.target for step in system_.successors(state)} - {state}
        _, one, other, _ = state
        split += not targets and bool(set(one.partitions) & set(other.partitions))  # type: ignore[attr-defined]
        waiting += targets - seen.keys()
        seen |= dict.fromkeys(targets)
    assert split
