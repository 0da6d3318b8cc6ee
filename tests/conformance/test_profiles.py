"""`--profile`: what is right for a line of brokers is what its profile in the spec says."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from rota.cli.conform import conform
from rota.cli.conform_target import one_target
from rota.cli.errors import UsageError
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.registry import otherwise
from rota.conformance.dialogues.script import Case, Level
from rota.conformance.out_of_reach import SWITCHES_OUT_OF_REACH
from rota.conformance.profiles import JUDGED, USUAL, for_profile
from rota.conformance.results import DEVIATION_VERDICT
from rota.conformance.rules import CONSUMER
from rota.conformance.switches import CONSUMER_SWITCHES, KAFKA_4_0, differs
from rota.server import running
from rota.spec import KAFKA_4, MENDS, PROFILES, ROTA

OLDER = "kafka-3.x"

NOT_SWITCHES = {"name", "title", "versions", "omitted"}


def of_which_else_is_right_for(name: str) -> dict[str, Case]:
    """The cases of which something else is right for brokers of a profile."""
    return {
        case.id: case
        for case in all_cases()
        if case.otherwise is not None and differs(name, case.otherwise.switch)
    }


TWOFOLD = of_which_else_is_right_for(OLDER)
BY_ONE_BROKER = {id: case for id, case in TWOFOLD.items() if case.brokers == 1}
MENDED = of_which_else_is_right_for(ROTA.name)


def test_every_switch_that_tells_3_from_4_is_judged_or_out_of_reach() -> None:
    new, old = vars(KAFKA_4), vars(PROFILES[OLDER])
    differing = {name for name in new if new[name] != old[name]} - NOT_SWITCHES
    judged = {case.otherwise.switch for case in TWOFOLD.values() if case.otherwise}
    beyond = set(SWITCHES_OUT_OF_REACH) - (set(MENDS) - differing)
    assert judged | beyond == differing
    assert judged & beyond == set()


def test_every_mend_is_judged_or_out_of_reach() -> None:
    judged = {case.otherwise.switch for case in MENDED.values() if case.otherwise}
    assert judged | (set(SWITCHES_OUT_OF_REACH) & set(MENDS)) == set(MENDS)
    assert judged & set(SWITCHES_OUT_OF_REACH) == set()


def test_a_mend_changes_no_code_that_clients_depend_on() -> None:
    """What is a MUST stays: mends are about what no client may depend on."""
    assert {case.level for case in MENDED.values()} == {Level.SHOULD, Level.INFO}


def test_for_rota_the_mended_cases_and_no_others_are_otherwise() -> None:
    mended, unknown = for_profile(all_cases(), ROTA.name)
    assert unknown == []
    assert {case.id for case in mended if case not in all_cases()} == MENDED.keys()
    for case in mended:
        was = MENDED.get(case.id)
        if was is not None and was.otherwise is not None:
            assert (case.play, case.sentence) == (was.otherwise.play, was.otherwise.sentence)


def test_every_switch_of_the_consumer_protocol_is_judged_for_the_line_that_has_it() -> None:
    other = of_which_else_is_right_for(KAFKA_4_0)
    assert {case.otherwise.switch for case in other.values() if case.otherwise} == set(CONSUMER_SWITCHES)
    older, unknown = for_profile(all_cases(), KAFKA_4_0)
    assert unknown == []
    assert {case.id for case in older if case not in all_cases()} == other.keys()


def test_a_switch_decides_what_is_right() -> None:
    cases = all_cases()
    usual, nothing = for_profile(cases, USUAL)
    assert (usual, nothing) == (cases, [])
    older, unknown = for_profile(cases, OLDER)
    by_id = {case.id: case for case in older}
    assert [case.id for case in older] == [case.id for case in cases if case.id in by_id]
    for case in cases:
        if case.part == CONSUMER:
            assert case.id in {skipped.case.id for skipped in unknown}, "no broker of 3.x is asked about it"
        elif case.id in TWOFOLD and case.otherwise:
            assert by_id[case.id].play is case.otherwise.play
            assert by_id[case.id].sentence == case.otherwise.sentence != case.sentence
        elif case.older:
            assert case.otherwise is None
            assert case.id in {skipped.case.id for skipped in unknown}
        else:
            assert by_id[case.id] is case
    assert {skipped.why for skipped in unknown} == {f"nothing is expected of {OLDER}"}
    assert len(by_id) + len(unknown) == len(cases)
    sentences = [case.requirement for case in older]
    assert len(set(sentences)) == len(sentences)


def test_a_dialogue_for_older_brokers_needs_a_case_and_a_switch() -> None:
    taken = next(iter(TWOFOLD))
    for id, switch in (("heartbeat.nonsense", "leaves_one_by_one"), (taken, "leaves_one_by_one")):
        with pytest.raises(ValueError, match="is no case, or it says already"):
            otherwise(id, switch, "Is otherwise.")(lambda d: None)
    with pytest.raises(ValueError, match="no switch nonsense"):
        otherwise("heartbeat.alive.stable", "nonsense", "Is otherwise.")(lambda d: None)


def judged(tmp_path: Path, *arguments: str) -> tuple[dict[str, str], dict[str, object], str]:
    """Verdicts by case, the report, and what was printed."""
    fixed = ["--embedded", "--out", str(tmp_path), "--seed", "2"]
    outcome = CliRunner().invoke(conform, [*fixed, *arguments])
    report = json.loads((tmp_path / "conform-rota.json").read_text())
    return {case["id"]: case["verdict"] for case in report["cases"]}, report, outcome.stdout


def test_rota_serves_what_it_mends_and_kafka_to_the_letter(tmp_path: Path) -> None:
    """Each passes by its own profile, and by the other's does not where a mend shows."""
    mended, report, printed = judged(tmp_path, *MENDED)
    assert (report["profile"], set(mended.values())) == ("rota", {"pass"})
    assert printed.splitlines()[-1].startswith("conforms: rota against profile rota (")
    letter, report, _ = judged(tmp_path, "--profile", "kafka-4.x", *MENDED)
    assert (report["profile"], set(letter.values())) == ("kafka-4.x", {"pass"})
    with running({"group.initial.rebalance.delay.ms": 300}) as address:
        shared = [id for id, case in MENDED.items() if not case.settings and case.least_delay_ms <= 300]
        fixed = ["--target", address, "--set", "group.initial.rebalance.delay.ms=300", "--out", str(tmp_path)]
        outcome = CliRunner().invoke(conform, [*fixed, "--profile", "kafka-4.x", "--json", *shared])
    verdicts = {case["id"]: case["verdict"] for case in json.loads(outcome.stdout)["cases"]}
    assert verdicts == {id: DEVIATION_VERDICT[MENDED[id].level].value for id in shared}
    assert len(shared) > 3


def test_rota_is_a_kafka_4_and_shown_to_be_no_kafka_3(tmp_path: Path) -> None:
    unjudged = "admin.describe-unknown-group.from-6"
    letter = ("--profile", "kafka-4.x")
    newer, _, _ = judged(tmp_path, *letter, *BY_ONE_BROKER, "heartbeat.alive.stable", unjudged)
    assert set(newer.values()) == {"pass"}
    older, report, printed = judged(
        tmp_path, "--profile", OLDER, *BY_ONE_BROKER, "heartbeat.alive.stable", unjudged
    )
    assert older.pop("heartbeat.alive.stable") == "pass"
    assert older == {id: DEVIATION_VERDICT[case.level].value for id, case in BY_ONE_BROKER.items()}
    assert report["profile"] == OLDER
    played = f"{len(BY_ONE_BROKER) + 1} cases"
    (skipped,) = [one for one in report["not_checked"] if one["id"] == unjudged]  # type: ignore[attr-defined]
    assert skipped["why"] == f"nothing is expected of {OLDER}"
    assert f"not judged: nothing is expected of {OLDER}: {unjudged}\n" in printed
    assert f"again        rota conform --target rota --profile {OLDER} admin.describe.preparing\n" in printed
    assert printed.splitlines()[0].startswith(f"rota conform: target rota, profile {OLDER}, {played}")
    assert printed.splitlines()[-1].startswith(f"conforms: rota against profile {OLDER} ({played} in ")


@pytest.mark.parametrize("name", ["kafka-2.1", "kafka-5.x"])
def test_a_profile_of_which_the_cases_know_nothing_is_refused(tmp_path: Path, name: str) -> None:
    outcome = CliRunner().invoke(conform, ["--embedded", "--profile", name, "--out", str(tmp_path)])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    there = ", ".join(JUDGED)
    assert (
        f"cases do not say what is right for {name}; did you mean kafka-4.x? there are {there}"
        in outcome.stderr
    )


@pytest.mark.parametrize("way", [["--embedded"], ["--target", "rota"], ["--embedded", "--generate"]])
def test_a_line_that_rota_cannot_be_is_refused_for_its_own_server(tmp_path: Path, way: list[str]) -> None:
    """Judged by it, rota would be violated for being what it is."""
    outcome = CliRunner().invoke(conform, [*way, "--profile", KAFKA_4_0, "--out", str(tmp_path)])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "rota's own server is none of them; leave --profile out" in outcome.stderr


def test_the_refusal_says_why_and_what_to_do_and_is_for_rota_alone() -> None:
    cause = "--profile kafka-4.0 judges brokers of that line, and rota's own server is none of them"
    with pytest.raises(UsageError, match=f"^{cause}; leave --profile out, or give --target HOST:PORT$"):
        one_target("rota", False, (), profile=KAFKA_4_0)
    assert one_target("localhost:9092", False, (), profile=KAFKA_4_0).name == "localhost:9092"
    for line in (None, *(name for name in JUDGED if name != KAFKA_4_0)):
        with closing(one_target(None, True, (), profile=line)) as judged_by_it:
            assert judged_by_it.name == ROTA.name
