"""`rota prove`: lines, JSON, exit codes, formulas on disk, and what happens when something is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import z3
from click import unstyle
from click.testing import CliRunner, Result

from rota.cli import prove_run
from rota.cli.main import main
from rota.cli.prove_options import TACTICS
from rota.cli.prove_workers import Answer, Provers, Question
from rota.proofs import TACTICS as KNOWN
from rota.proofs import Asking, Family, Obligation, ObligationResult, catalogue, select
from rota.report.live_line import LiveLine
from rota.report.prove_model import Decision
from rota.report.prove_text import FEW, IN_FULL, Printer, far

VOTING = select(["voting"])
PLANTED = Family("planted", "what is wrong", ("planted_proofs:SOUND", "planted_proofs:WRONG"))

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(prove_run, "cores", lambda: 1)  # most runs are over before a second process has begun

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["prove", *arguments])

    return run


@pytest.fixture
def planted(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """`rota prove` with obligations of which most are wrong, in workers too."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setattr(catalogue, "FAMILIES", (PLANTED,))
    return invoke


def test_a_line_each_and_the_verdict_last(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("voting.counters", "-v", "--workers", "2")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    counters = [one.name for one in select(["voting.counters"])]
    assert [line.split()[1] for line in lines if line.startswith("ok ")] == counters
    count = len(counters)
    assert f"{count} of {count} as expected" in lines[-1]
    assert lines[-1].startswith("holds: ")
    assert any(line.startswith("not proved: ") for line in lines)
    assert json.loads((tmp_path / "rota-out" / "prove.json").read_text())["verdict"] == "holds"


def test_a_refuted_claim_shows_its_counterexample(invoke: Invoke) -> None:
    result = invoke("voting.union")
    assert result.exit_code == 0
    assert "      votes: range 1, roundrobin 1" in result.stdout.splitlines()


def test_json_is_one_object_and_the_report(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("voting.union", "voting.tally", "--json", "--out", "elsewhere", "--seed", "3")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report == json.loads((tmp_path / "elsewhere" / "prove.json").read_text())
    assert report["schema"] == 1
    assert report["verdict"] == "holds"
    assert report["seed"] == 3
    assert report["counts"] == {"proved": 2, "refuted": 1}
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
    ("name", "exit_code", "verdict", "words"),
    [
        ("false", 1, "violated", "refuted, not proved"),
        ("true", 1, "violated", "proved, not refuted"),
        ("contradiction", 1, "violated", "why: these assumptions contradict each other: above; below"),
        ("hard", 3, "undecided", "why: time-out after 0.1 s"),
        ("dies", 3, "undecided", "why: the process that asked Z3 died"),
    ],
)
def test_what_is_not_as_expected(
    planted: Invoke, name: str, exit_code: int, verdict: str, words: str
) -> None:
    result = planted(f"planted.{name}", "planted.sound", "--timeout", "0.1")
    assert result.exit_code == exit_code
    assert f"NOT planted.{name}" in result.stdout
    assert words in result.stdout
    assert "ok  planted.sound" in result.stdout
    assert result.stdout.splitlines()[-1].startswith(f"{verdict}: ")


def test_a_broken_obligation_is_an_internal_error(planted: Invoke) -> None:
    result = planted("planted.broken")
    assert result.exit_code == 4
    assert "ZeroDivisionError: planted" in result.stderr


def test_a_question_that_keeps_to_no_time_limit_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    hours = iter(range(0, 3600 * 1000, 3600))
    with Provers(
        [Question(PLANTED, "planted.hard", Asking(600.0))], 1, clock=lambda: float(next(hours))
    ) as crew:
        (heard,) = [heard for heard in crew.answers() if heard]
    assert heard[1].verdict == "unknown"
    assert heard[1].reason == "stopped: Z3 did not keep to its time-out of 600 s"


def test_answers_that_disagree(planted: Invoke) -> None:
    result = planted("planted.fickle", "--cross-check", "--workers", "1")
    assert result.exit_code == 1
    assert "asked again, another way: refuted" in result.stdout
    assert "0 of 1 agree" in result.stdout
    assert planted("planted.fickle").exit_code == 0


def test_a_second_seed_and_tactic_agree(invoke: Invoke) -> None:
    result = invoke("voting.tally", "--cross-check")
    assert result.exit_code == 0
    count = len(select(["voting.tally"]))
    assert f"{count} of {count} agree" in result.stdout


def test_tactics_are_those_that_there_are() -> None:
    assert {"", *TACTICS} == set(KNOWN)


def test_without_an_assumption(planted: Invoke, tmp_path: Path) -> None:
    result = planted("planted.sound", "--without", "at most")
    assert result.exit_code == 1
    heading, titles, line, *more = result.stdout.splitlines()
    assert heading == "without at most:"
    assert titles.split() == ["obligation", "verdict", "time"]
    assert line.startswith("NOT planted.sound  refuted, not proved")
    assert more[1].startswith("      x = ")
    assert json.loads((tmp_path / "rota-out" / "prove-without.json").read_text())["selected"] == 1
    assert planted("planted.needless", "--without", "spare").exit_code == 0
    result = planted("planted.sound", "--without", "at mots")
    assert result.exit_code == 5
    assert "did you mean 'at most'" in result.stderr


def test_negative_checks(planted: Invoke) -> None:
    result = planted("planted.sound", "--negative")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("holds: 2 refuted; 2 of 2 as expected")
    result = planted("planted.needless", "planted.mutant", "--negative")
    assert result.exit_code == 1
    unneeded, unharmed = (line for line in result.stdout.splitlines() if line.startswith("NOT "))
    assert "without spare  proved, not refuted" in unneeded
    assert "the same  proved, not refuted" in unharmed
    assert planted("planted.false", "--negative").exit_code == 5
    assert planted("planted.needless", "--negative", "--without", "spare").exit_code == 2


def results(*verdicts: tuple[str, str]) -> Iterator[Decision]:
    for name, verdict in verdicts:
        one = Obligation(name, "a planted claim", "proved", dict)  # type: ignore[arg-type]
        yield Decision(ObligationResult(one, verdict, 2.0, reason="odd" if verdict == "unknown" else ""))  # type: ignore[arg-type]


def printer_of(names: Sequence[str], lines: list[str], words: Mapping[str, str] | None = None) -> Printer:
    """One whose lines, but for the titles above them, are collected without colours."""
    printer = Printer(lambda line: lines.append(unstyle(line)), names, words)
    assert lines.pop().split() == ["obligation", "verdict", "time"]
    return printer


def test_many_are_told_in_groups_and_what_is_wrong_by_itself() -> None:
    names = [f"a.{group}.{number}" for number in range(20) for group in ("b", "c")]
    lines: list[str] = []
    printer = printer_of(names, lines)
    for result in results(*((name, "unknown" if name == "a.c.7" else "proved") for name in names)):
        printer.on(result)
    assert lines == [
        "NOT a.c.7  unknown, not proved   2.00 s",
        "      claim: a planted claim",
        "      why: odd",
        "ok  a.b  20 proved              40.00 s, slowest 2.0 s: 0",
        "NOT a.c  19 proved, 1 unknown   40.00 s, slowest 2.0 s: 0",
    ]


def test_of_many_that_are_wrong_a_few_are_told_in_full() -> None:
    lines: list[str] = []
    printer = printer_of([f"a.b.{number}" for number in range(40)], lines)
    for result in results(*((f"a.b.{number}", "unknown") for number in range(40))):
        printer.on(result)
    assert sum(line.startswith("NOT a.b.") for line in lines) == 40
    assert lines.count("      why: odd") == IN_FULL


def told_under(*names: str) -> list[str]:
    lines: list[str] = []
    printer = printer_of(names, lines)
    for result in results(*((name, "proved") for name in names)):
        printer.on(result)
    return [line.split()[1] for line in lines]


def test_what_is_told_on_a_screen() -> None:
    few, many = [f"a.{n}" for n in range(FEW)], [f"b.{n}.{m}" for n in range(FEW + 1) for m in "xy"]
    assert told_under(*few) == few
    assert told_under("a.0.x", "a.0.y", *few[1:]) == few
    assert told_under(*many) == [f"b.{n}" for n in range(FEW + 1)]
    assert told_under(*few, *many) == [*few, "b"]


def test_groups_are_told_in_words() -> None:
    names = [*(f"a.b.{n}" for n in range(FEW)), "a.c"]
    lines: list[str] = []
    printer = printer_of(names, lines, {"a.b": "what b is about"})
    for result in results(*((name, "proved") for name in names)):
        printer.on(result)
    assert lines[1::2] == ["      what b is about", "      a planted claim"]


def test_groups_that_were_interrupted_say_so() -> None:
    lines: list[str] = []
    printer = printer_of([f"a.b.{number}" for number in range(40)], lines)
    printer.on(next(results(("a.b.0", "proved"))))
    assert lines == []
    printer.flush()
    assert lines == ["ok  a.b  1 proved                2.00 s, 39 not decided"]


@pytest.mark.long
def test_each_group_is_told_once(invoke: Invoke) -> None:
    result = invoke("voting", "--negative")
    assert result.exit_code == 0
    lines = [line for line in result.stdout.splitlines() if line.startswith("ok ")]
    groups = list(
        dict.fromkeys(".".join(one.name.split(".")[:2]) for one in VOTING if one.expect == "proved")
    )
    assert [line.split()[1] for line in lines] == groups


def test_progress_goes_into_a_pipe_every_ten_seconds() -> None:
    stream, now = StringIO(), [0.0]
    line = LiveLine(stream, clock=lambda: now[0])
    for second in range(21):
        now[0] = float(second)
        line.show(partial(far, second // 5, 7, now[0], [("voting.union", 1.4)]))
    line.clear()
    assert stream.getvalue().splitlines() == [
        f"prove: {n} of 7 obligations, {seconds} s; voting.union for 1 s" for n, seconds in ((2, 10), (4, 20))
    ]


def test_quiet_leaves_the_verdict(invoke: Invoke) -> None:
    result = invoke("voting.tally", "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    (line,) = result.stdout.splitlines()
    assert line.startswith("holds: 2 proved")


def test_an_interrupt_keeps_what_was_decided(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Interrupted(Provers):
        def answers(self, tick: float = 0.2) -> Iterator[tuple[int, Answer] | None]:
            yield next(heard for heard in super().answers(tick) if heard)
            raise KeyboardInterrupt

    monkeypatch.setattr(prove_run, "Provers", Interrupted)
    result = invoke("voting.tally", "--workers", "1")
    assert result.exit_code == 130
    report = json.loads((tmp_path / "rota-out" / "prove.json").read_text())
    assert report["verdict"] == "undecided"
    assert [one["name"] for one in report["obligations"]] == ["voting.tally.base"]


def test_a_name_that_selects_nothing(invoke: Invoke) -> None:
    result = invoke("voting", "vating")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert result.stderr == (
        "rota: no obligation is named vating or lies under it; did you mean voting? "
        "`rota prove --list` names them all\n"
    )


def test_list_runs_nothing(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--list", "-v", "voting.counters.meaning")
    assert result.exit_code == 0
    _, line, *rest = result.stdout.splitlines()
    assert line.startswith("voting.counters.meaning  proved   the counter of a protocol")
    assert "      assumes: counters; subset" in rest
    assert max(map(len, [line, *rest])) <= 110
    assert not (tmp_path / "rota-out").exists()


@pytest.mark.parametrize("every", [9, pytest.param(3, marks=pytest.mark.long)])
def test_formulas_are_written(invoke: Invoke, tmp_path: Path, every: int) -> None:
    """Each is a question that Z3 reads again, and answers as its first lines say. (Some are asked.)"""
    assert invoke("--list", "--smt2", "formulas", "voting").exit_code == 0
    written = {path.stem: path for path in (tmp_path / "formulas").iterdir()}
    assert set(written) == {one.name for one in VOTING}
    for one in VOTING[::every]:
        text = written[one.name].read_text()
        answer = "unsat" if one.expect == "proved" else "sat"
        assert text.startswith(f"; {one.name}: {one.statement}\n; expected: {one.expect} ({answer})\n")
        assert f"(set-info :status {answer})" in text
        assert all(f"; assumed: {name}\n(assert" in text for name in one.build().assumptions)
        solver = z3.Solver()
        solver.from_file(str(written[one.name]))
        assert str(solver.check()) == answer


def test_an_unwritable_place_is_named(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    result = invoke("voting.union", "--out", "taken/deeper")
    assert result.exit_code == 2
    assert "taken" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_same_run_says_the_same_but_for_seconds(invoke: Invoke, timeless: Callable[[Any], Any]) -> None:
    first, second = (json.loads(invoke("voting.vote-exists", "--json").stdout) for _ in range(2))
    assert timeless(first) == timeless(second)
    told = first["identity"]
    assert len(told["sources"]) == 32
    assert set(told["versions"]) == {"rota", "python", "z3-solver"}
    assert told["settings"] == {"seed": 0, "tactic": None, "timeout": 60.0, "cross_check": False}
    lines = invoke("voting.vote-exists").stdout.splitlines()
    assert any(line.startswith(f"judged by: sources {told['sources'][:12]}, rota ") for line in lines)
