"""Moments that are known as intervals. Times are seconds."""

from __future__ import annotations

from rota.kernel import frozen

NEVER = float("-inf")
FOREVER = float("inf")


@frozen
class Span:
    """When something happens: no earlier and no later. Of a timer: when it is due."""

    earliest: float
    latest: float
