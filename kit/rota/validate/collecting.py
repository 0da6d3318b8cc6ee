"""Python does not look for cycles of objects while much is judged."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rota.explore.collecting import rarely_collected

NEVER = 0


def uncollected() -> AbstractContextManager[None]:
    """Within, cycles of objects are not looked for.

    Rows, states and what is learned have none, however many there are (tests/validate/test_collecting.py), so
    memory has a bound without that. To look through all that is kept after each 50,000 new objects took a
    seventh of all time, and more where much is kept.
    """
    return rarely_collected(NEVER)
