"""Processes that draw and judge end with the run, whatever they do just then."""

from __future__ import annotations

import threading
import time
from concurrent.futures.process import BrokenProcessPool

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
