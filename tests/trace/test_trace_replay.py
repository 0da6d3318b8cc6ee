"""Replay: a true trace is reproduced, a changed one is not, and a file does not choose what is run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ticket_office import office

from rota.explore.reference import explore
from rota.trace import (
    Origin,
    ReplayError,
    Trace,
    UntrustedFactory,
    dumps,
    read,
    rebuild,
    record,
    replay,
)

TOY = "ticket_office:office"


def found(fault: str, people: int = 2) -> Trace:
    system = office(people, fault)
    violation = explore(system).violation
    assert violation is not None
    return record(system, violation.name, violation.start, violation.path)


def edited(trace: Trace, line: int, change: Callable[[dict[str, Any]], None]) -> Trace:
    contents = [json.loads(one) for one in dumps(trace).splitlines()]
    change(contents[line])
    return read("\n".join(map(json.dumps, contents)))


@pytest.mark.parametrize(
    ("fault", "steps"), [("tickets.differ", 2), ("office.counts-up", 3), ("deadlock", 1)]
)
def test_a_trace_is_reproduced_from_its_file(fault: str, steps: int) -> None:
    trace = read(dumps(found(fault)))
    assert len(replay(trace, rebuild(trace, trusted={TOY})).path) == steps


def test_a_system_without_the_fault_differs_at_the_first_step_that_it_cannot_do() -> None:
    with pytest.raises(ReplayError, match=r"step 2: .* leads to another value of office") as caught:
        replay(found("tickets.differ"), office())
    assert caught.value.step == 2


def test_a_step_that_is_not_offered_is_named() -> None:
    with pytest.raises(
        ReplayError, match=r"step 3: the system cannot do 'the office turns its counter back'"
    ):
        replay(found("office.counts-up"), office())


def test_a_run_cut_short_does_not_violate() -> None:
    trace = found("office.counts-up")
    with pytest.raises(ReplayError, match=r"step 2: office.counts-up holds here"):
        replay(replace(trace, steps=trace.steps[:-1]), office(fault="office.counts-up"))


def test_another_property_is_not_violated_by_the_same_run() -> None:
    trace = replace(found("tickets.differ"), property_name="deadlock")
    with pytest.raises(ReplayError, match="deadlock holds here"):
        replay(trace, office(fault="tickets.differ"))


def test_a_property_that_the_system_lacks_is_named() -> None:
    trace = replace(found("tickets.differ"), property_name="tickets.blue")
    with pytest.raises(ReplayError, match=r"no property tickets.blue"):
        replay(trace, office(fault="tickets.differ"))


def test_other_machines_and_another_start_are_told() -> None:
    with pytest.raises(ReplayError, match="start: the trace is about"):
        replay(found("tickets.differ"), office(people=3))
    trace = found("tickets.differ")
    moved = replace(trace, start=(replace(trace.start[0], hash="0" * 32), *trace.start[1:]))
    with pytest.raises(ReplayError, match="start: the system has no such initial state"):
        replay(moved, office(fault="tickets.differ"))


def test_texts_are_compared_too() -> None:
    trace = found("tickets.differ")
    system = office(fault="tickets.differ")

    def other_rule(step: dict[str, Any]) -> None:
        step["local_steps"][1]["rules"] = ["office.closed"]

    def other_text(step: dict[str, Any]) -> None:
        step["differences"][0]["new"] = "77"

    def other_meaning(header: dict[str, Any]) -> None:
        header["meaning"] = "Everybody is happy."

    def other_start(header: dict[str, Any]) -> None:
        header["start"][0]["value"] = "Office(last=9)"

    with pytest.raises(ReplayError, match=r"step 2: .* is done by other rules: office.next"):
        replay(edited(trace, 2, other_rule), system)
    with pytest.raises(ReplayError, match=r"step 1: .* describes it otherwise"):
        replay(edited(trace, 1, other_text), system)
    with pytest.raises(ReplayError, match=r"step 2: .* describes it otherwise"):
        replay(edited(trace, 0, other_meaning), system)
    with pytest.raises(ReplayError, match=r"start: .* describes it otherwise"):
        replay(edited(trace, 0, other_start), system)


def test_a_file_does_not_choose_what_is_run() -> None:
    trace = found("deadlock")
    with pytest.raises(UntrustedFactory, match=TOY):
        rebuild(trace)
    for factory in ("subprocess:run", "rota.kernel.system:import_module", "rota.kernel.system:nothing"):
        with pytest.raises(UntrustedFactory, match=factory):
            rebuild(replace(trace, origin=Origin(factory, {"args": "true"})))


def test_a_trace_without_a_factory_cannot_be_rebuilt() -> None:
    with pytest.raises(ValueError, match="does not say how"):
        rebuild(replace(found("deadlock"), origin=Origin()))
