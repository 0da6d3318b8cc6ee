"""Strips: a row for each thing, a column for each moment, from which a run of equal cells is one cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rota.pages.document import Markup, element, joined
from rota.trace.story import Claim, Light, Moment, Story
from rota.trace.svg import STEP

SIGNS = {Light.HOLDS: "✓", Light.SILENT: "–", Light.VIOLATED: "✗"}
"""What stands beside the colour of a light."""

LETTERS = 3
"""So many there is room for in a column."""

OWNERS = 6
"""So many colours there are for owners; then they come again."""


@dataclass(frozen=True)
class Cell:
    """kind: a class; text: what it shows; said: what it means, in full; brief: what it shows if narrow.

    Equal ones are drawn as one.
    """

    kind: str
    text: str
    said: str
    brief: str = ""


Row = tuple[Markup, Sequence[Cell]]
"""What stands at the head of a row, and its cells."""


def _strip(caption: str, rows: Iterable[Row], count: int, link: str, *, stacked: bool = False) -> Markup:
    """A table that scrolls within itself; its columns link to the steps.

    stacked: heads are above their rows.
    """
    numbers = (
        element("th", element("a", str(one), href=f"#{link}{one}", tabindex="-1"), scope="col", data_step=one)
        for one in range(count)
    )
    corner = element("th", element("span", "step", class_="quiet"), scope="col", class_="corner")
    table = element(
        "table",
        element("caption", caption, class_="unseen"),
        element("thead", element("tr", None if stacked else corner, joined(numbers))),
        joined(_lines(head, cells, stacked) for head, cells in rows),
    )
    classes = f"strip{' stacked' if stacked else ''}{' many' if count > 100 else ''}"
    return element("div", table, class_=classes, tabindex="0", role="region", aria_label=caption)


def _lines(head: Markup, cells: Sequence[Cell], stacked: bool) -> Markup:
    runs = joined(_runs(cells))
    if not stacked:
        return element("tbody", element("tr", element("th", head, scope="row"), runs))
    above = element("th", element("div", head), scope="rowgroup", colspan=len(cells))
    return element("tbody", element("tr", above), element("tr", runs))


def _runs(cells: Sequence[Cell]) -> Iterable[Markup]:
    at = 0
    for cell, group in groupby(cells):
        count = len(list(group))
        said = f"{cell.said}, {_span(at, at + count - 1)}"
        shown = cell.text if len(cell.text) <= LETTERS * count else cell.brief
        yield element("td", shown, colspan=count if count > 1 else None, class_=cell.kind, title=said)
        at += count


def _span(low: int, high: int) -> str:
    if low == high:
        return f"step {low}" if low else "at the start"
    return f"steps {low} to {high}" if low else f"from the start to step {high}"


def _spans(steps: Sequence[int]) -> str:
    """`3–5, 9` of ascending numbers."""
    groups: list[list[int]] = []
    for step in steps:
        if groups and step == groups[-1][-1] + 1:
            groups[-1].append(step)
        else:
            groups.append([step])
    return ", ".join(str(one[0]) if len(one) == 1 else f"{one[0]}–{one[-1]}" for one in groups)


def ownership_strip(story: Story, link: str = STEP) -> Markup:
    """Who holds what can be held, over all moments; two holders of one thing are an overlap.

    Nothing, where nobody ever holds anything.
    """
    things = list(dict.fromkeys(thing for moment in story.moments for thing in moment.owners))
    if not things:
        return joined()
    titles = {lane.machine: lane.title for lane in story.lanes}
    holders = dict.fromkeys(
        holder for moment in story.moments for thing in things for holder in moment.owners.get(thing, ())
    )
    if not holders:
        return joined()
    numbers = {holder: number % OWNERS for number, holder in enumerate(holders)}

    def cell(holding: tuple[str, ...]) -> Cell:
        names = [titles.get(one, one) for one in holding]
        if len(holding) > 1:
            return Cell("overlap", f"overlap {' + '.join(names)}", f"overlap: {' and '.join(names)}", "✗")
        if holding:
            return Cell(f"held owner-{numbers[holding[0]]}", names[0], f"held by {names[0]}")
        return Cell("free", "", "held by nobody")

    rows = []
    for thing in things:
        cells = [cell(moment.owners.get(thing, ())) for moment in story.moments]
        twice = [at for at, one in enumerate(cells) if one.kind == "overlap"]
        rows.append(
            (joined(element("span", thing), _found(f"overlap at {_spans(twice)}", twice, link)), cells)
        )
    return _strip("Who owns what", rows, len(story.moments), link)


def _found(words: str, steps: Sequence[int], link: str) -> Markup | None:
    """What is wrong with a row, in words, linked to where it is first so."""
    if not steps:
        return None
    return element("a", words, class_="found", href=f"#{link}{steps[0]}")


def lights(story: Story, link: str = STEP) -> Markup:
    """What properties say at each moment: those that are violated, then the others behind a summary."""
    known = [claim for claim in story.claims if any(claim.name in moment.lights for moment in story.moments)]
    bad = [
        one for one in known if any(moment.lights.get(one.name) is Light.VIOLATED for moment in story.moments)
    ]
    fine = [one for one in known if one not in bad]
    count = len(story.moments)
    parts = []
    if bad:
        rows = [_row(one, story.moments, link) for one in bad]
        parts.append(_strip("Violated properties", rows, count, link, stacked=True))
    if fine:
        rows = [_row(one, story.moments, link) for one in fine]
        strip = _strip("Properties that are not violated", rows, count, link, stacked=True)
        other, noun = " other" if bad else "", "properties are" if len(fine) > 1 else "property is"
        summary = element("summary", f"{len(fine)}{other} {noun} not violated")
        parts.append(element("details", summary, strip, class_="more" if len(fine) > 6 else None, open=True))
    if parts:
        signs = (joined(element("b", SIGNS[one]), f" {words}") for one, words in _MEANINGS)
        parts.append(element("p", joined(element("span", one) for one in signs), class_="legend"))
    return joined(parts)


_MEANINGS = ((Light.HOLDS, "holds"), (Light.SILENT, "claims nothing here"), (Light.VIOLATED, "violated"))


def _row(claim: Claim, moments: Sequence[Moment], link: str) -> tuple[Markup, list[Cell]]:
    cells = [_light(moment.lights.get(claim.name)) for moment in moments]
    violated = [at for at, one in enumerate(cells) if one.kind == Light.VIOLATED.value]
    name = element("span", claim.name, title=claim.meaning)
    return joined(name, _found(f"first at {violated[0]}" if violated else "", violated, link)), cells


def _light(light: Light | None) -> Cell:
    if light is None:
        return Cell("unknown", "", "not judged")
    words = dict(_MEANINGS)[light]
    return Cell(light.value, SIGNS[light], words)
