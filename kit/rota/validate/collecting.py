"""Python does not look for cycles of objects while much is judged."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from rota.explore.collecting import rarely_collected

NEVER = 0


def uncollected() -> AbstractContextManager[None]:
    """Within, cycles of objects are not looked for.

    Rows, states and what is learned have none, however many there are (tests/validate/test_collecting.py), so
    memory has a bound without that. To look through all that is kept after each 50,000 new objects took a
    seventh of all time, and more where much is kept.
    """
    return rarely_collected(NEVER)


@contextmanager
def collected_once() -> Iterator[None]:
    """Within, cycles are not looked for; behind it once, among what is new since `collected_once` before.

    What tells of rebalances has cycles, some hundred objects a group. What stays, above all what was learned,
    is put aside, so that nobody looks through it again (`gc.unfreeze` brings it back).
    """
    with uncollected():
        try:
            yield
        finally:
            gc.collect()
            gc.freeze()
