"""rota's own server conforms: every case passes, in one run as a user would start it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.some_cases import some
from harness.thinned import long
from rota.cli.conform import conform
from rota.conformance import runner
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.script import Case
from rota.conformance.profiles import USUAL
from rota.conformance.results import Ending
from rota.conformance.runner import PLAYS, Options, perform
from rota.conformance.targets.grammar import parse_target
from rota.server import SERVED
from rota.spec import MENDS, ROTA

SLOW = {
    "timers.new-member-expired.five-minutes",
    "expiry.empty-group.since-last-member",
    "expiry.empty-group.since-last-member-after-sigkill",
}
OF_A_CLUSTER = {case.id for case in all_cases() if case.brokers > 1}
MENDED = {case.id for case in all_cases() if case.otherwise and case.otherwise.switch in MENDS}


def dealt(profile: str) -> list[Case]:
    """The cases that are played with a profile in `make test`."""
    to_the_letter = {case.id for case in some(all_cases(), ())} | MENDED
    if profile == USUAL:
        return [case for case in all_cases() if case.id in to_the_letter]
    return [case for case in all_cases() if case.id not in to_the_letter - MENDED]


@pytest.mark.parametrize(
    ("profile", "whole"),
    [(ROTA.name, False), (USUAL, False), *(long((name, True)) for name in (ROTA.name, USUAL))],
)
def test_embedded_conforms(tmp_path: Path, profile: str, whole: bool) -> None:
    """With its mends, as it is if nothing is said, and to the letter of Kafka.

    Each case is played: some of each rule to the letter, the others with mends, and what is mended both ways.
    With `-m long` all are played both ways.
    """
    chosen = all_cases() if whole else dealt(profile)
    said = [] if profile == ROTA.name else ["--profile", profile]
    fixed = ["--embedded", "--json", "--seed", "4", "--out", str(tmp_path)]
    outcome = CliRunner().invoke(conform, [*fixed, *said, *(() if whole else [case.id for case in chosen])])
    report = json.loads(outcome.stdout)
    assert {case["id"]: case["verdict"] for case in report["cases"] if case["verdict"] != "pass"} == {}
    assert (outcome.exit_code, report["verdict"], report["profile"]) == (0, "conforms", profile)
    assert report["seconds"] < 100
    unplayed = {case.id for case in chosen} & (SLOW | OF_A_CLUSTER)
    assert {skipped["id"] for skipped in report["not_checked"]} == unplayed
    assert len(report["cases"]) == len(chosen) - len(unplayed)
    assert len(chosen) > len(all_cases()) / 4


def test_each_case_is_dealt_to_a_profile() -> None:
    to_the_letter, mended = ({case.id for case in dealt(name)} for name in (USUAL, ROTA.name))
    assert to_the_letter | mended == {case.id for case in all_cases()}
    assert to_the_letter & mended == MENDED


def test_every_profile_that_it_serves_is_one_of_them() -> None:
    assert set(SERVED) == {ROTA.name, USUAL}


@pytest.mark.parametrize(
    ("busy", "late", "ending", "plays"),
    [
        (True, PLAYS, Ending.FINISHED, PLAYS + 1),
        (True, PLAYS + 1, Ending.UNDECIDED, PLAYS + 1),
        (False, 1, Ending.FINISHED, 2),
        (False, 2, Ending.UNDECIDED, 2),
    ],
)
def test_a_dialogue_in_which_the_kit_is_late_is_played_again(
    busy: bool, late: int, ending: Ending, plays: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once where the machine had time, for then it is the target that takes so long."""
    monkeypatch.setattr(runner.Pulse, "missed", lambda pulse, since: busy)
    groups = []

    def script(d: Dialogue) -> None:
        groups.append(d.group_id)
        d.wait(0.01)
        d.in_time(0.0, 0.0 if len(groups) <= late else 10.0)

    newest = {"JoinGroup": (9, 9), "SyncGroup": (5, 5)}  # there is no other way to play it
    case = replace(next(iter(all_cases())), play=script, needs=newest)
    ((_, outcome),) = perform([case], parse_target("rota"), Options(seed=1), {})
    group = f"rota-1-{case.id}"
    assert groups == [group, f"{group}-again", f"{group}-again-2", f"{group}-again-3"][:plays]
    assert (outcome.ending, outcome.group_id) == (ending, groups[-1])


def test_a_dialogue_in_which_the_kit_is_late_each_time_is_played_in_older_versions() -> None:
    """What takes a newcomer long, as where a target does not answer it, may take none without a handshake."""

    def script(d: Dialogue) -> None:
        d.wait(0.01)
        d.in_time(0.0, 0.0 if d.versions["JoinGroup"] > 3 else 10.0)

    case = replace(next(iter(all_cases())), play=script, needs={})
    ((_, outcome),) = perform([case], parse_target("rota"), Options(seed=1), {})
    assert (outcome.ending, outcome.versions["JoinGroup"]) == (Ending.FINISHED, 3)
