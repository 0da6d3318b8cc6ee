"""Why: the steps that decide that a property is contradicted, and how they are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from ticket_office import office
from traffic_light import crossing

from rota.explore.reference import explore as search
from rota.kernel import FrozenMap, Kind, Outcome, Property, System, View, frozen
from rota.trace import (
    DEADLOCK,
    ReplayError,
    Trace,
    TraceFileError,
    differences,
    dumps,
    reaching,
    read,
    record,
    replay,
    text,
)
from rota.trace.undo import undone
from rota.trace.why import why


@frozen
class Two:
    x: int = 0
    y: int = 0


@frozen
class Other:
    x: int = 0
    y: int = 0


@dataclass(frozen=True)
class Checked:
    x: int
    y: int

    def __post_init__(self) -> None:
        if self.x > self.y:
            raise ValueError("x is more than y")


def undo(value: Any, old: Any, new: Any, *paths: str, meanwhile: Sequence[Any] = ()) -> Any:
    given = paths or [one.path for one in differences("m", old, new)]
    return undone([new, *meanwhile, value], old, new, given)


def test_a_change_is_undone_where_it_still_stands() -> None:
    assert undo(Two(1, 5), Two(0, 0), Two(1, 0)) == Two(0, 5)
    assert undo(Two(2, 5), Two(0, 0), Two(1, 0)) == Two(2, 5)
    assert undo(Two(1, 1), Two(0, 0), Two(1, 1), "y") == Two(1, 0)
    assert undo(7, 1, 7) == 1
    assert undo(True, 0, 1) is True


def test_a_change_that_was_overwritten_and_made_again_is_not_undone() -> None:
    assert undo(Two(1, 5), Two(0, 0), Two(1, 0), meanwhile=[Two(3, 0)]) == Two(1, 5)
    assert undo(Two(1, 5), Two(0, 0), Two(1, 0), meanwhile=[Two(1, 3)]) == Two(0, 5)
    assert undo(frozenset("bc"), frozenset("a"), frozenset("bc"), meanwhile=[frozenset("b")]) == frozenset(
        "ac"
    )
    assert undo(frozenset("b"), frozenset("a"), frozenset("b"), meanwhile=[frozenset("ab")]) == frozenset()
    old, new = FrozenMap({"a": 1}), FrozenMap({"a": 2, "b": 2})
    assert undo(new, old, new, meanwhile=[FrozenMap({"b": 2})]) == FrozenMap({"a": 2})
    assert undo(7, 1, 7, meanwhile=[None]) == 7
    assert undo((1, 2), (0, 0), (1, 2), meanwhile=[(3, 2)]) == (1, 0)


def test_sets_maps_and_tuples_are_undone_part_by_part() -> None:
    assert undo(frozenset("bcd"), frozenset("a"), frozenset("b")) == frozenset("acd")
    old, new = FrozenMap({"a": 1, "b": 1}), FrozenMap({"b": 2, "c": 3})
    assert undo(FrozenMap({"b": 2, "c": 3, "d": 4}), old, new) == FrozenMap({"a": 1, "b": 1, "d": 4})
    assert undo(FrozenMap({"b": 2, "c": 3}), old, new, "[c]") == FrozenMap({"b": 2})
    assert undo(FrozenMap({"c": 4}), old, new) == FrozenMap({"a": 1, "c": 4})
    assert undo((1, (2, 9)), (0, (0, 0)), (1, (2, 0))) == (0, (0, 9))
    assert undo((1, 2), (), (1, 2)) == ()
    assert undo((1, 2, 3), (), (1, 2)) == (1, 2, 3)


def test_frozen_values_of_two_kinds_differ_as_wholes() -> None:
    (one,) = differences("m", Two(1), Other(1))
    assert (one.path, one.old, one.new) == ("", "Two(1)", "Other(1)")
    assert undo(Other(1), Two(1), Other(1)) == Two(1)


@dataclass(frozen=True)
class Steps:
    """A machine that goes through some values, one after another."""

    values: Sequence[Any]
    name: str = "m"
    role: str = "m"

    def initial(self) -> Sequence[Any]:
        return (self.values[0],)

    def actions(self, value: Any) -> Sequence[Outcome]:
        at = self.values.index(value) + 1
        if at == len(self.values):
            return ()
        return (Outcome(self.values[at], label=f"to {at}", rules=(f"rule.{at}",)),)

    def receive(self, value: Any, sender: str, message: Any) -> Sequence[Outcome]:
        return ()


def told(
    test: Callable[..., bool], *values: Any, kind: Kind = Kind.SAFETY, rules: tuple[str, ...] = ()
) -> Trace:
    prop = Property("p", kind, "It is so.", (View("m", lambda value: value),), test, rules=rules)
    system = System("steps", (Steps(values),), (prop,))
    violation = search(system).violation
    assert violation is not None
    return record(system, violation.name, violation.start, violation.path)


def deciding(trace: Trace) -> list[tuple[int, list[str]]]:
    return [(one.step, [path for _, path in one.parts]) for one in trace.decisive]


def test_a_step_decides_whose_change_alone_makes_the_contradiction() -> None:
    trace = told(lambda v: v.x < 2 or v.y < 1, Two(0, 0), Two(1, 0), Two(1, 1), Two(1, 9), Two(2, 9))
    assert deciding(trace) == [(4, ["x"])]  # undone, the y of step 3 was 1 before, which is enough
    trace = told(lambda v: v.x < 2 or v.y < 1, Two(0, 0), Two(0, 9), Two(1, 9), Two(2, 9))
    assert deciding(trace) == [(1, ["y"]), (3, ["x"])]
    trace = told(lambda v: v.x < 2 or v.y < 1, Two(0, 0), Two(0, 1), Two(1, 0), Two(2, 0), Two(2, 1))
    assert deciding(trace) == [(3, ["x"]), (4, ["y"])]


def test_changes_that_decide_only_together_are_told_together() -> None:
    assert deciding(told(lambda v: v.x + v.y < 1, Two(), Two(1, 1))) == [(1, ["x", "y"])]


def test_a_step_property_is_asked_before_and_after_its_last_step() -> None:
    trace = told(lambda a, b: not (a.y and a.x < b.x), Two(), Two(0, 1), Two(0, 2), Two(3, 2), kind=Kind.STEP)
    assert deciding(trace) == [(3, ["x"])]
    trace = told(lambda a, b: not (a.y and a.x < b.x), Two(), Two(0, 1), Two(3, 1), kind=Kind.STEP)
    assert deciding(trace) == [(1, ["y"]), (2, ["x"])]


def test_what_cannot_be_asked_decides_nothing() -> None:
    values = Checked(0, 0), Checked(0, 3), Checked(2, 3)
    assert deciding(told(lambda v: v.x < 2, *values)) == [(2, ["x"])]
    odd = told(lambda v: v.x < 2 or 1 // v.y < 1, Two(0, 0), Two(0, 1), Two(2, 1))
    assert deciding(odd) == [(2, ["x"])]  # with y undone there is no answer


def test_steps_by_a_guarded_rule_are_told_beside_those_that_decide() -> None:
    trace = told(lambda v: v.x < 2, Two(), Two(0, 5), Two(1, 5), Two(2, 5), rules=("rule.1",))
    assert why(trace) == (
        "Step 1, to 1: by rule.1",
        "Step 3, to 3: m x 1 -> 2",
        "It is so. The last state says otherwise: m Two(2, 5)",
    )


def test_two_machines_of_a_choice_both_decide() -> None:
    system = office(2, "tickets.differ")
    violation = search(system).violation
    assert violation is not None
    trace = record(system, violation.name, violation.start, violation.path)
    assert [(one.step, one.parts) for one in trace.decisive] == [
        (step.index, ((step.local_steps[0].machine, "ticket"),)) for step in trace.steps
    ]
    other = replace(trace, decisive=trace.decisive[:1])
    with pytest.raises(ReplayError, match="describes it otherwise"):
        replay(other, system)


def test_a_described_state_has_steps_that_decide() -> None:
    system = reaching(office(), "office.last == 2 and 'p1' in office.holders")
    violation = search(system).violation
    assert violation is not None
    trace = record(system, violation.name, violation.start, violation.path)
    (last,) = [one.step for one in trace.decisive if ("office", "last") in one.parts]
    assert last == 2
    assert any(("office", "holders[p1]") in one.parts for one in trace.decisive)


def test_of_a_run_without_an_end_the_state_that_comes_again_is_asked() -> None:
    system = crossing()
    (start,) = system.initial_states()
    state, path = start, []
    for label in ("the light turns green", "the light turns red", "the car comes", "the light turns green"):
        path.append(next(one for one in system.successors(state) if one.label == label))
        state = path[-1].target
    path.append(next(one for one in system.successors(state) if one.label == "the light turns red"))
    trace = record(system, "car.crosses", start, path, cycle=2)
    assert deciding(trace) == [(3, [""])]


def test_of_a_run_that_contradicts_nothing_no_step_decides() -> None:
    system = office()
    start = system.initial_states()[0]
    assert record(system, "tickets.differ", start, ()).decisive == ()
    assert record(crossing(), "car.crosses", crossing().initial_states()[0], (), cycle=0).decisive == ()


def test_of_a_deadlock_no_step_is_said_to_decide() -> None:
    system = office(2, DEADLOCK)
    violation = search(system).violation
    assert violation is not None
    trace = record(system, DEADLOCK, violation.start, violation.path)
    assert trace.decisive == ()
    assert "what it took" not in text(trace)
    assert len(why(trace)) == 1


TRACE = told(lambda v: v.x < 2, Two(), Two(0, 5), Two(1, 5), Two(2, 5), rules=("rule.1",))


def test_the_text_tells_what_it_took_before_the_contradiction() -> None:
    lines = text(TRACE).splitlines()
    at = lines.index(next(one for one in lines if one.startswith("what it took  ")))
    assert lines[at + 1 : at + 6] == [
        "  1  to 1",
        "     rules  rule.1",
        "  3  to 3",
        "     m  x  1 -> 2",
        "",
    ]
    assert lines[at + 6] == "why  It is so. The last state says otherwise:"


def test_files_keep_what_decides() -> None:
    assert read(dumps(TRACE)) == TRACE
    header, _, rest = dumps(TRACE).partition("\n")
    assert json.loads(header)["decisive"] == [{"step": 3, "parts": [["m", "x"]]}]
    for broken in ("7", '[["m"]]', '[["m",7]]'):
        with pytest.raises(TraceFileError, match="'parts'"):
            read(header.replace('[["m","x"]]', broken) + "\n" + rest)
