"""The search for a state that is described."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import ticket_office
import toys

from rota.explore import Limits, Verdict, reference
from rota.explore.fast import numpy_search, search
from rota.kernel import System
from rota.mutants import system as world
from rota.scopes import load
from rota.trace import ExpressionError, dumps, origin_of, reaching, read, rebuild, record, replay, text

ENGINES: dict[str, Callable[..., Any]] = {
    "reference": reference.explore,
    "numpy": numpy_search.explore,
    "fast": search.explore,
}


def core() -> System:
    return world(load("tiny").configuration("core").settings_for("kafka-4.x"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("build", "expression", "steps"),
    [
        (lambda: ticket_office.office(3), "office.last > 1", 2),
        (lambda: ticket_office.office(3), "person/p1.ticket == 2 and person/p2.ticket == 1", 2),
        (lambda: ticket_office.office(3), "person/p1.ticket == 2 and person.ticket == 3", 3),
        (lambda: ticket_office.office(3), "office.last > 3", None),
        (lambda: ticket_office.office(3), "person.ticket == 1 and person/p1.ticket == 1", None),
        (toys.die_hard, "big == 4", 6),
        (toys.die_hard, "big == 4 and small == 0", 7),
        (core, 'coordinator.group.state == "Stable"', 8),
        (core, "client/c1.leads and client/c2.leads", None),
    ],
)
def test_the_shortest_run_is_found(
    engine: str, build: Callable[[], System], expression: str, steps: int | None
) -> None:
    result = ENGINES[engine](reaching(build(), expression), Limits())
    assert (result.violation and result.violation.steps) == steps
    assert (result.verdict is Verdict.VIOLATED) == (result.violation is not None)


def test_states_are_those_of_the_system() -> None:
    plain, asked = (reference.explore(one) for one in (core(), reaching(core(), "coordinator.epoch == 9")))
    assert (asked.distinct, asked.generated, asked.digest) == (plain.distinct, plain.generated, plain.digest)


def test_a_field_that_is_never_there_is_a_witness_that_is_missed() -> None:
    result = reference.explore(reaching(core(), "coordinator.group.live == 1 and log.durable"))
    assert {one.name: one.verdict for one in result.properties if one.name != "reach"} == {
        "coordinator.group.live": Verdict.VIOLATED,
        "log.durable": Verdict.HOLDS,
    }


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("coordinator.grup == 1", "coordinator has no grup; it has group, armed"),
        ("client.inbx is None", "client has no inbx; it has name, phase"),
        ("client/c1.leads and client/c2.leads and log.durable", "describe the state by 2 machines at most"),
        ("broker.x", "there is no machine or role broker"),
    ],
)
def test_what_cannot_be_looked_for(expression: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        reaching(core(), expression)


def test_the_trace_says_what_was_reached_and_replays() -> None:
    system = reaching(ticket_office.office(3), "person.ticket == 2")
    found = reference.explore(system).violation
    assert found is not None
    trace = record(system, found.name, found.start, found.path)
    assert origin_of(system).factory == "ticket_office:office"
    again = read(dumps(trace))
    assert again == trace
    shown = text(again)
    assert shown.startswith("reached after 2 steps\n  A state in which person.ticket == 2.\n")
    assert "The last state is one:" in shown
    assert "violated" not in shown
    assert len(replay(again, rebuild(again, trusted={"ticket_office:office"})).path) == 2


def test_another_process_builds_the_same() -> None:
    system = reaching(ticket_office.office(2), "office.last == 2")
    assert system.ref is not None
    assert reference.explore(system.ref.build()).answer == reference.explore(system).answer
