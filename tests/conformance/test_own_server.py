"""rota's own server conforms: every case passes, in one run as a user would start it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from rota.cli.conform import conform
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.results import Ending
from rota.conformance.runner import PLAYS, Options, perform
from rota.conformance.targets.grammar import parse_target
from rota.server import SERVED

SLOW = {"timers.new-member-expired.five-minutes", "expiry.empty-group.since-last-member"}
OF_A_CLUSTER = {case.id for case in all_cases() if case.brokers > 1}


@pytest.mark.parametrize("profile", SERVED)
def test_embedded_conforms(tmp_path: Path, profile: str) -> None:
    """With its mends, as it is if nothing is said, and to the letter of Kafka."""
    said = [] if profile == "rota" else ["--profile", profile]
    fixed = ["--embedded", "--json", "--seed", "4", "--out", str(tmp_path)]
    outcome = CliRunner().invoke(conform, [*fixed, *said])
    report = json.loads(outcome.stdout)
    assert {case["id"]: case["verdict"] for case in report["cases"] if case["verdict"] != "pass"} == {}
    assert (outcome.exit_code, report["verdict"], report["profile"]) == (0, "conforms", profile)
    assert report["seconds"] < 100
    assert {skipped["id"] for skipped in report["not_checked"]} == SLOW | OF_A_CLUSTER


@pytest.mark.parametrize(("late", "ending"), [(PLAYS - 1, Ending.FINISHED), (PLAYS, Ending.UNDECIDED)])
def test_a_dialogue_in_which_the_kit_is_late_is_played_again(late: int, ending: Ending) -> None:
    groups = []

    def script(d: Dialogue) -> None:
        groups.append(d.group_id)
        d.wait(0.01)
        d.in_time(0.0, 0.0 if len(groups) <= late else 10.0)

    newest = {"JoinGroup": (9, 9), "SyncGroup": (5, 5)}  # there is no other way to play it
    case = replace(next(iter(all_cases())), play=script, needs=newest)
    ((_, outcome),) = perform([case], parse_target("rota"), Options(seed=1), {})
    group = f"rota-1-{case.id}"
    assert (outcome.ending, outcome.group_id) == (ending, f"{group}-3")
    assert groups == [group, f"{group}-2", f"{group}-3"]


def test_a_dialogue_in_which_the_kit_is_late_each_time_is_played_in_older_versions() -> None:
    """What takes a newcomer long, as where a target does not answer it, may take none without a handshake."""

    def script(d: Dialogue) -> None:
        d.wait(0.01)
        d.in_time(0.0, 0.0 if d.versions["JoinGroup"] > 3 else 10.0)

    case = replace(next(iter(all_cases())), play=script, needs={})
    ((_, outcome),) = perform([case], parse_target("rota"), Options(seed=1), {})
    assert (outcome.ending, outcome.versions["JoinGroup"]) == (Ending.FINISHED, 3)
