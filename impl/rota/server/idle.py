"""Connections on which nothing happens are closed after a while (Kafka's connections.max.idle.ms)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


def _gone() -> bool:
    """In place of what was asked or told a connection that is gone."""
    return False


class Idle:
    """Calls `end` when nothing has happened for so many seconds; negative: never.

    since: when something last happened, kept by whom it is of. While `busy` says so something happens all
    the time.
    """

    __slots__ = ("_busy", "_end", "_loop", "_seconds", "_timer", "since")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seconds: float,
        busy: Callable[[], bool],
        end: Callable[[], object],
    ) -> None:
        self.since = loop.time()
        self._loop = loop
        self._seconds = seconds
        self._busy = busy
        self._end = end
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Calls `end` if it is time, or looks again when it may be."""
        if self._seconds < 0:
            return
        now = self._loop.time()
        left = (now if self._busy() else self.since) + self._seconds - now
        if left > 0:
            self._timer = self._loop.call_later(left, self.watch)
        else:
            self._end()

    def stop(self) -> None:
        """Watches no more, and lets go of whom it has watched."""
        if self._timer is not None:
            self._timer.cancel()
        self._busy = self._end = _gone
