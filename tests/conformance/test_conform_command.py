"""`rota conform` as a command: selection, exit codes, what it prints, which files it writes."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.conform import conform
from rota.conformance.catalogue import UnknownCase, all_cases, all_scripts, select
from rota.conformance.dialogues.registry import PARTS
from rota.conformance.dialogues.script import Case, Script
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target

QUICK = ["heartbeat.unknown-member.no-group", "leave.unknown-group.refused"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(conform, list(arguments))


def test_catalogue_is_well_formed() -> None:
    cases = all_cases()
    assert len(cases) >= 100
    assert len({case.id for case in cases}) == len(cases)
    assert len({case.requirement for case in cases}) == len(cases)
    assert {case.part for case in cases} == set(PARTS)
    for case in cases:
        assert case.id.startswith(case.rule)
        assert case.requirement.endswith(".")
        assert case.source


def test_selection_by_id_rule_and_part() -> None:
    cases = all_cases()
    assert [case.id for case in select(cases, ["heartbeat.alive.stable"])] == ["heartbeat.alive.stable"]
    assert {case.rule for case in select(cases, ["sync.unknown-member"])} == {"sync.unknown-member"}
    assert {case.family for case in select(cases, ["join.unchanged.leaders"])} == {"join.unchanged.leaders"}
    assert len(select(cases, ["sync.unknown-member"])) == 17
    assert {case.part for case in select(cases, ["leave"])} == {"leave"}
    with pytest.raises(UnknownCase, match=r"did you mean heartbeat\.alive\.stable"):
        select(cases, ["heartbeat.alive.stabel"])


def family(script: Script) -> str:
    return script.family if isinstance(script, Case) else ""


def test_list_and_show() -> None:
    listed = run("--list", "voting")
    assert listed.exit_code == 0
    titles, *lines = listed.stdout.splitlines()
    assert titles.split() == ["case", "or", "probe", "level"]
    first: dict[str, Script] = {}
    for script in select(all_scripts(), ["voting"]):
        first.setdefault(family(script) or script.id, script)
    voting = list(first.values())
    kinds = [script.level.value if isinstance(script, Case) else "probe" for script in voting]
    assert [line.split()[0] for line in lines[::2]] == [family(script) or script.id for script in voting]
    assert [line.split()[-1] for line in lines[::2]] == kinds
    assert {"MUST", "probe"} <= set(kinds)
    assert [line.strip() for line in lines[1::2]] == [s.sentence for s in voting]
    assert max(map(len, run("--list").stdout.splitlines())) <= 110
    wants = "Needs a cluster of 3 brokers, one of which can be ended (SIGTERM)."
    loading = run("--list", "loading").stdout
    assert loading.count(f"    {wants}\n") == 2
    assert "    Needs a target that can be restarted (SIGKILL).\n" in loading
    assert "target       a cluster of 3 brokers\n" in run("--show", "hosting.elsewhere.join").stdout
    shown = run("--show", "sync.inconsistent-protocol.type")
    assert "INCONSISTENT_GROUP_PROTOCOL" in shown.stdout
    assert "needs        SyncGroup v5\n" in shown.stdout
    assert "family       sync.inconsistent-protocol.other-types\n" in shown.stdout
    assert "(probe)" in run("--show", "voting.tie.range-or-sticky").stdout
    shown_too = run("--show", "join.group-max-size-reached.last-missing").stdout
    assert "settings     group.max.size=2\n" in shown_too
    assert "Kafka 3.x    When the last member that is missing is refused for size, the join" in shown_too
    assert "sync.inconsistent-protocol: A protocol type or name that is given must" in shown.stdout


def test_text_ends_with_the_verdict_after_what_was_not_checked(tmp_path: Path) -> None:
    outcome = run("--embedded", "--seed", "7", "--out", str(tmp_path), *QUICK)
    lines = outcome.stdout.splitlines()
    assert outcome.exit_code == 0
    assert lines[0] == "rota conform: target rota, profile rota, 2 cases, seed 7"
    assert lines[-1].startswith("conforms: rota against profile rota (2 cases in ")
    assert any(line.startswith("not checked: no case is about a log ") for line in lines[:-1])
    assert run("--embedded", "--quiet", "--out", str(tmp_path), *QUICK).stdout.count("\n") == 1


def test_json_is_one_object_with_stable_keys(tmp_path: Path) -> None:
    outcome = run("--embedded", "--json", "--seed", "7", "--out", str(tmp_path), *QUICK)
    report = json.loads(outcome.stdout)
    wanted = {"schema", "verdict", "target", "profile", "seed", "counts", "cases"}
    assert wanted <= report.keys()
    assert (report["schema"], report["target"], report["seed"]) == (1, "rota", 7)
    assert report["counts"] == {"pass": 2}
    assert {"id", "rule", "level", "verdict", "expected", "actual"} <= report["cases"][0].keys()
    assert json.loads((tmp_path / "conform-rota.json").read_text()) == report


def test_a_verdict_names_what_it_rests_on(tmp_path: Path) -> None:
    chosen = ("--embedded", "--seed", "7", "--out", str(tmp_path), *QUICK)
    told = json.loads(run(*chosen, "--json").stdout)
    identity = told["identity"]
    assert set(identity["versions"]) == {"rota", "python"}
    asked = {"target": told["target"], "profile": "rota", "seed": 7, "known": [], "slow": False}
    assert identity["settings"] == {**identity["settings"], **asked}
    lines = run(*chosen).stdout.splitlines()
    short = identity["sources"][:12]
    assert lines[-1].endswith(f", sources {short})")
    assert any(line.startswith(f"judged by: sources {short}, rota ") for line in lines)


def test_junit_is_read_back(tmp_path: Path) -> None:
    run("--embedded", "--out", str(tmp_path), *QUICK, "timers.new-member-expired.five-minutes")
    suites = ET.parse(tmp_path / "conform-rota.junit.xml").getroot()
    assert {suite.get("name"): suite.get("tests") for suite in suites} == {
        "heartbeat": "1",
        "leave": "1",
        "timers": "1",
    }
    assert suites.find("./testsuite[@name='timers']/testcase/skipped") is not None
    assert suites.findall(".//failure") == []


def test_failure_is_printed_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rota.coordinator import HeartbeatReply, core

    monkeypatch.setattr(core.heartbeat, "heartbeat", lambda *_: HeartbeatReply(0))
    page = tmp_path / "page.md"
    outcome = run("--embedded", "--report", f"md={page}", "heartbeat.illegal-generation.older")
    assert outcome.exit_code == 1
    for text in (
        "FAIL heartbeat.illegal-generation.older (MUST)",
        "expected     Heartbeat answered with error ILLEGAL_GENERATION",
        "actual       Heartbeat  NONE",
        "source       GroupMetadataManager",
        "lena → Heartbeat v4  generation 0  member_id @lena",
        "again        rota conform --target rota heartbeat.illegal-generation.older",
        "broken rules: heartbeat.illegal-generation\n",
        "violated: rota against profile rota: 1 rule broken in heartbeat (1 case in ",
    ):
        assert text in outcome.stdout
    assert "| heartbeat.illegal-generation.older | MUST | fail |" in page.read_text()
    known = run(
        "--embedded", "--known", "heartbeat.illegal-generation.older", "heartbeat.illegal-generation.older"
    )
    assert known.exit_code == 0
    assert "known" in known.stdout


def nobody() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "no target; give --target"),
        (("--embedded", "--target", "tansu"), 2, "name two targets"),
        (("--target", "somewhere"), 2, "unknown target 'somewhere'; use HOST:PORT"),
        (("--target", "127.0.0.1:0"), 2, "has no such port; give one from 1 to 65535"),
        (("--target", "127.0.0.1:65536"), 2, "has no such port; give one from 1 to 65535"),
        (("--target", "127.0.0.1:"), 2, "unknown target '127.0.0.1:'; use HOST:PORT"),
        (("--target", nobody()), 3, "nothing listens at 127.0.0.1:"),
        (("--target", "cmd:true"), 2, "names no {port}"),
        (("--target", "cmd:false {port}"), 3, "the process ended with exit code 1"),
        (("--target", "cmd:no-such-program {port}"), 3, "does not start"),
        (("--embedded", "nonsense"), 2, "no case, rule or part is called 'nonsense'"),
        (("--embedded", "voting.tie"), 2, "names probes, which have no verdict of their own"),
        (("--diff", "rota", "rota", "--embedded"), 2, "leave --target and --embedded out"),
        (("--diff", "rota", nobody()), 3, "nothing listens at 127.0.0.1:"),
        (("--diff", "rota", "rota", "timers.new-member-expired.five-minutes"), 5, "add --slow"),
        (("--embedded", "timers.new-member-expired.five-minutes"), 5, "add --slow"),
        (("--embedded", "--report", "pdf=x"), 2, "KIND one of json, junit, md"),
        (("--embedded", "--set", "nonsense=1"), 2, "cannot read the setting"),
    ],
)
def test_bad_input_is_one_line_with_its_exit_code(
    arguments: tuple[str, ...], code: int, says: str, tmp_path: Path
) -> None:
    outcome = run(*arguments, "--out", str(tmp_path))
    assert outcome.exit_code == code
    assert says in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert outcome.stdout == ""


def test_unwritable_report(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = run("--embedded", "--report", f"json={tmp_path}/file/x.json", *QUICK)
    assert outcome.exit_code == 2
    assert "choose another path" in outcome.stderr


def test_a_command_is_started_for_each_case(tmp_path: Path) -> None:
    command = f"cmd:{sys.executable} -m rota serve --port {{port}}"
    outcome = run("--target", command, "--json", "--out", str(tmp_path), *QUICK)
    assert (outcome.exit_code, json.loads(outcome.stdout)["counts"]) == (0, {"pass": 2})


def test_interrupted_keeps_what_is_there(tmp_path: Path) -> None:
    waiting = ["--slow", "timers.new-member-expired.five-minutes", *QUICK]
    command = [sys.executable, "-m", "rota", "conform", "--embedded", "--out", str(tmp_path)]
    with subprocess.Popen([*command, *waiting], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        passed = 0
        while passed < len(QUICK):
            passed += process.stdout.readline().startswith(b"pass ")
            assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    report = json.loads((tmp_path / "conform-rota.json").read_text())
    assert (process.returncode, report["verdict"]) == (130, "interrupted")
    assert [case["verdict"] for case in report["cases"]] == ["pass", "pass"]
    assert time.monotonic() - began < 20


def test_nobody_is_waited_for_when_the_listener_goes() -> None:
    cases = select(all_cases(), [*QUICK, "timers.new-member-expired.five-minutes"])
    results = play_all(cases, parse_target("rota"), Options(seed=1, slow=True), {})
    next(results)
    began = time.monotonic()
    results.close()
    assert time.monotonic() - began < 20
