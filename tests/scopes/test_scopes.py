"""Pinned counts: every configuration on the fast engine, under every profile that it is for.

What is large is explored whole where it is asked for (-m long), and by `make check` and `make profiles`. The
planted mistakes of tests/mutants all show among the first 30,000 states of a configuration.
"""

from __future__ import annotations

from collections import Counter

import pytest

from harness.explored import TELLING, explored
from rota.explore import reference
from rota.explore.fast import engine as fast
from rota.explore.result import Result, Verdict
from rota.invariants import beyond, classic
from rota.kernel import Kind
from rota.mutants import system
from rota.scopes import Configuration, Scope, ScopeError, load, names
from rota.spec import PROFILES, RULES

TINY, SMALL = load("tiny"), load("small")
PROFILE = "kafka-4.x"
BUDGET = 100_000
"""Values per component that a configuration of `small` may have; see ARCHITECTURE.md."""

FEW = 3_000
"""States of what is explored under the older profiles; those have the configurations of tiny in any case.
`make profiles` explores everything."""

BOTH = 500
"""States of what is explored by the reference engine, too."""

MANY = 25_000
"""States; what has more is left to `make check`, which explores all of small and compares all counts."""

BROKEN = {("pile-up", "kafka-2.1"): "join.no-pile-up"}
"""(configuration, profile) -> the property that is violated there."""

ELSEWHERE = {
    "offsets.rebalance-before-membership": "kafka-2.1",
    "offsets.deleted-at-once": "kafka-3.x",
}
"""Rules that the brokers of today do not have -> a profile that does."""

FIRST = {("raw-retention", "kafka-3.x")}
"""(configuration, profile): larger ones in which such a rule fires."""


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
    kept = one in TINY.configurations or (one.name, profile) in FIRST | BROKEN.keys()
    return pinned is not None and (pinned["distinct"] <= FEW or kept)


def dear(configurations: tuple[Configuration, ...], most: int) -> list[Configuration]:
    """Those with more states, that are for brokers of today."""
    counted = [(one, one.counts(PROFILE)) for one in configurations if one.is_for(PROFILE)]
    return [one for one, pinned in counted if pinned is not None and pinned["distinct"] > most]


class Judged:
    """How often the premise of each property was true, by scope and profile."""

    def __init__(self) -> None:
        self.given: dict[tuple[str, str], dict[str, int]] = {}
        self.runs: Counter[tuple[str, str]] = Counter()

    def add(self, scope: str, profile: str, result: Result) -> None:
        """A configuration's; a witness was judged where it was reached."""
        told = self.given.setdefault((scope, profile), {})
        self.runs[scope, profile] += 1
        for one in result.properties:
            witnessed = one.kind is Kind.WITNESS and one.verdict is Verdict.HOLDS
            told[one.name] = told.get(one.name, 0) + int(one.given or witnessed)

    def never(self, scope: str, profile: str) -> set[str]:
        """What was never judged."""
        shown = {"deadlock"}
        return {name for name, times in self.given[scope, profile].items() if not times} - shown


@pytest.fixture(scope="module")
def judged() -> Judged:
    """What the tests of this module before have judged."""
    return Judged()


@pytest.mark.parametrize("one", TINY.configurations, ids=lambda one: one.name)
def test_tiny_on_the_reference_engine(one: Configuration, judged: Judged) -> None:
    """What is small on both engines, the rest on the fast one."""
    if not one.is_for(PROFILE):
        pytest.skip("is about other brokers")
    assert one == SMALL.configuration(one.name)
    result = explored(one.name, PROFILE)
    assert result.verdict is Verdict.HOLDS
    judged.add("tiny", PROFILE, result)
    assert counts(result) == one.counts(PROFILE)
    if one not in dear(TINY.configurations, BOTH):
        assert reference.explore(system(one.settings_for(PROFILE))).answer == result.answer


@pytest.mark.long
@pytest.mark.parametrize(
    "one",
    [*dear(TINY.configurations, BOTH), SMALL.configuration("fault-no-handshake")],
    ids=lambda one: one.name,
)
def test_what_is_larger_on_both_engines(one: Configuration) -> None:
    settings = one.settings_for(PROFILE)
    assert fast.explore(system(settings)).answer == reference.explore(system(settings)).answer


@pytest.fixture(scope="module")
def fired() -> set[str]:
    """Rules that fired in the tests of this module before."""
    return set()


ALONE = {"raw-offsets-two": "offsets.delete-non-empty-group", "move-over-limit": "loading.over-capacity"}
"""Larger configurations in which a rule fires that fires in no smaller one."""

LARGE = [one for one in dear(SMALL.configurations, MANY) if one.name not in {*ALONE, *TELLING[PROFILE]}]
"""What no other test looks at either (`harness.explored`)."""


@pytest.mark.parametrize(
    "one", [one for one in SMALL.configurations if one not in LARGE], ids=lambda one: one.name
)
def test_small_on_the_fast_engine(one: Configuration, fired: set[str], judged: Judged) -> None:
    if not one.is_for(PROFILE):
        pytest.skip("is about other brokers")
    result = explored(one.name, PROFILE)
    judged.add("small", PROFILE, result)
    fired |= result.rules_fired
    assert result.violation is None
    assert result.verdict is Verdict.HOLDS
    assert counts(result) == one.counts(PROFILE)
    assert max(result.stats["values"].values()) <= BUDGET


@pytest.mark.long
@pytest.mark.parametrize("one", LARGE, ids=lambda one: one.name)
def test_what_is_large_has_its_counts(one: Configuration) -> None:
    result = fast.explore(system(one.settings_for(PROFILE)))
    assert result.verdict is Verdict.HOLDS
    assert counts(result) == one.counts(PROFILE)
    assert max(result.stats["values"].values()) <= BUDGET


@pytest.mark.parametrize(
    ("one", "profile"), older(), ids=lambda value: value if isinstance(value, str) else value.name
)
def test_older_brokers(one: Configuration, profile: str, fired: set[str], judged: Judged) -> None:
    result = explored(one.name, profile)
    if one in TINY.configurations:
        judged.add("tiny", profile, result)
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


@pytest.mark.parametrize(
    ("scope", "profile"), [*((TINY, profile) for profile in PROFILES), (SMALL, PROFILE)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)  # fmt: skip
def test_a_scope_judges_what_it_claims_and_nothing_else(scope: Scope, profile: str, judged: Judged) -> None:
    """Runs after the configurations above: what is not claimed is what nothing there is about."""
    there = [one for one in scope.configurations if one.is_for(profile) and one not in LARGE]
    if judged.runs[scope.name, profile] != len(there):
        pytest.skip("the configurations of the scope were not run")
    assert judged.never(scope.name, profile) == {*beyond(profile), *scope.unclaimed(profile)}


def test_what_is_not_claimed_is_a_property() -> None:
    there = {prop.name for prop in classic({}, strict=True)}
    for name in names():
        for profile in PROFILES:
            assert {*beyond(profile), *load(name).unclaimed(profile)} <= there


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
