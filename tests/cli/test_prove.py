"""`rota prove`: lines, JSON, exit codes, formulas on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import z3
from click.testing import CliRunner, Result

import rota.proofs
from rota.cli.main import main
from rota.proofs import Claim, Obligation, select

VOTING = select(["voting"])

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["prove", *arguments])

    return run


def planted(monkeypatch: pytest.MonkeyPatch, obligation: Obligation) -> None:
    monkeypatch.setattr(rota.proofs, "select", lambda names: (obligation,))


def test_voting_holds_with_a_line_each_and_the_verdict_last(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("voting")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("ok ")] == [one.name for one in VOTING]
    assert lines[-1].startswith("holds: 20 proved, 3 refuted; 23 of 23 as expected")
    assert any(line.strip() == "votes: range 1, roundrobin 1" for line in lines)
    assert any(line.startswith("not proved: ") for line in lines)
    assert json.loads((tmp_path / "rota-out" / "prove.json").read_text())["verdict"] == "holds"


def test_json_is_one_object_and_the_report(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("voting.union", "voting.tally", "--json", "--out", "elsewhere")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report == json.loads((tmp_path / "elsewhere" / "prove.json").read_text())
    assert report["schema"] == 1
    assert report["verdict"] == "holds"
    assert [(one["name"], one["expect"], one["verdict"]) for one in report["obligations"]] == [
        ("voting.tally.base", "proved", "proved"),
        ("voting.tally.step", "proved", "proved"),
        ("voting.union", "refuted", "refuted"),
    ]
    example = report["obligations"][-1]["counterexample"]
    assert sorted(example["lists"]) == ["alice", "bob"]
    assert example["opposed"]
    assert example["winner"] not in example["lists"][example["opposed"][0]]


@pytest.mark.parametrize(
    ("claim", "expect", "exit_code", "verdict"),
    [
        (Claim({}, z3.Int("x") == 1), "proved", 1, "violated"),
        (Claim({}, z3.BoolVal(True)), "refuted", 1, "violated"),
        (Claim({"never": z3.BoolVal(False)}, z3.BoolVal(True)), "proved", 3, "undecided"),
    ],
)
def test_what_is_not_as_expected(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, claim: Claim, expect: str, exit_code: int, verdict: str
) -> None:
    planted(monkeypatch, Obligation("voting.planted", "a planted claim", expect, lambda: claim))  # type: ignore[arg-type]
    result = invoke("voting")
    assert result.exit_code == exit_code
    assert result.stdout.startswith("NOT voting.planted")
    assert "claim: a planted claim" in result.stdout
    assert result.stdout.splitlines()[-1].startswith(f"{verdict}: ")


def test_an_interrupt_keeps_what_was_decided(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted() -> Claim:
        raise KeyboardInterrupt

    done = rota.proofs.select(["voting.tally.base"])[0]
    late = Obligation("voting.late", "", "proved", interrupted)
    monkeypatch.setattr(rota.proofs, "select", lambda names: (done, late))
    result = invoke()
    assert result.exit_code == 130
    report = json.loads((tmp_path / "rota-out" / "prove.json").read_text())
    assert report["verdict"] == "undecided"
    assert [one["name"] for one in report["obligations"]] == ["voting.tally.base"]


def test_a_name_that_selects_nothing(invoke: Invoke) -> None:
    result = invoke("voting", "vating")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert result.stderr == (
        "rota: no obligation is named vating or lies under it; `rota prove --list` names them all\n"
    )


def test_list_runs_nothing(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--list", "voting.counters.by-entry")
    assert result.exit_code == 0
    assert result.stdout.startswith("voting.counters.by-entry      refuted  with candidates by a count")
    assert not (tmp_path / "rota-out").exists()


def test_formulas_are_written(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("--list", "--smt2", "formulas", "voting").exit_code == 0
    written = {path.stem for path in (tmp_path / "formulas").iterdir()}
    assert written == {one.name for one in VOTING}
    text = (tmp_path / "formulas" / "voting.union.smt2").read_text()
    assert "expected: refuted (sat)" in text
    assert "(check-sat)" in text


def test_an_unwritable_place_is_named(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    result = invoke("voting.union", "--out", "taken/deeper")
    assert result.exit_code == 2
    assert "taken" in result.stderr
    assert result.stderr.count("\n") == 1
