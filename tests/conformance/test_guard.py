"""What is guarded ends with whoever wanted it, and its folder goes too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.processes import alive
from rota.conformance.targets.guard import Guard, guarded

FOREVER = ("sh", "-c", "echo $$ > {pid}; exec sleep 1000")


def command(*words: str, pid: Path | None = None) -> list[str]:
    return [word.format(pid=pid) for word in words]


def written(path: Path) -> int:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text().strip()):
            return int(text)
        time.sleep(0.02)
    raise AssertionError(f"{path} was not written")


def gone(pid: int, folder: Path) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not alive(pid) and not folder.exists():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    return tmp_path / "folder"


def run(folder: Path, *commands: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Runs with a standard input that stays open."""
    reading, writing = os.pipe()
    try:
        return subprocess.run(
            guarded(str(folder), commands), stdin=reading, capture_output=True, text=True, timeout=30
        )
    finally:
        os.close(reading)
        os.close(writing)


def test_commands_run_one_after_the_other_in_the_folder(folder: Path) -> None:
    done = run(folder, ("sh", "-c", "pwd; touch made"), ("sh", "-c", "ls; exit 7"))
    assert done.returncode == 7
    assert done.stdout == ""
    assert done.stderr.split() == [str(folder), "deep", "made"]
    assert not folder.exists()


def test_nothing_follows_a_command_that_failed(folder: Path) -> None:
    done = run(folder, ("false",), ("echo", "never"))
    assert (done.returncode, done.stderr) == (1, "")
    assert not folder.exists()


def test_a_signal_that_ends_the_command_is_told(folder: Path) -> None:
    assert run(folder, ("sh", "-c", "kill -9 $$")).returncode == 128 + 9


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_ends_with_a_signal(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    line = guarded(str(folder), [command(*FOREVER, pid=tmp_path / "pid"), ("touch", str(tmp_path / "never"))])
    with subprocess.Popen(line, stdin=subprocess.PIPE) as guard:
        child = written(tmp_path / "pid")
        guard.send_signal(number)
        assert guard.wait(timeout=10) == 128 + signal.SIGKILL
    assert gone(child, folder)
    assert not (tmp_path / "never").exists()


def test_a_signal_while_a_command_is_being_started_ends_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = Guard()

    class Interrupted(subprocess.Popen[bytes]):
        """What its handler does comes before the guard knows of the process."""

        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            guard.abandon()

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    assert guard.run(("sleep", "10"), str(folder)) == -signal.SIGKILL


PARENT = """
import sys, time
from rota.conformance.targets.guard import guarded
from rota.conformance.targets.process import Process
process = Process(guarded(sys.argv[1], [sys.argv[2:]]))
time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_ends_when_its_parent_does(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    line = [sys.executable, "-c", PARENT, str(folder), *command(*FOREVER, pid=tmp_path / "pid")]
    with subprocess.Popen(line, stderr=subprocess.DEVNULL) as parent:
        child = written(tmp_path / "pid")
        assert alive(child)
        parent.send_signal(number)
        parent.wait(timeout=10)
    assert gone(child, folder)
