"""What somebody does wrong who is new: each is told in one line what is wrong, and what to do about it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rota.cli import main as cli

NOTES = "notes.txt"
"""A file that is nothing to rota."""

CORE = "check --scope tiny --configuration core"

MISTAKES = {
    "trace nowhere.jsonl": (2, "cannot read nowhere.jsonl: No such file", "give the path of a trace file"),
    "trace .": (2, "cannot read .: Is a directory", "give the path of a trace file"),
    f"trace {NOTES}": (2, f"{NOTES} line 1: this is not JSON", "let `rota check` write it again"),
    "trace": (2, "missing argument 'FILE'", "see `rota trace --help`"),
    "check --scope huge": (2, "there is no scope 'huge'", "there are tiny, small"),
    "check --scope tiny --configuration pile-up": (2, "pile-up is not in scope tiny", "say --scope small"),
    f"check --out {NOTES}": (2, f"--out {NOTES} is a file", "name a folder"),
    f"{CORE} --checkpoint {NOTES}": (2, f"--checkpoint {NOTES} is a file", "name a folder"),
    f"{CORE} --out /proc/nowhere": (2, "cannot write /proc/nowhere", "name another folder with --out"),
    f"{CORE} --resume": (2, "--resume needs the folder", "name it: --checkpoint DIR"),
    f"{CORE} --resume --checkpoint empty": (2, "empty has no search of core", "--resume-if-any"),
    "check --workers 0": (2, "--workers cannot be 0", "x>=1"),
    "check --max-states many": (2, "--max-states takes a whole number, not 'many'", "`rota check --help`"),
    "check --json --mutant": (2, "'--mutant' requires an argument", "see `rota check --help`"),
    "check --system office": (2, "cannot read the system 'office'", "write --system MODULE:NAME"),
    "check --system nowhere:office": (2, "there is no module nowhere", "in the current directory"),
    "check --py-files nowhere.py": (2, "there is no nowhere.py", "check the path"),
    "check --runs 3": (2, "`rota check` has no --runs", "random walks are `rota simulate`"),
    "simulate --depth x": (2, "--depth takes a whole number, not 'x'", "see `rota simulate --help`"),
    "conform": (2, "no target", "give --target HOST:PORT, or --embedded"),
    "conform --target localhost": (2, "unknown target 'localhost'", "did you mean localhost:9092?"),
    "conform --target 9092": (2, "unknown target '9092'", "did you mean localhost:9092?"),
    "conform --target localhost:1": (3, "nothing listens at localhost:1", "start the broker"),
    "conform --target cmd:broker": (2, "names no {port}", "say where it gets its port from"),
    "conform --diff rota": (2, "'--diff' requires 2 arguments", "see `rota conform --help`"),
    "conform --embedded --known nowhere.toml": (2, "there is no file nowhere.toml", "name a list"),
    f"conform --embedded --out {NOTES} heartbeat": (
        2,
        "a file is where its folder should be",
        "choose another",
    ),
    "conform --embedded --report html": (2, "cannot read the report 'html'", "write KIND=PATH"),
    f"serve --data-dir {NOTES}": (2, f"--data-dir {NOTES} is a file", "name a folder"),
    "serve --data-dir /proc/nowhere": (2, "cannot use /proc/nowhere", "name a folder that can be written to"),
    "serve --port 99999": (2, "--port cannot be 99999", "in the range 0<=x<=65535"),
    "serve --port-file .": (2, "--port-file . is a folder", "name a file"),
    "serve --set group.max.size": (2, "cannot read --set 'group.max.size'", "write it as NAME=VALUE"),
    "serve --fsync sometimes": (2, "cannot read --fsync 'sometimes'", "give always, never or a number"),
    "prove nothing.at.all": (5, "no obligation is named nothing.at.all", "`rota prove --list`"),
    "rules quux": (2, "there is no rule 'quux'", "`rota rules` lists them all"),
    "help quux": (2, "no such command 'quux'", "see `rota --help`"),
    "completion tcsh": (2, "'tcsh' is not one of 'bash'", "see `rota completion --help`"),
}
"""What is typed -> exit code, words of the cause, words of the remedy."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is typed: there is a file that is nothing to rota."""
    monkeypatch.chdir(tmp_path)
    Path(NOTES).write_text("buy milk\n", encoding="utf-8")


@pytest.mark.parametrize("typed", MISTAKES)
def test_cause_and_remedy_are_in_one_line(typed: str) -> None:
    code, cause, remedy = MISTAKES[typed]
    outcome = CliRunner().invoke(cli.main, typed.split())
    assert outcome.exit_code == code, outcome.output
    lines = outcome.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("rota: ")
    before, found, after = lines[0].partition(cause)
    assert found, before
    assert remedy in after, after


@pytest.fixture
def port() -> Iterator[int]:
    """One on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_port_that_is_in_use_is_told(port: int) -> None:
    outcome = CliRunner().invoke(cli.main, ["serve", "--port", str(port)])
    assert outcome.exit_code == 2
    assert outcome.stderr == (
        f"rota: port {port} on 127.0.0.1 is in use; choose another --port, or 0 for any\n"
    )


def test_an_extra_that_is_missing_is_told() -> None:
    code = "import sys; sys.modules['z3'] = None; from rota.__main__ import entry; entry()"
    command = [sys.executable, "-c", code, "prove", "voting", "--list"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (2, "")
    assert "pip install 'rota[proofs]'" in told.stderr


@pytest.mark.parametrize("module", ["rota", "rota.cli", "rota.cli.main"])
def test_the_command_may_be_called_as_a_module(module: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", module, "chekc"], capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == "rota: no such command 'chekc'; did you mean check? see `rota --help`\n"
