"""Moments that are known as intervals. Times are seconds."""

from __future__ import annotations

from math import ceil, floor

from rota.kernel import frozen

NEVER = float("-inf")
FOREVER = float("inf")


@frozen
class Span:
    """When something happens: no earlier and no later. Of a timer: when it is due."""

    earliest: float
    latest: float


def rounded(earliest: float, latest: float, grain: float) -> Span:
    """A span whose ends are told apart in steps of this size, outwards; as it is, where that is 0."""
    if not grain:
        return Span(earliest, latest)
    first = floor(earliest / grain) * grain if earliest > NEVER else NEVER
    return Span(first, ceil(latest / grain) * grain)
