"""The table of planted bugs in recordings says what is so, and whatever is not found there has a reason."""

from __future__ import annotations

import pytest

from harness.bugs_in_recordings import bugs_in_recordings, unfound_bugs
from harness.recorded_walks import shown_in
from harness.seen_bugs import profile_for, seen_bugs
from harness.walk_hunt import grounds
from rota.generate.player import Message
from rota.generate.shown import Shown, first_shown
from rota.mutants.core import core_bugs

EARLY = 3
"""Walks of a seed that are played where only some bugs are looked for again."""


def found_again(one):
    """The rule by which a bug is found in the recording that the table names."""
    assert one.plan >= 0
    bug = core_bugs()[one.bug]
    ground = grounds(one.seed, profile_for(bug), one.transactional)
    recording = shown_in(bug, ground, one.plan)
    assert recording is not None, "it does not show there any more"
    account = recording.judged(ground, fresh=True)
    return account.violations[0].rule if account.found else ""


def test_what_is_not_found_has_a_reason():
    """Looked for is what a client can see; all that show are found, or it is said why not."""
    table = bugs_in_recordings()
    assert {bug for bug, _ in table} <= {one.bug for one in seen_bugs()}
    left = {one.bug for one in table.values() if one.explained or one.missed or one.undecided}
    assert left == unfound_bugs().keys()
    assert all(unfound_bugs().values())


def test_the_table_counts_every_recording():
    for one in bugs_in_recordings().values():
        became = one.found + one.undecided + one.explained + one.missed
        assert became == one.shown, one
        assert (one.plan >= 0) == bool(one.told) == bool(one.found), one


def test_some_bugs_are_found_again():
    """Of each part of the protocol one that shows early."""
    early = [one for one in bugs_in_recordings().values() if 0 <= one.plan < EARLY and one.seed == 1]
    sample = {core_bugs()[one.bug].rule.partition(".")[0]: one for one in reversed(early)}
    assert sample
    for one in sample.values():
        assert found_again(one) == one.told, one


@pytest.mark.long
def test_all_of_the_table_are_found_again():
    other = {one: found_again(one) for one in bugs_in_recordings().values() if one.plan >= 0}
    assert {one: told for one, told in other.items() if told != one.told} == {}


def message(at, number, sent, text=""):
    """A request or an answer of one API, whose frame says a text."""
    head = bytes(8) if sent else bytes(4)
    return Message(at, "a", sent, "Heartbeat", 4, {}, head + number.to_bytes(4, "big") + text.encode())


ONE, OTHER = "a-11111111-1111-4111-8111-111111111111", "a-22222222-2222-4222-8222-222222222222"

COURSE = (message(0.0, 1, True), message(0.1, 1, False, ONE), message(1.0, 2, True))


@pytest.mark.parametrize(
    ("came", "shown"),
    [
        ((*COURSE, message(1.1, 2, False, ONE)), None),
        ((COURSE[0], message(0.1, 1, False, OTHER), COURSE[2], message(1.1, 2, False, OTHER)), None),
        ((*COURSE, message(1.1, 2, False, OTHER)), Shown("answer", "Heartbeat")),
        ((*COURSE, message(3.6, 2, False, ONE)), Shown("moment", "Heartbeat", 2.5)),
        ((*COURSE, message(1.05, 2, False, ONE)), Shown("moment", "Heartbeat", -0.05)),
        (COURSE, Shown("silence", "Heartbeat")),
        ((*COURSE, message(1.1, 1, False, ONE), message(1.1, 2, False, ONE)), Shown("answer", "Heartbeat")),
    ],
)
def test_what_shows_is_what_differs_in_answers(came, shown):
    """Other ids are no difference, as long as they are the same ones throughout."""
    assert first_shown((*COURSE, message(1.1, 2, False, ONE)), came) == shown
