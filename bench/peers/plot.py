"""A plot of states per second against states, both axes logarithmic, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from bench.peers.rounds import Row

from bench import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 880, 460
LEFT, RIGHT, TOP, BOTTOM = 100, 270, 40, 60
COLOURS = {"rota": ("#c0392b", "#e59866", "#7b241c"), "Stateright": ("#1f618d", "#5dade2"),
           "Spin": ("#1e8449", "#58d68d"), "other": ("#555555", "#999999")}  # fmt: skip
"""By family, one for each kind of search; two workers are dashed."""

DASHES = (0, (2.5, 2))


@dataclass(frozen=True)
class Style:
    """How a line is drawn."""

    colour: str
    dashed: bool = False


@dataclass(frozen=True)
class Line:
    """A line. points: (states, states per second), by states."""

    name: str
    style: Style
    points: tuple[tuple[float, float], ...]


def svg(rows: Sequence[Row]) -> str:
    """One line per tool."""
    by_tool: dict[str, list[Row]] = {}
    for row in rows:
        by_tool.setdefault(row.tool.name, []).append(row)
    styles = _styles(rows)
    return chart(
        [
            Line(name, styles[name], tuple(sorted((row.counts.distinct, row.rate) for row in its)))
            for name, its in by_tool.items()
        ]
    )


def _styles(rows: Sequence[Row]) -> Mapping[str, Style]:
    """Styles by tool: the kind of search is what stands before the comma."""
    kinds: dict[str, list[str]] = {}
    styles = {}
    for row in rows:
        tool = row.tool
        known, kind = kinds.setdefault(tool.family, []), tool.name.partition(",")[0]
        if kind not in known:
            known.append(kind)
        colours = COLOURS[tool.family]
        styles[tool.name] = Style(colours[known.index(kind) % len(colours)], dashed=tool.workers > 1)
    return styles


def chart(lines: Sequence[Line]) -> str:
    """The lines, named beside them in the order of the rates at their largest sizes."""

    def draw(drawn: Figure) -> None:
        _draw(figure.box(drawn, LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM), lines)

    return figure.svg(WIDTH, HEIGHT, draw)


def _draw(axes: Axes, lines: Sequence[Line]) -> None:
    for line in sorted(lines, key=lambda line: -line.points[-1][1]):
        states, rates = zip(*line.points, strict=True)
        axes.plot(states, rates, label=line.name, color=line.style.colour, linewidth=2, marker="o",
                  markersize=5, markerfacecolor="white", clip_on=False,
                  linestyle=DASHES if line.style.dashed else "solid")  # fmt: skip
    xs = _decades(states for line in lines for states, _ in line.points)
    ys = _decades(rate for line in lines for _, rate in line.points)
    axes.set_xlim(10 ** xs[0], 10 ** xs[-1])
    axes.set_ylim(10 ** ys[0], 10 ** ys[-1])
    axes.set_xticks([10**each for each in xs], [_amount(each) for each in xs])
    axes.set_yticks([10**each for each in ys], [_amount(each) for each in ys])
    axes.set_xlabel("distinct states")
    axes.set_title("distinct states per second", loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(1.03, 1), frameon=False, borderaxespad=0)


def _decades(values: Iterable[float]) -> range:
    """The exponents of ten from that below the least to that above the largest."""
    seen = list(values)
    first, last = floor(log10(min(seen))), ceil(log10(max(seen)))
    return range(first, max(last, first + 1) + 1)


def _amount(exponent: int) -> str:
    return f"{10 ** (exponent % 3)} {('', 'thousand', 'million', 'billion')[exponent // 3]}".strip()
