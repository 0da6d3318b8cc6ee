"""Pinned counts: every configuration on the fast engine, under every profile that it is for."""

from __future__ import annotations

import pytest

from rota.explore import reference
from rota.explore.fast import engine as fast
from rota.explore.result import Result, Verdict
from rota.mutants import system
from rota.scopes import Configuration, ScopeError, load, names
from rota.spec import PROFILES, RULES

TINY, SMALL = load("tiny"), load("small")
PROFILE = "kafka-4.x"
BUDGET = 100_000
"""Values per component that a configuration of `small` may have; see ARCHITECTURE.md."""

FEW = 20_000
"""States of what is explored under the older profiles too; `make profiles` explores everything."""

BROKEN = {("pile-up", "kafka-2.1"): "join.no-pile-up"}
"""(configuration, profile) -> the property that is violated there."""

ELSEWHERE = {
    "offsets.rebalance-before-membership": "kafka-2.1",
    "offsets.deleted-at-once": "kafka-3.x",
}
"""Rules that the brokers of today do not have -> a profile that does."""


def counts(result: Result) -> dict[str, object]:
    return {
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "digest": result.digest,
    }


def older() -> list[tuple[Configuration, str]]:
    """Configurations that are small under the older profiles."""
    pairs = [(one, profile) for profile in PROFILES if profile != PROFILE for one in SMALL.configurations]
    return [(one, profile) for one, profile in pairs if one.is_for(profile) and is_small(one, profile)]


def is_small(one: Configuration, profile: str) -> bool:
    pinned = one.counts(profile)
    return pinned is not None and pinned["distinct"] <= FEW


@pytest.mark.parametrize("one", TINY.configurations, ids=lambda one: one.name)
def test_tiny_on_the_reference_engine(one: Configuration) -> None:
    if not one.is_for(PROFILE):
        pytest.skip("is about other brokers")
    result = reference.explore(system(one.settings_for(PROFILE)))
    assert result.verdict is Verdict.HOLDS
    assert counts(result) == one.counts(PROFILE)
    assert fast.explore(system(one.settings_for(PROFILE))).answer == result.answer


def test_a_fault_on_both_engines() -> None:
    settings = SMALL.configuration("fault-no-handshake").settings
    assert fast.explore(system(settings)).answer == reference.explore(system(settings)).answer


@pytest.fixture(scope="module")
def fired() -> set[str]:
    """Rules that fired in the tests of this module before."""
    return set()


@pytest.mark.parametrize("one", SMALL.configurations, ids=lambda one: one.name)
def test_small_on_the_fast_engine(one: Configuration, fired: set[str]) -> None:
    if not one.is_for(PROFILE):
        pytest.skip("is about other brokers")
    result = fast.explore(system(one.settings_for(PROFILE)))
    fired |= result.rules_fired
    assert result.verdict is Verdict.HOLDS
    assert counts(result) == one.counts(PROFILE)
    assert max(result.stats["values"].values()) <= BUDGET


@pytest.mark.parametrize(
    ("one", "profile"), older(), ids=lambda value: value if isinstance(value, str) else value.name
)
def test_older_brokers(one: Configuration, profile: str, fired: set[str]) -> None:
    result = fast.explore(system(one.settings_for(profile)))
    fired |= result.rules_fired & ELSEWHERE.keys()
    broken = BROKEN.get((one.name, profile))
    if broken is None:
        assert result.verdict is Verdict.HOLDS
        assert counts(result) == one.counts(profile)
    else:
        assert result.violation is not None
        assert result.violation.name == broken


def test_every_rule_fires_in_small(fired: set[str]) -> None:
    """Runs after the configurations above: there is no rule that nothing makes fire."""
    if not fired:
        pytest.skip("the configurations of small were not run")
    assert {slug for slug, rule in RULES.items() if not rule.decides} == fired


def test_every_rule_of_another_profile_is_one() -> None:
    assert ELSEWHERE.keys() <= RULES.keys()
    assert set(ELSEWHERE.values()) <= PROFILES.keys()


def test_features_are_compared_with_configurations_that_exist() -> None:
    known = {one.name for one in SMALL.configurations}
    assert all(one.compared_with in known for one in SMALL.configurations if one.compared_with)
    assert len(known) == len(SMALL.configurations)


def test_unknown_names() -> None:
    assert names() == ("tiny", "small", "standard", "nightly", "endless")
    with pytest.raises(ScopeError, match="there is no scope huge; there are tiny, small"):
        load("huge")
    with pytest.raises(ScopeError, match="scope tiny has no configuration x; it has core"):
        TINY.configuration("x")
