"""A failing plan made shorter, step by step, as long as what remains fails for the same cause."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from rota.generate.plan import Plan
from rota.generate.verdicts import Verdict, Walked

AT_ONCE = 16
"""Shorter plans that are tried side by side."""

RUNS = 5
"""How often the shortest one is played in the end."""

Play = Callable[[Sequence[Plan]], Awaitable[list[Walked]]]
"""Plays plans side by side."""


def after(seconds: float) -> Callable[[], bool]:
    """Tells whether so many seconds are over in the running loop."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    return lambda: loop.time() > end


async def shrunk(failed: Walked, play: Play, over: Callable[[], bool], at_once: int = AT_ONCE) -> Walked:
    """The shortest walk that is found to fail for the same cause, until it is over.

    at_once: how many plans are given to `play` at a time.
    """
    size = max(len(failed.played.plan.steps) // 2, 1)
    while size and not over():
        shorter = await _shorter(failed, play, size, at_once, over)
        if shorter is None:
            size //= 2
        else:
            failed = shorter
            size = min(size, max(len(failed.played.plan.steps) // 2, 1))
    return failed


async def _shorter(
    failed: Walked, play: Play, size: int, at_once: int, over: Callable[[], bool]
) -> Walked | None:
    """Leave out parts of this size: all at once that can be left out alone, else one of them."""
    plan = failed.played.plan
    places = range(len(plan.steps))
    parts = [frozenset(places[begin : begin + size]) for begin in range(0, len(places), size)]
    spared: list[frozenset[int]] = []
    best: Walked | None = None
    for begin in range(0, len(parts), at_once):
        if over():
            break
        some = parts[begin : begin + at_once]
        for part, walked in zip(some, await play([plan.without(part) for part in some]), strict=True):
            if fails_alike(walked, failed):
                best = walked
                spared.append(part)
    if len(spared) > 1:
        (together,) = await play([plan.without(frozenset().union(*spared))])
        if fails_alike(together, failed):
            return together
    return best


def fails_alike(walked: Walked, failed: Walked) -> bool:
    """Whether a walk fails for the cause that another one had."""
    return walked.verdict is Verdict.FAIL and walked.cause == failed.cause


async def runs_that_fail(failed: Walked, play: Play) -> int:
    """In how many of `RUNS` runs the plan fails for the same cause."""
    walked = await play([failed.played.plan] * RUNS)
    return sum(fails_alike(one, failed) for one in walked)
