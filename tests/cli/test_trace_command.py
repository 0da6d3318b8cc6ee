"""`rota trace`: show, convert, replay, and what a broken file says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.main import main
from rota.trace import dumps, read, text

TOYS = Path(__file__).parents[1] / "systems"
TRUST = ("--system", "ticket_office:office")

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.setenv("PYTHONPATH", "")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["trace", *arguments])

    return run


@pytest.fixture
def file(invoke: Invoke, tmp_path: Path) -> Path:
    arguments = ["check", *TRUST, "--set", "fault=tickets.differ", "--engine", "reference", "--quiet"]
    assert CliRunner().invoke(main, arguments).exit_code == 1
    return tmp_path / "rota-out" / "trace-tickets.differ.jsonl"


def test_a_file_is_shown_as_text_or_as_it_is(invoke: Invoke, file: Path) -> None:
    told = read(file.read_text(encoding="utf-8"))
    shown = invoke(str(file))
    assert (shown.exit_code, shown.stdout) == (0, text(told))
    assert shown.stdout == file.with_suffix(".txt").read_text(encoding="utf-8")
    same = invoke(str(file), "--as", "jsonl")
    assert (same.exit_code, same.stdout) == (0, file.read_text(encoding="utf-8"))
    assert dumps(told) == same.stdout


def test_showing_runs_no_code(invoke: Invoke, file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    header = {**json.loads(lines[0]), "factory": "no_such_module:f"}
    file.write_text("\n".join([json.dumps(header), *lines[1:]]), encoding="utf-8")
    assert invoke(str(file)).exit_code == 0
    assert invoke(str(file), "--replay").exit_code == 2


def test_a_true_trace_is_reproduced(invoke: Invoke, file: Path) -> None:
    result = invoke(str(file), "--replay", *TRUST)
    assert (result.exit_code, result.stdout) == (0, "reproduced: tickets.differ after 2 steps\n")


def test_a_trace_of_another_system_differs(invoke: Invoke, file: Path) -> None:
    changed = file.read_text(encoding="utf-8").replace('"fault":"tickets.differ"', '"fault":""')
    file.write_text(changed, encoding="utf-8")
    result = invoke(str(file), "--replay", *TRUST)
    assert result.exit_code == 1
    assert result.stdout.startswith("differs: tickets.differ is not reproduced; step 2: ")
    assert result.stdout.count("\n") == 1


def test_settings_that_build_nothing_are_told_in_one_line(invoke: Invoke, file: Path) -> None:
    changed = file.read_text(encoding="utf-8").replace('"people":2', '"poeple":2')
    file.write_text(changed, encoding="utf-8")
    result = invoke(str(file), "--replay", *TRUST)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "cannot build the system of this trace (TypeError: " in result.stderr


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "line 1: the file is empty"),
        (b"hello\n", "line 1: this is not JSON"),
        (b"{}\n", "line 1: the header of a trace is due here"),
        (b"\xff\xfe", "byte 0 is no UTF-8"),
    ],
)
def test_a_file_that_is_no_trace_is_told_in_one_line(
    invoke: Invoke, tmp_path: Path, content: bytes, cause: str
) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    for more in ((), ("--replay",)):
        result = invoke("x.jsonl", *more)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith("rota: x.jsonl")
        assert cause in result.stderr


def test_a_file_cut_short_names_its_last_line(invoke: Invoke, file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    result = invoke(str(file))
    assert result.exit_code == 2
    assert "line 2: the file ends after 1 of the 2 steps" in result.stderr


def test_a_file_that_is_not_there_is_told(invoke: Invoke, tmp_path: Path) -> None:
    for path in ("nowhere.jsonl", str(tmp_path)):
        result = invoke(path)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert f"cannot read {path}: " in result.stderr
