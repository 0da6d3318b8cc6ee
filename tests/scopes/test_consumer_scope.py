"""The scope of the consumer protocol: pinned counts, verdicts, and that every sentence is judged."""

from __future__ import annotations

from functools import cache

import pytest

from rota.environment.consumer.world import DEFAULTS, chosen_from
from rota.environment.world import SettingsError
from rota.explore import reference
from rota.explore.fast import engine as fast
from rota.explore.result import DEADLOCK, Result, Verdict
from rota.invariants.consumer import WEAKNESSES, consumer, meanings
from rota.kernel import Kind
from rota.mutants.consumer import system
from rota.scopes import Configuration
from rota.scopes import consumer as suite

SCOPE = suite()
COUNTS = ("distinct", "generated", "depth", "digest")
BUDGET = 100_000
"""Values per component; see ARCHITECTURE.md."""

FEW = 1_000
"""States to which the reference engine goes in larger configurations."""


@cache
def explored(name: str) -> Result:
    return fast.explore(system(SCOPE.configuration(name).settings))


@pytest.mark.parametrize("one", SCOPE.configurations, ids=lambda one: one.name)
def test_pinned_counts_on_the_fast_engine(one: Configuration) -> None:
    result = explored(one.name)
    assert result.verdict is Verdict.HOLDS
    assert {count: getattr(result, count) for count in COUNTS} == one.expected
    values = result.stats["values"]
    assert isinstance(values, dict)
    assert max(values.values()) <= BUDGET


@pytest.mark.parametrize("name", ["pair", "crash"])
def test_the_reference_engine_says_the_same(name: str) -> None:
    world = system(SCOPE.configuration(name).settings)
    assert reference.explore(world).answer == explored(name).answer


def test_every_sentence_is_judged_somewhere() -> None:
    given: dict[str, int] = {}
    for one in SCOPE.configurations:
        for told in explored(one.name).properties:
            if told.kind is not Kind.WITNESS:
                given[told.name] = given.get(told.name, 0) + int(told.given or told.name == DEADLOCK)
    assert {name for name, times in given.items() if times} == set(given)
    assert {name for name in meanings() if name not in given} <= {one.sentence.name for one in WEAKNESSES}


@pytest.mark.parametrize("weakness", WEAKNESSES, ids=lambda one: one.sentence.name)
def test_a_weakness_is_broken_where_it_is_said_to_be_and_nowhere_else(weakness: object) -> None:
    name = weakness.sentence.name  # type: ignore[attr-defined]
    for one in SCOPE.configurations:
        (told,) = [prop for prop in consumer(one.settings) if prop.name == name]
        assert (told.kind is Kind.WITNESS) == weakness.broken_in(one.settings)  # type: ignore[attr-defined]


def test_settings_that_are_not_there_are_refused() -> None:
    assert chosen_from({}) == DEFAULTS
    with pytest.raises(SettingsError, match="no setting is called members; there are clients"):
        chosen_from({"members": 2})
    with pytest.raises(SettingsError, match="no budget is called quake; there are crash"):
        chosen_from({"budget": (("quake", 1),)})
