"""Timers of an event loop by id: a wheel, and one handle of the loop for the next time that it is due."""

import asyncio
from collections.abc import Callable, Hashable
from math import ceil, inf
from typing import Generic, TypeVar

from rota.coordinator import TimingWheel

T = TypeVar("T", bound=Hashable)


class LoopTimers(Generic[T]):
    """Timers that call `fire` with their id, each at most once for each time that it is armed.

    What is due together fires in order of deadline, one after the other: a timer that one of them cancels or
    arms again is not due any more. A timer never fires early; it may be two milliseconds late.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, fire: Callable[[T], None]) -> None:
        self._loop = loop
        self._fire = fire
        self._origin = loop.time()
        self._wheel: TimingWheel[T] = TimingWheel()
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_ms: float = inf  # when the handle calls; `inf` without one

    def arm(self, timer_id: T, delay_ms: int) -> None:
        """Fire after a delay, counted from now; an armed timer of the same id is replaced.

        Without a delay the timer is due in the loop's next iteration.
        """
        now = self._now()
        # What is left of the millisecond that has begun does not count.
        deadline_ms = ceil(now) + delay_ms if delay_ms > 0 else int(now)
        self._wheel.arm(timer_id, deadline_ms)
        if deadline_ms < self._wakes_ms:
            self._wake(deadline_ms)

    def cancel(self, timer_id: T) -> None:
        """Forget a timer, if it is armed. The handle stays: it is cheaper to wake once for nothing."""
        self._wheel.cancel(timer_id)

    def clear(self) -> None:
        """Forget all timers."""
        self._wheel = TimingWheel()
        self._wake(None)

    def _due(self) -> None:
        # The loop may call a little early, by the resolution of its clock.
        now_ms = max(int(self._now()), int(self._wakes_ms))
        try:
            while (timer_id := self._wheel.pop(now_ms)) is not None:
                self._fire(timer_id)
        finally:
            self._wake(self._wheel.next_due_ms())

    def _wake(self, at_ms: int | None) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._wakes_ms = inf if at_ms is None else at_ms
        self._handle = None if at_ms is None else self._loop.call_at(self._origin + at_ms / 1000, self._due)

    def _now(self) -> float:
        """Milliseconds since the origin, to the microsecond."""
        return round((self._loop.time() - self._origin) * 1000, 3)
