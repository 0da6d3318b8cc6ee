"""No bug of the consumer protocol changes what is done in a dialogue that does not ask for its rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

import pytest

from harness.bitten import Recordings
from harness.consumer_bites import LOCKSTEP, bugs, cases
from harness.consumer_bugs import PROFILE
from harness.consumer_rules_run import rules_run
from harness.own_server import recorded
from rota.conformance.results import Verdict
from rota.conformance.rules import CONSUMER

SHARED: Mapping[str, tuple[str, ...]] = {
    "cases/members-do-not-fetch": ("consumer.offsets.fetch-stale.other-epoch",),
    "cases/stable-is-reconciling": ("consumer.admin.list.type-and-state", "consumer.admin.list.filters"),
    "lockstep/commit-unwritten": ("consumer.offsets.commit-while-empty.anybody",),
    "lockstep/others-stay": ("consumer.offsets.delete-subscribed.kept",),
}
"""Bugs in what two rules share: who fetches, the state, what is written and deleted. In which dialogues."""

FEW = (
    "consumer.topics.subscribed.own-alone",
    "consumer.membership.unknown-member.at-an-epoch",
    "consumer.offsets.commit.at-its-epoch",
    "consumer.admin.describe-no-group.absent",
)


def made(ids: Iterable[str]) -> Recordings:
    """These cases on a sound server. Errors: AssertionError where it does not pass one."""
    some = [cases()[id] for id in ids]
    lives, results = recorded(some, PROFILE)
    assert {one.case.id for one in results if one.verdict is not Verdict.PASS} == set()
    return Recordings(PROFILE, some, lives, rules_run)


@cache
def few() -> Recordings:
    """Some that are over at once."""
    return made(FEW)


def rule_of(id: str) -> str:
    return cases()[id].rule.removeprefix(f"{CONSUMER}.")


def test_a_dialogue_asks_for_the_rule_that_its_case_is_about() -> None:
    assert [id for id in FEW if rule_of(id) not in few().rules[id].asked] == []


def test_rules_of_others_are_told_apart() -> None:
    run = few().rules["consumer.admin.describe-no-group.absent"]
    assert "admin.describe-no-group" in run.used
    assert not {"offsets.commit", "timers.session", "topics.hash"} & run.asked


def test_no_bug_touches_a_dialogue_that_does_not_ask_for_its_rule() -> None:
    assert {key: found for key, bug in bugs().items() if (found := few().strangers(bug))} == {}


def test_a_bug_that_shows_where_nobody_asks_for_its_rule_is_noticed() -> None:
    bug = bugs()[f"{LOCKSTEP}/commit-unwritten"]
    assert bug.rule == "offsets.commit"
    elsewhere = replace(bug, rule="admin.delete-members")
    assert few().strangers(elsewhere) == ("consumer.offsets.commit.at-its-epoch",)


def test_a_coordinator_that_does_otherwise_is_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are those of a step that does the same to the group as the coordinator."""
    from rota.coordinator.consumer import membership

    monkeypatch.setattr(membership.epochs, "raise_epoch", lambda writing, topics: None)
    with pytest.raises(AssertionError, match="does not explain"):
        _ = made(["consumer.membership.unknown-member.at-an-epoch"]).rules


@pytest.mark.long
def test_every_dialogue_and_every_bug() -> None:
    all_ = made(cases())
    assert {id for id in cases() if rule_of(id) not in all_.rules[id].asked} == set()
    assert {key: found for key, bug in bugs().items() if (found := all_.strangers(bug))} == SHARED
