"""Processes that draw plans and judge walks while another one plays, which must not be late."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import active_children, get_context, parent_process

from rota.generate.aftermath import Harm
from rota.generate.cast import Terms
from rota.generate.plan import CLASSIC, Plan
from rota.generate.planners import plans_of
from rota.generate.player import Played
from rota.generate.verdicts import Walked, explained, judged
from rota.generate.walks import Judges, Plans
from rota.spec import Profile

FIRST, AT_A_TIME = 5, 20
"""How many plans are drawn before the first is played, and how many from then on."""

_drawing: list[Iterator[Plan]] = []
"""In a process that draws: the plans that are not drawn yet."""


@contextmanager
def judges() -> Iterator[Judges]:
    """Whoever judges and explains; the frames stay here."""
    with _processes(max(1, (os.cpu_count() or 2) - 1)) as pool:
        pool.submit(os.getpid).result()  # it takes its time to start, too

        async def judging(played: Played, harm: Harm | None) -> Walked:
            light = replace(played, messages=())
            walked = await asyncio.get_running_loop().run_in_executor(pool, judged, light, harm)
            return replace(walked, played=played)

        async def explaining(failed: Walked, others: Sequence[Walked]) -> Walked:
            lighter = [replace(one, played=replace(one.played, messages=())) for one in (failed, *others)]
            found = await asyncio.get_running_loop().run_in_executor(pool, explained, lighter[0], lighter[1:])
            return replace(found, played=failed.played)

        yield Judges(judging, explaining)


@contextmanager
def drawn(
    seed: int, terms: Terms, profile: Profile, protocols: Sequence[str] = (CLASSIC,)
) -> Iterator[Plans]:
    """Whoever draws plans: some are always there before they are asked for."""
    with _processes(1) as pool:
        pool.submit(_begin, seed, terms, profile, protocols)
        ready: deque[Plan] = deque()
        ready.extend(pool.submit(_next_plans, FIRST).result())  # a process takes its time to start
        coming = pool.submit(_next_plans, AT_A_TIME)

        async def following() -> Plan:
            nonlocal coming
            while not ready:
                found = coming
                plans = await asyncio.wrap_future(found)
                if found is coming:
                    ready.extend(plans)
                    coming = pool.submit(_next_plans, AT_A_TIME)
            return ready.popleft()

        yield following


@contextmanager
def _processes(number: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that are ended with the block, whatever they do then: nobody needs their plans any more."""
    others = set(active_children())
    pool = ProcessPoolExecutor(number, get_context("spawn"), _deaf)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - others:
            process.kill()  # it hears nothing else
        # Had it been said now that nothing is cancelled, what is cancelled would be told that it has failed.
        pool.shutdown(cancel_futures=True)


def _deaf() -> None:
    """Signals that end a run are for the process that plays, and this one ends with it, however it ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _begin(seed: int, terms: Terms, profile: Profile, protocols: Sequence[str]) -> None:
    _drawing.append(plans_of(seed, terms, profile, protocols))


def _next_plans(number: int) -> list[Plan]:
    return [next(_drawing[0]) for _ in range(number)]
