"""The first of a seed's walks that a planted bug fails."""

from __future__ import annotations

from rota.generate.hunt import Grounds, told, walked
from rota.generate.verdicts import Verdict, Walked
from rota.mutants.core import CoreBug

LOOKED_AT = 8
"""Walks among which it is."""


def first_failed(bug: CoreBug, ground: Grounds) -> tuple[Walked, Walked]:
    """The first walk that finds a bug, and the same made shorter and explained. Errors: AssertionError."""
    for number in range(LOOKED_AT):
        found, _ = walked(ground.plan(number), bug, ground)
        if found.verdict is Verdict.FAIL:
            return found, told(found, bug, ground)
    raise AssertionError(f"{bug.name} is not found by the first walks")
