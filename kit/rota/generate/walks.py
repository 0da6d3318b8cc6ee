"""Walks side by side: plans are played in groups of their own, as many at once as is asked for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from rota.generate.aftermath import Harm, aftermath
from rota.generate.avoiding import Avoiding
from rota.generate.life import Life
from rota.generate.plan import Plan, Restart
from rota.generate.planner import Planner
from rota.generate.player import Coordinator, Played, Stage
from rota.generate.playing import play
from rota.generate.unread import Unread, spoken_in
from rota.generate.verdicts import Walked, explained, judged

R = TypeVar("R")

AT_ONCE = 50
"""Groups that are walked on at a time."""

SIGNALS = ("SIGKILL", "SIGTERM")
"""What ends the target in a restart."""

TICK = 0.2
"""Seconds after which whoever waits for walks looks around."""

RECENT = 5.0
"""Seconds before something happens in which what was over may have caused it."""

Judging = Callable[[Played, Harm | None], Awaitable[Walked]]
"""Judges what was played, and what polite members could not do after it."""


Explaining = Callable[[Walked, Sequence[Walked]], Awaitable[Walked]]
"""Looks which rules would explain a failure, with others that have the same cause."""

Plans = Callable[[], Awaitable[Plan]]
"""Gives the next plan."""


async def judged_here(played: Played, harm: Harm | None) -> Walked:
    """Judge in the loop that plays, which is late for it where time is real."""
    return judged(played, harm)


async def explained_here(failed: Walked, others: Sequence[Walked]) -> Walked:
    """Explain in the loop that plays."""
    return explained(failed, others)


@dataclass(frozen=True)
class Judges:
    """Who judges walks, and who explains those that fail."""

    judging: Judging = judged_here
    explaining: Explaining = explained_here


def drawn_here(planner: Planner) -> Plans:
    """Draw plans in the loop that plays, which is late for it where time is real."""
    plans = planner.plans()

    async def following() -> Plan:
        return next(plans)

    return following


async def finished(
    tasks: Sequence[asyncio.Future[R]], life: Life, stopped: Callable[[], bool] = lambda: False
) -> list[R] | None:
    """What comes of all of them; None if they were stopped.

    What one of them raises ends the others. Errors: Died, as soon as it is seen.
    """
    try:
        while not all(task.done() for task in tasks):
            if stopped():
                return None
            await asyncio.wait(tasks, timeout=TICK, return_when=asyncio.FIRST_EXCEPTION)
            for task in tasks:
                if task.done():
                    task.result()
            await life.look()
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def unless(stopped: Callable[[], bool], work: Coroutine[Any, Any, R]) -> R | None:
    """What comes of work that is ended where it is stopped; None if it was. Errors: those of the work."""
    doing = asyncio.ensure_future(work)
    try:
        while not doing.done():
            if stopped():
                return None
            await asyncio.wait([doing], timeout=TICK)
        return doing.result()
    finally:
        doing.cancel()
        await asyncio.wait([doing])


@dataclass
class Walks:
    """Plays plans with one coordinator. tag: what the groups' names begin with; judging: who judges;
    avoiding: has plans that avoid what went wrong before; unread: the versions in which nothing is asked.
    """

    coordinator: Coordinator
    tag: str
    judging: Judging = judged_here
    avoiding: Avoiding = field(default_factory=Avoiding)
    unread: Unread = field(default_factory=Unread)
    _groups: count[int] = field(default_factory=count)
    _under_way: dict[Stage, Plan] = field(default_factory=dict)
    _over: deque[tuple[float, Played]] = field(default_factory=lambda: deque(maxlen=AT_ONCE))

    async def one(self, plan: Plan) -> Walked:
        """Play a plan in a group of its own, and see what it leaves behind. Errors: Died."""
        return await self.judging(*await self._walked(plan))

    async def unjudged(self, plans: Sequence[Plan]) -> list[Played]:
        """Play plans side by side; what was seen. Errors: Died."""
        tasks = [asyncio.ensure_future(self._walked(plan)) for plan in plans]
        return [played for played, _ in await finished(tasks, self.coordinator.life) or ()]

    async def _walked(self, plan: Plan) -> tuple[Played, Harm | None]:
        group_id = f"{self.tag}-{plan.id}-{next(self._groups)}"
        stage, other = Stage(self.coordinator, group_id), Stage(self.coordinator, f"{group_id}-other")
        self._under_way[stage] = plan
        try:
            terms = spoken_in(plan, self.coordinator.terms)
            await play(plan, stage, terms)
            harm = await aftermath(stage, plan, terms, other)
            await stage.silence(0.1)
            await self.coordinator.life.look()
        finally:
            stage.close()
            other.close()
        del self._under_way[stage]
        played = stage.played(plan)
        self._over.append((asyncio.get_running_loop().time(), played))
        return played, harm

    def suspects(self) -> list[Played]:
        """The walks under way, or that were before a death, as far as they got, whoever asked last first."""
        latest = sorted(self._under_way.items(), key=lambda pair: -pair[0].last)
        return [stage.played(plan) for stage, plan in latest]

    def recent(self) -> list[Plan]:
        """Plans that may have done what has just happened: under way, as of `suspects`, or just over."""
        since = asyncio.get_running_loop().time() - RECENT
        over = [played.plan for at, played in reversed(self._over) if at > since]
        return [played.plan for played in self.suspects()] + over

    def met(self) -> list[Played]:
        """What was seen of the walks under way, and of those that were over last."""
        return [*self.suspects(), *(played for _, played in self._over)]

    def latest(self) -> Played:
        """The walk that asked last: under way, or the last that is over."""
        return next(iter(self.suspects()), None) or self._over[-1][1]

    async def each(self, plans: Sequence[Plan]) -> list[Walked]:
        """Play plans side by side; the verdicts in their order. Errors: Died."""
        tasks = [asyncio.ensure_future(self.one(plan)) for plan in plans]
        return await finished(tasks, self.coordinator.life) or []

    async def many(
        self,
        plans: Plans,
        seconds: float,
        done: Callable[[Walked], object],
        at_once: int = AT_ONCE,
        stopped: Callable[[], bool] = lambda: False,
        restarts: int = 0,
    ) -> None:
        """Play plans for so many seconds; `done` hears of each. What it raises ends all of them.

        Where walks fail, half of those that follow are the same again without what was answered wrongly.

        A plan is begun as long as half of what it is silent for is left. restarts: how many there are of the
        target meanwhile, where it can be restarted. Errors: Died.
        """
        end = asyncio.get_running_loop().time() + seconds

        async def one_after_the_other() -> None:
            while True:
                plan = self.unread.below(self.avoiding.next() or await plans())
                if plan.seconds / 2 > end - asyncio.get_running_loop().time():
                    return
                walked = await self.one(plan)
                done(walked)
                self.avoiding.hear(walked)
                self.unread.hear(walked.played)

        restarting = asyncio.ensure_future(self._restart(seconds, restarts, end))
        tasks = [asyncio.ensure_future(one_after_the_other()) for _ in range(at_once)]
        await finished([*tasks, restarting], self.coordinator.life, stopped)

    async def _restart(self, seconds: float, number: int, end: float) -> None:
        """Restart the target so many times, by each of the signals in turn; fewer where each takes long."""
        for one in range(number):
            await asyncio.sleep(seconds / (number + 1))
            if asyncio.get_running_loop().time() > end:
                return
            if self.coordinator.restarts is not None:
                chosen = tuple(self.coordinator.terms.other_settings.items()) if one % 2 == 0 else ()
                await self.coordinator.restarts.now(Restart(SIGNALS[one % len(SIGNALS)], chosen))
