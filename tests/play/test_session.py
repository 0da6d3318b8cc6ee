"""A session: steps, going back, jumps, walks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import ticket_office
import toys

from rota.explore import reference
from rota.kernel import System
from rota.play import PlayError, Session
from rota.play.session import Bounds
from rota.trace import reaching


def test_steps_go_forward_and_back_and_forget_another_way(office: Session) -> None:
    one = office.step(0)
    two = one.step(1)
    assert [move.label for move in two.path] == ["p1 asks for a ticket", "p3 asks for a ticket"]
    assert two.state == two.path[-1].target
    back = two.to(1)
    assert (back.state, back.path) == (one.state, two.path)
    assert back.step(1).path == two.path, "the same way stays"
    other = back.step(0)
    assert [move.label for move in other.path] == ["p1 asks for a ticket", "p2 asks for a ticket"]
    assert (office.path, office.at) == ((), 0), "nothing changes a session"


def test_what_is_not_there_is_said(office: Session) -> None:
    with pytest.raises(PlayError, match="no move 4 here; there are 3"):
        office.step(3)
    with pytest.raises(PlayError, match="has 0 steps; there is no step 1"):
        office.to(1)
    with pytest.raises(PlayError, match="1 initial states"):
        Session.of(office.system, 1)


@pytest.mark.parametrize(
    ("build", "expression"),
    [
        (lambda built: ticket_office.office(3), "person/p1.ticket == 2 and person.ticket == 3"),
        (lambda built: toys.die_hard(), "big == 4 and small == 0"),
        (lambda built: built("core"), 'coordinator.group.state == "Stable" and client.phase == "stable"'),
        (lambda built: built("overlap"), "coordinator.group.generation_id == 2"),
    ],
)
def test_a_jump_takes_a_shortest_way(
    build: Callable[..., System], expression: str, built: Callable[..., System]
) -> None:
    system = build(built)
    session = Session.of(system).jumped(expression)
    violation = reference.explore(reaching(system, expression)).violation
    assert violation is not None
    assert len(session.path) == len(violation.path)
    assert session.there(expression)(session.state)
    assert not any(map(session.there(expression), session.states[:-1]))


def test_a_jump_goes_on_from_where_the_person_stands(office: Session) -> None:
    there = office.step(2).jumped("person/p1.ticket == 2")
    assert [move.label for move in there.path] == ["p3 asks for a ticket", "p1 asks for a ticket"]
    assert len(there.to(1).jumped("person/p1.ticket == 3").path) == 3


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("office.last ==", "cannot be read"),
        ("nobody.last == 1", "there is no machine or role nobody"),
        ("office.frist == 1", "has no frist"),
        ("office.last == 9", "no state that can be reached from here"),
        ("office.last + 'a' == 1", "unsupported operand"),
    ],
)
def test_what_cannot_be_jumped_to_is_said(office: Session, expression: str, why: str) -> None:
    with pytest.raises(PlayError, match=why):
        office.jumped(expression)


def test_a_jump_is_bounded(core: Session) -> None:
    with pytest.raises(PlayError, match=r"no such state among the .* nearest ones"):
        core.jumped('client/c1.phase == "crashed"', Bounds(states=20))


def test_a_walk_is_a_run_of_the_system_and_comes_again_with_its_seed(core: Session) -> None:
    walk = core.walked(40, seed=7)
    assert walk.path == core.walked(40, seed=7).path != core.walked(40, seed=8).path
    for before, move in zip(walk.states, walk.path, strict=False):
        assert move in set(core.system.successors(before))
        assert move.target != before
    assert len(walk.path) == 40 or all(
        move.target == walk.state for move in core.system.successors(walk.state)
    )


def test_every_move_is_a_transition_and_every_transition_a_move(core: Session, office: Session) -> None:
    for session in (core, office):
        for seed in range(20):
            here = session.walked(seed * 2, seed)
            assert set(here.moves) == set(session.system.successors(here.state))
            assert len(set(here.moves)) == len(here.moves)


def test_a_mistake_of_the_system_is_told_and_the_other_machines_go_on() -> None:
    class Broken(ticket_office.Customer):
        def actions(self, value: ticket_office.Person) -> object:
            raise ZeroDivisionError("oh")

    whole = ticket_office.office(2)
    machines = (*whole.machines[:-1], Broken("p2", False))
    session = Session.of(System("broken", machines))
    by_name = {one.machine: one for one in session.offers}
    assert "ZeroDivisionError: oh" in by_name["person/p2"].mistake
    assert [move.label for move in by_name["person/p1"].moves] == ["p1 asks for a ticket"]
    with pytest.raises(PlayError, match="ZeroDivisionError"):
        session.walked(3, 1)
