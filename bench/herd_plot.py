"""The plot of `bench.herd`, as SVG; written by hand, so that nothing need be installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, log10

PANEL, HEIGHT = 230, 360
LEFT, TOP, BOTTOM, GAP = 56, 44, 56, 170
COLOURS = {"watchers": "#c0392b", "server-side": "#1f618d", "classic": "#1e8449"}
DASHES = {"classic": ' stroke-dasharray="6 4"'}
"""Where lines lie on one another, the dashed one lets the other show."""

Place = Callable[[float], float]


@dataclass(frozen=True)
class Curve:
    """A design's numbers. growth: as it is told in the legend; points: (members, number)."""

    design: str
    growth: str
    points: tuple[tuple[int, float], ...]


def svg(panels: Sequence[tuple[str, Sequence[Curve]]]) -> str:
    """Panels side by side, both axes logarithmic. panels: (title, curves)."""
    out = []
    width = LEFT + len(panels) * (PANEL + GAP) - 40
    for number, (title, curves) in enumerate(panels):
        out += _panel(LEFT + number * (PANEL + GAP), title, curves)
    body = "\n".join(out)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="#333">\n'
        f'<rect width="{width}" height="{HEIGHT}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _panel(left: float, title: str, curves: Sequence[Curve]) -> list[str]:
    sizes = sorted({size for curve in curves for size, _ in curve.points})
    decades = ceil(log10(max(number for curve in curves for _, number in curve.points)) + 0.001)
    x, y = _axis(sizes[0], sizes[-1], left, left + PANEL), _axis(1, 10**decades, HEIGHT - BOTTOM, TOP)
    out = [_text(left, TOP - 20, title, 'font-weight="bold"')]
    for size in sizes:
        out += [_line(x(size), TOP, x(size), HEIGHT - BOTTOM),
                _text(x(size), HEIGHT - BOTTOM + 18, str(size), 'text-anchor="middle"')]  # fmt: skip
    for number in (10**exponent for exponent in range(decades + 1)):
        out += [_line(left, y(number), left + PANEL, y(number)),
                _text(left - 8, y(number) + 4, f"{number:,}", 'text-anchor="end"')]  # fmt: skip
    out.append(_text(left + PANEL / 2, HEIGHT - 14, "members", 'text-anchor="middle"'))
    taken: list[float] = []
    for curve in sorted(curves, key=lambda one: one.points[-1][1]):
        style = f'stroke="{COLOURS[curve.design]}"{DASHES.get(curve.design, "")}'
        places = [(x(size), y(number)) for size, number in curve.points]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        out.append(f'<polyline points="{path}" fill="none" stroke-width="2" {style}/>')
        level = min([places[-1][1] + 4, *(other - 16 for other in taken)])
        taken.append(level)
        told = f"{curve.design}, {curve.growth}"
        out.append(_text(left + PANEL + 6, level, told, f'fill="{COLOURS[curve.design]}"'))
    return out


def _axis(low: float, high: float, start: float, end: float) -> Place:
    return lambda value: start + (end - start) * log10(value / low) / log10(high / low)


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'
