"""A story as a sequence chart in SVG.

Lanes go from left to right, a row for each event from top to bottom. What colour says is said by a word, a
sign or a texture too. Rows have the class `event` and `data-step`; in a page they are links to `#step-N`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from rota.kernel import Lane
from rota.trace.chart import (
    ARROW_SIZE,
    BAND_SIZE,
    HEAD,
    LABEL,
    LINE,
    MARGIN,
    NUMBER,
    SIDE,
    TEXT_LINE,
    TITLE_SIZE,
    Band,
    Chart,
    Placed,
    Row,
    chart,
    cut,
    width,
)
from rota.trace.markup import Markup, element, joined, word
from rota.trace.story import Light, Story

LIGHT = {
    "paper": "#ffffff", "ink": "#1c2230", "soft": "#5a6373", "line": "#d5d9e1", "accent": "#2a59c4",
    "bad": "#b3261e", "bad-soft": "#fdeeec", "good": "#1a7446", "raised": "#f4f5f8", "loop": "#f6f1fb",
    "loop-ink": "#7440a3", "band-0": "#4a78cf", "band-1": "#c2762a", "band-2": "#2f957a", "band-3": "#9d58b5",
    "band-4": "#c4546c", "band-5": "#7b8a34",
}  # fmt: skip
"""Colours by daylight, by what they are for."""

DARK = {
    "paper": "#14171e", "ink": "#e8ebf1", "soft": "#a0a9b9", "line": "#363d4b", "accent": "#8fb3ff",
    "bad": "#ff9288", "bad-soft": "#3a2023", "good": "#74d3a2", "raised": "#1d222c", "loop": "#231d2e",
    "loop-ink": "#c9a2ee", "band-0": "#7fa6f2", "band-1": "#e0a05c", "band-2": "#63c4a8", "band-3": "#c78fdc",
    "band-4": "#e88a9c", "band-5": "#b3c266",
}  # fmt: skip
"""The same by night."""


STEP = "step-"
"""Before the number of a step in the name of its place on a page."""


SAID = (("repeats for ever", 130), ("for ever", 70), ("∞", 0))
"""What is written beside a loop, and how high it must be for that."""


def style() -> str:
    """The rules of a chart, whose colours are properties: `--paper` and so on."""
    return (files("rota.trace") / "chart.css").read_text(encoding="utf-8")


def svg(story: Story, *, standalone: bool) -> str:
    """The chart of a story. standalone: as a file of its own, by day and night; else as a part of a page."""
    laid = chart(story)
    inner = joined(
        element("g", lanes(laid), class_="head"),
        element("g", body(laid, None if standalone else STEP), transform=f"translate(0 {HEAD})"),
    )
    if not standalone:
        return drawing(laid, laid.height + HEAD, inner)
    background = element("rect", class_="paper", width=laid.width, height=laid.height + HEAD)
    title = element("title", f"{story.title}: {story.verdict}")
    return drawing(laid, laid.height + HEAD, joined(title, element("style", _colours()), background, inner))


def _colours() -> Markup:
    """The rules with colours written in, by day and, where it is night, by night: no program is left out."""
    night = "".join(
        f"{line}\n" for line in _written(DARK).splitlines() if "fill:" in line or "stroke:" in line
    )
    return Markup(f"{_written(LIGHT)}@media (prefers-color-scheme: dark) {{\n{night}}}\n")


def _written(colours: dict[str, str]) -> str:
    text = style()
    for name, colour in colours.items():
        text = text.replace(f"var(--{name})", colour)
    return text


def drawing(laid: Chart, height: int, inner: Markup, top: int = 0) -> Markup:
    """An image as wide as the chart."""
    return element(
        "svg",
        inner,
        xmlns="http://www.w3.org/2000/svg",
        class_="chart",
        viewBox=f"0 {top} {laid.width} {height}",
        width=laid.width,
        height=height,
        role="group",
        aria_label=f"Sequence chart: {laid.story.title}",
    )


def lanes(laid: Chart) -> Markup:
    """The lanes' titles, in a strip `HEAD` high."""
    return joined(_title(lane, laid) for lane in laid.lanes)


def _title(lane: Lane, laid: Chart) -> Markup:
    x, room = laid.at[lane.machine], min(laid.gap - 12, 2 * SIDE)
    shown = cut(lane.title, room - 20, TITLE_SIZE)
    wide = round(max(64, width(shown, TITLE_SIZE) + 26))
    kind = word(lane.kind, "machine")
    box = element("rect", x=x - wide // 2, y=14, width=wide, height=30, rx=15 if kind == "member" else 5)
    about = "" if kind == "machine" or kind in shown else f" ({kind})"
    return element(
        "g",
        element("title", f"{lane.title}{about}"),
        element("line", class_="lane", x1=x, x2=x, y1=44, y2=HEAD),
        box,
        element("text", shown, x=x, y=34, text_anchor="middle"),
        class_=f"title kind-{kind}",
    )


def body(laid: Chart, link: str | None = None) -> Markup:
    """Everything below the titles. link: what rows link to, before their number; None: they are no links."""
    return joined(
        _loop(laid),
        (_ground(row, laid) for row in laid.rows),
        (_lane(lane, laid) for lane in laid.lanes),
        (_band(band, laid) for band in laid.bands),
        (_event(row, laid, link) for row in laid.rows),
        (_name(band, laid) for band in laid.bands),
        _way_back(laid),
    )


def _lane(lane: Lane, laid: Chart) -> Markup:
    x = laid.at[lane.machine]
    return element("line", class_="lane", x1=x, x2=x, y1=0, y2=laid.height)


def _band(band: Band, laid: Chart) -> Markup:
    """A broad line; its texture, a broken thinner one on it, tells bands apart without colour."""
    x, ends = laid.at[band.machine], {"y1": band.top, "y2": band.bottom}
    return element(
        "g",
        element("title", f"{band.text}"),
        element("line", class_="bar", x1=x, x2=x, **ends),
        element("line", class_="texture", x1=x, x2=x, **ends),
        class_=f"band band-{band.number}",
    )


def _name(band: Band, laid: Chart) -> Markup:
    x, y = laid.at[band.machine], band.top + (16 if band.top else 8)
    shown = cut(band.text, min(laid.gap - 24, 2 * SIDE - 14), BAND_SIZE)
    wide = round(width(shown, BAND_SIZE) + 14)
    return element(
        "g",
        element("rect", x=x - wide // 2, y=y - 8, width=wide, height=16, rx=8),
        element("text", shown, x=x, y=y + 4, text_anchor="middle"),
        class_=f"name band-{band.number}",
        aria_hidden="true",
    )


def _ground(row: Row, laid: Chart, name: str = "ground") -> Markup:
    """What lies below a row, or over it, to be touched."""
    if name == "ground" and row.event.index in laid.story.marks and laid.story.outcome is Light.VIOLATED:
        name = "ground violated"
    high = row.bottom - row.top
    return element(
        "rect", class_=name, x=8, y=row.top + 1, width=laid.width - 16, height=high - 2, rx=7,
        data_step=row.event.index,
    )  # fmt: skip


def _event(row: Row, laid: Chart, link: str | None) -> Markup:
    event, marked = row.event, row.event.index in laid.story.marks
    violated = marked and laid.story.outcome is Light.VIOLATED
    parts = joined(
        element("title", f"Step {event.index}: {event.label}{', violated here' if violated else ''}"),
        _ground(row, laid, "touch") if link else None,
        _number(row, "✗" if violated else "●" if marked else ""),
        _label(row),
        _changes(row, laid),
        (_arrow(one, laid) for one in row.arrows),
        _beginning(row, laid),
    )
    classes = "event violated" if violated else "event marked" if marked else "event"
    if link is None:
        return element("g", parts, class_=classes, data_step=event.index)
    return element("a", parts, class_=classes, data_step=event.index, href=f"#{link}{event.index}")


def _number(row: Row, mark: str) -> Markup:
    x, y = MARGIN + NUMBER - 12, row.top + 26
    sign = element("text", mark, class_="mark", x=MARGIN - 4, y=y) if mark else None
    return joined(sign, element("text", str(row.event.index), class_="number", x=x, y=y, text_anchor="end"))


def _label(row: Row) -> Markup:
    x, y = MARGIN + NUMBER, row.top + 26
    lines = joined(element("tspan", line, x=x, y=y + LINE * number) for number, line in enumerate(row.lines))
    label = element("text", lines, class_="label")
    if not row.event.at:
        return label
    when = cut(row.event.at, LABEL - 14, ARROW_SIZE)
    return joined(label, element("text", when, class_="when", x=x, y=y + LINE * len(row.lines)))


def _changes(row: Row, laid: Chart) -> Markup:
    """A ring on the lane of each machine that changed."""
    changed = dict.fromkeys(one.machine for one in row.event.differences if one.machine in laid.at)
    return joined(
        element("circle", class_="changed", cx=laid.at[one], cy=row.reached(one), r=4) for one in changed
    )


def _beginning(row: Row, laid: Chart) -> Markup | None:
    """A dot on the lane of the machine that began it."""
    if row.event.machine not in laid.at:
        return None
    y = row.arrows[0].y if row.arrows else row.tick
    return element("circle", class_="began", cx=laid.at[row.event.machine], cy=y, r=4.5)


def _arrow(placed: Placed, laid: Chart) -> Markup:
    arrow = placed.arrow
    source, target = laid.at[arrow.source], laid.at[arrow.target]
    parts = _to_itself(placed, source) if source == target else _across(placed, source, target)
    said = f"{arrow.source} → {arrow.target}: {arrow.text}{' (lost)' if arrow.lost else ''}"
    return element("g", element("title", said), joined(parts), class_="arrow lost" if arrow.lost else "arrow")


def _across(placed: Placed, source: int, target: int) -> Iterator[Markup]:
    """From lane to lane; what is lost ends in a cross before it is there."""
    arrow, y = placed.arrow, placed.y
    way = 1 if target > source else -1
    end = source + (target - source) * 7 // 10 if arrow.lost else target - way * 6
    yield element("line", class_="way", x1=source, x2=end, y1=y, y2=y)
    yield _cross(end, y) if arrow.lost else _tip(end, y, way)
    middle, first = (source + target) // 2, y - 7 - TEXT_LINE * (len(placed.lines) - 1)
    for number, line in enumerate(placed.lines):
        yield element("text", line, x=middle, y=first + TEXT_LINE * number, text_anchor="middle")


def _to_itself(placed: Placed, x: int) -> Iterator[Markup]:
    y = placed.y
    yield element("path", class_="way", d=f"M{x} {y - 10}h18a5 5 0 0 1 0 10h-12")
    yield _cross(x + 8, y) if placed.arrow.lost else _tip(x + 6, y, -1)
    for number, line in enumerate(placed.lines):
        yield element("text", line, x=x + 28, y=y - 2 - TEXT_LINE * (len(placed.lines) - 1 - number))


def _tip(x: int, y: int, way: int) -> Markup:
    return element("path", class_="tip", d=f"M{x} {y}l{-9 * way} -4.5v9z")


def _cross(x: int, y: int) -> Markup:
    return element("path", class_="cross", d=f"M{x - 5} {y - 5}l10 10m0 -10l-10 10")


def _loop(laid: Chart) -> Markup | None:
    """What frames the part of a lasso that comes again."""
    if laid.loop is None or laid.loop[0] == laid.loop[1]:
        return None
    top, bottom = laid.loop
    frame = element("rect", x=4, y=top, width=laid.width - 8, height=bottom - top, rx=9)
    return element("g", element("title", _for_ever(laid)), frame, class_="loop")


def _way_back(laid: Chart) -> Markup | None:
    """Beside the lanes: from the last step of a lasso to the first one that comes again."""
    if laid.loop is None:
        return None
    (top, bottom), right = laid.loop, laid.width - MARGIN - 30
    if top == bottom:
        back, tip = f"M{right - 22} {top}h14a9 9 0 0 0 0 -18h-6", _tip(right - 14, top - 18, -1)
        words, middle = "stays here", top - 34
    else:
        low, high = bottom - 16, top + 16
        back = f"M{right - 26} {low}h18a10 10 0 0 0 10 -10V{high + 10}a10 10 0 0 0 -10 -10h-12"
        tip, middle = _tip(right - 22, high, -1), (top + bottom) // 2
        words = next(text for text, room in SAID if room <= bottom - top)
    said = _turned(words, right + 20, middle)
    title = element("title", _for_ever(laid))
    return element("g", title, element("path", class_="way", d=back), tip, said, class_="loop")


def _for_ever(laid: Chart) -> str:
    count = laid.story.cycle
    if not count:
        return "It stays here for ever."
    return (
        "The last step is repeated for ever."
        if count == 1
        else f"The last {count} steps are repeated for ever."
    )


def _turned(text: str, x: int, y: int) -> Markup:
    """Text from bottom to top."""
    return element("text", text, transform=f"translate({x} {y}) rotate(-90)", text_anchor="middle")
