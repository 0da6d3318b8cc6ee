"""How often Python looks for cycles of objects while much is judged."""

from __future__ import annotations

import gc

SELDOM = 50_000
"""Objects that come, more than go, between two looks for cycles."""


def look_seldom() -> None:
    """From now on. Rows, states and what is learned have no cycles, and to look through them after each 700
    new objects, as Python does, takes 34 microseconds an event, a tenth of all; so seldom it takes 3."""
    gc.set_threshold(SELDOM, *gc.get_threshold()[1:])
