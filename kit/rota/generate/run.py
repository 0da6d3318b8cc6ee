"""One run: walks for so many seconds, judged beside, and what fails made short."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rota.generate.deaths import Alone, Death, culprit
from rota.generate.host import Host
from rota.generate.life import Died
from rota.generate.plan import Plan
from rota.generate.shrink import RUNS, runs_that_fail, shrunk
from rota.generate.verdicts import LIVES, Verdict, Walked
from rota.generate.walks import AT_ONCE, Judging, Plans, Walks

SHRINKING = 60.0
"""Seconds in which a failure is made shorter, at most."""

CAUSES = 8
"""Causes whose failures are made shorter; of the others one is shown as it was met."""

MOST_DEATHS = 3
"""Deaths of the target after which a run ends."""

MOST_UNDECIDED = 0.01
"""The part of walks that may end undecided without the run being so."""


@dataclass(frozen=True)
class Failure:
    """A cause for which walks fail.

    walked: the shortest that was found; met: ids of the walks in which it was met; runs: in how many of
    `RUNS` runs it fails, None where it was not played again.
    """

    walked: Walked
    met: tuple[str, ...]
    runs: int | None = None

    @property
    def told_runs(self) -> str:
        """In how many runs it fails, in words."""
        return "met once, not played again" if self.runs is None else f"{self.runs} of {RUNS} runs"


@dataclass
class Tally:
    """What a run has come to until now. died: ends of the target; fatal: walks that led to some, by cause."""

    plans: int = 0
    requests: int = 0
    undecided: list[Walked] = field(default_factory=list)
    reached: set[tuple[str, str]] = field(default_factory=set)
    failed: dict[tuple[str, ...], list[Walked]] = field(default_factory=dict)
    died: list[Death] = field(default_factory=list)
    fatal: dict[tuple[str, ...], Failure] = field(default_factory=dict)

    def add(self, walked: Walked) -> None:
        """One more walk."""
        self.plans += 1
        self.requests += walked.played.requests
        self.reached |= walked.reached
        if walked.verdict is Verdict.UNDECIDED:
            self.undecided.append(walked)
        elif walked.verdict is Verdict.FAIL:
            self.failed.setdefault(walked.cause, []).append(walked)

    @property
    def rules(self) -> set[str]:
        """Slugs of the rules that were reached."""
        return {slug for slug, _ in self.reached}

    @property
    def share_undecided(self) -> float:
        """The part of walks that is undecided."""
        return len(self.undecided) / self.plans if self.plans else 0.0


async def run(
    host: Host,
    plans: Plans,
    seconds: float,
    tally: Tally,
    judging: Judging,
    stopped: Callable[[], bool] = lambda: False,
    tell: Callable[[str], object] = lambda text: None,
    at_once: int = AT_ONCE,
) -> list[Failure]:
    """Walk for so many seconds; `tally` grows while it does. What fails, the shortest of each cause.

    Parameters: host, who has begun; plans, gives one after the other; judging, who judges; stopped, whether
    to end at once; tell, what is done now; at_once, groups. A target that dies is started again if it can.
    """
    end = asyncio.get_running_loop().time() + seconds
    failures: list[Failure] = []
    while host.coordinator is not None and len(tally.died) < MOST_DEATHS:
        walks = Walks(host.coordinator, f"walk-{os.urandom(3).hex()}", judging)
        measuring = asyncio.ensure_future(host.coordinator.lateness.measure())
        left = end - asyncio.get_running_loop().time()
        try:
            await walks.many(plans, left, tally.add, at_once, stopped)
            await host.coordinator.life.check()
            failures = [] if stopped() else await _failures(walks, tally, stopped, tell)
            break
        except Died as died:
            tell("the target has died; looking for the walk that ended it")
            await _account(walks, str(died), host, tally)
        finally:
            measuring.cancel()
    return [*tally.fatal.values(), *(failures or map(_as_met, tally.failed.values()))]


async def _account(walks: Walks, words: str, host: Host, tally: Tally) -> None:
    """Find out what ended the target; then it is there again, or the host has none."""
    under_way = [played.plan for played in walks.suspects()]
    ids = tuple(plan.id for plan in under_way)
    tally.died.append(Death(words, ids))
    alone = Alone(host)
    try:
        found = await culprit([*under_way, *walks.just_over()], alone.dies)
        if found is not None:
            tally.died[-1] = Death(words, ids, found.id)
            (walked,) = await alone.each([found])
            if walked.verdict is Verdict.FAIL and walked.cause not in tally.fatal:
                shortest = await shrunk(walked, alone.each, SHRINKING, at_once=1)
                runs = await runs_that_fail(shortest, alone.each)
                tally.fatal[walked.cause] = Failure(shortest, (walked.id,), runs)
    except Died:
        pass  # what was found until now is told
    host.coordinator = await host.again()


async def _failures(
    walks: Walks, tally: Tally, stopped: Callable[[], bool], tell: Callable[[str], object]
) -> list[Failure]:
    """The shortest failure of each cause; those that were met most often are made shorter."""
    most_met = sorted(tally.failed.values(), key=len, reverse=True)
    if most_met:
        tell(f"making the failures of {min(len(most_met), CAUSES)} causes shorter")
    shorter = (_failure(walks, each) for each in most_met[:CAUSES])
    if stopped():
        return [_as_met(each) for each in most_met]
    return [*await asyncio.gather(*shorter), *map(_as_met, most_met[CAUSES:])]


def _shortest(walked: list[Walked]) -> Walked:
    return min(walked, key=lambda one: (len(one.played.plan.steps), one.played.plan.number))


def _as_met(walked: list[Walked]) -> Failure:
    return Failure(_shortest(walked), tuple(one.id for one in walked))


async def _failure(walks: Walks, walked: list[Walked]) -> Failure:
    shortest = await shrunk(_shortest(walked), walks.each, SHRINKING)
    return replace(_as_met(walked), walked=shortest, runs=await runs_that_fail(shortest, walks.each))


async def replayed(host: Host, plan: Plan, cause: tuple[str, ...], judging: Judging) -> list[Walked]:
    """Play a plan `RUNS` times; the verdicts. cause: for which it failed; where that, or what it does now, is
    the end of the target, it is played on one after the other.
    """
    alone = Alone(host)
    if cause[:1] == (LIVES,) or host.coordinator is None:
        return await alone.each([plan] * RUNS)
    walks = Walks(host.coordinator, f"walk-{os.urandom(3).hex()}", judging)
    measuring = asyncio.ensure_future(host.coordinator.lateness.measure())
    try:
        return await walks.each([plan] * RUNS)
    except Died:
        return await alone.each([plan] * RUNS)
    finally:
        measuring.cancel()
