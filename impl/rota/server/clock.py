"""An event loop whose clock can be put forward: what is due by then happens, in its order, at once."""

from __future__ import annotations

import asyncio
import heapq
import weakref
from asyncio import TimerHandle
from collections.abc import Callable
from contextvars import Context
from itertools import count
from typing import TypeVarTuple, Unpack

from rota.server.timers import wall_clock_ms

Ts = TypeVarTuple("Ts")

TURNS = 4
"""Iterations of the loop that follow whatever was due, for what it leads to: the log's answers among them."""

KEPT = 1_000
"""Deadlines that are noted before those are looked for that nobody waits for any more."""


class PutForward(asyncio.SelectorEventLoop):
    """A loop on the machine's clock plus what it was put forward by."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._deadlines: list[tuple[float, int, weakref.ref[TimerHandle]]] = []
        self._order = count()
        self._room = KEPT
        super().__init__()

    def time(self) -> float:
        """Seconds of the loop's own clock."""
        return super().time() + self._ahead

    def wall_clock_ms(self) -> int:
        """Milliseconds since 1970, put forward as the loop's clock is."""
        return wall_clock_ms() + int(self._ahead * 1000)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        """As every loop's; `call_later` comes here too."""
        handle = super().call_at(when, callback, *args, context=context)
        heapq.heappush(self._deadlines, (when, next(self._order), weakref.ref(handle)))
        if len(self._deadlines) > self._room:
            self._deadlines = [each for each in self._deadlines if _is_wanted(each[2])]
            heapq.heapify(self._deadlines)
            self._room = max(KEPT, 2 * len(self._deadlines))
        return handle

    async def put_forward(self, seconds: float) -> None:
        """Moves the clock, stopping wherever something is due: nothing is late, however far the clock goes.

        Whatever clients do meanwhile they do in real time, which this takes next to none of.
        """
        end = self.time() + seconds
        while (when := self._next_deadline()) is not None and when <= end:
            heapq.heappop(self._deadlines)
            self._ahead += max(0.0, when - self.time())
            for _ in range(TURNS):
                await asyncio.sleep(0)
        self._ahead += max(0.0, end - self.time())

    def _next_deadline(self) -> float | None:
        """When something is due next, which may have happened already."""
        while self._deadlines and not _is_wanted(self._deadlines[0][2]):
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None


def _is_wanted(handle: weakref.ref[TimerHandle]) -> bool:
    found = handle()
    return found is not None and not found.cancelled()
