"""Timers of an event loop by id: a wheel, and one handle of the loop for the next time that it is due."""

import asyncio
import logging
from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from math import ceil, inf
from time import time_ns
from typing import Generic, TypeVar

from rota.coordinator import TimingWheel

T = TypeVar("T", bound=Hashable)

log = logging.getLogger(__name__)

PAUSE_MS = 200
"""So late the loop only calls after a pause."""

GRACE_MS = 200
"""How long clients' bytes are read after a pause before any timer fires."""

FIRING_SECONDS = 0.005
"""How long timers fire in one iteration of the event loop."""


AGAIN_MS = 10
"""A timer that its own firing arms again is due no sooner than after this. A client may ask for a rebalance
timeout of nothing, and a join phase that nobody can lead begins anew whenever that is over.
"""


def wall_clock_ms() -> int:
    """Milliseconds since 1970, as records and retention count them."""
    return time_ns() // 1_000_000


class LoopTimers(Generic[T]):
    """Timers that call `fire` with their id, each at most once for each time that it is armed.

    What is due together fires in order of deadline, one after the other: a timer that one of them cancels or
    arms again is not due any more. A timer never fires early; it may be two milliseconds late, and later if
    so many are due that the loop would be held up, or after a pause.

    A pause is when the loop calls much later than it should: the process was stopped, or it was held up.
    What clients sent meanwhile lies in the sockets, and is read before any timer fires.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, fire: Callable[[T], None]) -> None:
        self._loop = loop
        self._fire = fire
        self._origin = loop.time()
        self._wheel: TimingWheel[T] = TimingWheel()
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_ms: float = inf  # when the handle calls; `inf` without one
        self._grace_ms = 0.0  # until then no timer fires
        self._firing: T | None = None

    def arm(self, timer_id: T, delay_ms: int, now: float | None = None) -> None:
        """Fire after a delay, counted from now; an armed timer of the same id is replaced.

        Without a delay the timer is due in the loop's next iteration. Who arms many asks for `now` once.
        """
        now = self.now() if now is None else now
        if timer_id == self._firing:
            delay_ms = max(delay_ms, AGAIN_MS)
        # What is left of the millisecond that has begun does not count.
        deadline_ms = ceil(now) + delay_ms if delay_ms > 0 else int(now)
        self._wheel.arm(timer_id, deadline_ms)
        if deadline_ms < self._wakes_ms:
            self._wake(deadline_ms)

    def arm_all(self, timer_ids: Sequence[T], delay_ms: int, now: float) -> None:
        """The same for many: members of a group mostly have the same session timeout."""
        if delay_ms < AGAIN_MS:
            for timer_id in timer_ids:
                self.arm(timer_id, delay_ms, now)
        else:
            self.arm(timer_ids[0], delay_ms, now)
            self._wheel.arm_with(timer_ids[0], islice(timer_ids, 1, None))

    def cancel(self, timer_id: T) -> None:
        """Forget a timer, if it is armed. The handle stays: it is cheaper to wake once for nothing."""
        self._wheel.cancel(timer_id)

    def left_ms(self, timer_id: T) -> int | None:
        """Milliseconds until an armed timer is due, 0 for one that is late; None if it is not armed."""
        deadline_ms = self._wheel.deadline_of(timer_id)
        return None if deadline_ms is None else max(0, ceil(deadline_ms - self.now()))

    def clear(self) -> None:
        """Forget all timers."""
        self._wheel = TimingWheel()
        self._wake(None)

    def _due(self) -> None:
        # The loop may call a little early, by the resolution of its clock.
        now = self.now()
        if now - max(self._wakes_ms, self._grace_ms) >= PAUSE_MS:
            self._grace_ms = now + GRACE_MS
            log.warning("timers are %d ms late: first what clients have sent is read", now - self._wakes_ms)
        now_ms = max(int(now), int(self._wakes_ms))
        end = self._loop.time() + FIRING_SECONDS
        try:
            while now >= self._grace_ms and (timer_id := self._wheel.pop(now_ms)) is not None:
                self._firing = timer_id
                self._fire(timer_id)
                if self._loop.time() >= end:
                    break
        finally:
            self._firing = None
            self._wake(self._wheel.next_due_ms())

    def _wake(self, at_ms: int | None) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._wakes_ms = inf if at_ms is None else max(at_ms, self._grace_ms, self.now())
        when = self._origin + self._wakes_ms / 1000
        self._handle = None if at_ms is None else self._loop.call_at(when, self._due)

    def now(self) -> float:
        """Milliseconds since the origin, to the microsecond."""
        return round((self._loop.time() - self._origin) * 1000, 3)
