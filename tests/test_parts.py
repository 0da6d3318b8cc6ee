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

import failed
import parts

TESTS = Path(__file__).parent


def test_no_folder_is_in_two_parts_and_one_part_has_the_rest() -> None:
    folders = [folder for part in (*parts.PARTS, parts.PAGES) for folder in part.folders]
    assert len(folders) == len(set(folders))
    assert all((TESTS / folder).is_dir() for folder in folders)
    without = [part.name for part in parts.PARTS if not part.folders and not isinstance(part, parts.Types)]
    assert without == ["others"]


def test_of_those_that_wait_three_run_at_a_time() -> None:
    left, running, order = [*parts.with_pages()], [], []
    while left:
        part = parts.following(left, running[-3:])
        left.remove(part)
        running.append(parts.Running(part, Mock(), Path()))
        order.append(part)
    assert [part.waits for part in order[:4]] == [True, True, True, False]
    assert not any(part.waits for part in order[-5:]), "who waits alone leaves a processor idle"
    assert set(order) == {*parts.PARTS, parts.PAGES}


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
    capsys: pytest.CaptureFixture[str],
) -> None:
    planted = (Planted("one", script=script), *(Planted(f"fine-{n}", script=FINE) for n in range(4)))
    assert parts.main(planted, tmp_path) == code
    told = capsys.readouterr().out
    assert said in told
    assert told.count("  fine-") == 4


FAILS = """
import pathlib
import pytest


def broken():
    again = pathlib.Path("again")
    again.open("a").write("once ")
    return again.read_text().count("once") <= TIMES


@pytest.mark.parametrize("name", range(NUMBER))
def test_planted(name):
    assert not broken(), "late"


def test_fine():
    pass
"""


@pytest.mark.parametrize(
    ("number", "times", "code", "last"),
    [
        (1, 1, 0, "2 passed (1 of them only alone), 0 failed, 0 skipped"),
        (1, 9, 1, "1 passed, 1 failed, 0 skipped"),
        (5, 9, 1, "2 passed (1 of them only alone), 4 failed, 0 skipped"),
        (6, 6, 1, "1 passed, 6 failed, 0 skipped"),
    ],
    ids=["once", "always", "some", "too-many"],
)
def test_few_that_fail_are_run_once_more(
    number: int,
    times: int,
    code: int,
    last: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """number: of tests that fail, while together they have run so many times."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    text = FAILS.replace("NUMBER", str(number)).replace("TIMES", str(times))
    (tmp_path / "tests" / "test_planted.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    out = tmp_path / "out"
    assert parts.main([parts.Part("one", ("",))], out) == code
    told = capsys.readouterr().out
    passing = (
        "passed alone: tests.test_planted::test_planted[0] (failed beside the others: AssertionError: late"
    )
    assert (passing in told) == (times < number or times == 1)
    assert told.count("FAILED ") == (0 if code == 0 else int(last.split(" failed")[0].split()[-1]))
    assert (out / "tests-alone.xml").exists() == (number <= 5)
    assert "late" in (out / "tests-one.xml").read_text()
    assert failed.count([out / "tests-one.xml"]) == code
    assert capsys.readouterr().out == f"{last}\n"


def test_what_fails_otherwise_than_by_its_tests_fails_all(tmp_path: Path) -> None:
    """Tests that pass alone say nothing of the rest."""
    report = '<testsuites><testcase classname="a" name="b"><failure/></testcase></testsuites>'
    again = "<testsuites><testcase classname='a' name='b'/></testsuites>"
    for code, wanted in ((1, 0), (3, 1)):
        script = f"open(report, 'w').write({report!r}); exit({code})"
        one = Planted("one", script=script)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(
                parts.Alone,
                "command",
                lambda *_: (
                    sys.executable,
                    "-c",
                    f"open({str(tmp_path / 'tests-alone.xml')!r}, 'w').write({again!r})",
                ),
            )
            assert parts.main([one], tmp_path) == wanted


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="the kernel does not share out so")
@pytest.mark.parametrize(("waits", "nice"), [(True, 0), (False, parts.BEHIND)])
def test_what_computes_stands_back_behind_what_waits(waits: bool, nice: int, tmp_path: Path) -> None:
    one = parts.start(Planted("one", waits=waits, script="import time; time.sleep(600)"), tmp_path)
    told = Path(f"/proc/{one.process.pid}/autogroup").read_text()
    one.process.kill()
    one.process.wait()
    assert told.split()[-1] == str(nice)


ALONE = """
import pathlib, signal, sys
import parts
script = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
parts.Types.command = lambda *_: (sys.executable, "-c", script)
signal.signal(signal.SIGTERM, parts.interrupted)
parts.main([parts.Types("types")], pathlib.Path(sys.argv[1]))
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
