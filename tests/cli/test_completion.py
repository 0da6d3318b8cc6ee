"""Shells complete verbs, options and names: what their scripts ask and what they are answered."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness import thinned
from rota.cli.completion import INSTALL, script
from rota.cli.main import COMMANDS
from rota.scopes import consumer, load

Rota = Callable[..., "CompletedProcess[bytes]"]

CPU = 1.0
"""Seconds of processor that an answer may take: some times what it takes where nothing else runs."""


@pytest.fixture
def completed(rota: Rota) -> Callable[[str], list[str]]:
    """What a shell is offered for a line that ends where the cursor is; the script of bash asks so."""

    def ask(line: str) -> list[str]:
        words = line.split()
        number = len(words) if line.endswith(" ") else len(words) - 1
        outcome = rota(_ROTA_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(number))
        assert (outcome.returncode, outcome.stderr) == (0, b"")
        return [one.partition(",")[2] for one in outcome.stdout.decode().split()]

    return ask


LINES = [
    ("rota ", ["check", "conform", "completion"]),
    ("rota ch", ["check"]),
    ("rota help si", ["simulate"]),
    ("rota check --res", ["--resume", "--resume-if-any"]),
    ("rota check --scope ", ["tiny", "small", "standard", "nightly", "endless"]),
    ("rota check --profile kafka-3", ["kafka-3.x"]),
    ("rota check --engine f", ["fast"]),
    ("rota check --mutant barrier-ig", ["barrier-ignores-pending"]),
    ("rota check --property weakness.unused", ["weakness.unused-id-holds-up"]),
    ("rota check --property deadl", ["deadlock"]),
    ("rota check --scope tiny --configuration rejo", ["rejoin"]),
    ("rota check --master sp", ["spark://"]),
    ("rota simulate --mutant barrier-ig", ["barrier-ignores-pending"]),
    ("rota design wa", ["watchers"]),
    ("rota design watchers --mutant notif", ["notifies-one"]),
    ("rota design server-side --configuration tw", ["two"]),
    ("rota rules join.lead", ["join.leader"]),
    ("rota conform --target kafka-4", ["kafka-4.4.0"]),
    ("rota conform --diff rota lib", ["librdkafka-mock"]),
    ("rota conform --embedded sync.unknown-member.str", ["sync.unknown-member.stranger"]),
    ("rota conform --report ju", ["junit="]),
    ("rota prove vot", ["voting"]),
    ("rota prove voting.coun", ["voting.counters"]),
    ("rota serve --set group.max.si", ["group.max.size="]),
    ("rota serve --log-level i", ["info"]),
    ("rota trace --profile kafka-2", ["kafka-2.1"]),
    ("rota play --mutant barrier-ig", ["barrier-ignores-pending"]),
    ("rota completion z", ["zsh"]),
]
"""What is typed, and some of what is offered."""


@pytest.mark.parametrize(
    ("line", "some"),
    thinned.some(LINES, 6),
)
def test_what_is_offered(line: str, some: list[str], completed: Callable[[str], list[str]]) -> None:
    offered = completed(line)
    assert [one for one in some if one not in offered] == []
    typed = "" if line.endswith(" ") else line.split()[-1]
    assert all(one.startswith(typed) for one in offered)


def test_configurations_are_those_of_the_scope(completed: Callable[[str], list[str]]) -> None:
    for scope in ("tiny", "nightly"):
        there = [one.name for one in load(scope).configurations if one.is_for("kafka-4.x")]
        assert completed(f"rota check --protocol classic --scope {scope} --configuration ") == there
    others = [one.name for one in consumer("nightly").configurations]
    assert completed("rota check --protocol consumer --scope nightly --configuration ") == others
    assert completed("rota check --scope nightly --configuration ") == [*others, *there]
    assert completed("rota check --scope tnyi --configuration ") == []


def test_files_of_traces_are_offered_and_folders_on_the_way(
    completed: Callable[[str], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "rota-out").mkdir()
    for name in ("rota-out/trace-a.jsonl", "rota-out/trace-a.txt", "b.jsonl"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert completed("rota trace ") == ["b.jsonl", "rota-out/"]
    assert completed("rota trace rota-out/tr") == ["rota-out/trace-a.jsonl"]
    assert completed("rota trace nowhere/") == []


def test_zsh_and_fish_are_told_what_a_name_is(rota: Rota) -> None:
    asked = {"COMP_WORDS": "rota rules join.leader", "COMP_CWORD": "2"}
    zsh = rota(_ROTA_COMPLETE="zsh_complete", **asked).stdout.decode().splitlines()
    at = zsh.index("join.leader")
    assert zsh[at - 1] == "plain"
    asked["COMP_CWORD"] = "join.leader"
    fish = rota(_ROTA_COMPLETE="fish_complete", **asked).stdout.decode().splitlines()
    assert f"plain,join.leader\t{zsh[at + 1]}" in fish


@pytest.mark.parametrize(
    "line",
    thinned.but(
        ["rota conform --target ", "rota "],
        ["rota check --mutant b", "rota conform --target ", "rota rules j", "rota "],
    ),
)
def test_an_answer_comes_at_once(line: str, completed: Callable[[str], list[str]]) -> None:
    completed(line)  # what is compiled once is there
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert completed(line)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < CPU


def test_nothing_heavy_is_imported_for_a_verb() -> None:
    """Neither engines nor solvers nor servers, when help and completion ask a verb for its options."""
    heavy = ("numpy", "numba", "z3", "pyspark", "asyncio", "rota.server.broker")
    code = "import sys, importlib\nfor v in sys.argv[2:]: importlib.import_module(f'rota.cli.{v}')\n"
    code += "print(*(m for m in sys.argv[1].split(',') if m in sys.modules))"
    verbs = [verb for verb in COMMANDS if verb not in ("serve", "doctor")]
    finished = subprocess.run(
        [sys.executable, "-c", code, ",".join(heavy), *verbs], capture_output=True, text=True, check=True
    )
    assert finished.stdout.split() == []


@pytest.mark.parametrize("shell", INSTALL)
def test_a_script_says_how_it_is_installed_and_is_that_of_click(shell: str, rota: Rota) -> None:
    printed = rota("completion", shell).stdout.decode()
    assert printed == script(shell)
    assert f"rota completion {shell}" in printed
    clicks = rota(_ROTA_COMPLETE=f"{shell}_source").stdout.decode()
    assert [line for line in printed.splitlines() if not line.startswith("# ")] == clicks.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_with_it(tmp_path: Path) -> None:
    """The script is sourced, and its function called as bash calls it."""
    (tmp_path / "rota").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rota "$@"\n', encoding="utf-8")
    (tmp_path / "rota").chmod(0o755)
    asking = 'COMP_WORDS=(rota check --scope ti); COMP_CWORD=3; _rota_completion rota; echo "${COMPREPLY[@]}"'
    finished = subprocess.run(
        ["bash", "--norc", "-c", f'eval "$(rota completion bash)"; {asking}'],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        check=False,
    )
    assert (finished.stdout, finished.stderr) == ("tiny\n", "")
