"""Subtle bugs: each shows in one state, for one kind of member or one choice of values; a case tells it."""

from __future__ import annotations

from dataclasses import replace

from harness.subtle_bugs import subtle_bugs, unseen
from rota.conformance.results import Verdict


def test_every_subtle_bug_fails_the_case_of_its_rule() -> None:
    assert unseen(subtle_bugs()) == {}


def test_names_tell_bugs_apart() -> None:
    names = [bug.planted.name for bug in subtle_bugs()]
    assert len(names) == len(set(names))


def test_a_bug_that_is_none_is_not_seen() -> None:
    (bug,) = (bug for bug in subtle_bugs() if bug.planted.name == "a commit forgets the others")
    sound = replace(bug, planted=replace(bug.planted, new=bug.planted.old))
    assert unseen([sound]) == {bug.planted.name: Verdict.PASS}
