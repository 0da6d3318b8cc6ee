"""A target that dies while it is walked on: which plan ended it is found by playing those under way again."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
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

Fails = Callable[[Sequence[Plan]], Awaitable[bool]]
"""Plays plans side by side; whether it comes to what is looked for, such as the end of the target."""

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


async def culprit(suspects: Sequence[Plan], fails: Fails, seconds: float = SEARCHING) -> Plan | None:
    """The plan that does it alone, if one does and is found in so many seconds.

    More and more are played side by side, the most suspect first; those that do it are halved.
    """
    end = asyncio.get_running_loop().time() + seconds
    begin, size = 0, 1
    while begin < len(suspects) and asyncio.get_running_loop().time() < end:
        some = suspects[begin : begin + size]
        if await fails(some):
            return await _one_of(some, fails)
        begin, size = begin + size, size * 2
    return None


async def _one_of(some: Sequence[Plan], fails: Fails) -> Plan | None:
    seen = True
    while len(some) > 1:
        half = len(some) // 2
        seen = await fails(some[:half])
        some = some[:half] if seen else some[half:]
    return some[0] if seen or await fails(some) else None


@dataclass(frozen=True)
class Alone:
    """Plays plans on targets that are started for them."""

    host: Host

    async def fails(self, plans: Sequence[Plan]) -> bool:
        """Whether the target dies. Errors: Died, where it does not start again."""
        return (await self._played(plans)).verdict is Verdict.FAIL

    async def each(self, plans: Sequence[Plan]) -> list[Walked]:
        """Each plan on a target of its own: it fails where that dies. Errors: as of `fails`."""
        return [await self._played([plan]) for plan in plans]

    async def _played(self, plans: Sequence[Plan]) -> Walked:
        """The walk that asked last before the target died; where it lives, that of the first plan."""
        coordinator = await self.host.again()
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
