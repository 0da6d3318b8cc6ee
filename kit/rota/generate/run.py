"""One run: walks for so many seconds, judged beside, and what fails made short."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from rota.generate.bystander import HARMED, Beside, Bystander
from rota.generate.deaths import Alone, Death, culprit
from rota.generate.fatal import Fatal
from rota.generate.host import Host
from rota.generate.life import Died
from rota.generate.plan import CLASSIC, Plan
from rota.generate.rest import Rest, rest
from rota.generate.shrink import RUNS, after, runs_that_fail, shrunk
from rota.generate.unread import Unread
from rota.generate.verdicts import LIVES, Verdict, Walked, out_of_time
from rota.generate.walks import AT_ONCE, Explaining, Judges, Judging, Plans, Walks, unless

SHRINKING = 60.0
"""Seconds in which a failure is made shorter, at most."""

EXPLAINING = 60.0
"""Seconds in which it is looked which rules explain failures; what is left then has the nearest rule."""

CAUSES = 8
"""Causes whose failures are made shorter; of the others one is shown as it was met."""

BETWEEN_RESTARTS = 25.0
"""Seconds between the restarts of a target that is walked on, about."""

MOST_DEATHS = 12
"""Deaths of the target after which a run ends."""

MOST_UNEXPLAINED = 3
"""Of these, deaths of which nobody knows what to leave out to go on."""

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
    """What a run has come to until now.

    once: failures that were let pass, whose walks are undecided; died: ends of the target; apart: failures
    that were looked for on their own, by cause; bystander; restarts, how many; set_otherwise, whether in some
    of them; transactional, whether some walks had transactions; avoiding, how many walks were others again
    without what went wrong in them; unread, of an API the first version that was left out in the end; looks,
    whether the target's looks for what has expired were followed; rest, how the target came to it, if that
    can be seen; protocols, of the groups that were walked on; unexplained, failures whose rules could not be
    looked for, and why.
    """

    plans: int = 0
    requests: int = 0
    undecided: list[Walked] = field(default_factory=list)
    reached: set[tuple[str, str]] = field(default_factory=set)
    failed: dict[tuple[str, ...], list[Walked]] = field(default_factory=dict)
    died: list[Death] = field(default_factory=list)
    apart: dict[tuple[str, ...], Failure] = field(default_factory=dict)
    once: list[Failure] = field(default_factory=list)
    bystander: Bystander | None = None
    restarts: int = 0
    set_otherwise: bool = False
    transactional: bool = False
    avoiding: int = 0
    unread: dict[str, int] = field(default_factory=dict)
    looks: bool = False
    rest: Rest | None = None
    protocols: tuple[str, ...] = (CLASSIC,)
    unexplained: list[str] = field(default_factory=list)

    def add(self, walked: Walked) -> None:
        """One more walk."""
        self.plans += 1
        self.requests += walked.played.requests
        self.reached |= walked.reached
        self.transactional |= walked.played.plan.transactional
        if walked.verdict is Verdict.UNDECIDED:
            self.undecided.append(walked)
        elif walked.verdict is Verdict.FAIL:
            self.failed.setdefault(walked.cause, []).append(walked)

    def let_pass(self, failure: Failure, out_of_time: Callable[[Walked], bool] = out_of_time) -> bool:
        """Count a failure among what is undecided if it may be the machine's: something came at a wrong time,
        and never did again. Whether it is.
        """
        walks = self.failed[failure.walked.cause]
        if failure.runs != 0 or not all(map(out_of_time, (failure.walked, *walks))):
            return False
        self.once.append(failure)
        self.undecided += walks
        del self.failed[failure.walked.cause]
        return True

    @property
    def goes_on(self) -> bool:
        """Whether the target has not died too often."""
        unexplained = sum(not death.culprit for death in self.died)
        return len(self.died) < MOST_DEATHS and unexplained < MOST_UNEXPLAINED

    def blame(self, failure: Failure | None) -> None:
        """One more failure that was looked for on its own, if it was found."""
        if failure is not None:
            self.apart.setdefault(failure.walked.cause, failure)

    @property
    def rules(self) -> set[str]:
        """Slugs of the rules that were reached."""
        return {slug for slug, _ in self.reached}

    @property
    def share_undecided(self) -> float:
        """The part of walks that is undecided."""
        return len(self.undecided) / self.plans if self.plans else 0.0


def restarts_within(seconds: float) -> int:
    """How often a target is restarted that is walked on for so long."""
    return round(seconds / BETWEEN_RESTARTS)


async def run(
    host: Host,
    plans: Plans,
    seconds: float,
    tally: Tally,
    judges: Judges,
    stopped: Callable[[], bool] = lambda: False,
    tell: Callable[[str], object] = lambda text: None,
    at_once: int = AT_ONCE,
) -> list[Failure]:
    """Walk for so many seconds; `tally` grows while it does. What fails, the shortest of each cause.

    Parameters: host, who has begun; plans, gives one after the other; judges, of walks; stopped, whether
    to end at once; tell, what is done now, which is empty while it walks; at_once, groups. A target that dies
    is started again if it can be, and is not asked again what has ended it.
    """
    fatal, unread = Fatal(), Unread(host.coordinator.unreadable if host.coordinator else None)

    async def harmless() -> Plan:
        return fatal.without(await plans())

    end = asyncio.get_running_loop().time() + seconds
    failures: list[Failure] = []
    while host.coordinator is not None and tally.goes_on:
        walks = Walks(host.coordinator, f"walk-{os.urandom(3).hex()}", judges.judging, unread=unread)
        measuring = asyncio.ensure_future(host.coordinator.lateness.measure())
        left = end - asyncio.get_running_loop().time()
        try:
            await _walk_beside(walks, harmless, left, tally, at_once, stopped, tell)
            failures = await _failures(walks, tally, judges.explaining, stopped, tell)
            tell("looking whether the target comes to rest")
            tally.rest = await unless(stopped, rest(host.processor_seconds))
            break
        except Died as died:
            tell("the target has died; looking for the walk that ended it")
            found = await _account(walks, str(died), host, tally, stopped)
            if found is not None:
                fatal.learn(found.walked.played.plan, walks.met())
            tell("")
        finally:
            measuring.cancel()
    return [*tally.apart.values(), *(failures or map(_as_met, tally.failed.values()))]


async def _walk_beside(
    walks: Walks,
    plans: Plans,
    seconds: float,
    tally: Tally,
    at_once: int,
    stopped: Callable[[], bool],
    tell: Callable[[str], object],
) -> None:
    """Walk, with a bystander beside it; where that one is harmed, look for the walk that does it."""
    suspects: list[Plan] = []
    bystander = Bystander(walks.coordinator, lambda: suspects.extend(walks.recent()))
    living = asyncio.ensure_future(bystander.live())
    try:
        await walks.many(plans, seconds, tally.add, at_once, stopped, restarts_within(seconds))
        await walks.coordinator.life.check()
    finally:
        living.cancel()
        tally.bystander = bystander.and_before(tally.bystander)
        tally.avoiding += walks.avoiding.walked
        tally.unread |= walks.unread.first
        tally.looks = walks.coordinator.terms.looks_every_ms is not None
        if walks.coordinator.restarts is not None:
            tally.restarts += walks.coordinator.restarts.done
            tally.set_otherwise |= bool(tally.restarts and walks.coordinator.terms.other_settings)
    if bystander.harm:
        tell("a bystander was harmed; looking for the walk that did it")
        tally.blame(await unless(stopped, _blamed(suspects, Beside(walks.coordinator))))


async def _account(
    walks: Walks, words: str, host: Host, tally: Tally, stopped: Callable[[], bool]
) -> Failure | None:
    """Find out what ended the target; then it is there again, or the host has none, as if stopped."""
    found, suspects = None, walks.recent()
    ids = tuple(played.plan.id for played in walks.suspects())
    tally.died.append(Death(words, ids))
    try:
        found = await unless(stopped, _blamed(suspects, Alone(host)))
        if found is not None:
            tally.died[-1] = Death(words, ids, found.walked.id)
        tally.blame(found)
    except Died:
        pass  # what was found until now is told
    host.coordinator = None if stopped() else await host.again()
    return found


class _Plays(Protocol):
    """Whoever plays plans apart from the walks, to see which one it is."""

    @property
    def targets(self) -> int:
        """On how many targets at a time."""

    async def fails(self, groups: Sequence[Sequence[Plan]]) -> list[bool]:
        """As of `culprit`."""

    async def each(self, plans: Sequence[Plan]) -> list[Walked]:
        """Plans, none beside another one on the same target."""


async def _blamed(suspects: Sequence[Plan], plays: _Plays) -> Failure | None:
    """The shortest plan that was found to do it alone."""
    found = await culprit(suspects, plays.fails, plays.targets)
    if found is None:
        return None
    (walked,) = await plays.each([found])
    if walked.verdict is not Verdict.FAIL:
        return None
    shortest = await shrunk(walked, plays.each, after(SHRINKING), at_once=plays.targets)
    return Failure(shortest, (walked.id,), await runs_that_fail(shortest, plays.each))


async def _failures(
    walks: Walks,
    tally: Tally,
    explaining: Explaining,
    stopped: Callable[[], bool],
    tell: Callable[[str], object],
) -> list[Failure]:
    """The shortest failure of each cause; those that were met most often are made shorter and explained.
    Where it is stopped, what is not done yet is left as it was met.
    """
    most_met = sorted(tally.failed.values(), key=len, reverse=True)
    if most_met:
        tell(f"making what fails shorter ({min(len(most_met), CAUSES)} of {len(most_met)} causes)")
    shortened = (unless(stopped, _failure(walks, each)) for each in most_met[:CAUSES])
    played = [
        one or _as_met(each) for one, each in zip(await asyncio.gather(*shortened), most_met, strict=False)
    ]
    shorter = [(one, each) for one, each in zip(played, most_met, strict=False) if not tally.let_pass(one)]
    if shorter:
        tell("looking for the rules that explain what fails")
    explained: list[Failure] = []
    over = after(EXPLAINING)
    for one, each in shorter:
        if over():
            break
        found = await unless(
            stopped, _explained(one, [_shortest(each)], explaining, tally.unexplained.append)
        )
        if found is None:
            break
        explained.append(found)
    left = [one for one, _ in shorter[len(explained) :]]
    return [*explained, *left, *map(_as_met, most_met[CAUSES:])]


async def _explained(
    failure: Failure, others: Sequence[Walked], explaining: Explaining, tell: Callable[[str], object]
) -> Failure:
    """The failure with the rules that may be its cause; as it is, where rota cannot look for them: what a run
    has found is not lost by that.
    """
    try:
        return replace(failure, walked=await explaining(failure.walked, others))
    except Exception as error:
        tell(f"{failure.walked.id}, since rota itself is wrong there (report it): {error!r}")
        return failure


def _shortest(walked: list[Walked]) -> Walked:
    return min(walked, key=lambda one: (len(one.played.plan.steps), one.played.plan.number))


def _as_met(walked: list[Walked]) -> Failure:
    return Failure(_shortest(walked), tuple(one.id for one in walked))


async def _failure(walks: Walks, walked: list[Walked]) -> Failure:
    shortest = await shrunk(_shortest(walked), walks.each, after(SHRINKING))
    return replace(_as_met(walked), walked=shortest, runs=await runs_that_fail(shortest, walks.each))


async def replayed(host: Host, plan: Plan, cause: tuple[str, ...], judging: Judging) -> list[Walked]:
    """Play a plan `RUNS` times; the verdicts. cause: for which it failed; where that, or what it does now, is
    the end of the target, it is played on one after the other, and beside a bystander who was harmed.
    """
    alone = Alone(host)
    if cause[:1] == (LIVES,) or host.coordinator is None:
        return await alone.each([plan] * RUNS)
    if cause == HARMED:
        return await Beside(host.coordinator).each([plan] * RUNS)
    walks = Walks(host.coordinator, f"walk-{os.urandom(3).hex()}", judging)
    measuring = asyncio.ensure_future(host.coordinator.lateness.measure())
    try:
        return await walks.each([plan] * RUNS)
    except Died:
        return await alone.each([plan] * RUNS)
    finally:
        measuring.cancel()
