"""Walks side by side: plans are played in groups of their own, as many at once as is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from rota.generate.plan import Plan
from rota.generate.player import Coordinator, Played, play

AT_ONCE = 50
"""Groups that are walked on at a time."""


async def walk(
    coordinator: Coordinator,
    plans: Iterator[Plan],
    seconds: float,
    tag: str,
    done: Callable[[Played], object],
    at_once: int = AT_ONCE,
) -> None:
    """Play plans for so many seconds, each in a group of its own.

    A plan is begun as long as half of what it is silent for is left. tag: what the groups' names begin with.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    measuring = loop.create_task(coordinator.lateness.measure())
    stop = False

    async def one_after_the_other() -> None:
        nonlocal stop
        while not stop:
            plan = next(plans)
            if loop.time() + plan.seconds / 2 > end:
                stop = True
                return
            played, stage = await play(plan, coordinator, f"{tag}-{plan.id}")
            stage.close()
            done(played)

    try:
        await asyncio.gather(*(one_after_the_other() for _ in range(at_once)))
    finally:
        measuring.cancel()
