"""What is drawn of traces and of runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ticket_office import office
from traffic_light import crossing

from rota.explore.reference import explore as search
from rota.kernel import Arrow, Depiction, Kind, Lane, Property, System, UserError, View
from rota.trace import DEADLOCK, Run, Trace, reaching, record, record_mistake, replay
from rota.trace.story import Claim, Light, Story
from rota.trace.telling import telling, told


def found(system: System) -> Run:
    violation = search(system).violation
    assert violation is not None
    return replay(record(system, violation.name, violation.start, violation.path), system)


def both(trace: Trace, system: System) -> tuple[Trace, Run]:
    return trace, replay(trace, system)


def story_of(system: System) -> Story:
    run = found(system)
    return telling(run.trace, run)


def test_a_trace_is_told_with_its_events_states_and_lights() -> None:
    story = story_of(office(2, "tickets.differ"))
    assert (story.title, story.verdict) == ("tickets.differ", "violated after 2 steps")
    assert ("meaning", "No two people hold the same ticket.") in story.facts
    assert [lane.machine for lane in story.lanes] == ["office", "person/p1", "person/p2"]
    first, second = story.events
    mover = first.machine
    assert first.label == f"{mover.removeprefix('person/')} asks for a ticket"
    assert first.arrows == (Arrow(mover, "office", "Ask"), Arrow("office", mover, "Ticket"))
    assert first.rules == ("office.next", "office.hand-out")
    assert f"office to {mover}: Ticket(1)" in first.detail
    assert second.differences
    assert [len(moment.values) for moment in story.moments] == [3, 3, 3]
    assert story.claims[0].name == "tickets.differ"
    lit = [moment.lights["tickets.differ"] for moment in story.moments]
    assert lit[-1] is Light.VIOLATED
    assert Light.VIOLATED not in lit[:-1]
    assert story.why[-1].startswith("No two people hold the same ticket. The last state says otherwise:")
    assert story.copies["Mermaid"].startswith("sequenceDiagram\n")
    assert (story.cycle, story.notice) == (None, "")


def premised(given: Any) -> System:
    views = (View("office", lambda office: office.last),)
    prop = Property("premised", Kind.SAFETY, "If so, then so.", views, lambda last: last < 9, given=given)
    system = office(2, "tickets.differ")
    return replace(system, properties=(*system.properties, prop), ref=None)


@pytest.mark.parametrize(
    ("given", "light"),
    [(lambda last: True, Light.HOLDS), (lambda last: last > 5, Light.SILENT), (None, Light.HOLDS)],
)
def test_a_property_whose_premise_is_false_everywhere_is_silent(given: Any, light: Light) -> None:
    story = story_of(premised(given))
    assert {moment.lights["premised"] for moment in story.moments} == {light}


def test_a_property_that_makes_a_mistake_in_a_state_has_no_light_there() -> None:
    run = found(office(2, "tickets.differ"))
    story = told(premised(lambda last: 1 // (1 - last) >= 0), run.states, run.path)  # 1 after the first step
    assert ["premised" in moment.lights for moment in story.moments] == [True, False, False]


def test_a_property_of_steps_says_nothing_of_the_start() -> None:
    story = story_of(office(2, "office.counts-up"))
    lit = [moment.lights["office.counts-up"] for moment in story.moments]
    assert (lit[0], lit[-1]) == (Light.SILENT, Light.VIOLATED)
    assert set(lit[1:-1]) == {Light.HOLDS}


def test_a_deadlock_has_a_light() -> None:
    story = story_of(office(2, DEADLOCK))
    assert story.claims[0].kind == DEADLOCK
    lit = [moment.lights[DEADLOCK] for moment in story.moments]
    assert lit == [*[Light.HOLDS] * (len(lit) - 1), Light.VIOLATED]


def test_what_a_run_without_an_end_breaks_is_dark_in_its_cycle_alone() -> None:
    system = crossing()
    (start,) = states = system.initial_states()
    path = []
    for label in ("the car comes", "the light turns green", "the light turns red"):
        path.append(next(one for one in system.successors(states[-1]) if one.label == label))
        states.append(path[-1].target)
    story = telling(*both(record(system, "car.crosses", start, path, cycle=2), system))
    assert story.cycle == 2
    assert story.verdict == "violated by a run that never ends: 1 step, then 2 more that repeat for ever"
    assert (story.claims[0].name, story.claims[0].kind) == ("car.crosses", "liveness")
    lit = [moment.lights["car.crosses"] for moment in story.moments]
    assert lit == [Light.SILENT, Light.VIOLATED, Light.VIOLATED, Light.VIOLATED]
    assert {moment.lights["light.coloured"] for moment in story.moments} == {Light.HOLDS}
    assert ("assumed", system.liveness[0].fairness[0].meaning) in story.facts


def test_a_state_that_was_described_is_told_with_the_lights_of_the_system() -> None:
    story = story_of(reaching(office(), "office.last == 2"))
    assert (story.title, story.verdict) == ("office.last == 2", "reached after 2 steps")
    assert "tickets.differ" in {claim.name for claim in story.claims}
    assert "reach" not in {claim.name for claim in story.claims}
    assert {moment.lights["tickets.differ"] for moment in story.moments} == {Light.HOLDS}


def test_a_described_state_of_a_system_that_cannot_be_built_again_has_no_lights() -> None:
    run = found(reaching(office(), "office.last == 2"))
    story = telling(run.trace, replace(run, system=replace(run.system, ref=None)))
    assert (story.claims, len(story.moments)) == ((), 3)


def test_without_its_system_a_trace_is_told_by_what_it_says() -> None:
    run = found(office(2, "tickets.differ"))
    story = telling(run.trace)
    whole = telling(run.trace, run)
    assert story.moments == ()
    assert story.claims == ()
    assert "not at hand" in story.notice
    assert (story.title, story.verdict, story.facts) == (whole.title, whole.verdict, whole.facts)
    assert story.events == whole.events
    assert story.lanes == whole.lanes


def test_a_run_to_a_mistake_is_told_by_what_it_says() -> None:
    with pytest.raises(UserError) as caught:
        search(premised(lambda last: 1 // (1 - last) >= 0))
    trace = record_mistake(premised(None), caught.value)
    story = telling(trace)
    assert (story.title, story.verdict) == ("property premised", "makes a mistake after 1 step")
    assert story.why == (trace.meaning,)
    assert "ZeroDivisionError" in trace.meaning
    assert "not followed again" in story.notice
    assert ("kind", "mistake") not in story.facts
    assert len(story.events) == 1


def test_a_run_without_a_contradiction_is_told_from_its_start_on() -> None:
    system = office()
    start = system.initial_states()[0]
    alone = told(system, [start], [])
    assert (alone.title, alone.verdict, alone.events) == (system.name, "at the start", ())
    assert len(alone.moments) == 1
    first = next(iter(system.successors(start)))
    story = told(system, [start, first.target], [first])
    assert story.verdict == "after 1 step"
    assert [event.label for event in story.events] == [first.label]
    assert story.why == ()
    assert Claim("tickets.differ", "safety", "No two people hold the same ticket.") in story.claims


def depicted(**drawn: Any) -> System:
    return replace(office(2, "tickets.differ"), depiction=Depiction(**drawn))


def test_a_depiction_says_what_is_drawn_of_each_state() -> None:
    story = story_of(
        depicted(
            lanes=lambda machines: [Lane(one.name, one.name.upper()) for one in machines[:2]],
            bands=lambda values: {"office": str(values["office"].last)},
            owners=lambda values: {"ticket": tuple(values["office"].holders)},
            captions=lambda values: {"office": ("open",)},
        )
    )
    assert [lane.title for lane in story.lanes] == ["OFFICE", "PERSON/P1"]
    assert [moment.bands["office"] for moment in story.moments] == ["0", "1", "1"]
    assert [len(moment.owners["ticket"]) for moment in story.moments] == [0, 1, 2]
    assert story.moments[0].captions == {"office": ("open",)}
    drawn = {end for event in story.events for arrow in event.arrows for end in (arrow.source, arrow.target)}
    assert drawn == {"office", "person/p1"}
    assert len(story.moments[0].values) == 3


def test_a_depiction_that_makes_a_mistake_is_named_and_left_out() -> None:
    story = story_of(depicted(bands=lambda values: {"office": values["nobody"]}))
    assert "KeyError" in story.notice
    assert "test_telling.py" in story.notice
    assert story.lanes == story_of(office(2, "tickets.differ")).lanes
    assert len(story.moments) == 3
