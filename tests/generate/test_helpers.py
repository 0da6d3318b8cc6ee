"""Processes that draw and judge end with the run, whatever they do just then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from harness.processes import alive
from rota.generate.helpers import _processes

MUCH_TOO_LONG = 60.0


def test_what_is_under_way_at_the_end_is_not_waited_for() -> None:
    with _processes(1) as pool:
        pool.submit(time.time).result()
        never = pool.submit(time.sleep, MUCH_TOO_LONG)
        while not never.running():
            time.sleep(0.01)
    assert isinstance(never.exception(), BrokenProcessPool)


def test_what_was_cancelled_before_the_end_is_not_told_that_it_has_failed(monkeypatch) -> None:
    """Somebody who judges is ended while others wait for him who do not want to know any more."""
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    with _processes(1) as pool:
        pool.submit(time.time).result()
        never = pool.submit(time.sleep, MUCH_TOO_LONG)
        others = [pool.submit(time.time) for _ in range(20)]
        while not never.running():
            time.sleep(0.01)
        cancelled = [one for one in others if one.cancel()]
    assert cancelled
    assert isinstance(never.exception(), BrokenProcessPool)
    assert raised == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_is_left_to_the_process_that_plays(number) -> None:
    with _processes(1) as pool:
        os.kill(pool.submit(os.getpid).result(), number)
        assert pool.submit(abs, -1).result() == 1


PLAYS = """
import os, sys, time
from rota.generate.helpers import _processes

if __name__ == "__main__":
    with _processes(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(60)
"""


def test_they_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    """A helper of a killed process is nobody's child any more, so that only its end can be seen."""
    (tmp_path / "plays.py").write_text(PLAYS)
    with subprocess.Popen((sys.executable, tmp_path / "plays.py"), stdout=subprocess.PIPE) as plays:
        assert plays.stdout is not None
        helper = int(plays.stdout.readline())
        plays.kill()
    deadline = time.monotonic() + 20
    while alive(helper) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(helper)
