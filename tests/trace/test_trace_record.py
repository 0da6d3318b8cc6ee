"""Traces made from what an engine found: texts, differences, and the contradiction."""

from __future__ import annotations

import pytest
from ticket_office import Office, Ticket, office

from rota import explore
from rota.explore.reference import explore as run
from rota.kernel import FrozenMap, component_hash
from rota.trace import DEADLOCK, Difference, Sight, Trace, differences, record, render, text


def found(fault: str, people: int = 2) -> Trace:
    system = office(people, fault)
    violation = run(system).violation
    assert violation is not None
    return record(system, violation.name, violation.start, violation.path)


def test_the_name_of_deadlock_is_the_engines() -> None:
    assert explore.result.DEADLOCK == DEADLOCK


def test_a_step_tells_who_did_what_with_which_rules_and_what_changed() -> None:
    trace = found("tickets.differ")
    assert (trace.property_name, trace.kind, len(trace.steps)) == ("tickets.differ", "safety", 2)
    assert trace.origin.factory == "ticket_office:office"
    assert trace.origin.settings == {"people": 2, "fault": "tickets.differ"}
    first, second = trace.steps
    assert {first.label, second.label} == {"p1 asks for a ticket", "p2 asks for a ticket"}
    assert first.rules == ("office.next", "office.hand-out")
    mover = first.local_steps[0].machine
    name = mover.removeprefix("person/")
    assert [
        (local_step.machine, local_step.sender, local_step.message) for local_step in first.local_steps
    ] == [
        (mover, None, None),
        ("office", mover, f"Ask({name})"),
        (mover, "office", "Ticket(1)"),
    ]
    assert first.differences == (
        Difference("office", "last", "0", "1"),
        Difference("office", f"holders[{name}]", None, "1"),
        Difference(mover, "ticket", "none", "1"),
        Difference(mover, "note", "''", "'no. 1'"),
    )
    assert first.hashes[0] == "{:016x}{:016x}".format(*component_hash(Office(1, FrozenMap({name: 1}))))


def test_why_shows_the_views_of_every_choice_that_contradicts() -> None:
    trace = found("tickets.differ")
    assert trace.why == (
        Sight(1, "person/p1", None, "1"),
        Sight(1, "person/p2", None, "1"),
    )


def test_why_tells_every_pair_once() -> None:
    trace = found("tickets.differ", people=3)
    assert [(sight.choice, sight.machine) for sight in trace.why] == [(1, "person/p1"), (1, "person/p2")]


def test_why_of_a_step_shows_before_and_after() -> None:
    trace = found("office.counts-up")
    assert trace.why == (Sight(1, "office", "2", "1"),)
    assert trace.steps[-1].label == "the office turns its counter back"


def test_why_of_a_deadlock_shows_every_machine() -> None:
    trace = found(DEADLOCK)
    assert (trace.property_name, trace.kind) == (DEADLOCK, DEADLOCK)
    assert {sight.machine for sight in trace.why} == {"office", "person/p1", "person/p2"}


def test_an_unknown_property_is_a_key_error() -> None:
    system = office()
    with pytest.raises(KeyError, match="nothing"):
        record(system, "nothing", system.initial_states()[0], ())


def test_the_text_names_meaning_steps_and_contradiction_within_the_width() -> None:
    shown = text(found("tickets.differ"))
    lines = shown.splitlines()
    assert lines[0] == "tickets.differ (safety) is violated after 2 steps"
    assert lines[1] == "  No two people hold the same ticket."
    assert any(line.startswith("  1  p") and line.endswith(" asks for a ticket") for line in lines)
    assert any(line.split() == ["office", "last", "0", "->", "1"] for line in lines)
    assert any(line.split()[:1] == ["rules"] for line in lines)
    assert "why  No two people hold the same ticket. The last state says otherwise:" in lines
    assert lines[-1].strip() == "source: the office's by-laws"
    assert max(map(len, lines)) <= 110


def test_sets_say_what_left_and_what_came() -> None:
    old, new = Office(late=frozenset({"a", "b"})), Office(late=frozenset({"c", "b"}))
    assert differences("office", old, new) == (
        Difference("office", "late", "a", None),
        Difference("office", "late", None, "c"),
    )


def test_maps_and_tuples_are_compared_part_by_part() -> None:
    old = FrozenMap({"a": (1, 2), "b": (3,), "c": (4,)})
    new = FrozenMap({"a": (1, 5), "b": (), "d": (6,)})
    assert differences("m", old, new) == (
        Difference("m", "[a][1]", "2", "5"),
        Difference("m", "[b]", "3", None),
        Difference("m", "[c]", "[4]", None),
        Difference("m", "[d]", None, "[6]"),
    )


def test_queues_tell_what_went_in_and_what_went_out() -> None:
    assert differences("m", (1,), (1, 2, 3)) == (Difference("m", "", None, "2, 3"),)
    assert differences("m", (1, 2, 3), (3,)) == (Difference("m", "", "1, 2", None),)
    assert differences("m", (1, 2), (3,)) == (Difference("m", "", "[1, 2]", "[3]"),)


def test_equal_numbers_of_other_types_differ() -> None:
    assert differences("m", True, 1) == (Difference("m", "", "yes", "1"),)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "none"),
        (True, "yes"),
        ("", "''"),
        ("c1", "c1"),
        (" c1", "' c1'"),
        (b"", "''"),
        (b"range", "'range'"),
        (b"\x00\xff", "0x00ff"),
        (frozenset({"b", "a"}), "{a, b}"),
        (FrozenMap({"b": 1, "a": 2}), "{a: 2, b: 1}"),
        (("a", (1,)), "[a, [1]]"),
        (Ticket(3), "Ticket(3)"),
        (Office(2), "Office(last=2)"),
    ],
)
def test_values_are_rendered_briefly(value: object, shown: str) -> None:
    assert render(value) == shown
