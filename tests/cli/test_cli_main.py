"""The group `rota`: lazy verbs, one-line errors, exit codes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner, Result

from rota.cli import main as cli
from rota.cli.errors import UsageError, run


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, list(arguments))


def only_line(result: Result) -> str:
    """The single line on stderr; stdout must be empty."""
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes `rota doctor` raise what it is given."""

    def plant(error: BaseException) -> None:
        @click.command()
        def doctor() -> None:
            raise error

        monkeypatch.setattr("rota.cli.doctor.doctor", doctor)

    return plant


def test_version() -> None:
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("rota 0.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], ["nope", "rota --help"]),
        (["doctor", "--nope"], ["--nope", "rota doctor --help"]),
        (["doctor", "--require", "cobol"], ["cobol", "rota doctor --help"]),
        (["doctor", "stray"], ["stray", "rota doctor --help"]),
    ],
)
def test_clicks_own_errors_are_one_line_and_exit_2(arguments: list[str], words: list[str]) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    line = only_line(result)
    assert line.startswith("rota: ")
    for word in words:
        assert word in line


def test_a_verb_without_a_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "check", "rota.cli.no_such_verb:check")
    result = invoke("check")
    assert result.exit_code == 4
    assert "`rota check`" in only_line(result)
    assert "check       (not installed; see `rota doctor`)" in invoke("--help").stdout


@pytest.mark.parametrize(
    ("error", "exit_code", "words"),
    [
        (UsageError("no scope\n tinny; choose tiny"), 2, "rota: no scope tinny; choose tiny"),
        (UsageError("no target; start one", exit_code=3), 3, "rota: no target; start one"),
        (ModuleNotFoundError("No module named 'z3'", name="z3.z3util"), 2, "pip install 'rota[proofs]'"),
        (ModuleNotFoundError("No module named 'rota.gone'", name="rota.gone"), 4, "ROTA_DEBUG=1"),
        (PermissionError(13, "Permission denied", "rota-out"), 2, "rota-out: Permission denied"),
        (OSError(104, "Connection reset"), 4, "ROTA_DEBUG=1"),
        (MemoryError(), 3, "smaller scope"),
        (KeyError("boom"), 4, "KeyError: 'boom'; set ROTA_DEBUG=1"),
        (KeyboardInterrupt(), 130, "rota: interrupted"),
        (click.Abort(), 130, "rota: interrupted"),
        (SystemExit("rota stopped"), 2, "rota: rota stopped"),
    ],
)
def test_exceptions_have_a_line_and_a_code(
    verb: Callable[[BaseException], None], error: BaseException, exit_code: int, words: str
) -> None:
    verb(error)
    result = invoke("doctor")
    assert result.exit_code == exit_code
    assert words in only_line(result)


def test_a_closed_pipe_is_quiet_and_undecided(verb: Callable[[BaseException], None]) -> None:
    verb(BrokenPipeError(32, "Broken pipe"))
    result = invoke("doctor")
    assert result.exit_code == 3
    assert result.output == ""


def test_traceback_only_on_demand(
    verb: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    verb(KeyError("boom"))
    monkeypatch.setenv("ROTA_DEBUG", "1")
    result = invoke("doctor")
    assert result.exit_code == 4
    assert "Traceback (most recent call last)" in result.stderr


def test_usage_errors_keep_their_code_without_the_group() -> None:
    @click.command()
    def alone() -> None:
        raise UsageError("nothing selected; name one", exit_code=5)

    result = CliRunner().invoke(alone, [])
    assert result.exit_code == 5
    assert only_line(result) == "rota: nothing selected; name one"


def test_run_returns_what_the_call_returns() -> None:
    assert run(lambda: 3) == 3
    assert run(lambda: None) == 0
    assert run(lambda: sys.exit(5)) == 5


def test_module_and_script_behave_alike() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "rota", "nope"], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 2
    assert finished.stderr.startswith("rota: no such command 'nope'")
    assert finished.stderr.count("\n") == 1
