"""How late the loop that plays is itself: what it measures may be late by as much."""

from __future__ import annotations

import asyncio
from collections import deque

EVERY = 0.05
"""Seconds between two measurements."""

LEAST = 0.05
"""Seconds by which whatever is measured may be wrong on any machine."""

KEPT = 4_000
"""Measurements that are kept: more than the longest walk takes."""


class Lateness:
    """Measures by how much a timer of the running loop is late. least: seconds, what is taken for none."""

    def __init__(self, least: float = LEAST) -> None:
        self._least = least
        self._seen: deque[tuple[float, float]] = deque(maxlen=KEPT)

    async def measure(self) -> None:
        """Until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + EVERY
            await asyncio.sleep(EVERY)
            now = loop.time()
            self._seen.append((now, now - due))

    def since(self, moment: float) -> float:
        """The most that it was since then, twice over: what lies between two measurements may be worse."""
        worst = max((late for at, late in self._seen if at >= moment), default=0.0)
        return self._least + 2 * worst
