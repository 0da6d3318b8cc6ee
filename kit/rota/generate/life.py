"""Whether the target that is walked on lives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from rota.conformance.targets.target import Running

GRACE = 1.0
"""Seconds that a death may take which is under way: connections end before the process has."""


class Died(Exception):
    """The target is dead; the message has its last words."""


@dataclass
class Life:
    """Whether a target lives. running: None for one that cannot die; suspected: a connection has ended, or
    was not accepted, since it was last looked at; ended: we have ended it ourselves.
    """

    running: Running | None = None
    suspected: bool = False
    ended: bool = False

    async def look(self, grace: float = GRACE) -> None:
        """Look where there is a suspicion. Errors: Died."""
        if self.suspected:
            self.suspected = False
            await self.check(grace)

    async def check(self, grace: float = 0.0) -> None:
        """See whether it lives. Errors: Died."""
        if self.running is None or self.ended:
            return
        obituary = await asyncio.to_thread(self.running.post_mortem, grace)
        if obituary is not None:
            self.suspected = True
            raise Died(obituary)
