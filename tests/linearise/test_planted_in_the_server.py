"""Bugs planted in rota's coordinator are seen in what clients of its server saw, in virtual time."""

from __future__ import annotations

import pytest

from harness import scenes
from rota.linearise import Verdict, judge
from rota.mutants.core import core_bugs, planted

FOUND = {
    "id-before-protocols": ("newcomers", "join.inconsistent-protocol"),
    "barrier-ignores-handed-out-ids": ("newcomers", ""),
    "newcomer-without-its-id": ("newcomers", "admin.describe"),
    "rejoin-told-while-completing": ("newcomers", "heartbeat.alive"),
    "pending-expiry-opens-nothing": ("newcomers", "answer"),
    "unchanged-join-not-parked": ("late_members", ""),
    "request-ends-initial-delay": ("late_members", "timer.initial_join"),
    "stable-forgives-missing-sync": ("late_members", "timer.sync"),
    "described-while-rebalancing": ("late_members", "admin.describe"),
    "leader-cannot-ask-for-rebalance": ("rejoining", ""),
    "only-names-compared": ("rejoining", ""),
    "stored-end-answers-nobody": ("rejoining", "answer"),
    "generation-before-member-in-heartbeat": ("sessions", "heartbeat.unknown-member"),
    "creation-undone-when-stored": ("sessions", ""),
    "answered-sync-without-session": ("silences", "timer.session"),
    "session-of-the-request": ("silences", "timer.session"),
    "restart-rebalances": ("silences", "static.replacement-stored"),
    "anybody-commits-beside-members": ("offsets", "offsets.unknown-member"),
    "nameless-commits-taken": ("offsets", "offsets.unknown-member"),
    "deletion-unanswered": ("offsets", "answer"),
}
"""Bug → the scene that shows it, and the rule or the kind of what is out of time that is told, if any is."""


@pytest.mark.parametrize("profile", ["rota", "kafka-4.x"])
@pytest.mark.parametrize("scene", scenes.SCENES, ids=lambda scene: scene.__name__)
def test_the_sound_server_is_consistent(scene, profile):
    judgement = judge(scenes.seen_of(scene, profile))
    assert judgement.verdict is Verdict.CONSISTENT, judgement.why
    assert judgement.states <= 60


@pytest.mark.parametrize("name", FOUND)
def test_a_bug_is_seen(name):
    scene, told = FOUND[name]
    bug = core_bugs()[name]
    with planted(bug):
        history = scenes.seen_of(getattr(scenes, scene), "rota" if bug.mended else "kafka-4.x")
    judgement = judge(history)
    assert judgement.verdict is Verdict.VIOLATED
    kinds = {one.kind for one in judgement.late}
    assert not told or told in {*judgement.rules, *kinds}, (judgement.why, judgement.rules)
