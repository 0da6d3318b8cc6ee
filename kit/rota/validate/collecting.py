"""Python does not look for cycles of objects while much is judged."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Within, cycles of objects are not looked for.

    Rows, states and what is learned have none, however many there are (tests/validate/test_collecting.py), so
    memory has a bound without that. To look through all that is kept after each 50,000 new objects took a
    seventh of all time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
