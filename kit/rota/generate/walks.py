"""Walks side by side: plans are played in groups of their own, as many at once as is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from rota.generate.aftermath import aftermath
from rota.generate.plan import Plan
from rota.generate.planner import Planner
from rota.generate.player import Coordinator, Played, Stage, play
from rota.generate.verdicts import Walked, judged

AT_ONCE = 50
"""Groups that are walked on at a time."""

Judging = Callable[[Played, str], Awaitable[Walked]]
"""Judges what was played, and what polite members could not do after it."""


Plans = Callable[[], Awaitable[Plan]]
"""Gives the next plan."""


async def judged_here(played: Played, harm: str) -> Walked:
    """Judge in the loop that plays, which is late for it where time is real."""
    return judged(played, harm)


def drawn_here(planner: Planner) -> Plans:
    """Draw plans in the loop that plays, which is late for it where time is real."""
    plans = planner.plans()

    async def following() -> Plan:
        return next(plans)

    return following


@dataclass
class Walks:
    """Plays plans with one coordinator. tag: what the groups' names begin with; judging: who judges."""

    coordinator: Coordinator
    tag: str
    judging: Judging = judged_here
    _groups: count[int] = field(default_factory=count)

    async def one(self, plan: Plan) -> Walked:
        """Play a plan in a group of its own, and see what it leaves behind."""
        stage = Stage(self.coordinator, f"{self.tag}-{plan.id}-{next(self._groups)}")
        try:
            await play(plan, stage)
            harm = await aftermath(stage, plan, self.coordinator.terms)
            await stage.silence(0.1)
        finally:
            stage.close()
        return await self.judging(stage.played(plan), harm)

    async def each(self, plans: Sequence[Plan]) -> list[Walked]:
        """Play plans side by side; the verdicts in their order."""
        return [*await asyncio.gather(*(self.one(plan) for plan in plans))]

    async def many(
        self,
        plans: Plans,
        seconds: float,
        done: Callable[[Walked], object],
        at_once: int = AT_ONCE,
    ) -> None:
        """Play plans for so many seconds; `done` hears of each. What it raises ends all of them.

        A plan is begun as long as half of what it is silent for is left.
        """
        end = asyncio.get_running_loop().time() + seconds

        async def one_after_the_other() -> None:
            while True:
                plan = await plans()
                if plan.seconds / 2 > end - asyncio.get_running_loop().time():
                    return
                done(await self.one(plan))

        tasks = [asyncio.ensure_future(one_after_the_other()) for _ in range(at_once)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
