"""A story as the text of a Mermaid sequence diagram.

Mermaid has no way to quote text: what ends a line, a statement or a name is written as an entity. So
everything but letters, digits and a few harmless signs is, wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rota.trace.story import Event, Story

PLAIN_SIGNS = frozenset(" -_.,()[]'=?!/*+←→…·×")
"""Signs beside letters and digits that Mermaid takes as they are, in every place."""

LONGEST = 120
"""Characters of a text that is longer in the story than a chart can show."""


def chart(story: Story) -> str:
    """The diagram. Ends with a line end."""
    return "".join(f"{line}\n" for line in _lines(story))


def _lines(story: Story) -> Iterator[str]:
    yield "sequenceDiagram"
    names = {lane.machine: f"lane{number}" for number, lane in enumerate(story.lanes, 1)}
    for lane in story.lanes:
        yield f"    participant {names[lane.machine]} as {escaped(lane.title)}"
    loop = None if not story.cycle else len(story.events) - story.cycle
    for at, event in enumerate(story.events):
        if at == loop:
            yield "    loop for ever"
        yield from (f"    {line}" for line in _event(story, at, event, names))
    if loop is not None:
        yield "    end"
    if names:
        yield f"    {_note(list(names.values()), f'{story.title}: {story.verdict}')}"


def _event(story: Story, at: int, event: Event, names: Mapping[str, str]) -> Iterator[str]:
    """A note with what happens, the arrows, and a note for each machine that comes to another generation."""
    here = [names[event.machine]] if event.machine in names else list(names.values())
    when = f"{event.at} " if event.at else ""
    if here:
        yield _note(here, f"{event.index}. {when}{event.label}")
    for arrow in event.arrows:
        if arrow.source in names and arrow.target in names:
            head = "-x" if arrow.lost else "->>"
            yield f"{names[arrow.source]}{head}{names[arrow.target]}: {escaped(arrow.text)}"
    if at + 1 < len(story.moments):
        before, after = story.moments[at].bands, story.moments[at + 1].bands
        for machine, band in after.items():
            if machine in names and before.get(machine) != band:
                yield _note([names[machine]], band)


def _note(over: list[str], text: str) -> str:
    ends = over if len(over) < 2 else [over[0], over[-1]]
    return f"Note over {','.join(ends)}: {escaped(text)}"


def escaped(text: str) -> str:
    """A text that is none of Mermaid's syntax, one line long, never empty."""
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(_sign(one) for one in cut) or " "


def _sign(one: str) -> str:
    if one.isalnum() or one in PLAIN_SIGNS:
        return one
    if one.isprintable():
        return f"#{ord(one)};"
    return f"#92;u{ord(one):04x}"
