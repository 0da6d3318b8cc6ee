"""Every bug planted in the coordinator's consumer protocol is seen by the case of its own rule."""

from __future__ import annotations

import pytest

from harness.consumer_bugs import consumer_bugs, deviating, unseen
from rota.conformance.catalogue import all_cases, select
from rota.conformance.rules import CONSUMER

SAMPLE = ("silence-acknowledges", "epochs-to-come-pass", "who-leaves-stays", "had-it-at-all", "targets-stay")


def test_each_rule_with_a_case_has_a_bug_and_the_case_is_of_that_rule() -> None:
    rules = {case.rule for case in select(all_cases(), [CONSUMER])}
    assert {f"{CONSUMER}.{bug.planted.rule}" for bug in consumer_bugs().values()} == rules
    for bug in consumer_bugs().values():
        assert bug.case.rule == f"{CONSUMER}.{bug.planted.rule}", bug


def test_a_bug_of_each_kind_is_seen_by_its_case() -> None:
    assert unseen(SAMPLE) == []


def test_a_sound_coordinator_passes_where_bugs_are_seen() -> None:
    bug = consumer_bugs()["epochs-to-come-pass"]
    other = consumer_bugs()["blank-group-ids-pass"]
    assert deviating(bug, [other.case]) == {}


@pytest.mark.long
def test_every_bug_is_seen_by_its_case() -> None:
    assert unseen([*consumer_bugs()]) == []
