"""Subtle bugs: each shows in one state, for one kind of member or one choice of values; a case tells it."""

from __future__ import annotations

from harness.subtle_bugs import judged, subtle_bugs
from rota.conformance.catalogue import all_cases
from rota.conformance.results import DEVIATION_VERDICT


def test_every_subtle_bug_fails_the_case_of_its_rule() -> None:
    levels = {case.id: case.level for case in all_cases()}
    bugs = subtle_bugs()
    wanted = {bug.planted.name: DEVIATION_VERDICT[levels[bug.case]] for bug in bugs}
    assert judged(bugs) == wanted


def test_names_tell_bugs_apart() -> None:
    names = [bug.planted.name for bug in subtle_bugs()]
    assert len(names) == len(set(names))
