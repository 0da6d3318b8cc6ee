"""Expressions along a run: every state's value, per machine of a role, and what is not there."""

from __future__ import annotations

from typing import Any

import pytest
from ticket_office import office

from rota.explore.reference import explore
from rota.trace import ExpressionError, Run, reaching, record, replay
from rota.trace.along import Column, along


def run_of(system: Any) -> Run:
    violation = explore(system).violation
    assert violation is not None
    return replay(record(system, violation.name, violation.start, violation.path), system)


@pytest.fixture(scope="module")
def run() -> Run:
    """The counter goes up to 2 and back to 1."""
    return run_of(office(fault="office.counts-up"))


def test_a_value_per_state_the_first_one_included(run: Run) -> None:
    (last,) = along(run, "office.last")
    assert last == Column("office.last", ("0", "1", "2", "1"))
    assert [last.changed(number) for number in range(4)] == [False, True, True, True]


def test_a_role_stands_for_each_of_its_machines(run: Run) -> None:
    first, second = along(run, "person.ticket")
    assert {first.title, second.title} == {
        "person.ticket (person/p1)",
        "person.ticket (person/p2)",
    }
    by_title = {column.title[-3:-1]: column.values for column in (first, second)}
    assert sorted(by_title.values()) == [("none", "1", "1", "1"), ("none", "none", "2", "2")]
    (named,) = along(run, "person/p1.ticket")
    assert named == Column("person/p1.ticket", by_title["p1"])


def test_what_is_not_there_is_nothing(run: Run) -> None:
    (at,) = along(run, "office.holders['p2']")
    assert at.values[0] == "nothing"
    assert set(at.values) == {"nothing", along(run, "person/p2.ticket")[0].values[-1]}
    (deep,) = along(run, "office.last.digits")
    assert deep.values == ("nothing",) * 4
    assert deep.missing == ("office.last.digits",)
    assert at.missing == ()


def test_a_machine_that_is_named_is_not_one_of_its_role(run: Run) -> None:
    """As with --reach: so two machines can be compared."""
    (together,) = along(run, "person/p1.ticket == person.ticket")
    assert together.values == ("yes", "no", "no", "no")
    assert together.title == "person/p1.ticket == person.ticket"


def test_more_than_two_machines_can_be_named(run: Run) -> None:
    (all_of_them,) = along(run, "[office.last, person/p1.ticket, person/p2.ticket]")
    assert all_of_them.values[0] == "[0, none, none]"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{1, office.last}", "{0, 1}"),
        ("[one for one in office.holders]", "[]"),
        ("(one for one in office.holders)", "[]"),
        ("office.holders.items()", "[]"),
        ("office.late", "{}"),
        ("office.last < 1", "yes"),
    ],
)
def test_whatever_an_expression_gives_is_shown(run: Run, text: str, told: str) -> None:
    assert along(run, text)[0].values[0] == told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("offce.last", "there is no machine or role offce; did you mean office"),
        ("office.lst", "office has no lst; it has last, holders, late"),
        ("office.last +", "cannot be read"),
        ("office.last + person/p1.note", "unsupported operand"),
        ("1 + 1", "names no machine and no role"),
    ],
)
def test_what_is_no_expression_about_the_system_is_told(run: Run, text: str, why: str) -> None:
    with pytest.raises(ExpressionError, match=why):
        along(run, text)


def test_a_role_of_which_no_machine_is_left_is_told() -> None:
    run = run_of(office(fault="tickets.differ"))
    with pytest.raises(ExpressionError, match="not that many machines"):
        along(run, "office.last + person/p1.ticket + person/p2.ticket + person.ticket")


def test_a_search_for_a_state_can_be_asked_too() -> None:
    """There, what is named has a role of its own."""
    run = run_of(reaching(office(), "person/p1.ticket == 2"))
    assert along(run, "person/p1.ticket")[0].values[-1] == "2"
    assert [column.title for column in along(run, "person.ticket")] == [
        "person.ticket (person/p1)",
        "person.ticket (person/p2)",
    ]
