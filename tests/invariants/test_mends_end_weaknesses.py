"""Each weakness that a mend ends is found with Kafka, and holds with rota, in the same configuration."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from rota.environment.broker.coordinator import Coordinator
from rota.explore.fast.engine import explore
from rota.explore.liveness.check import check
from rota.explore.result import PropertyVerdict, Verdict
from rota.invariants import WEAKNESSES, endless
from rota.invariants.views import COORDINATOR
from rota.invariants.weaknesses import judged
from rota.kernel import Kind, Property
from rota.mutants import system
from rota.scopes import load
from rota.spec import MENDS, PROFILES, RULES, GroupState

SMALL = load("small")
KAFKA, ROTA = "kafka-4.x", "rota"

STATES = {
    "join.open-barrier-completes": "full-three",
    "weakness.replaced-request-unanswered": "fault-no-handshake",
    "weakness.removed-request-unanswered": "raw",
    "weakness.newcomer-remembered": "core",
    "weakness.stale-sync-debt": "crash-static-old",
    "weakness.fenced-by-a-failed-restart": "append-static",
}
"""Weakness -> a configuration in which Kafka shows it."""

RUNS = {"weakness.replaced-request-waits": {"budget": (("break", 1),)}}
"""The same for sentences about endless runs: settings of a world."""

MENDED = {one.name for one in WEAKNESSES if one.is_mended}


def test_every_weakness_that_a_mend_ends_is_here() -> None:
    assert STATES.keys() | RUNS.keys() == MENDED


def judge(settings: Mapping[str, Any], prop: Property) -> PropertyVerdict:
    """A world judged by one property alone."""
    result = explore(replace(system(settings), properties=(prop,)))
    (found,) = (one for one in result.properties if one.name == prop.name)
    return found


@cache
def kept_by_rota(configuration: str, prop: Property) -> PropertyVerdict:
    """The same of a configuration under the profile with all mends, which several tests look at."""
    return judge(SMALL.configuration(configuration).settings_for(ROTA), prop)


@pytest.mark.parametrize("name", STATES)
def test_a_weakness_of_states(name: str) -> None:
    one = SMALL.configuration(STATES[name])
    sentences = {}
    for profile, is_found in ((KAFKA, True), (ROTA, False)):
        settings = one.settings_for(profile)
        ((weakness, found),) = (pair for pair in judged(settings) if pair[0].name == name)
        assert found is is_found
        assert isinstance(weakness.sentence, Property)
        sentences[profile] = weakness.sentence
    assert judge(one.settings_for(KAFKA), sentences[KAFKA]).verdict is Verdict.VIOLATED
    kept = kept_by_rota(one.name, sentences[ROTA])
    assert kept.verdict is Verdict.HOLDS
    assert (kept.given or 0) > 0


@pytest.mark.parametrize("name", RUNS)
def test_a_weakness_of_endless_runs(name: str) -> None:
    for profile, holds in ((KAFKA, False), (ROTA, True)):
        settings = {**RUNS[name], "profile": profile}
        (sentence,) = (one for one in endless(settings, strict=True) if one.name == name)
        (verdict,) = check(system(settings), (sentence,)).verdicts
        assert (verdict.verdict is Verdict.HOLDS) is holds
        assert verdict.occasions > 0


def _given_back(before: Coordinator, after: Coordinator) -> bool:
    """Whether all that happened to a group at rest is that an id is pending no more and nobody's."""
    old, new = before.group, after.group
    if old is None or new is None or old.state is not GroupState.STABLE:
        return False
    return bool(new.pending < old.pending and new.members.keys() == old.members.keys())


def _stays_at_rest(before: Coordinator, after: Coordinator) -> bool:
    return after.group is not None and after.group.state is GroupState.STABLE


GIVEN_BACK = Property(
    "given-back-id-is-quiet",
    Kind.STEP,
    "An id that was handed out and is given back unused makes nobody rebalance.",
    (COORDINATOR,),
    _stays_at_rest,
    given=_given_back,
    rules=("leave.pending-member",),
)
"""About a step, so that it cannot be looked for as the weaknesses of states are."""


@pytest.mark.parametrize(("profile", "holds"), [(KAFKA, False), (ROTA, True), ("kafka-3.x", True)])
def test_an_id_that_is_given_back(profile: str, holds: bool) -> None:
    found = judge(SMALL.configuration("leave").settings_for(profile), GIVEN_BACK)
    assert (found.verdict is Verdict.HOLDS) is holds
    assert found.given != 0


@pytest.mark.parametrize("switch", MENDS)
def test_without_its_mend_a_weakness_is_back(switch: str) -> None:
    """Each mend is needed: rota with one switch as Kafka has it breaks a sentence that rota keeps."""
    name, configuration = {
        "refusal_completes_phase": ("join.open-barrier-completes", "full-three"),
        "pending_leave_rebalances": (GIVEN_BACK.name, "leave"),
        "answers_replaced": ("weakness.replaced-request-unanswered", "fault-no-handshake"),
        "answers_removed": ("weakness.removed-request-unanswered", "raw"),
        "replaced_owes_sync": ("weakness.stale-sync-debt", "crash-static-old"),
        "late_failure_undoes": ("weakness.fenced-by-a-failed-restart", "append-static"),
        "newcomer_mark_stays": ("weakness.newcomer-remembered", "core"),
    }[switch]
    settings = SMALL.configuration(configuration).settings_for(ROTA)
    by_name = {weakness.name: weakness.sentence for weakness, _ in judged(settings)}
    sentence = by_name.get(name, GIVEN_BACK)
    assert isinstance(sentence, Property)
    assert name == sentence.name
    profiles = {**PROFILES, ROTA: replace(PROFILES[ROTA], **{switch: not MENDS[switch]})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["rota.environment.world"], "PROFILES", profiles)
        assert judge(settings, sentence).verdict is Verdict.VIOLATED
    assert kept_by_rota(configuration, sentence).verdict is Verdict.HOLDS
    assert set(sentence.rules) <= RULES.keys()
