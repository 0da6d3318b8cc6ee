"""How often Python looks for cycles of objects while much is judged."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rota.explore.collecting import rarely_collected

SELDOM = 50_000
"""Objects that come before cycles are looked for: memory has a bound here."""


def seldom_collected() -> AbstractContextManager[None]:
    """Within, cycles are looked for seldom. Rows, states and what is learned have none, and to look for them
    after each 700 new objects, as Python does, takes 34 microseconds an event, a tenth of all; so seldom it
    takes 3."""
    return rarely_collected(SELDOM)
