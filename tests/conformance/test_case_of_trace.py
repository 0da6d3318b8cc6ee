"""`rota trace --as conform`: the case that is written passes on rota's own server, and fails on one with the
same bug."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ticket_office import office

from harness.counterexamples import counterexample, run_of
from rota.cli.errors import UsageError
from rota.cli.main import main as rota
from rota.cli.trace_conform import conform
from rota.conformance.alone import judge, main
from rota.conformance.dialogues.registry import CASES
from rota.conformance.dialogues.script import Case
from rota.conformance.results import CaseResult, Verdict
from rota.conformance.targets.grammar import parse_target
from rota.explore.reference import explore
from rota.mutants.core import core_bugs, planted
from rota.trace import dumps, record, replay

TWINS = {
    "barrier-ignores-pending": "barrier-ignores-handed-out-ids",
    "sync-parked-while-preparing": "sync-parked-while-preparing",
    "leader-rejoins-its-generation": "leader-cannot-ask-for-rebalance",
    "fenced-sync-is-unknown": "instance-id-unseen-in-sync",
}
"""Mutant of the spec -> the same bug in rota's coordinator."""

OTHERS = (
    "size-unchecked",
    "last-join-unnoticed",
    "session-without-rebalance",
    "emptiness-is-no-generation",
    "restart-always-rebalances",
    "stable-before-stored",
    "no-sync-timer",
)
"""With a limit, a log that comes late, a session that runs out, a leave, static members, timers."""

Written = Callable[[str], Case]


def case_of(text: str) -> Case:
    """The case of a script, which is in no register afterwards."""
    names: dict[str, Any] = {"__name__": "written"}
    try:
        exec(compile(text, "<written>", "exec"), names)
        return CASES[names["ID"]]
    finally:
        CASES.pop(names.get("ID", ""), None)


def written(mutant: str) -> Case:
    trace = counterexample(mutant)
    return case_of(conform(trace, run_of(trace)))


def judged(case: Case) -> CaseResult:
    result = judge(case, parse_target("rota", profile="kafka-4.x"))
    assert isinstance(result, CaseResult), result
    return result


def test_every_case_passes_on_a_server_without_the_bug() -> None:
    cases = [written(mutant) for mutant in (*TWINS, *OTHERS)]
    with ThreadPoolExecutor(len(cases)) as pool:
        results = list(pool.map(judged, cases))
    assert {one.case.id: (one.verdict, one.expected, one.actual) for one in results} == {
        case.id: (Verdict.PASS, "", "") for case in cases
    }


@pytest.mark.parametrize("mutant", TWINS)
def test_the_case_of_a_mutant_fails_on_a_coordinator_with_the_same_bug(mutant: str) -> None:
    case = written(mutant)
    with planted(core_bugs()[TWINS[mutant]]):
        result = judged(case)
    assert result.verdict is Verdict.FAIL
    assert result.expected


def test_what_cannot_be_played_is_named() -> None:
    late = counterexample("last-join-unnoticed")
    text = conform(late, run_of(late))
    assert "What a raw client cannot play of the run:" in text
    assert "the log of a broker would have stored before the next request" in " ".join(text.split())
    commit = counterexample("commit-makes-the-group")
    run = run_of(commit)
    with pytest.raises(UsageError, match="can play nothing of it: from step 1 on: OffsetCommit is left to"):
        conform(commit, run)
    made = office(fault="deadlock")
    violation = explore(made).violation
    assert violation is not None
    trace = record(made, violation.name, violation.start, violation.path)
    run = replay(trace, made)
    with pytest.raises(UsageError, match="a broker can be asked only what its clients ask"):
        conform(trace, run)


def test_a_script_is_played_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(dumps(counterexample("generation-stands-still")), encoding="utf-8")
    done = CliRunner().invoke(rota, ["trace", "t.jsonl", "--as", "conform", "--out", "case.py"])
    assert (done.exit_code, done.stdout) == (0, "conform: case.py\n")
    case = case_of(Path("case.py").read_text(encoding="utf-8"))
    assert main(case, ["nonsense"]) == 2
    assert "unknown target 'nonsense'" in capsys.readouterr().err
    assert main(case, ["rota", "rota"]) == 2
    assert main(case, []) == 0
    assert capsys.readouterr().out.endswith(f"pass: {case.id} on rota\n")
