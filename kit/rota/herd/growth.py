"""How a number grows with the size of a group."""

from __future__ import annotations

from collections.abc import Sequence
from math import log


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of the line that fits best through the logarithms: 1 is linear, 2 quadratic, 0 constant.

    Parameters: points, (size, number). None where a number is not positive, or with fewer than two sizes.
    """
    if len({size for size, _ in points}) < 2 or any(number <= 0 for _, number in points):
        return None
    xs, ys = [log(size) for size, _ in points], [log(number) for _, number in points]
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread
