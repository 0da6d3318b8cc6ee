"""Traces as Mermaid: every line is one that the diagram knows, whatever strangers write."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from hostile import HOSTILE, naming
from ticket_office import office
from traffic_light import crossing

from rota.explore.reference import explore as search
from rota.kernel import Arrow, Depiction, Lane, System
from rota.trace import Run, record, replay
from rota.trace.mermaid import mermaid
from rota.trace.sequence import LONGEST, chart, escaped
from rota.trace.story import Event, Moment, Story

TEXT = r"(?:[^#;:\n<>%{}\"`|\\&]|#\d+;)+"
LINES = [
    r"sequenceDiagram",
    rf"    participant lane\d+ as {TEXT}",
    rf"    (?:    )?Note over lane\d+(?:,lane\d+)?: {TEXT}",
    rf"    (?:    )?lane\d+(?:->>|-x)lane\d+: {TEXT}",
    r"    loop for ever",
    r"    end",
]


def found(system: System) -> Run:
    violation = search(system).violation
    assert violation is not None
    return replay(record(system, violation.name, violation.start, violation.path), system)


def odd_lines(text: str) -> list[str]:
    assert text.endswith("\n")
    return [line for line in text[:-1].split("\n") if not any(re.fullmatch(one, line) for one in LINES)]


def shown(text: str) -> str:
    """What Mermaid shows for a text, as far as it is text."""
    return html.unescape(re.sub(r"#(\d+);", r"&#\1;", text))


def test_a_trace_is_a_diagram_with_its_steps_and_messages() -> None:
    run = found(office(2, "tickets.differ"))
    lines = mermaid(run.trace, run).splitlines()
    first, second = (step.local_steps[0].machine.removeprefix("person/") for step in run.trace.steps)
    lanes = {"p1": "lane2", "p2": "lane3"}
    assert lines == [
        "sequenceDiagram",
        "    participant lane1 as office",
        "    participant lane2 as person/p1",
        "    participant lane3 as person/p2",
        f"    Note over {lanes[first]}: 1. {first} asks for a ticket",
        f"    {lanes[first]}->>lane1: Ask",
        f"    lane1->>{lanes[first]}: Ticket",
        f"    Note over {lanes[second]}: 2. {second} asks for a ticket",
        f"    {lanes[second]}->>lane1: Ask",
        f"    lane1->>{lanes[second]}: Ticket",
        "    Note over lane1,lane3: tickets.differ#58; violated after 2 steps",
    ]


def test_without_its_states_it_is_drawn_from_what_the_trace_says() -> None:
    run = found(office(2, "tickets.differ"))
    assert mermaid(run.trace) == mermaid(run.trace, run)


def test_a_lasso_is_a_loop() -> None:
    system = crossing()
    (state,) = states = system.initial_states()
    path = []
    for label in ("the car comes", "the light turns green", "the light turns red"):
        path.append(next(one for one in system.successors(state) if one.label == label))
        state = path[-1].target
    trace = record(system, "car.crosses", states[0], path, cycle=2)
    text = mermaid(trace)
    assert odd_lines(text) == []
    lines = [line.strip() for line in text.splitlines()]
    loop, end = lines.index("loop for ever"), lines.index("end")
    assert [line.partition(": ")[2] for line in lines[3:loop]] == ["1. the car comes"]
    assert [line.partition(": ")[2] for line in lines[loop + 1 : end]] == [
        "2. the light turns green",
        "3. the light turns red",
    ]


def test_who_comes_to_another_generation_has_a_note_and_what_is_lost_a_cross() -> None:
    events = (
        Event(1, "first", "a", "3 ms", (Arrow("a", "b", "hello", lost=True), Arrow("a", "nobody", "x"))),
        Event(2, "second", "nobody"),
    )
    moments = tuple(Moment(bands=bands) for bands in ({"a": "1"}, {"a": "2", "nobody": "3"}, {"a": "2"}))
    story = Story("t", "v", lanes=(Lane("a", "A"), Lane("b", "B")), events=events, moments=moments)
    assert [line.strip() for line in chart(story).splitlines()[3:]] == [
        "Note over lane1: 1. 3 ms first",
        "lane1-xlane2: hello",
        "Note over lane1: 2",
        "Note over lane1,lane2: 2. second",
        "Note over lane1,lane2: t#58; v",
    ]


def test_a_story_without_lanes_is_an_empty_diagram() -> None:
    assert chart(Story("t", "v", events=(Event(1, "x"),))) == "sequenceDiagram\n"


@pytest.mark.parametrize("odd", HOSTILE, ids=map(ascii, HOSTILE))
def test_whatever_strangers_write_is_text(odd: str) -> None:
    system = naming(odd)
    depicted = Depiction(
        lanes=lambda machines: [Lane(machines[0].name, odd)],
        arrows=lambda before, transition: [Arrow(f"m{odd}", f"m{odd}", odd)],
        bands=lambda values: {f"m{odd}": f"{odd}{len(values[f'm{odd}'])}"},
    )
    run = found(replace(system, depiction=depicted))
    for text in (mermaid(run.trace, run), mermaid(run.trace)):
        assert odd_lines(text) == []
        assert text.count("participant lane") == 1
        assert all(line.isprintable() for line in text[:-1].split("\n"))
    if odd.isprintable():
        assert f"lane1->>lane1: {odd}" in shown(mermaid(run.trace, run))


def test_what_is_longer_than_a_chart_can_show_is_cut() -> None:
    assert len(escaped("x" * 1000)) == LONGEST
    assert escaped("x" * LONGEST) == "x" * LONGEST
    assert escaped("") == " "
