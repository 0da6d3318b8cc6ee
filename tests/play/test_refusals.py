"""Why something is not possible: what machines say is so, and nothing is made up where they say nothing."""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Callable, Iterator
from functools import cache
from textwrap import dedent

import pytest
import ticket_office

from harness.thinned import some
from rota.environment.clients import refusals
from rota.environment.clients.consumer import PoliteClient
from rota.environment.clients.state import Client, Phase
from rota.kernel import Outcome, Refusal, State, System, UserError, replace
from rota.kernel.refusals import refusals as told
from rota.mutants import system
from rota.play import Session
from rota.play.guards import condition
from rota.play.offers import offers
from rota.play.rules_tried import trials
from rota.scopes import load
from rota.spec import RULES

CONFIGURATIONS = ("fault", "moves", "fault-static", "fault-commit", "move-commit", "raw-append")
"""Together they have every kind of machine, faults and fail-overs. In `make test` two tests share them."""


def visited(system: System, count: int, seed: int = 1) -> Iterator[State]:
    """States on random walks."""
    chooser = random.Random(seed)
    state = system.initial_states()[0]
    for _ in range(count):
        yield state
        here = [one.target for one in system.successors(state) if one.target != state]
        state = chooser.choice(here) if here else system.initial_states()[0]


@pytest.mark.parametrize("name", some(CONFIGURATIONS, 2))
def test_what_is_said_to_be_refused_is_no_transition(name: str, built: Callable[..., System]) -> None:
    system = built(name)
    said = 0
    for state in visited(system, 200):
        begun: dict[str, set[str]] = {machine.name: set() for machine in system.machines}
        for move in system.successors(state):
            begun[move.local_steps[0].machine].add(move.local_steps[0].label)
        for offer in offers(system, state):
            for one in offer.refused:
                said += 1
                if not one.message:
                    assert one.label not in begun[offer.machine], one
                assert one.reason, f"{one.by} says nothing of {one.label}"
    assert said > 1000


@pytest.mark.parametrize("name", some(CONFIGURATIONS, 2, first=1))
def test_a_dead_end_is_the_beginning_of_no_transition(name: str, built: Callable[..., System]) -> None:
    system = built(name)
    found = 0
    for state in visited(system, 200):
        for position in range(len(system.machines)):
            alive = [one.local_steps for one in system.begun_by(position, state)]
            for end in system.dead_ends(position, state):
                found += 1
                machine = system.machines[system.index[end.machine]]
                assert not machine.receive(end.value, end.sender, end.message)
                so_far = end.local_steps
                assert not any(
                    steps[: len(so_far)] == so_far and steps[len(so_far)].message == end.message
                    for steps in alive
                    if len(steps) > len(so_far)
                )
    assert found > 50


@cache
def clients_and_values() -> list[tuple[PoliteClient, Client]]:
    """Clients of all configurations with values that they have on walks."""
    found = {}
    for one in load("small").configurations:
        profile = one.profiles[0] if one.profiles else "kafka-4.x"
        made = system(one.settings_for(profile))
        for state in visited(made, 60):
            for machine, value in zip(made.machines, state, strict=True):
                if isinstance(machine, PoliteClient):
                    found[type(machine), machine.subscription, value] = machine, value
    return list(found.values())


def disagreements(moves: Callable[[PoliteClient], tuple[refusals.Move, ...]]) -> set[str]:
    """Where what a client lacks for a move is not whether it offers it."""
    wrong = set()
    for machine, value in clients_and_values():
        offered = machine.actions(value)
        for outcome in offered:
            if sum(move.is_of(outcome, value) for move in moves(machine)) != 1:
                wrong.add(outcome.label)
        for move in moves(machine):
            there = any(move.is_of(outcome, value) for outcome in offered)
            if there == bool(move.missing(machine.subscription, value)):
                wrong.add(move.text)
    return wrong


def test_a_client_lacks_something_exactly_for_what_it_does_not_offer() -> None:
    assert disagreements(lambda machine: tuple(machine._moves)) == set()


def test_a_need_that_is_forgotten_or_made_up_is_found() -> None:
    def forgotten(_: PoliteClient) -> tuple[refusals.Move, ...]:
        return tuple(
            refusals.Move(one.text, one.sign, one.needs[1:]) if one.text == " crashes" else one
            for one in refusals.MOVES
        )

    def made_up(_: PoliteClient) -> tuple[refusals.Move, ...]:
        return tuple(
            refusals.Move(one.text, one.sign, (*one.needs, lambda *_: "the moon is full"))
            if one.text == " heartbeats"
            else one
            for one in refusals.MOVES
        )

    assert " crashes" in disagreements(forgotten)
    assert " heartbeats" in disagreements(made_up)


def test_reasons_are_those_of_the_state(built: Callable[..., System]) -> None:
    system = built("fault")
    client = system.machines[system.index["client/c1"]]
    (start,) = client.initial()
    reasons = {one.label: one.reason for one in told(client, start)}
    assert reasons["c1 heartbeats"] == "it has not joined"
    assert reasons["c1 restarts"] == "its process has not died"
    joining = client.actions(start)[0].value
    reasons = {one.label: one.reason for one in told(client, joining)}
    assert reasons["c1 heartbeats"] == "its JoinGroup is on the wire"
    dead = {one.label: one.reason for one in told(client, replace(start, phase=Phase.CRASHED))}
    assert dead["c1 crashes"] == "its process has died"


def test_a_fault_that_the_budget_forbids_is_named(built: Callable[..., System]) -> None:
    session = Session.of(built("fault"))
    crashes = next(move for move in session.moves if move.label == "c1 crashes")
    after = session.step(session.moves.index(crashes))
    refused = {one.label: one for offer in after.offers for one in offer.refused}
    assert refused["c2 crashes"].said == "budget: no fault left of 1 for a crash"
    assert refused["c2 crashes"].message == "Charge(crash)"
    core = Session.of(built("core"))
    assert "budget: this configuration does not allow that" in {
        one.said for offer in core.offers for one in offer.refused
    }


def test_what_cannot_be_due_yet_is_named(built: Callable[..., System]) -> None:
    system = built("fault-static")
    timers = [
        one
        for state in visited(system, 1000)
        for one in told(system.machines[0], state[0])
        if one.label.startswith("the session of")
    ]
    assert timers
    assert all("waits for the log" in one.reason for one in timers)


def test_where_a_machine_says_nothing_it_is_only_named() -> None:
    session = Session.of(ticket_office.office(2, "deadlock")).step(0)
    (refused,) = [one for offer in session.offers for one in offer.refused]
    assert refused.said == "refused by office"
    assert (refused.label, refused.reason) == ("p2 asks for a ticket", "")


def test_a_mistake_in_a_machines_own_reasons_is_told() -> None:
    class Confused(ticket_office.Counter):
        def refusals(self, value: object) -> list[Refusal]:
            raise KeyError("why")

    with pytest.raises(UserError, match=r"refusals.*raised KeyError"):
        told(Confused(""), ticket_office.Office())


@cache
def source_of(slug: str) -> str:
    """A rule's source, in one form."""
    return ast.unparse(ast.parse(dedent(inspect.getsource(RULES[slug].function))))


def test_the_rules_that_are_asked_end_with_the_one_that_fires(built: Callable[..., System]) -> None:
    """Of each part of the transitions on walks; a guard is a condition that is in the source."""
    asked = guarded = 0
    for name in ("fault", "move-commit"):
        system = built(name)
        for state in visited(system, 60):
            for move in system.successors(state):
                for trial in trials(system, state, move):
                    part = next(one for one in move.local_steps if one.machine == trial.machine)
                    fired = [one.rule for one in trial.asked if one.fired]
                    assert fired == [trial.asked[-1].rule]
                    assert fired[0] in move.rules, part
                    for one in trial.asked[:-1]:
                        asked += 1
                        if one.guard is not None:
                            guarded += 1
                            assert one.guard.text.removeprefix("not (").rstrip(")") in source_of(one.rule)
    assert guarded > 0.9 * asked > 100


def test_asking_changes_nothing_and_every_handler_is_heard(built: Callable[..., System]) -> None:
    system = built("move-commit")
    heard = 0
    for state in visited(system, 60):
        for move in system.successors(state):
            parts = [one for one in move.local_steps if one.machine == "coordinator" and one.rules]
            mine = [one for one in trials(system, state, move) if one.machine == "coordinator"]
            assert len(mine) >= len(parts)
            heard += len(mine)
            assert move in set(system.successors(state))
    assert heard > 30


def test_the_condition_of_a_guard_is_that_around_what_was_returned() -> None:
    def rule(group: list[int]) -> tuple[str, ...]:
        if not group:
            return ()
        if group[0] > 3:
            if len(group) > 1:
                return ()
            return ("a",)
        else:  # noqa: RET505 - it is about this
            return ()

    first = rule.__code__.co_firstlineno
    found = {line: condition(rule, first + line) for line in (2, 5, 8)}
    assert {line: one and one.text for line, one in found.items()} == {
        2: "not group",
        5: "len(group) > 1",
        8: "not (group[0] > 3)",
    }
    assert found[2] is not None
    assert found[2].place == f"test_refusals.py:{first + 2}"
    assert condition(rule, first) is None


def test_an_outcome_of_another_move_is_not_taken_for_this_one() -> None:
    crash = next(one for one in refusals.MOVES if one.text == " crashes")
    value = Client("c1")
    assert crash.is_of(Outcome(value, (), "c1 crashes"), value)
    assert not crash.is_of(Outcome(value, (), "c1 restarts"), value)
