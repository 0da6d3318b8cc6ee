"""Looks for a planted bug by walks on rota's own server in virtual time.

Each plan is played on a fresh server. Nothing there depends on anything but the plan, so what a sound server
says to it is played once, and a server with a bug is judged only where it says something else, or at another
moment: where it says the same the verdict is the same. Where the function that has the bug is never called it
is not even played.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import count
from types import FrameType

from rota.generate.aftermath import Harm, aftermath
from rota.generate.plan import CLASSIC, Plan
from rota.generate.planners import plans_of
from rota.generate.player import Coordinator, Played, Stage
from rota.generate.playing import play
from rota.generate.settings import SETTINGS
from rota.generate.shrink import shrunk
from rota.generate.transactions import TransactionPlanner
from rota.generate.verdicts import Verdict, Walked, explained, judged
from rota.generate.virtual import NotEnded, in_virtual_time
from rota.generate.walks import AT_ONCE
from rota.mutants.core import CoreBug, place, planted

CORE = "rota.coordinator."
"""Where bugs are planted."""

BUDGET = 60.0
"""Seconds of virtual time, as long as a run is by default."""


@dataclass(frozen=True)
class Trial:
    """A plan played on a server of its own. harm: as of `aftermath`; seconds: how long it took; endless: why
    it did not end, in words, empty if it did.
    """

    played: Played
    harm: Harm | None
    seconds: float
    endless: str = ""

    @cached_property
    def print(self) -> bytes:
        """The same for trials in which the same was seen at the same moments."""
        found = sha256(repr((self.harm, self.played.odd, self.seconds)).encode() + self.endless.encode())
        for one in self.played.messages:
            found.update(f"{one.at} {one.client} {one.sent} {one.api} {one.version}".encode() + one.data)
        return found.digest()

    def judged(self) -> Walked:
        """The verdict on it. What has not ended is undecided: nobody knows who holds it up."""
        if self.endless:
            return Walked(self.played, Verdict.UNDECIDED, why=f"it did not end: {self.endless}")
        return judged(self.played, self.harm)


def trial(plan: Plan, settings: Mapping[str, int], profile: str) -> Trial:
    """Play a plan on a fresh server."""
    begun: list[tuple[Stage, float]] = []

    async def walk(coordinator: Coordinator) -> Trial:
        stage = Stage(coordinator, f"walk-{plan.id}")
        began = asyncio.get_running_loop().time()
        begun.append((stage, began))
        try:
            await play(plan, stage, coordinator.terms)
            harm = await aftermath(stage, plan, coordinator.terms)
            await stage.silence(0.1)
        finally:
            stage.close()
        return Trial(stage.played(plan), harm, asyncio.get_running_loop().time() - began)

    try:
        return in_virtual_time(settings, walk, profile, alone=True)
    except NotEnded as error:
        ((stage, began),) = begun
        # As if it had been silent for as long as planned: a run of walks that take no time would have no end.
        return Trial(stage.played(plan), None, max(plan.seconds, error.at - began), str(error))


@dataclass(frozen=True)
class Sound:
    """A trial on a sound server: its print, how long it took, and the functions of the coordinator in it."""

    print: bytes
    seconds: float
    called: frozenset[str]


class Grounds:
    """What the plans of a seed come to on a sound server, drawn and played once, when they are asked for.

    Parameters: seed; profile, its name; settings, of the server; protocol, of the groups; transactional,
    whether only those plans are drawn that have transactions, else only those that have none.
    """

    def __init__(
        self,
        seed: int,
        profile: str,
        settings: Mapping[str, int] = SETTINGS,
        protocol: str = CLASSIC,
        transactional: bool = False,
    ) -> None:
        self.seed, self.profile, self.settings, self.protocol = seed, profile, settings, protocol
        self.transactional = transactional
        self._coming = self._plans()
        self._drawn: list[Plan] = []
        self._sound: list[Sound] = []

    def _plans(self) -> Iterator[Plan]:
        async def plans(coordinator: Coordinator) -> Iterator[Plan]:
            terms, profile = coordinator.terms, coordinator.profile
            if self.transactional:
                return TransactionPlanner(self.seed, terms, profile).plans()
            return plans_of(self.seed, terms, profile, (self.protocol,), transactional=False)

        yield from in_virtual_time(self.settings, plans, self.profile, alone=True)

    def plan(self, number: int) -> Plan:
        """The plan of a number, from 0 upwards."""
        while len(self._drawn) <= number:
            self._drawn.append(next(self._coming))
        return self._drawn[number]

    def sound(self, number: int) -> Sound:
        """What a sound server does with a plan."""
        while len(self._sound) <= number:
            with _calls() as called:
                found = trial(self.plan(len(self._sound)), self.settings, self.profile)
            self._sound.append(Sound(found.print, found.seconds, frozenset(called)))
        return self._sound[number]


@contextmanager
def _calls() -> Iterator[set[str]]:
    """The functions of the coordinator that are called in the block, as of `place`."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(CORE):
            called.add(f"{module}:{frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)


@dataclass(frozen=True)
class Hunt:
    """What walks have come to.

    walks: how many there were; other: in how many the server said something else than a sound one, or at
    another moment; undecided: how many of these; failed: the first that failed; shortest: the same made
    shorter and explained, if that was wanted; seconds: when it was over.
    """

    walks: int
    other: int
    undecided: int
    failed: Walked | None
    seconds: float
    shortest: Walked | None = None


def walked(plan: Plan, bug: CoreBug | None, grounds: Grounds) -> tuple[Walked, Trial]:
    """The verdict on a plan, and what was seen."""
    with nullcontext() if bug is None else planted(bug):
        found = trial(plan, grounds.settings, grounds.profile)
    return found.judged(), found


def told(failed: Walked, bug: CoreBug | None, grounds: Grounds) -> Walked:
    """A failure made shorter, and explained."""

    async def play(plans: Sequence[Plan]) -> list[Walked]:
        return [walked(plan, bug, grounds)[0] for plan in plans]

    shorter = shrunk(failed, play, lambda: False, at_once=1)
    try:
        shorter.send(None)
    except StopIteration as done:
        return explained(done.value, [failed])
    raise AssertionError("it waits, though nothing here takes time")


def hunt(
    bug: CoreBug | None,
    grounds: Grounds,
    seconds: float = BUDGET,
    every: bool = False,
    explains: bool = True,
    most: int | None = None,
) -> Hunt:
    """Walk until something fails, as many walks as a run of so many seconds has.

    Parameters: bug, what is planted, None for nothing; every, whether what sounds sound is judged, too;
    explains, whether what fails is made shorter and explained; most, how many walks at most.
    """
    walks = _Scheduled(seconds)
    other, undecided = 0, 0
    where = "" if bug is None else place(bug)
    for number in count():
        plan, sound = grounds.plan(number), grounds.sound(number)
        if walks.all_over or walks.begun == most:
            return Hunt(walks.begun, other, undecided, None, walks.last)
        if not walks.begins(plan):
            continue
        if not every and where not in sound.called:
            walks.ends(sound.seconds)
            continue
        with nullcontext() if bug is None else planted(bug):
            found = trial(plan, grounds.settings, grounds.profile)
        ended = walks.ends(found.seconds)
        if not every and found.print == sound.print:
            continue
        other += found.print != sound.print
        verdict = found.judged()
        undecided += verdict.verdict is Verdict.UNDECIDED
        if verdict.verdict is Verdict.FAIL:
            short = told(verdict, bug, grounds) if explains else None
            return Hunt(walks.begun, other, undecided, verdict, ended, short)
    raise AssertionError("plans have no end")


class _Scheduled:
    """When walks begin and end that are played side by side, as `Walks.many` does. begun: how many."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._free = [0.0] * AT_ONCE
        self.begun = 0
        self.last = 0.0

    @property
    def all_over(self) -> bool:
        """Whether no other will begin."""
        return not self._free

    def begins(self, plan: Plan) -> bool:
        """Whether there is time for a plan where somebody is free first; else no more begins there."""
        if plan.seconds / 2 > self._seconds - self._free[0]:
            heapq.heappop(self._free)
            return False
        self.begun += 1
        return True

    def ends(self, took: float) -> float:
        """The one that was begun last took so long; when it is over."""
        ended = self._free[0] + took
        heapq.heapreplace(self._free, ended)
        self.last = max(self.last, ended)
        return ended
