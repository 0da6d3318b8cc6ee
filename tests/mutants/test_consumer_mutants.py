"""Mutants of the consumer protocol die where and by what their marks say; every property kills one alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest

from harness.thinned import some
from rota.explore.fast.engine import explore
from rota.explore.liveness.check import check
from rota.explore.result import DEADLOCK, Limits, Result, Verdict
from rota.invariants.consumer import consumer
from rota.invariants.consumer.liveness import LIVENESS
from rota.kernel import IN_STATES, Kind
from rota.mutants.consumer import BUGS, OF_CLIENTS, OF_LOADING, system
from rota.mutants.upstream import HALTS, LOADING, OWNERS, UPSTREAM, USE, Upstream
from rota.report.upstream_bugs import PAGE, with_block
from rota.scopes import consumer as suite
from rota.spec.consumer.handlers import CONSUMER_RULES

KILLS_ALONE = {
    "consumer.one-user-of-an-epoch": ("epochs-stand-still", "late"),
    "consumer.at-target-nothing-of-others": ("nothing-is-given-up", "pair"),
    "consumer.one-owner": ("nobody-waits", "pair"),
    "consumer.pending-is-waited-for": ("stable-while-giving-up", "pair"),
}
"""Properties that are never the first to report a mutant → one that each kills judged alone, and where."""


ROOT = Path(__file__).parents[2]
ENDLESS = {one.name for one in LIVENESS}


def run(mutant: str | None, configuration: str, only: str | None = None) -> Result:
    """Explore a world, judged by one property alone if one is named."""
    world = system(suite().configuration(configuration).settings, mutant)
    if only is not None:
        world = replace(world, properties=tuple(one for one in world.properties if one.name == only))
    return explore(world, Limits(30_000))


IN_STATES_OR_STEPS = [name for name, one in BUGS.items() if one.killer not in ENDLESS]


@pytest.mark.parametrize("name", some(IN_STATES_OR_STEPS, 4, kind=lambda name: BUGS[name].slug))
def test_mutant_is_killed(name: str) -> None:
    """One of each rule at any rate, a quarter of what else there is of it."""
    mutant = BUGS[name]
    assert mutant.slug in (*CONSUMER_RULES, OF_CLIENTS, OF_LOADING)
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


def steps_to(one: Upstream) -> int:
    """Steps of the shortest run that breaks the sentence, judged alone."""
    made = system(suite().configuration(one.configuration).settings, one.mutant, only=one.sentence)
    if one.sentence in ENDLESS:
        (verdict,) = check(made, made.liveness).verdicts
        assert verdict.lasso is not None
        return len(verdict.lasso.stem) + len(verdict.lasso.cycle)
    violation = explore(made, Limits(40_000)).violation
    assert violation is not None
    assert violation.name == one.sentence
    return violation.steps


@pytest.mark.parametrize(
    "one",
    some(UPSTREAM, 6, kind=attrgetter("harm"), name=attrgetter("mutant")),
    ids=attrgetter("mutant"),
)
def test_a_bug_met_upstream_breaks_its_sentence(one: Upstream) -> None:
    """One of each harm at any rate, and all where that is asked for (-m long)."""
    assert steps_to(one) == one.steps
    assert one.planted.seen_in
    sound = system(suite().configuration(one.configuration).settings, only=one.sentence)
    assert one.sentence in ENDLESS or explore(sound, Limits(40_000)).violation is None


def test_the_bugs_met_upstream_are_those_that_are_marked_so_and_harm_all_kinds() -> None:
    assert {one.mutant for one in UPSTREAM} == {name for name, one in BUGS.items() if one.seen_in}
    harms = Counter(one.harm for one in UPSTREAM)
    assert harms[OWNERS] + harms[USE] >= 4
    assert harms[LOADING] >= 2
    assert harms[HALTS] >= 2
    assert sum(one.planted.slug == OF_CLIENTS for one in UPSTREAM) >= 2


def test_the_page_has_the_bugs_met_upstream() -> None:
    page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    assert with_block(page) == page


def test_every_property_kills_something() -> None:
    """A known weakness, which is looked for and found, aside."""
    kinds = (*IN_STATES, Kind.STEP)
    everywhere = (prop for one in suite().configurations for prop in consumer(one.settings))
    names = {prop.name for prop in everywhere if prop.kind in kinds} | {DEADLOCK}
    killers = {mutant.killer for mutant in BUGS.values()}
    strong = {name for name in names if not name.startswith("weakness.")}
    assert strong == (killers - ENDLESS) | set(KILLS_ALONE)
    assert not killers & set(KILLS_ALONE)
