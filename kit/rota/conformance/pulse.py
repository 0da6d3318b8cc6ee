"""Whether the machine had time for us: on one that is overloaded the kit and the target come late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

BEAT = 0.1
"""Seconds between two beats."""

MISSED = 0.4
"""Seconds by which a beat is late that nobody had time for; half of the shortest silence that counts."""


class Pulse:
    """Something that has to be done at equal times, and notes when it was late.

    Where it was, so were those who play dialogues and, on one machine, the target: a deviation that was seen
    then is looked at again. `wait` sleeps for so many seconds and says whether to end.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wait: Callable[[float], bool] | None = None
    ) -> None:
        self._over = threading.Event()
        self._clock = clock
        self._wait = wait or self._over.wait
        self._last_missed = float("-inf")
        self._due = clock() + BEAT
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)
        self._thread.start()

    def missed(self, since: float) -> bool:
        """Whether a beat was late at some time since then, or is due for long."""
        return self._last_missed >= since or self._clock() - self._due > MISSED

    def close(self) -> None:
        """No more beats."""
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._wait(max(self._due - self._clock(), 0.0)):
            now = self._clock()
            if now - self._due > MISSED:
                self._last_missed = now
            self._due = now + BEAT
