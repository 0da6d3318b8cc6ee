"""Walks on rota's own server in virtual time: it conforms, and planted bugs are found."""

from __future__ import annotations

import pytest

from rota.generate.hunt import hunt
from rota.generate.settings import SETTINGS
from rota.generate.shrink import runs_that_fail, shrunk
from rota.generate.told import dialogue
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Walks
from rota.mutants.core import core_bugs, planted


@pytest.mark.parametrize("profile", ["rota", "kafka-4.x"])
def test_rota_conforms(profile):
    """Walks of a few seconds find nothing, and nearly all are decided."""
    hunted = hunt(None, seed=11, seconds=8, profile=profile, at_once=12)
    assert hunted.failed is None, hunted.failed.why
    assert hunted.walks >= 12
    assert hunted.undecided <= 1


FOUND = {
    "newcomers-group-id-unchecked": "join.invalid-group-id",
    "fenced-join-starts-anew": "join.fenced-instance-id",
    "unknown-member-starts-anew": "join.unknown-member",
}


@pytest.mark.parametrize("name", FOUND)
def test_a_planted_bug_is_found_by_its_rule(name):
    """The rule that is told is the one that is broken."""
    hunted = hunt(core_bugs()[name], seed=1, at_once=8)
    assert hunted.failed is not None
    assert hunted.failed.rule == FOUND[name]


def test_a_failure_becomes_short_and_fails_again():
    """What is left of the plan is a few steps, and fails in every run, with a dialogue that shows it."""
    bug = core_bugs()["newcomers-group-id-unchecked"]
    failed = hunt(bug, seed=1, at_once=8).failed
    assert failed is not None

    async def shorter(coordinator):
        walks = Walks(coordinator, "again")
        short = await shrunk(failed, walks.each, seconds=1_000)
        return short, await runs_that_fail(short, walks.each)

    with planted(bug):
        short, runs = in_virtual_time(SETTINGS, shorter, "kafka-4.x")
    assert runs == 5
    assert len(short.played.plan.steps) <= 3 < len(failed.played.plan.steps)
    lines = dialogue(short.played.messages, short.played.history.group_id)
    assert any("JoinGroup" in line and "group_id" in line for line in lines)
