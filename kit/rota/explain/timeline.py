"""An incident as a picture: a row for the group and for each member, spans of what each was doing, marks for
causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rota.explain.diagnosis import Diagnosis
from rota.explain.moments import clock
from rota.explain.rebalance import Ending, Rebalance, short
from rota.history import Event, Kind
from rota.trace.markup import Markup, element, joined

WIDTH, LABELS, ROW, BAR = 980, 210, 26, 12
"""Of the picture, of the names, of a row, and of what is drawn in it."""

TOP = 30
"""Above the first row: the axis."""

ROWS = 16
"""Members that are drawn; of more their number is told."""

STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600)
"""Seconds between two ticks of the axis."""

TICKS = 8

COMES = (Kind.JOINED, Kind.REPLACED, Kind.ID_GIVEN)
GOES = (Kind.FAILED, Kind.LEFT, Kind.LEAVING, Kind.NOT_REJOINED, Kind.NOT_SYNCED)

MARKS: dict[Kind, tuple[str, str]] = {
    Kind.JOINED: ("+", "joined"),
    Kind.REPLACED: ("↻", "came back"),
    Kind.FAILED: ("✗", "session ran out"),
    Kind.LEFT: ("←", "left"),
    Kind.LEAVING: ("←", "leaves"),
    Kind.NOT_REJOINED: ("…", "did not rejoin"),
    Kind.NOT_SYNCED: ("…", "did not fetch its assignment"),
    Kind.POLL_LATE: ("!", "polled late"),
    Kind.REFUSED: ("⊘", "refused"),
}
"""What is marked, by a sign and in words."""

SPANS = {
    "stable": "has its assignment",
    "joining": "waits for the join phase to end",
    "unassigned": "without an assignment",
    "silent": "silent, before its session ran out",
}
"""Class of a span → what it says."""


@dataclass
class _Row:
    """A member: when it came and went, None where that is beyond the picture; marks; how long it was
    silent."""

    name: str
    came: float | None = None
    went: float | None = None
    silent: float = 0.0
    marks: list[Event] = field(default_factory=list)


@dataclass(frozen=True)
class _Scale:
    """Seconds to places."""

    since: float
    until: float

    def x(self, at: float) -> float:
        """The place of a moment, within the picture."""
        room = WIDTH - LABELS - 14
        part = (min(max(at, self.since), self.until) - self.since) / (self.until - self.since)
        return round(LABELS + part * room, 1)


def timeline(one: Diagnosis) -> Markup | None:
    """The picture; None where no moment is told."""
    told = one.incident.told
    moments = [at for each in told for at in (each.began, each.joined, each.ended) if at is not None]
    moments += [event.at for each in told for event in each.events if event.at is not None]
    if not moments:
        return None
    length = max(moments) - min(moments)
    edge = max(length * 0.06, 1.0)
    scale = _Scale(min(moments) - edge, max(moments) + edge)
    rows = _rows(told)
    shown, more = rows[:ROWS], len(rows) - ROWS
    height = TOP + ROW * (len(shown) + 1) + 6
    drawn = [_axis(scale, height), _group_row(told, scale)]
    drawn += [_member_row(row, told, scale, TOP + ROW * number) for number, row in enumerate(shown, 1)]
    picture = element(
        "svg", element("title", one.headline), *drawn, viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH, height=height,
        role="img", class_="timeline", xmlns="http://www.w3.org/2000/svg",
    )  # fmt: skip
    rest = element("p", f"{more} more members are not drawn.", class_="quiet") if more > 0 else None
    return joined(
        element("div", picture, class_="drawn", tabindex="0", role="region", aria_label="Timeline"), rest
    )


def legend() -> Markup:
    """What spans and marks say."""
    spans = (element("li", element("span", class_=f"swatch {name}"), words) for name, words in SPANS.items())
    seen: dict[str, str] = {}
    for sign, words in MARKS.values():
        seen.setdefault(sign, words)
    marks = (element("li", element("b", sign), f" {words}") for sign, words in seen.items())
    return element("ul", joined(spans), joined(marks), class_="legend spans")


def _rows(told: Sequence[Rebalance]) -> list[_Row]:
    rows: dict[str, _Row] = {}
    for one in told:
        for event in one.events:
            if not event.member or event.kind not in (*MARKS, *COMES, Kind.WAS_JOINED):
                continue
            row = rows.setdefault(event.member, _Row(short(event.member)))
            if _comes(event, one) and row.came is None and row.went is None:
                row.came = event.at
            if event.kind in GOES and row.went is None:
                row.went = event.at
            if event.kind is Kind.FAILED:
                row.silent = one.sessions.get(event.member, 0) / 1000
            if event.kind in MARKS:
                row.marks.append(event)
    return list(rows.values())


def _comes(event: Event, one: Rebalance) -> bool:
    """Whether a member is new: who was there before joins again as those do that come."""
    new = one.from_empty or event.member in one.came
    return event.kind in COMES or (event.kind is Kind.WAS_JOINED and new)


def _axis(scale: _Scale, height: int) -> Markup:
    step = next((one for one in STEPS if (scale.until - scale.since) / one <= TICKS), 86400)
    first = int(scale.since // step + 1) * step
    drawn = []
    for at in range(first, int(scale.until) + 1, step):
        x = scale.x(at)
        words = clock(at)
        drawn.append(element("line", x1=x, x2=x, y1=TOP - 8, y2=height - 4, class_="tick"))
        if x > WIDTH - 40:
            continue  # the words would be cut
        drawn.append(element("text", words, x=x, y=TOP - 13, text_anchor="middle", class_="when"))
    return joined(*drawn)


def _group_row(told: Sequence[Rebalance], scale: _Scale) -> Markup:
    first, last = told[0], told[-1]
    since = first.began if first.from_empty and first.began is not None else scale.since
    until = last.ended if last.ending is Ending.EMPTY and last.ended is not None else scale.until
    drawn = [_label("the group", TOP, whole=True), _bar("stable", since, until, TOP, scale)]
    for each in told:
        drawn += _phases(each, TOP, scale, scale.since, scale.until)
        if each.began is not None and each.ending is not Ending.QUIET:
            drawn.append(_number(each, scale.x(each.began)))
    return joined(*drawn)


def _number(each: Rebalance, x: float) -> Markup:
    """Where a rebalance begins: a line through all rows would hide them, so a mark on the group's."""
    return element("line", element("title", each.reason or each.trigger.name), x1=x, x2=x, y1=TOP + 2,
                   y2=TOP + ROW - 3, class_="begins")  # fmt: skip


def _member_row(row: _Row, told: Sequence[Rebalance], scale: _Scale, y: int) -> Markup:
    since = scale.since if row.came is None else row.came
    until = scale.until if row.went is None else row.went
    drawn = [_label(row.name, y)]
    if until > since:
        drawn.append(_bar("stable", since, until, y, scale))
        for each in told:
            drawn += _phases(each, y, scale, since, until)
    if row.silent and row.went is not None:
        drawn.append(_bar("silent", row.went - row.silent, row.went, y, scale))
    drawn += [_mark(event, y, scale) for event in row.marks if event.at is not None]
    return joined(*drawn)


def _phases(one: Rebalance, y: int, scale: _Scale, since: float, until: float) -> Iterator[Markup]:
    """What a rebalance makes of a row, as far as the row goes."""
    if one.ending is Ending.QUIET:
        return
    ends = one.ended if one.joined is None else one.joined
    for name, begin, end in (("joining", one.began, ends), ("unassigned", one.joined, one.ended)):
        if begin is not None and end is not None and min(end, until) > max(begin, since):
            yield _bar(name, max(begin, since), min(end, until), y, scale)


def _bar(name: str, since: float, until: float, y: int, scale: _Scale) -> Markup:
    x = scale.x(since)
    length = max(round(scale.x(until) - x, 1), 1.5)
    return element(
        "rect", element("title", SPANS[name]), x=x, y=y + (ROW - BAR) / 2, width=length, height=BAR, rx=2,
        class_=name,
    )  # fmt: skip


def _mark(event: Event, y: int, scale: _Scale) -> Markup:
    assert event.at is not None
    sign, words = MARKS[event.kind]
    said = f"{words}: {event.reason}" if event.reason else words
    bad = event.kind in GOES or event.kind in (Kind.POLL_LATE, Kind.REFUSED)
    x, middle = scale.x(event.at), y + ROW / 2
    return element(
        "g",
        element("title", f"{said} ({event.origin})"),
        element("circle", cx=x, cy=middle, r=8.5),
        element("text", sign, x=x, y=middle + 4, text_anchor="middle"),
        class_="mark bad" if bad else "mark",
    )


def _label(name: str, y: int, whole: bool = False) -> Markup:
    cut = name if len(name) <= 30 else f"{name[:29]}…"
    return element("text", element("title", name), cut, x=LABELS - 12, y=y + ROW / 2 + 4, text_anchor="end",
                   class_="who group" if whole else "who")  # fmt: skip
