"""The machines at a moment: how each stands, its value, and which of its lines changed in the step before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rota.pages.document import Markup, element, joined, visible
from rota.pages.values import changed, lines
from rota.trace.chart import BANDS
from rota.trace.markup import word
from rota.trace.story import Moment, Story


@dataclass(frozen=True)
class Machine:
    """A machine at a moment. band and captions: as in a `Moment`; number: of the band's colour; fresh: the
    lines that changed, by number; moved: whether anything did."""

    name: str
    title: str
    kind: str
    band: str
    number: int
    captions: tuple[str, ...]
    lines: tuple[str, ...]
    fresh: tuple[int, ...]
    moved: bool


def machines(story: Story, index: int) -> tuple[Machine, ...]:
    """Those of which a value is known at a moment: lanes in their order, then the others."""
    moment = story.moments[index]
    before = values_of(story.moments[index - 1]) if index else {}
    values, numbers = values_of(moment), band_numbers(story)
    lanes = {lane.machine: lane for lane in story.lanes}
    order = [*(name for name in lanes if name in values), *(name for name in values if name not in lanes)]
    result = []
    for name in order:
        now, was = lines(visible(values[name])), lines(visible(before.get(name, values[name])))
        lane, band = lanes.get(name), moment.bands.get(name, "")
        result.append(
            Machine(
                name,
                lane.title if lane else name,
                word(lane.kind, "machine") if lane else "machine",
                band,
                numbers.get(band, 0),
                moment.captions.get(name, ()),
                now,
                changed(was, now) if was != now else (),
                was != now,
            )
        )
    return tuple(result)


def knows_values(story: Story) -> bool:
    """Whether the states of machines are known, and not only what can be seen from outside."""
    return any(moment.values for moment in story.moments)


def values_of(moment: Moment) -> Mapping[str, str]:
    """Machine -> its value."""
    return {one.machine: one.value for one in moment.values}


def band_numbers(story: Story) -> Mapping[str, int]:
    """Band -> the number of its colour, as in the chart."""
    numbers: dict[str, int] = {}
    for moment in story.moments:
        for lane in story.lanes:
            if text := moment.bands.get(lane.machine):
                numbers.setdefault(text, len(numbers))
    return {text: number % BANDS for text, number in numbers.items()}


def state_panel(story: Story, index: int) -> Markup:
    """The machines at a moment (0: before the first event); nothing where no values are known."""
    if not knows_values(story):
        return joined()
    return element("div", joined(_machine(one, index) for one in machines(story, index)), class_="machines")


def _machine(one: Machine, index: int) -> Markup:
    shown = [
        element("span", one.title, class_="who"),
        element("span", one.band, class_=f"pill band-{one.number}", hidden=not one.band),
        element("span", "changed", class_="moved", hidden=not one.moved),
        element("span", " · ".join(one.captions), class_="captions"),
    ]
    texts = (
        element("span", line, class_="line fresh" if number in one.fresh else "line")
        for number, line in enumerate(one.lines)
    )
    return element(
        "details",
        element("summary", *shown),
        element("pre", joined(texts), class_="value", tabindex="0", aria_label=f"Value of {one.title}"),
        class_=f"machine kind-{one.kind}",
        open=not one.captions,
        data_machine=one.name,
    )


def moments_as_data(story: Story) -> dict[str, Any]:
    """All moments for the script: each text once, of each moment only what is not as in the one before."""
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    def entries() -> Iterator[list[list[Any]]]:
        last: dict[str, list[Any]] = {}
        for index in range(len(story.moments)):
            entry = []
            for position, one in enumerate(machines(story, index)):
                captions = [number(visible(text)) for text in one.captions]
                value = [
                    number("\n".join(one.lines)),
                    one.fresh,
                    captions,
                    number(visible(one.band)),
                    one.number,
                    one.moved,
                ]
                if last.get(one.name) != value:
                    entry.append([position, *value])
                    last[one.name] = value
            yield entry

    moments = list(entries())
    return {"moments": moments, "texts": list(texts)}
