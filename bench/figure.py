"""Figures as SVG, by matplotlib: the same bytes from the same numbers, text as text.

matplotlib is the extra `bench`; it is imported where a figure is made, so what only measures runs without it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS = 72
"""An inch in the units of an SVG by matplotlib."""

MISSING = "a plot needs matplotlib; install it: pip install 'rota[bench]'"

_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "rota", "path.simplify": False,
          "font.family": "sans-serif", "font.size": 12, "text.color": "#333333", "axes.labelcolor": "#333333",
          "axes.labelpad": 10, "axes.titlesize": "medium", "axes.titlepad": 12,
          "xtick.major.size": 0, "ytick.major.size": 0, "xtick.major.pad": 8, "ytick.major.pad": 8,
          "xtick.color": "#333333", "ytick.color": "#333333", "grid.color": "#dddddd"}  # fmt: skip


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def svg(width: float, height: float, draw: Callable[[Figure], None]) -> str:
    """The text of a figure of this size; nothing in it tells when or by which version it was made."""
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.figure import Figure

    out = StringIO()
    with rc_context():
        rcdefaults()  # whatever matplotlibrc says here
        rcParams.update(_STYLE)
        figure = Figure(figsize=(width / DOTS, height / DOTS))
        draw(figure)
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def box(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes with a grid and no frame, both logarithmic; measured from the figure's upper left corner."""
    whole, high = figure.get_size_inches() * DOTS
    axes = figure.add_axes((left / whole, 1 - (top + height) / high, width / whole, height / high))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.grid()
    axes.set_axisbelow(True)
    for side in axes.spines.values():
        side.set_visible(False)
    return axes
