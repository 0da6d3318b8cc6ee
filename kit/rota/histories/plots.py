"""What came of a run as a picture: bars for verdicts, events, requests, what happened and what was broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rota.histories.results import Results
from rota.histories.summary import FATES, as_json
from rota.trace.markup import Markup, element, joined

WIDTH, LABELS, NUMBERS = 780, 330, 130
"""Of the picture, of what stands before bars, and behind them."""

ROW, BAR, HEAD, GAP = 24, 14, 34, 18
"""Heights: of a row, of its bar, of a title, and between two plots."""

LETTERS = 42
"""Of a name, as many as there is room for."""

SHOWN = 10
"""Bars of a plot; of more, the longest."""

COLOURS = {"holds": "#2a7f62", "judged": "#2a7f62", "violated": "#b3261e", "undecided": "#c77700"}
PLAIN = "#4a6fa5"

STYLE = "text{font:13px sans-serif;fill:#222}.title{font-weight:bold}.paper{fill:#fff}"


@dataclass(frozen=True)
class Plot:
    """A title, and bars by their names. unit: of their lengths, "" for numbers of things."""

    title: str
    bars: Mapping[str, float]
    unit: str = ""

    @property
    def rows(self) -> Sequence[tuple[str, float]]:
        """Its bars, the longest first, those of no length left out."""
        found = sorted(self.bars.items(), key=lambda one: (-one[1], one[0]))
        return [one for one in found if one[1]][:SHOWN]

    @property
    def height(self) -> int:
        """Of all of it."""
        return HEAD + ROW * len(self.rows) + GAP


def plots(found: Results) -> list[Plot]:
    """All that have a bar."""
    told, seconds = as_json(found), {one.title: one.seconds for one in found.causes}
    made = [
        Plot("Groups by verdict", found.verdicts),
        Plot("Events by what became of them", {name.replace("_", " "): told[name] for name in FATES}),
        Plot("Requests", told["mix"]["requests"]),
        Plot("What happened: incidents by cause", {one.title: one.incidents for one in found.causes}),
        Plot("Seconds without an assignment, by cause", seconds, "s"),
        Plot("Seconds without an assignment, by group: the worst", dict(found.worst), "s"),
        Plot("Rules that were broken: violations", told["rules"]),
    ]
    return [one for one in made if one.rows]


def picture(found: Results) -> str:
    """An SVG; equal results make equal bytes."""
    drawn, top = list[Markup](), GAP
    made = plots(found)
    for one in made:
        drawn += _drawn(one, top)
        top += one.height
    paper = element("rect", class_="paper", width=WIDTH, height=top)
    titles = "; ".join(one.title for one in made)
    inner = joined([element("title", titles), element("style", STYLE), paper, *drawn])
    box = f"0 0 {WIDTH} {top}"
    drawing = element(
        "svg", inner, xmlns="http://www.w3.org/2000/svg", role="img", width=WIDTH, height=top, viewBox=box
    )
    return f"{drawing}\n"


def _drawn(plot: Plot, top: int) -> Iterator[Markup]:
    yield element("text", plot.title, class_="title", x=GAP, y=top + BAR)
    longest = max(length for _, length in plot.rows)
    room = WIDTH - LABELS - NUMBERS
    for place, (name, length) in enumerate(plot.rows):
        y = top + HEAD + ROW * place
        width = max(1.0, round(room * length / longest, 1))
        yield element("text", shortened(name), x=LABELS - 10, y=y + BAR - 3, text_anchor="end")
        yield element("rect", x=LABELS, y=y, width=width, height=BAR, fill=COLOURS.get(name, PLAIN))
        yield element("text", _number(length, plot.unit), x=LABELS + width + 8, y=y + BAR - 3)


def shortened(name: str) -> str:
    """A name that fits before its bar."""
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def _number(length: float, unit: str) -> str:
    return f"{length:,.1f} {unit}" if unit else f"{length:,.0f}"
