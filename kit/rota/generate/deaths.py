"""A target that dies while it is walked on: which plan ended it is found by playing those under way again."""

from __future__ import annotations

import asyncio
import os
import re
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rota.generate.host import Host
from rota.generate.life import Died
from rota.generate.plan import Plan
from rota.generate.player import Played
from rota.generate.verdicts import LIVES, Verdict, Walked
from rota.generate.walks import Walks

SEARCHING = 120.0
"""Seconds in which the plan is looked for that ends a target, or harms others, at most."""

LINGER = 1.0
"""Seconds for which a target is watched after a plan: some die of it a moment later."""

Fails = Callable[[Sequence[Sequence[Plan]]], Awaitable[list[bool]]]
"""Plays the plans of each group side by side, and no group beside another one on the same target; of which it
comes to what is looked for, such as the end of the target.
"""

_VARIES = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass(frozen=True)
class Death:
    """The end of a target.

    words: how it died, with its last words; under_way: ids of the plans that were, whoever asked last first;
    culprit: the id of the one that ends it alone, empty where none does or nobody can start it again.
    """

    words: str
    under_way: tuple[str, ...]
    culprit: str = ""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {"words": self.words, "under_way": [*self.under_way], "culprit": self.culprit or None}

    @property
    def told(self) -> str:
        """In a sentence."""
        if self.culprit:
            return f"{self.words}; walk {self.culprit} alone ends it"
        some = f"{len(self.under_way)} walks were under way" if self.under_way else "no walk was under way"
        return f"{self.words}; {some}, and none was seen to end it alone"


async def culprit(
    suspects: Sequence[Plan], fails: Fails, targets: int = 1, seconds: float = SEARCHING
) -> Plan | None:
    """The plan that does it alone, if one does and is found in so many seconds.

    Groups of more and more are played, the most suspect first, on so many targets at a time; one that does it
    is parted again.
    """
    end = asyncio.get_running_loop().time() + seconds
    begin, size = 0, 1
    while begin < len(suspects) and asyncio.get_running_loop().time() < end:
        groups: list[Sequence[Plan]] = []
        while begin < len(suspects) and len(groups) < targets:
            groups.append(suspects[begin : begin + size])
            begin, size = begin + size, size * 2
        found = await _first(groups, fails)
        if found is not None:
            return await _one_of(found, fails, targets)
    return None


async def _first(groups: Sequence[Sequence[Plan]], fails: Fails) -> Sequence[Plan] | None:
    """The first of the groups that does it."""
    seen = await fails(groups)
    return next((group for group, does in zip(groups, seen, strict=True) if does), None)


async def _one_of(some: Sequence[Plan], fails: Fails, targets: int) -> Plan | None:
    """The one of a group that does it alone, if one does. A last part is not asked where no other does it."""
    seen = True
    while len(some) > 1:
        parts = _parted(some, targets + 1)
        found = await _first(parts[:-1], fails)
        some, seen = (parts[-1], False) if found is None else (found, True)
    return some[0] if seen or await _first([some], fails) else None


def _parted(some: Sequence[Plan], into: int) -> list[Sequence[Plan]]:
    """Parts of about the same size, as many as there can be and at most so many."""
    into = min(into, len(some))
    ends = [len(some) * n // into for n in range(into + 1)]
    return [some[begin:end] for begin, end in pairwise(ends)]


@dataclass(frozen=True)
class Alone:
    """Plays plans on targets that are started for them."""

    host: Host

    @property
    def targets(self) -> int:
        """How many there may be at a time."""
        return self.host.targets

    async def fails(self, groups: Sequence[Sequence[Plan]]) -> list[bool]:
        """Of each group whether its target dies. Errors: Died, where one does not start again."""
        return [one.verdict is Verdict.FAIL for one in await self._all(groups)]

    async def each(self, plans: Sequence[Plan]) -> list[Walked]:
        """Each plan on a target of its own: it fails where that dies. Errors: as of `fails`."""
        return await self._all([[plan] for plan in plans])

    async def _all(self, groups: Sequence[Sequence[Plan]]) -> list[Walked]:
        waiting = deque(enumerate(groups))
        found: dict[int, Walked] = {}

        async def play(host: Host) -> None:
            while waiting:
                number, plans = waiting.popleft()
                found[number] = await _played(host, plans)

        others = [self.host.another() for _ in range(1, min(self.targets, len(groups)))]
        try:
            async with asyncio.TaskGroup() as together:
                for host in (self.host, *others):
                    together.create_task(play(host))
        except* Died as died:
            raise died.exceptions[0] from None
        finally:
            for host in others:
                await asyncio.to_thread(host.stop)
        return [found[number] for number in range(len(groups))]


async def _played(host: Host, plans: Sequence[Plan]) -> Walked:
    """The walk that asked last before the host's target died; where it lives, that of the first plan.

    Errors: Died, where it does not start again.
    """
    coordinator = await host.again()
    if coordinator is None:
        raise Died("it does not start again")
    walks = Walks(coordinator, f"alone-{os.urandom(3).hex()}")
    try:
        played = await walks.unjudged(plans)
        await coordinator.life.check(LINGER)
    except Died as died:
        return ended(walks.latest(), str(died))
    return Walked(played[0], Verdict.PASS)


def ended(played: Played, words: str) -> Walked:
    """The verdict on a walk that has ended the target."""
    return Walked(played, Verdict.FAIL, LIVES, words, cause=(LIVES, _VARIES.sub("N", words)))
