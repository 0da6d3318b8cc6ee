"""Ctrl-C, SIGTERM and a terminal that goes away, at any moment: exit code 130, and what was found is kept."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.thinned import but
from rota.cli import interrupts
from rota.cli.errors import run
from rota.cli.interrupts import Interrupted, deaf, held, listen
from rota.cli.keeping import keep
from rota.cli.main import main
from rota.reading import read as reads
from rota.reading import read_by_cluster
from rota.report import writing

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONG: dict[str, tuple[tuple[str, ...], str | None]] = {
    "check": (("check", "--engine", "reference", "--workers", "1"), "check.json"),
    "workers": (("check", "--engine", "reference", "--workers", "2"), "check.json"),
    "simulate": (("simulate", "--runs", "10000000", "--configuration", "core"), None),
    "design": (("design", "all", "--engine", "reference", "--scope", "small"), "design.json"),
    "prove": (("prove", "voting", "core", "--workers", "1"), "prove.json"),
    "conform": (("conform", "--embedded", "sync"), "conform-rota.json"),
    "serve": (("serve",), None),
}
"""Calls that take long, and the report of which a part is kept as soon as something is printed."""

LINES = {"check": 3, "workers": 3, "design": 3, "conform": 3}
"""How many lines are printed until there is something to be kept, where it is not one."""


@pytest.fixture(autouse=True)
def _hangups_are_heard() -> Iterator[None]:
    """Whoever runs the tests may ignore them, and what he starts inherits that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def started(tmp_path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rota", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[bytes], number: signal.Signals) -> str:
    """Send the signal to all its processes, as a terminal does; what it says on stderr."""
    os.killpg(process.pid, number)
    told = process.communicate(timeout=60)[1].decode()
    assert "Traceback" not in told
    assert "internal" not in told
    return told


LIKE_OTHERS = (*(f"check {number}" for number in ENDING[1:]), "workers 2")
"""The other signals end a check in the tests below, too, and those of workers in their own."""


@pytest.mark.parametrize(
    ("verb", "number"),
    but(LIKE_OTHERS, [*((verb, signal.SIGINT) for verb in LONG),
                      *((verb, one) for verb in ("check", "serve") for one in ENDING[1:])]),
)  # fmt: skip
def test_every_verb_ends_with_130_and_keeps_what_it_has(
    tmp_path: Path, verb: str, number: signal.Signals
) -> None:
    arguments, report = LONG[verb]
    process = started(tmp_path, *arguments)
    assert process.stdout is not None
    for _ in range(LINES.get(verb, 1)):
        assert process.stdout.readline()
    told = ended(process, number)
    gentle = (verb, number) == ("serve", signal.SIGTERM)
    assert process.returncode == (0 if gentle else 130), told
    if report and verb != "conform":
        assert told.splitlines()[-1] == ("rota: interrupted" + _by(number))
    if report:
        kept = json.loads((tmp_path / "rota-out" / report).read_text())
        assert kept["verdict"] in ("undecided", "interrupted", "violated")
        assert not list((tmp_path / "rota-out").glob(".*"))


def _by(number: signal.Signals) -> str:
    return "" if number == signal.SIGINT else f" by {number.name}"


@pytest.mark.parametrize("seed", but(["0", "2"], range(4)))
def test_at_any_moment(tmp_path: Path, seed: int) -> None:
    """From before the first line of Python that is rota's to after the verdict."""
    process = started(tmp_path, "check", "--scope", "tiny", "--engine", "reference")
    while not os.read(os.open(f"/proc/{process.pid}/cmdline", os.O_RDONLY), 1000).count(b"rota"):
        time.sleep(0.001)
    time.sleep(random.Random(seed).uniform(0.3, 3))
    number = ENDING[seed % 3]
    ended(process, number)
    assert process.returncode in (130, 0)
    report = tmp_path / "rota-out" / "check.json"
    if report.exists():
        assert json.loads(report.read_text())["verdict"] == ("undecided" if process.returncode else "holds")


SENTENCES = (
    "Preparing to rebalance group orders in state Stable with old generation 6 (reason: a member left).",
    "Stabilized group orders generation 7 with 2 members.",
    "Assignment received from leader a-1 for group orders for generation 7. The group has 3 members, 0 of "
    "which are static.",
    "Group orders with generation 8 is now empty",
)
"""Of a broker's log: an assignment is for more members than have joined."""

LOGGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"


@pytest.mark.parametrize(
    ("verb", "read", "says"),
    [
        ("validate", 3, "violated: 1 violation in 1 group, 2 of 3 events judged"),
        ("explain", 3, "explained: 1 rebalance of 1 group, 2.0 s without an assignment"),
        ("validate", 0, ""),
        ("explain", 0, ""),
    ],
)
def test_what_was_read_until_then_is_told(
    verb: str,
    read: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of a log that another command goes on printing, too."""
    said = (f"[2026-11-23 02:00:0{at},000] INFO {words} ({LOGGER})\n" for at, words in enumerate(SENTENCES))
    (tmp_path / "server.log").write_text("".join(said))
    name = {"validate": "rota.cli.validate_run.read_by_cluster", "explain": "rota.cli.explain_run.read"}[verb]
    real = {"validate": read_by_cluster, "explain": reads}[verb]

    def interrupted(*arguments: Any, **options: Any) -> Iterator[Any]:
        for number, event in enumerate(real(*arguments, **options)):
            if number == read:
                raise Interrupted(signal.SIGTERM)
            yield event

    monkeypatch.setattr(name, interrupted)
    page = tmp_path / "page.html"
    call = [verb, str(tmp_path / "server.log"), "--report", f"html={page}"]
    code = run(lambda: main(call, standalone_mode=False))
    printed = capsys.readouterr()
    assert (code, printed.err) == (130, "rota: interrupted by SIGTERM\n")
    assert (printed.out.splitlines() or [""])[-1] == says
    assert page.exists() == bool(read)


FIRST_IMPORT = """
import os, runpy, signal, sys

class Impatient:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Impatient())
runpy.run_module("rota", run_name="__main__", alter_sys=True)
"""
"""The command, with a Ctrl-C when the first package that is not Python's is imported."""


def test_before_all_is_imported(tmp_path: Path) -> None:
    process = subprocess.run([sys.executable, "-c", FIRST_IMPORT], cwd=tmp_path, capture_output=True)
    assert (process.returncode, process.stdout, process.stderr) == (130, b"", b"rota: interrupted\n")


@pytest.mark.long
def test_a_comparison_keeps_what_it_has(tmp_path: Path) -> None:
    process = started(tmp_path, "conform", "--diff", "rota", "rota", "--seed", "1")
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"rota conform --diff: ")
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    shown, told = (text.decode() for text in process.communicate(timeout=60))
    progress = told.splitlines()  # where the machine is slow, how far it got
    assert all(line.startswith("conform --diff: ") and " plays" in line for line in progress), told
    assert process.returncode == 130
    assert re.search(r"^not checked: [\d,]+ dialogues?: interrupted$", shown, re.MULTILINE)
    assert shown.splitlines()[-1].startswith("interrupted: rota and rota: ")
    kept = (tmp_path / "rota-out" / "diff-rota-rota.txt").read_text()
    assert kept.splitlines()[0] == shown.splitlines()[-1]


def test_what_was_found_is_shown(tmp_path: Path) -> None:
    call = ("check", "--scope", "tiny", "--mutant", "leader-not-replaced", "--engine", "reference")
    process = started(tmp_path, *call, "--workers", "1", "--keep-going")
    assert process.stdout is not None
    while b" violated " not in process.stdout.readline():
        pass
    os.killpg(process.pid, signal.SIGINT)
    shown, told = process.communicate(timeout=60)
    if process.returncode == 130:  # else all was over already
        assert shown.splitlines()[-1].startswith(b"violated: join.leader-is-a-member")
        assert told.endswith(b"rota: interrupted\n")
    assert (tmp_path / "rota-out" / "trace-join.leader-is-a-member.jsonl").exists()


def test_under_nohup_a_terminal_may_go_away(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "rota", "prove", "voting.empty-list", "voting.tally", "--workers", "1"]
    process = subprocess.Popen(["nohup", *call], cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=60)[0].splitlines()[-1].startswith(b"holds: ")
    assert process.returncode == 0


def test_a_terminal_that_goes_away_ends_a_run(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "rota", *LONG["check"][0]])
    seen = b""
    while b"configuration " not in seen:
        seen += os.read(terminal, 1000)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert json.loads((tmp_path / "rota-out" / "check.json").read_text())["verdict"] == "undecided"


# ---- signals while files are written


@pytest.fixture
def listening() -> Iterator[None]:
    """As in the command, which is the first to listen (here Spark may be); afterwards as before."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING}
    hook = sys.unraisablehook
    listen()
    yield
    sys.unraisablehook = hook
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_what_is_being_written_is_written(
    listening: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    replace = writing._replace

    def interrupted(path: Path, content: bytes) -> None:
        signal.raise_signal(number)
        replace(path, content)

    monkeypatch.setattr(writing, "_replace", interrupted)
    with pytest.raises(Interrupted) as caught:
        keep({tmp_path / "one": "1", tmp_path / "two": "2"}, 0)
    assert str(caught.value) == _by(number).strip()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "1", "two": "2"}


def test_a_signal_counts_once_what_was_held_is_over(listening: None) -> None:
    reached = []

    def cut() -> None:
        with held():
            with held():
                signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(Interrupted):
        cut()
    assert reached
    with pytest.raises(Interrupted):
        signal.raise_signal(signal.SIGTERM)
    with held():
        pass


def test_when_all_is_said_signals_change_nothing(listening: None) -> None:
    deaf()
    for number in ENDING:
        signal.raise_signal(number)


def test_what_is_ignored_stays_ignored(listening: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupts.listen()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
