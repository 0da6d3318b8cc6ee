"""Where everything of a sequence chart is: lanes, a row for each event, arrows, bands, the loop of a lasso.

Widths of texts are estimated, so that the same story gives the same chart on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from unicodedata import east_asian_width

from rota.kernel import Arrow, Lane
from rota.trace.markup import visible
from rota.trace.story import Event, Story

NUMBER, LABEL, SIDE, MARGIN = 45, 193, 62, 14
"""Widths: of the column of numbers, of that of labels, beside the outer lanes, and left and right of all."""

LOOP = 74
"""Width of what stands beside the lanes where a lasso goes back."""

HEAD = 62
"""Height of the lanes' titles."""

FIRST, ARROW, LINE, LEAST = 33, 28, 17, 48
"""Within a row: where the first arrow is, how far arrows and lines of a label are apart, the least height."""

TEXT_LINE = 13
"""How far lines of an arrow's text are apart."""

NEAREST, FURTHEST = 112, 168
"""How far neighbouring lanes are apart, as their arrows' texts want it."""

LABEL_SIZE, TITLE_SIZE, ARROW_SIZE, BAND_SIZE, SMALL = 13, 13, 11.5, 10.5, 11
"""Sizes of letters."""

LINES = 3
"""The most lines of a label or of an arrow's text; what is longer is cut, its title has all."""

NARROW = frozenset("ijlItf.,:;'|!()[]{} ")
WIDE = frozenset("mwMW@%")
BANDS = 6
"""So many colours and textures there are for bands; then they come again."""


def width(text: str, size: float) -> float:
    """How wide a text is, about: in a sans serif face, letters being so large."""
    return size * sum(map(_em, text))


@cache
def _em(letter: str) -> float:
    if letter in NARROW:
        return 0.37
    if letter in WIDE:
        return 0.93
    if east_asian_width(letter) in "WF":
        return 1.0
    return 0.7 if letter.isupper() else 0.6


def cut(text: str, room: float, size: float) -> str:
    """The text, or as much of its beginning as there is room for."""
    text = " ".join(visible(text).split())
    if width(text, size) <= room:
        return text
    room -= width("…", size)
    used, end = 0.0, 0
    while end < len(text) and (used := used + size * _em(text[end])) <= room:
        end += 1
    return text[:end].rstrip() + "…"


@lru_cache(1 << 12)  # dialogues of one report say much the same
def broken(text: str, room: float, size: float, most: int = LINES) -> tuple[str, ...]:
    """The text in lines that have room, the last of which is cut if there are too many."""
    lines: list[str] = []
    words = visible(text).split()
    while words and len(lines) < most:
        if len(lines) == most - 1:
            return (*lines, cut(" ".join(words), room, size))
        taken = 1
        while taken < len(words) and width(" ".join(words[: taken + 1]), size) <= room:
            taken += 1
        first = cut(" ".join(words[:taken]), room, size)
        lines.append(first)
        words = words[taken:]
    return tuple(lines)


@dataclass(frozen=True)
class Placed:
    """An arrow's place. lines: of its text, above it."""

    arrow: Arrow
    y: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """An event's place. lines: of its label; arrows: those drawn; tick: where it is over, and what changed is
    as it is now."""

    event: Event
    top: int
    bottom: int
    lines: tuple[str, ...]
    arrows: tuple[Placed, ...]
    tick: int

    def reached(self, machine: str) -> int:
        """Where a machine last took part in it."""
        own = [one.y for one in self.arrows if machine in (one.arrow.source, one.arrow.target)]
        return own[-1] if own else self.tick


@dataclass(frozen=True)
class Band:
    """A machine's time in one generation (term, epoch, …). number: of its colour and texture; said: whether
    its name is written there."""

    machine: str
    text: str
    number: int
    top: int
    bottom: int


@dataclass(frozen=True)
class Chart:
    """A story's chart. at: machine -> where its lane is; gap: between lanes; loop: a lasso's."""

    story: Story
    lanes: tuple[Lane, ...]
    at: Mapping[str, int]
    gap: int
    width: int
    height: int
    rows: tuple[Row, ...]
    bands: tuple[Band, ...]
    loop: tuple[int, int] | None


def chart(story: Story) -> Chart:
    """Lay out a story."""
    lanes = tuple({lane.machine: lane for lane in story.lanes}.values())
    gap = _gap(story, lanes)
    left = MARGIN + NUMBER + LABEL + SIDE
    at = {lane.machine: left + gap * number for number, lane in enumerate(lanes)}
    rows = tuple(_rows(story.events, at, gap))
    height = (rows[-1].bottom if rows else LEAST) + MARGIN + 8
    right = left + gap * max(0, len(lanes) - 1) + SIDE
    loop = None
    if story.cycle is not None:
        inside = rows[len(rows) - story.cycle :] if story.cycle else ()
        loop = (inside[0].top, inside[-1].bottom) if inside else (height - MARGIN, height - MARGIN)
    wide = right + MARGIN + (LOOP if loop else 0)
    return Chart(story, lanes, at, gap, wide, height, rows, tuple(_bands(story, at, rows, height)), loop)


def _gap(story: Story, lanes: Sequence[Lane]) -> int:
    """Wide enough for titles and for what is written between neighbours, within bounds."""
    number = {lane.machine: position for position, lane in enumerate(lanes)}
    wanted = [width(lane.title, TITLE_SIZE) + 44 for lane in lanes]
    for event in story.events:
        for arrow in event.arrows:
            if arrow.source in number and arrow.target in number:
                apart = abs(number[arrow.source] - number[arrow.target]) or 1
                wanted.append((width(arrow.text, ARROW_SIZE) + 34) / apart)
    return round(min(FURTHEST, max(NEAREST, *wanted, 0)))


def _rows(events: Iterable[Event], at: Mapping[str, int], gap: int) -> Iterable[Row]:
    top = 6
    for event in events:
        lines = broken(event.label or "(no label)", LABEL - 14, LABEL_SIZE)
        drawn = [arrow for arrow in event.arrows if arrow.source in at and arrow.target in at]
        arrows = tuple(_placed(drawn, top + FIRST, at, gap))
        tick = arrows[-1].y if arrows else top + 22
        written = top + 26 + LINE * (len(lines) - 1 + bool(event.at)) + 14
        bottom = max(top + LEAST, tick + 18, written)
        yield Row(event, top, bottom, lines, arrows, tick)
        top = bottom


def _placed(drawn: Iterable[Arrow], y: int, at: Mapping[str, int], gap: int) -> Iterable[Placed]:
    """Arrows one below the other; the first line of the first one's text is level with the label."""
    for arrow in drawn:
        apart = abs(at[arrow.source] - at[arrow.target])
        lines = _even(arrow.text, (apart or gap) - (16 if apart else 44))
        y += TEXT_LINE * max(0, len(lines) - 1)
        yield Placed(arrow, y, lines)
        y += ARROW


def _even(text: str, room: int) -> tuple[str, ...]:
    """An arrow's text in as few lines as can be, of much the same length."""
    lines = broken(text, room, ARROW_SIZE)
    if len(lines) < 2 or _is_cut(lines):
        return lines
    tries = (broken(text, room * part / 10, ARROW_SIZE, len(lines)) for part in (6, 7, 8, 9))
    return next((one for one in tries if not _is_cut(one)), lines)


def _is_cut(lines: Sequence[str]) -> bool:
    return any(line.endswith("…") for line in lines)


def _bands(story: Story, at: Mapping[str, int], rows: Sequence[Row], height: int) -> Iterable[Band]:
    """Each machine's bands from top to bottom, lanes in order; equal texts have the same number."""
    if len(story.moments) != len(rows) + 1:
        return
    numbers: dict[str, int] = {}
    for moment in story.moments:
        for machine in at:
            if text := moment.bands.get(machine):
                numbers.setdefault(text, len(numbers))
    for machine in at:
        since = 0
        for position, moment in enumerate(story.moments):
            text = moment.bands.get(machine, "")
            following = story.moments[position + 1].bands.get(machine, "") if position < len(rows) else None
            if text != following:
                if text:
                    top = rows[since - 1].reached(machine) if since else 0
                    end = rows[position].reached(machine) if position < len(rows) else height
                    yield Band(machine, text, numbers[text] % BANDS, top, end)
                since = position + 1
