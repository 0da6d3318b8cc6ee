"""Python's collector of cycles, which goes through all objects at times, and stops everything meanwhile.

A server with a hundred thousand groups has millions of objects, next to none of which are in cycles: what is
done with is freed at once. So what has stayed through a collection of all is set aside, and looked through
with the rest once in ten minutes: what was in a cycle then, such as a connection that was closed, goes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from time import monotonic

YOUNG, MIDDLE, OLD = 2_000, 10, 5
"""Objects more until the youngest are looked through, how often so until those that survived are, and all.

All that is not set aside, that is: 100,000 objects, some ten milliseconds.
"""

WHOLE_SECONDS = 600.0
"""Between two collections that leave nothing out: of a million objects they take a tenth of a second."""


class Aside:
    """A callback of the collector that sets aside what stays. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._whole = clock()

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        """A collection begins or ends."""
        if info["generation"] < 2:
            return
        if phase == "stop":
            gc.freeze()
        elif self._clock() - self._whole >= WHOLE_SECONDS:
            self._whole = self._clock()
            gc.unfreeze()


def collect_seldom() -> None:
    """What is there now is set aside, and from now on what stays."""
    gc.collect()
    gc.freeze()
    gc.callbacks.append(Aside())
    gc.set_threshold(YOUNG, MIDDLE, OLD)
