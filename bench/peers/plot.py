"""A plot of states per second against states, as SVG; written by hand, so that nothing need be installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from bench.peers.rounds import Row

WIDTH, HEIGHT = 880, 460
LEFT, RIGHT, TOP, BOTTOM = 100, 270, 40, 60
COLOURS = {"rota": ("#c0392b", "#e59866", "#7b241c"), "Stateright": ("#1f618d", "#5dade2"),
           "Spin": ("#1e8449", "#58d68d")}  # fmt: skip
"""By family, one for each kind of search; two workers are dashed."""

Place = Callable[[float], float]


def _decades(values: Sequence[float]) -> range:
    return range(floor(log10(min(values))), ceil(log10(max(values))) + 1)


def _axis(decades: range, start: float, end: float) -> Place:
    span = max(decades[-1] - decades[0], 1)
    return lambda value: start + (end - start) * (log10(value) - decades[0]) / span


def _amount(exponent: int) -> str:
    return f"{10 ** (exponent % 3)} {('', 'thousand', 'million', 'billion')[exponent // 3]}".strip()


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _styles(rows: Sequence[Row]) -> dict[str, str]:
    """Line styles by tool: the kind of search is what stands before the comma."""
    kinds: dict[str, list[str]] = {}
    styles = {}
    for row in rows:
        tool = row.tool
        known, kind = kinds.setdefault(tool.family, []), tool.name.partition(",")[0]
        if kind not in known:
            known.append(kind)
        colours = COLOURS[tool.family]
        dash = ' stroke-dasharray="5 4"' if tool.workers > 1 else ""
        styles[tool.name] = f'stroke="{colours[known.index(kind) % len(colours)]}"{dash}'
    return styles


def _grid(xs: range, ys: range, x: Place, y: Place) -> list[str]:
    grid, right, bottom = 'stroke="#ddd"', WIDTH - RIGHT, HEIGHT - BOTTOM
    out = []
    for exponent in xs:
        at = x(10**exponent)
        out += [_line(at, TOP, at, bottom, grid),
                _text(at, bottom + 18, _amount(exponent), 'text-anchor="middle"')]  # fmt: skip
    for exponent in ys:
        at = y(10**exponent)
        out += [_line(LEFT, at, right, at, grid),
                _text(LEFT - 8, at + 4, _amount(exponent), 'text-anchor="end"')]  # fmt: skip
    out.append(_text((LEFT + right) / 2, HEIGHT - 16, "distinct states", 'text-anchor="middle"'))
    out.append(_text(LEFT, TOP - 18, "distinct states per second", ""))
    return out


@dataclass(frozen=True)
class Line:
    """A line. style: SVG attributes of a stroke; points: (states, states per second), by states."""

    name: str
    style: str
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


def chart(lines: Sequence[Line]) -> str:
    """Both axes logarithmic; lines are named in the order of the rates at their largest sizes."""
    xs = _decades([states for line in lines for states, _ in line.points])
    ys = _decades([rate for line in lines for _, rate in line.points])
    x, y = _axis(xs, LEFT, WIDTH - RIGHT), _axis(ys, HEIGHT - BOTTOM, TOP)
    out = _grid(xs, ys, x, y)
    for rank, line in enumerate(sorted(lines, key=lambda line: -line.points[-1][1])):
        points = [(x(states), y(rate)) for states, rate in line.points]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        out.append(f'<polyline points="{path}" fill="none" stroke-width="2" {line.style}/>')
        out += [
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5" fill="#fff" {line.style}/>' for px, py in points
        ]
        level = TOP + 10 + 22 * rank
        out.append(
            _line(WIDTH - RIGHT + 20, level, WIDTH - RIGHT + 50, level, f'stroke-width="2" {line.style}')
        )
        out.append(_text(WIDTH - RIGHT + 58, level + 4, line.name))
    body = "\n".join(out)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="#333">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{body}\n</svg>\n'
    )
