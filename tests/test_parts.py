"""The parts of `make test`: what runs beside what, and what becomes of parts that fail or are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import pytest

import parts

TESTS = Path(__file__).parent


def test_no_folder_is_in_two_parts_and_one_part_has_the_rest() -> None:
    folders = [folder for part in parts.PARTS for folder in part.folders]
    assert len(folders) == len(set(folders))
    assert all((TESTS / folder).is_dir() for folder in folders)
    without = [part.name for part in parts.PARTS if not part.folders and not isinstance(part, parts.Types)]
    assert without == ["others"]


def test_of_those_that_wait_two_run_at_a_time() -> None:
    left, running, order = list(parts.PARTS), [], []
    while left:
        part = parts.following(left, running[-2:])
        left.remove(part)
        running.append(parts.Running(part, Mock(), Path()))
        order.append(part)
    assert [part.waits for part in order[:3]] == [True, True, False]
    assert set(order) == set(parts.PARTS)


@dataclass(frozen=True)
class Planted(parts.Part):
    """A part that does as it is told."""

    script: str = ""

    def command(self, out: Path) -> Sequence[str]:
        return (sys.executable, "-c", f"report = {str(self.report(out))!r}\n{self.script}")


FINE = "open(report, 'w').write('<testsuites/>'); print('=== 3 passed ===')"


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [(FINE, 0, "3 passed"), (f"{FINE}; exit(1)", 1, "3 passed"), ("print('gone')", 1, "not written")],
)
def test_a_part_that_fails_is_told(
    script: str,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(parts, "PARTS", (Planted("one", script=script), *[Planted("two", script=FINE)] * 4))
    assert parts.main(tmp_path) == code
    told = capsys.readouterr().out
    assert said in told
    assert told.count("  two  ") == 4


ALONE = """
import pathlib, signal, sys
import parts
script = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
parts.PARTS = (parts.Types("types"),)
parts.Types.command = lambda *_: (sys.executable, "-c", script)
signal.signal(signal.SIGTERM, parts.interrupted)
parts.main(pathlib.Path(sys.argv[1]))
"""


def test_what_runs_is_ended_with_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen([sys.executable, "-c", ALONE, str(tmp_path)], env=environment) as process:
        told = tmp_path / "tests-types.txt"
        while not (told.exists() and told.read_text().strip()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text().split()[0]), 0)
