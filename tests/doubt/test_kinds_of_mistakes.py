"""Each kind of mistake is needed: a coordinator that makes it is explained by it, and not without it."""

from __future__ import annotations

import pytest

from harness.mistaken_coordinator import Mistaken, silent, syncing_again
from harness.told import Told
from rota.doubt import search
from rota.doubt.doubting import Notes
from rota.doubt.mistakes import Doubt, Mistake
from rota.doubt.search import _explanations

MADE = {
    Mistake.PASSED: ("heartbeat.illegal-generation", ""),
    Mistake.DECIDED: ("join.barrier", ""),
    Mistake.MISREAD: ("join.inconsistent-protocol", "protocol_type"),
    Mistake.DONE_ANYWAY: ("join.while-preparing", ""),
    Mistake.IDLE: ("join.member-id-required", ""),
    Mistake.HALTED: ("join.pending-member", "join.rebalance-or-complete"),
    Mistake.KEPT: ("join.member-id-required", "the group"),
    Mistake.UNTIMED: ("heartbeat.alive", "session"),
    Mistake.UNANSWERED: ("join.next-generation", ""),
    Mistake.UNLOGGED: ("sync.leader-assigns", ""),
    Mistake.TOO_SOON: ("offsets.commit", "and then again"),
    Mistake.UNPROMISED: ("offsets.appended", ""),
    Mistake.WENT_ON: ("join.prepare-rebalance", "join.complete-phase"),
    Mistake.FLIPPED: ("admin.describe", "protocol_name"),
    Mistake.PART: ("join.next-generation", "members"),
    Mistake.UNTIMELY: ("join.pending-member", "new_member"),
}
"""Kind -> the rule that has it, and the part of the rule. The coordinator makes it all the time."""

TOLD = {
    Mistake.REFUSED: ("heartbeat.invalid-group-id", "INVALID_GROUP_ID"),
    Mistake.ANSWERED: ("heartbeat.alive", "UNKNOWN_SERVER_ERROR"),
}
"""Kind -> the rule, and what a member's heartbeat is told by it."""


def explained(history, kind, monkeypatch):
    """The rules of which a mistake explains all, with this kind and without it."""
    whole = [{one.doubt for one in _explanations(history) if one.whole}]
    note = Notes.note
    with monkeypatch.context() as patched:
        patched.setattr(
            Notes, "note", lambda self, found: note(self, [d for d in found if d.mistake is not kind])
        )
        whole.append({one.doubt for one in _explanations(history) if one.whole})
    return whole


@pytest.mark.long
@pytest.mark.parametrize("kind", MADE, ids=lambda one: one.name.lower())
def test_a_mistake_of_each_kind_is_found_and_its_rule_by_nothing_else(kind, monkeypatch):
    doubt = Doubt(MADE[kind][0], kind, MADE[kind][1])
    found, without = explained(silent(Mistaken(doubt)).history(), kind, monkeypatch)
    assert doubt in found
    assert doubt.rule not in {one.rule for one in without}


def test_an_unwanted_sign_of_life_explains_beside_what_is_likelier(monkeypatch):
    """It is tried where hardly anything that says more explains all; here three rules would."""
    monkeypatch.setattr(search, "ENOUGH", 99)
    doubt = Doubt("sync.stable", Mistake.REVIVED)
    found, without = explained(syncing_again(Mistaken(doubt)).history(), Mistake.REVIVED, monkeypatch)
    assert doubt in found
    assert len(without) < len(found)


def test_no_kind_is_left_out():
    assert {*MADE, *TOLD, Mistake.REVIVED} == {*Mistake}


@pytest.mark.parametrize("kind", TOLD, ids=lambda one: one.name.lower())
def test_an_answer_that_is_another_one_is_told_as_such(kind, monkeypatch):
    rule, error = TOLD[kind]
    told = Told().alone()
    found, without = explained(told.beaten(told.beats(0, "m"), error).history(), kind, monkeypatch)
    assert Doubt(rule, kind) in found
    assert rule not in {one.rule for one in without}
