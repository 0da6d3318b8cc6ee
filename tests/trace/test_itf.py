"""Traces in the Informal Trace Format: what is written is the states of the run, read back by its rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import pytest
from hostile import HOSTILE, naming
from ticket_office import office
from traffic_light import crossing

from rota.explore.reference import explore as search
from rota.kernel import FrozenMap, System, frozen
from rota.trace import DEADLOCK, Run, record, replay
from rota.trace.itf import expression, itf
from rota.trace.render import render


def found(system: System) -> Run:
    violation = search(system).violation
    assert violation is not None
    return replay(record(system, violation.name, violation.start, violation.path), system)


def looping() -> Run:
    system = crossing()
    (state,) = states = system.initial_states()
    path = []
    for label in ("the car comes", "the light turns green", "the light turns red"):
        path.append(next(one for one in system.successors(state) if one.label == label))
        state = path[-1].target
    return replay(record(system, "car.crosses", states[0], path, cycle=2), system)


def decoded(given: Any) -> Any:
    """An expression of the format as plain Python, by the format's rules alone."""
    if isinstance(given, bool | str):
        return given
    assert isinstance(given, dict)
    if "#bigint" in given:
        return int(given["#bigint"])
    if "#tup" in given:
        return tuple(decoded(item) for item in given["#tup"])
    if "#set" in given:
        return frozenset(decoded(item) for item in given["#set"])
    if "#map" in given:
        return frozenset((decoded(key), decoded(item)) for key, item in given["#map"])
    if "#unserializable" in given:
        return given["#unserializable"]
    assert set(given) == {"tag", "value"}
    return (given["tag"], frozenset((name, decoded(item)) for name, item in given["value"].items()))


def plain(value: Any) -> Any:
    """A value of a state in the same terms."""
    if value is None:
        return ("Nothing", frozenset())
    if isinstance(value, Enum | bytes):
        return render(value)
    if isinstance(value, frozenset):
        return frozenset(map(plain, value))
    if isinstance(value, Mapping):
        return frozenset((plain(key), plain(item)) for key, item in value.items())
    if is_dataclass(value):
        parts = frozenset((one.name, plain(getattr(value, one.name))) for one in fields(value))
        return (type(value).__name__, parts)
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


class Colour(Enum):
    RED = 1
    GREEN = "green"


@frozen
class Frozen:
    a: int
    b: Any = None


@dataclass(frozen=True)
class Plain:
    a: Any


VALUES = [
    True,
    -(10**30),
    "text",
    None,
    b"\x00\xff",
    Colour.RED,
    Colour.GREEN,
    (1, (2, "x")),
    frozenset({1, 2}),
    FrozenMap({"k": frozenset({(1, None)})}),
    Frozen(1, Plain(Frozen(2))),
    FrozenMap({1: Frozen(0)}),
]


@pytest.mark.parametrize("value", VALUES, ids=map(repr, VALUES))
def test_a_value_is_read_back(value: Any) -> None:
    assert decoded(json.loads(json.dumps(expression(value)))) == plain(value)


def test_what_the_format_cannot_say_is_a_text() -> None:
    assert expression(1.5) == {"#unserializable": "1.5"}


def test_numbers_and_truth_values_are_told_apart() -> None:
    assert [expression(one) for one in (True, 1)] == [True, {"#bigint": "1"}]


@pytest.mark.parametrize("fault", ["tickets.differ", "office.counts-up", DEADLOCK])
def test_the_states_are_those_of_the_run(fault: str) -> None:
    run = found(office(2, fault))
    content = json.loads(itf(run.trace, run))
    names = [machine.name for machine in run.system.machines]
    assert content["vars"] == names
    assert content["#meta"]["format"] == "ITF"
    assert "loop" not in content
    read = [[decoded(state[name]) for name in names] for state in content["states"]]
    assert read == [[plain(value) for value in state] for state in run.states]
    assert [state["#meta"]["index"] for state in content["states"]] == list(range(len(run.states)))
    assert [state["#meta"]["action"] for state in content["states"][1:]] == [
        step.label for step in run.trace.steps
    ]


def test_after_the_last_state_of_a_lasso_comes_the_one_in_which_its_loop_begins() -> None:
    run = looping()
    content = json.loads(itf(run.trace, run))
    assert [(state["light"], state["car"]) for state in content["states"]] == [
        ("red", "far"),
        ("red", "waiting"),
        ("green", "waiting"),
    ]
    assert content["loop"] == 1


def test_a_run_that_stays_loops_in_its_last_state() -> None:
    run = looping()
    trace = record(run.system, "car.comes", run.states[0], (), cycle=0)
    content = json.loads(itf(trace))
    assert (len(content["states"]), content["loop"]) == (1, 0)


def test_without_its_states_a_trace_has_texts_that_are_equal_where_values_are() -> None:
    run = looping()
    states = json.loads(itf(run.trace))["states"]
    texts = [[decoded(state[name]) for name in ("light", "car")] for state in states]
    assert texts == [
        ["red", "far"],
        ["red", "after step 1: far -> waiting"],
        ["after step 2: red -> green", "after step 1: far -> waiting"],
    ]


@pytest.mark.parametrize("odd", HOSTILE, ids=map(ascii, HOSTILE))
def test_whatever_strangers_write_stays_a_text(odd: str) -> None:
    run = found(naming(odd))
    for text in (itf(run.trace, run), itf(run.trace)):
        assert text.isascii()
        content = json.loads(text)
        assert list(content["states"][0]) == ["#meta", f"m{odd}"]
        assert content["states"][1]["#meta"]["action"] == f"does {odd}"
    whole = json.loads(itf(run.trace, run))
    assert whole["states"][1][f"m{odd}"] == {"#map": [[odd, odd]]}
