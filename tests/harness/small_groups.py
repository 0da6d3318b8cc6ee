"""Groups of few members, as `rota simulate --histories` makes them, whose histories are soon played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from rota.mutants.core import core_bugs
from rota.population import histories
from rota.population.shapes import shape_of

SHOWS = "request-ends-initial-delay"
"""A bug that shows in the answers of such a group."""


@cache
def small() -> int:
    """The number of a small group's history that is soon played."""
    wanted = (number for number in range(100) if len(shape_of(f"5 {number}").lives) <= 4)
    return next(number for number in wanted if shape_of(f"5 {number}").seen < 60)


@contextmanager
def all_small() -> Iterator[None]:
    """Within, each group that is made is such a one, and a server with a bug has the one that shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histories, "_plantable", lambda: {SHOWS: core_bugs()[SHOWS]})
        patch.setattr(histories, "shape_of", lambda seed: shape_of(f"5 {small()}"))
        yield
