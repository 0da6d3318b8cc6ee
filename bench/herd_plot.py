"""The plot of `bench.herd`, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import TYPE_CHECKING

from bench import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, HEIGHT = 230, 360
LEFT, TOP, BOTTOM, GAP = 56, 44, 56, 170
COLOURS = {"watchers": "#c0392b", "server-side": "#1f618d", "classic": "#1e8449"}
DASHES = {"classic": (0, (3, 2))}
"""Where lines lie on one another, the dashed one lets the other show."""

APART = 16 / (HEIGHT - TOP - BOTTOM)
"""How far apart two curves are named at least, as a part of the height of the axes."""


@dataclass(frozen=True)
class Curve:
    """A design's numbers. growth: as it is written beside the curve; points: (members, number)."""

    design: str
    growth: str
    points: tuple[tuple[int, float], ...]


def svg(panels: Sequence[tuple[str, Sequence[Curve]]]) -> str:
    """Panels side by side, both axes logarithmic. panels: (title, curves)."""

    def draw(drawn: Figure) -> None:
        for number, (title, curves) in enumerate(panels):
            left = LEFT + number * (PANEL + GAP)
            _panel(figure.box(drawn, left, TOP, PANEL, HEIGHT - TOP - BOTTOM), title, curves)

    return figure.svg(LEFT + len(panels) * (PANEL + GAP) - 40, HEIGHT, draw)


def _panel(axes: Axes, title: str, curves: Sequence[Curve]) -> None:
    sizes = sorted({size for curve in curves for size, _ in curve.points})
    decades = ceil(log10(max(number for curve in curves for _, number in curve.points)) + 0.001)
    steps = [10**exponent for exponent in range(decades + 1)]
    axes.set_xlim(sizes[0], sizes[-1])
    axes.set_ylim(steps[0], steps[-1])
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_yticks(steps, [f"{number:,}" for number in steps])
    axes.set_xlabel("members")
    axes.set_title(title, loc="left", fontweight="bold", pad=20)
    level = -APART
    for curve in sorted(curves, key=lambda one: one.points[-1][1]):
        colour = COLOURS[curve.design]
        axes.plot(*zip(*curve.points, strict=True), color=colour, linewidth=2, clip_on=False,
                  linestyle=DASHES.get(curve.design, "solid"))  # fmt: skip
        level = max(log10(curve.points[-1][1]) / decades, level + APART)
        axes.annotate(f"{curve.design}, {curve.growth}", (1, level), xycoords="axes fraction", xytext=(6, 0),
                      textcoords="offset points", color=colour, verticalalignment="center")  # fmt: skip
