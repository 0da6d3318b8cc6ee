"""Pinned counts: every configuration on the fast engine, the tiny ones on the reference engine too."""

from __future__ import annotations

import pytest

from rota.explore import fast, reference
from rota.explore.result import Outcome, Result
from rota.mutants import system
from rota.scopes import Configuration, ScopeError, load, names
from rota.spec import RULES

TINY, SMALL = load("tiny"), load("small")
BUDGET = 100_000
"""Values per component that a configuration of `small` may have; see ARCHITECTURE.md."""

NEEDS_ODD_REQUESTS = {
    "join.invalid-group-id",
    "join.invalid-session-timeout",
    "join.unknown-group",
    "sync.invalid-group-id",
    "sync.protocol-required",
    "sync.inconsistent-protocol",
    "heartbeat.invalid-group-id",
    "leave.invalid-group-id",
    "leave.unknown-group",
}
"""Rules that clients which obey the protocol never make fire; the lockstep test does."""


def counts(result: Result) -> dict[str, object]:
    return {
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "digest": result.digest,
    }


@pytest.mark.parametrize("one", TINY.configurations, ids=lambda one: one.name)
def test_tiny_on_the_reference_engine(one: Configuration) -> None:
    result = reference.explore(system(one.settings))
    assert result.outcome is Outcome.HOLDS
    assert counts(result) == one.expected
    assert fast.explore(system(one.settings)).answer == result.answer


def test_a_fault_on_both_engines() -> None:
    settings = SMALL.configuration("fault-no-handshake").settings
    assert fast.explore(system(settings)).answer == reference.explore(system(settings)).answer


@pytest.fixture(scope="module")
def fired() -> set[str]:
    """Rules that fired in the tests of this module before."""
    return set()


@pytest.mark.parametrize("one", SMALL.configurations, ids=lambda one: one.name)
def test_small_on_the_fast_engine(one: Configuration, fired: set[str]) -> None:
    result = fast.explore(system(one.settings))
    fired |= result.rules_fired
    assert result.outcome is Outcome.HOLDS
    assert counts(result) == one.expected
    assert max(result.stats["values"].values()) <= BUDGET


def test_every_rule_fires_in_small(fired: set[str]) -> None:
    """Runs after the configurations above: all that polite clients can make fire has fired."""
    if not fired:
        pytest.skip("the configurations of small were not run")
    acting = {slug for slug, rule in RULES.items() if not rule.decides and rule.part != "static"}
    assert acting - fired == NEEDS_ODD_REQUESTS


def test_features_are_compared_with_configurations_that_exist() -> None:
    known = {one.name for one in SMALL.configurations}
    assert all(one.compared_with in known for one in SMALL.configurations if one.compared_with)
    assert len(known) == len(SMALL.configurations)


def test_unknown_names() -> None:
    assert names() == ("tiny", "small", "endless")
    with pytest.raises(ScopeError, match="there is no scope huge; there are tiny, small, endless"):
        load("huge")
    with pytest.raises(ScopeError, match="scope tiny has no configuration x; it has core"):
        TINY.configuration("x")
