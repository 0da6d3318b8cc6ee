"""Pinned counts: every configuration on the fast engine, under every profile that it is for.

What is large is explored whole where it is asked for (-m long), and by `make check` and `make profiles`; of
the others always those in which, together, every rule fires and every claim is judged (`NEEDED`). The planted
mistakes of tests/mutants all show among the first 30,000 states of a configuration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import pytest

from harness.explored import TELLING, explored
from harness.thinned import some
from rota.explore import reference
from rota.explore.fast import engine as fast
from rota.explore.result import Limits, Result, Verdict
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


NEEDED: Mapping[str, Collection[str]] = {
    "kafka-4.x": (
        *TELLING[PROFILE],
        *(
            "all-leave",
            "cooperative",
            "leave-and-rejoin",
            "move-over-limit",
            "old-beside-new",
            "retention",
            "static",
        ),
    ),
    "kafka-3.x": (
        *(
            "cooperative",
            "full",
            "full-static",
            "no-common-protocol",
            "no-handshake",
            "old",
            "rejoin",
            "retention",
        ),
        *("raw-retention", "same-instance", "static"),
    ),
    "kafka-2.1": (
        "all-leave",
        "cooperative",
        "core",
        "no-common-protocol",
        "old",
        "pile-up",
        "raw-offsets",
        "retry",
    ),
    "rota": (
        *(
            "all-leave",
            "commit",
            "cooperative",
            "full",
            "leave-and-rejoin",
            "no-common-protocol",
            "old-beside-new",
        ),
        *("same-instance", "static"),
    ),
}
"""By profile, configurations in which together everything is judged that the scopes claim, and every rule
fires but those of `ALONE`."""


class Judged:
    """What has a premise that was true, by scope and profile; a witness, what was reached."""

    def __init__(self) -> None:
        self.given: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.properties: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.runs: dict[tuple[str, str], set[str]] = defaultdict(set)

    def add(self, one: Configuration, scope: Scope, profile: str, result: Result) -> None:
        """A configuration's. What is not claimed is not judged there."""
        given = {
            prop.name
            for prop in result.properties
            if prop.given or (prop.kind is Kind.WITNESS and prop.verdict is Verdict.HOLDS)
        }
        assert not given & not_claimed(scope, profile)
        at = scope.name, profile
        self.given[at] |= given
        self.properties[at] |= {prop.name for prop in result.properties} - {"deadlock"}
        self.runs[at].add(one.name)


def not_claimed(scope: Scope, profile: str) -> set[str]:
    """Properties that nothing in a scope is about under a profile."""
    return {*beyond(profile), *scope.unclaimed(profile)}


def in_tiny(profile: str) -> list[str]:
    """Those that are needed of tiny."""
    return [one.name for one in TINY.configurations if one.name in NEEDED[profile]]


@pytest.fixture(scope="module")
def judged() -> Judged:
    """What the tests of this module before have judged."""
    return Judged()


@pytest.mark.parametrize("one", some(TINY.configurations, 12, in_tiny(PROFILE)), ids=lambda one: one.name)
def test_tiny_on_the_reference_engine(one: Configuration, judged: Judged) -> None:
    """What is small on both engines, the rest on the fast one."""
    if not one.is_for(PROFILE):
        pytest.skip("is about other brokers")
    assert one == SMALL.configuration(one.name)
    result = explored(one.name, PROFILE)
    assert result.verdict is Verdict.HOLDS
    judged.add(one, TINY, PROFILE, result)
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

BEGINNING = 2_000
"""States of such a one that show it."""

LARGE = [one for one in dear(SMALL.configurations, MANY) if one.name not in {*ALONE, *TELLING[PROFILE]}]
"""What no other test looks at either (`harness.explored`)."""


@pytest.mark.parametrize(
    "one",
    some([one for one in SMALL.configurations if one not in LARGE], 6, NEEDED[PROFILE], first=3),
    ids=lambda one: one.name,
)
def test_small_on_the_fast_engine(one: Configuration, fired: set[str], judged: Judged) -> None:
    if not one.is_for(PROFILE):
        pytest.skip("is about other brokers")
    result = explored(one.name, PROFILE)
    judged.add(one, SMALL, PROFILE, result)
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
    ("one", "profile"),
    some(older(), 20, [f"{one.name} {profile}" for one, profile in older() if one.name in NEEDED[profile]]),
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_older_brokers(one: Configuration, profile: str, fired: set[str], judged: Judged) -> None:
    result = explored(one.name, profile)
    if one in TINY.configurations:
        judged.add(one, TINY, profile, result)
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
    for name in [name for name, slug in ALONE.items() if slug not in fired]:
        found = fast.explore(system(SMALL.configuration(name).settings_for(PROFILE)), Limits(BEGINNING))
        fired.update({ALONE[name]} & found.rules_fired)
    assert {slug for slug, rule in RULES.items() if not rule.decides} == fired


@pytest.mark.parametrize(
    ("scope", "profile"), [*((TINY, profile) for profile in PROFILES), (SMALL, PROFILE)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)  # fmt: skip
def test_a_scope_judges_what_it_claims_and_nothing_else(scope: Scope, profile: str, judged: Judged) -> None:
    """Runs after the configurations above: what is not claimed is what nothing there is about."""
    at = scope.name, profile
    if judged.runs[at].isdisjoint(NEEDED[profile]):
        pytest.skip("the configurations of the scope were not run")
    assert judged.properties[at] - judged.given[at] == not_claimed(scope, profile)


def test_what_is_not_claimed_is_a_property() -> None:
    there = {prop.name for prop in classic({}, strict=True)}
    for name in names():
        for profile in PROFILES:
            assert not_claimed(load(name), profile) <= there


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
