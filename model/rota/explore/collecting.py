"""How often Python looks for garbage in cycles of objects while much is learned."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = 1_000_000
"""Objects that come, more than go, before the interpreter looks for cycles among them."""


@contextmanager
def rarely_collected(objects: int = RARELY) -> Iterator[None]:
    """Look for garbage in cycles only when so many objects have come, a thousand times less often than usual.

    objects: how many, 0: never.

    Values and what is learned of them are tuples of tuples in tables that stay: there are no cycles in them,
    and to look for some took 6 % of a search that learns much.
    """
    before = gc.get_threshold()
    gc.set_threshold(objects, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
