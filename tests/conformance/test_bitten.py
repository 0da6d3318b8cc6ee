"""Every bug of the coordinator that shows on the wire fails a case, and none that is not about its rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from harness.bitten import Recordings, bites
from harness.kept_server import LETTER
from harness.own_server import recorded
from harness.seen_bugs import PAGE, Seen, page, seen_bugs, unseen_bugs
from harness.subtle_bugs import SubtleBug, unseen
from rota.conformance.catalogue import all_cases, select
from rota.mutants.core import core_bugs


def test_every_bug_is_seen_or_there_is_a_reason() -> None:
    seen = [one.bug for one in seen_bugs()]
    assert len(seen) == len(set(seen))
    assert sorted([*seen, *unseen_bugs()]) == sorted(core_bugs())
    assert all(unseen_bugs().values())


def test_the_table_says_whose_case_it_is() -> None:
    rules = {case.id: case.rule for case in all_cases()}
    for one in seen_bugs():
        assert (one.near == "rule") == (rules[one.case] == core_bugs()[one.bug].rule), one


def test_the_page_says_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/harness/seen_bugs.py"


def of_each_part() -> Iterator[Seen]:
    """The bug of each part of the protocol whose case is over first."""
    seconds = {case.id: case.seconds for case in all_cases()}
    quick = sorted(seen_bugs(), key=lambda one: seconds[one.case])
    for part in dict.fromkeys(one.case.partition(".")[0] for one in seen_bugs()):
        yield next(one for one in quick if one.case.startswith(f"{part}."))


def test_a_bug_of_each_part_is_seen() -> None:
    bugs = [SubtleBug(core_bugs()[one.bug], one.case) for one in of_each_part()]
    assert len(bugs) > 10
    assert unseen(bugs) == {}


@cache
def of_heartbeats() -> Recordings:
    cases = select(all_cases(), ["heartbeat.alive.while-completing", "heartbeat.invalid-group-id.empty"])
    lives, _ = recorded(cases, LETTER)
    return Recordings(LETTER, cases, lives)


def test_a_bug_touches_the_cases_that_run_into_it() -> None:
    few, bug = of_heartbeats(), core_bugs()["rejoin-told-while-completing"]
    (found,) = few.touched(bug, few.cases).values()
    assert (found.call.method, found.is_answered) == ("heartbeat", True)
    assert few.touched(replace(bug, new=bug.old), few.cases) == {}
    assert few.strangers(bug) == ()


def test_a_bug_that_shows_where_nobody_asks_for_its_rule_is_noticed() -> None:
    bug = replace(core_bugs()["rejoin-told-while-completing"], rule="admin.delete")
    assert of_heartbeats().strangers(bug) == ("heartbeat.alive.while-completing",)


def test_the_rules_that_a_dialogue_runs_are_told_apart_from_those_that_it_tries() -> None:
    run = of_heartbeats().rules["heartbeat.invalid-group-id.empty"]
    assert "heartbeat.invalid-group-id" in run.used
    assert "heartbeat.alive" not in run.asked


@pytest.mark.long
def test_the_table_says_what_is_measured() -> None:
    found = list(bites([*core_bugs()]))
    seen = {one.bug.name for one in found if one.seen is not None}
    assert seen == {one.bug for one in seen_bugs()}
    near = {one.bug: one.near for one in seen_bugs()}
    assert {one.seen.bug: one.seen.near for one in found if one.seen is not None} == near
    assert {one.bug.name: one.strangers for one in found if one.strangers} == {}


@pytest.mark.long
def test_every_bug_is_seen_by_the_case_that_the_table_names() -> None:
    assert unseen(SubtleBug(core_bugs()[one.bug], one.case) for one in seen_bugs()) == {}
