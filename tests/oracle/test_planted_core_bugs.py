"""Every rule has a bug in the coordinator that the machine finds, and whose dialogue a person can read."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from harness.thinned import some
from oracle import pin
from rota.coordinator import heartbeat
from rota.mutants.core import (
    StaleBugError,
    bugs_of_dialogues,
    bugs_of_everything,
    bugs_of_the_lockstep,
    planted,
)
from rota.oracle.bug_table import AMONG, ITSELF, TRIED, where_named
from rota.oracle.hunt import hunt
from rota.oracle.offsets_lockstep import OffsetsLockstep
from rota.oracle.walk import judged, judged_beside
from rota.spec import RULES

LONGEST = 13
"""Steps of a dialogue that a person follows without paper."""

FOUND_BY = re.compile(r"^\| `[\w.-]+` \| ([\w-]+): .* \| (\d+) \| \d+ \|", re.MULTILINE)
"""A bug on the page, and how many examples were tried until it was found."""

TRIED_BEFORE = {
    name: int(tried) - 1 for name, tried in FOUND_BY.findall(pin.PAGE.read_text(encoding="utf-8"))
}
"""Examples that did not show a bug when the page was written: they are tried last."""

BUGS = bugs_of_the_lockstep()

ELSEWHERE = {
    "creation-unrecorded": "a record that is not there is missed where the group is made",
    "first-type-for-ever": "a group's type is seen when the list of the next one is looked at",
    "joins-answered-again": "an answered request that stays parked opens the next barrier",
    "restart-extends-the-delay": "that somebody came is seen when the delay is over",
}
"""Bugs whose own rule need not be in the report, and why."""


def part(bug):
    """Of the protocol: a sixth of its bugs are looked for in `make test`, all with -m long."""
    return bug.rule.partition(".")[0]


def likely_first(name, examples):
    before = TRIED_BEFORE.get(name, 0)
    return [*examples[before:], *examples[:before]]


def test_every_rule_has_a_bug_and_every_bug_a_rule():
    assert judged() - {bug.rule for bug in BUGS.values()} == set()
    assert {bug.rule for bug in BUGS.values()} - judged() == set()
    assert {bug.rule for bug in bugs_of_dialogues().values()} <= RULES.keys()


@pytest.mark.parametrize("name", some(BUGS, 6, kind=lambda name: part(BUGS[name])))
def test_a_planted_bug_is_found_and_shortened(name, walk_for):
    walk = walk_for(BUGS[name])
    finding = hunt(BUGS[name], likely_first(name, walk.examples))
    assert finding is not None, f"{BUGS[name].meaning} is not noticed in {len(walk.examples)} examples"
    found = finding.divergence
    assert 1 <= len(found.dialogue) == finding.steps <= LONGEST, str(found)
    assert str(found).startswith(found.headline[:100])
    assert all(len(line) <= 140 for line in str(found).splitlines()), str(found)
    assert name in ELSEWHERE or where_named(BUGS[name], finding) in (ITSELF, AMONG, TRIED)


KEPT = bugs_of_everything()


def test_every_rule_beside_members_has_a_bug_and_every_bug_a_rule():
    assert judged_beside() == {bug.rule for bug in KEPT.values()}


@pytest.mark.parametrize("name", some(KEPT, 6, kind=lambda name: part(KEPT[name])))
def test_a_planted_bug_beside_members_is_found_and_shortened(name, whole_walk):
    finding = hunt(KEPT[name], likely_first(name, whole_walk.examples), OffsetsLockstep)
    assert finding is not None, f"{KEPT[name].meaning} is not noticed in {len(whole_walk.examples)} examples"
    found = finding.divergence
    assert 1 <= finding.steps <= LONGEST, str(found)
    assert all(len(line) <= 140 for line in str(found).splitlines()), str(found)


def test_the_page_has_the_same_bugs_and_rules():
    rows = re.findall(r"^\| `([\w.-]+)` \| ([\w-]+): (.*?) \|", pin.PAGE.read_text(encoding="utf-8"), re.M)
    bugs = (*BUGS.values(), *KEPT.values(), *bugs_of_dialogues().values())
    told = [(bug.rule, bug.name, bug.meaning) for bug in bugs]
    assert rows == told, "docs/planted-bugs.md is stale: python tests/oracle/pin.py"


def test_a_bug_is_there_for_everybody_while_it_is_planted_and_gone_afterwards():
    imported = heartbeat.heartbeat
    before = imported.__code__
    with planted(BUGS["rejoin-told-while-completing"]):
        assert imported.__code__ is not before
    assert imported.__code__ is before


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"old": "no such text"}, "has the old text 0 times"),
        ({"old": "e"}, "times, not once"),
        ({"function": "rota.coordinator.join:nothing"}, "there is no rota.coordinator.join:nothing"),
        ({"function": "rota.coordinator.join:MEMBER_ID_REQUIRED_SINCE"}, "is not a function"),
    ],
)
def test_a_bug_that_does_not_fit_any_more_says_so(changes, cause):
    bug = replace(BUGS["handshake-one-version-late"], **changes)
    with pytest.raises(StaleBugError, match=cause), planted(bug):
        pass
