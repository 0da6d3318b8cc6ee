"""Processes that draw and judge end with the run, whatever they do just then."""

from __future__ import annotations

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
