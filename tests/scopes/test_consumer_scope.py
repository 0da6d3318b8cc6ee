"""The scope of the consumer protocol: pinned counts, verdicts, and that every sentence is judged."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from harness.thinned import but, some
from rota.environment.consumer import world
from rota.environment.consumer.world import DEFAULTS, chosen_from
from rota.environment.world import SettingsError
from rota.explore import reference
from rota.explore.fast import engine as fast
from rota.explore.liveness.check import check
from rota.explore.result import DEADLOCK, Limits, Result, Verdict
from rota.invariants.consumer import WEAKNESSES, Weakness, consumer, endless, meanings
from rota.invariants.consumer.liveness import LIVENESS, USES_ITS_PART
from rota.kernel import Kind, Property
from rota.mutants.consumer import system
from rota.scopes import Configuration, ScopeError
from rota.scopes import consumer as suite
from rota.spec.consumer.handlers import CONSUMER_RULES
from rota.spec.consumer.messages import ConsumerGroupHeartbeatReply
from rota.spec.consumer.step import Step
from rota.spec.consumer.vocabulary import ErrorCode

SCOPE = suite()
STANDARD, NIGHTLY = suite("standard"), suite("nightly")
COUNTS = ("distinct", "generated", "depth", "digest")
BUDGET = 100_000
"""Values per component; see ARCHITECTURE.md."""


MANY = 80_000
"""States of a configuration of which only so many are explored, but for -m long."""


def whole(one: Configuration) -> bool:
    return one.size is not None and one.size <= MANY


NEEDED = (
    "alone",
    "back",
    "change",
    "commits",
    "interval-move",
    "late-crash",
    "leave",
    "log",
    "names",
    "pair",
)
"""Configurations in which together every sentence is judged; the others are explored with -m long."""

BEGUN = {one.name for one in SCOPE.configurations if not whole(one)}


@cache
def explored(name: str) -> Result:
    """A configuration, or the beginning of a large one."""
    one = SCOPE.configuration(name)
    return fast.explore(system(one.settings), Limits(None if whole(one) else MANY // 2))


@pytest.mark.parametrize(
    "one", some(filter(whole, SCOPE.configurations), 12, {*NEEDED} - BEGUN), ids=lambda one: one.name
)
def test_pinned_counts_on_the_fast_engine(one: Configuration) -> None:
    result = explored(one.name)
    assert result.verdict is Verdict.HOLDS
    assert {count: getattr(result, count) for count in COUNTS} == one.expected
    values = result.stats["values"]
    assert isinstance(values, dict)
    assert max(values.values()) <= BUDGET


@pytest.mark.long
def test_pinned_counts_of_what_is_large() -> None:
    for one in (*SCOPE.configurations, *STANDARD.configurations):
        if not whole(one):
            result = fast.explore(system(one.settings))
            assert result.verdict is Verdict.HOLDS
            assert {count: getattr(result, count) for count in COUNTS} == one.expected


@pytest.mark.parametrize("name", but(["change-crash"], ["grows-crash", "change-crash"]))
def test_pinned_counts_of_standard(name: str) -> None:
    one = STANDARD.configuration(name)
    result = fast.explore(system(one.settings))
    assert result.verdict is Verdict.HOLDS
    assert {count: getattr(result, count) for count in COUNTS} == one.expected


def test_standard_is_pinned_and_each_larger_configuration_is_a_world_of_its_own() -> None:
    every = (*SCOPE.configurations, *STANDARD.configurations, *NIGHTLY.configurations)
    worlds = {repr(chosen_from(one.settings)) for one in every}
    assert len({one.name for one in every}) == len(worlds) == len(every)
    assert all(one.expected for one in STANDARD.configurations)
    for one in (*STANDARD.configurations, *NIGHTLY.configurations):
        assert one.about.endswith(".")
        assert one.compared_with in {other.name for other in every}
        assert fast.explore(system(one.settings), Limits(200)).verdict is not Verdict.VIOLATED


def test_a_scope_that_is_not_there_is_refused() -> None:
    with pytest.raises(ScopeError, match="has no scope tiny; there are small, standard, nightly"):
        suite("tiny")


@pytest.mark.parametrize("name", but(["pair"], ["alone", "pair"]))
def test_the_reference_engine_says_the_same(name: str) -> None:
    made = system(SCOPE.configuration(name).settings)
    assert reference.explore(made).answer == explored(name).answer


def test_every_sentence_is_judged_somewhere() -> None:
    given: dict[str, int] = {}
    for name in NEEDED:
        for told in explored(name).properties:
            shown = told.kind is Kind.WITNESS and told.verdict is Verdict.HOLDS
            judged = bool(told.given) or shown or told.name == DEADLOCK
            given[told.name] = given.get(told.name, 0) + judged
    assert {name for name, times in given.items() if times} == set(given)
    lasting = {one.name for one in (*LIVENESS, USES_ITS_PART)}
    assert set(meanings()) - set(given) == lasting


def test_what_must_happen_in_the_end_does() -> None:
    made = system(SCOPE.configuration("crash").settings)
    assert check(made, made.liveness).verdict is Verdict.HOLDS


def test_a_mistake_that_makes_the_group_wait_for_ever_is_found_on_endless_runs() -> None:
    made = system(SCOPE.configuration("crash").settings, "the-dead-stay")
    settles, hears, _ = check(made, made.liveness).verdicts
    assert (settles.name, settles.verdict) == ("consumer.settles", Verdict.VIOLATED)
    assert (hears.name, hears.verdict) == ("consumer.removed-hears-of-it", Verdict.HOLDS)


def test_who_is_removed_and_never_told_is_found_on_endless_runs() -> None:
    def taken_for_a_member(spec: Any, group: Any, call: Any) -> Any:
        return (Step(group).answer(call.to, ConsumerGroupHeartbeatReply(ErrorCode.NONE, None, 2)),)

    rules = CONSUMER_RULES.replaced("membership.unknown-member", taken_for_a_member)
    settings = {"clients": 1, "budget": (("late", 1),)}
    (verdict,) = check(world(rules=rules, **settings), [LIVENESS[1]]).verdicts
    assert verdict.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", ["pair", "leave", "names", "alone"])
def test_a_group_settles_in_the_end(name: str) -> None:
    """Where a join may arrive late, somebody may never use its part, which is looked for."""
    settings = SCOPE.configuration(name).settings
    made = system(settings)
    *strong, part = check(made, made.liveness).verdicts
    assert [one.verdict for one in strong] == [Verdict.HOLDS] * 2
    assert part.verdict is (Verdict.VIOLATED if name == "alone" else Verdict.HOLDS)
    assert [one.broken for one in endless(settings)] == [False, False, name == "alone"]


@pytest.mark.parametrize(
    "weakness",
    [one for one in WEAKNESSES if isinstance(one.sentence, Property)],
    ids=lambda one: one.sentence.name,
)
def test_a_weakness_is_broken_where_it_is_said_to_be_and_nowhere_else(weakness: Weakness) -> None:
    name = weakness.sentence.name
    for one in (*SCOPE.configurations, *STANDARD.configurations, *NIGHTLY.configurations):
        told = [prop.kind is Kind.WITNESS for prop in consumer(one.settings) if prop.name == name]
        assert told == [known for known in (weakness.broken_in(one.settings),) if known is not None]


def test_settings_that_are_not_there_are_refused() -> None:
    assert chosen_from({}) == DEFAULTS
    with pytest.raises(SettingsError, match="no setting is called members; there are clients"):
        chosen_from({"members": 2})
    with pytest.raises(SettingsError, match="no budget is called quake; there are crash"):
        chosen_from({"budget": (("quake", 1),)})
    with pytest.raises(SettingsError, match="return does not go with append, for which answers wait"):
        chosen_from({"budget": (("append", 1), ("return", 1))})
    with pytest.raises(SettingsError, match="commits does not go with failover"):
        chosen_from({"commits": True, "budget": (("failover", 1),)})
    with pytest.raises(SettingsError, match="late_names is about the second topic"):
        chosen_from({"late_names": True})
