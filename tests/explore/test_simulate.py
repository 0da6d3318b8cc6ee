"""Random walks on toys: what they judge, that they are the same again, and how a run is made shorter."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import toys

from rota.explore import reference
from rota.explore.result import DEADLOCK, Verdict
from rota.explore.tables.system import Tables
from rota.explore.walks.model import Walks
from rota.explore.walks.shorten import shortened, without_loops
from rota.explore.walks.simulate import simulate
from rota.kernel import Kind, Outcome, State, System

SOUND = ("counters", "ring", "two-phase", "channel")
DEFECTIVE = ("broken-safety", "broken-step", "deadlock")


@pytest.mark.parametrize("name", SOUND)
def test_walks_never_end_in_holds_and_meet_nothing_that_is_not_there(name: str) -> None:
    system = toys.ALL[name]()
    whole = reference.explore(system)
    made = simulate(system, Walks(seed=3, runs=600))
    assert made.result.verdict is Verdict.UNDECIDED
    assert made.result.violation is None
    assert made.result.distinct == made.coverage.distinct == whole.distinct  # toys are small
    assert made.result.digest == whole.digest
    assert made.result.rules_fired == whole.rules_fired
    assert made.coverage.walks == 600
    assert made.coverage.exact
    judged = {one.name: one for one in made.result.properties if one.kind is not Kind.WITNESS}
    assert all(one.verdict is Verdict.UNDECIDED for one in judged.values())
    reached = {one.name: one.depth for one in made.result.properties if one.kind is Kind.WITNESS}
    assert all(depth is not None for depth in reached.values())


@pytest.mark.parametrize("name", DEFECTIVE)
def test_defects_are_met_and_their_run_is_one_of_the_system(name: str) -> None:
    system = toys.ALL[name]()
    shortest = reference.explore(system).violation
    assert shortest is not None
    made = simulate(system, Walks(seed=1, runs=2000))
    found = made.result.violation
    assert found is not None
    assert found.name == shortest.name
    assert found.steps >= shortest.steps
    assert made.walked is not None
    assert made.walked >= found.steps
    state = found.start
    assert state in system.initial_states()
    for transition in found.path:
        assert transition in list(system.successors(state))
        before, state = state, transition.target
    if name == "deadlock":
        assert all(transition.target == state for transition in system.successors(state))
        return
    (broken,) = [one for one in system.properties if one.name == found.name]
    if broken.kind is Kind.STEP:
        assert not system.step_holds(broken, before, state)
    else:
        assert not system.holds(broken, state)


def test_the_same_seed_walks_the_same_way_and_another_one_does_not() -> None:
    def walked(seed: int, runs: int = 40) -> tuple[object, ...]:
        made = simulate(toys.counters(6, 5), Walks(seed=seed, runs=runs))
        return made.result.answer, made.coverage

    assert walked(1) == walked(1)
    assert walked(1) != walked(2)


def test_a_bound_is_kept() -> None:
    made = simulate(toys.counters(6, 5), Walks(runs=300, depth=7))
    assert (made.coverage.walks, made.coverage.longest, made.coverage.steps) == (300, 7, 2100)
    made = simulate(toys.ring(), Walks(seconds=1e-9, depth=7))
    assert (made.coverage.walks, made.coverage.steps) == (0, 0)
    made = simulate(toys.counters(2, 2), Walks(seconds=0.2))
    assert made.coverage.walks > 0
    assert made.coverage.steps >= 4 * made.coverage.walks  # every walk ends where both counters are full
    with pytest.raises(ValueError, match="without a bound"):
        simulate(toys.ring(), Walks())


def test_what_is_not_remembered_is_judged_and_not_counted() -> None:
    system = toys.ALL["broken-safety"]()
    made = simulate(system, Walks(runs=2000), remembered=0)
    assert made.result.violation is not None
    made = simulate(toys.counters(6, 5), Walks(runs=300), remembered=2000)
    assert not made.coverage.exact
    assert 0 < made.coverage.distinct <= 2000


def test_walks_leave_what_they_know() -> None:
    """A machine with fifty moves does not keep another one from its only move, nor a move from new ones."""

    def moves(value: int) -> list[Outcome]:
        return [Outcome(value * 50 + number) for number in range(1, 51)] if value < 2500 else []

    def goes_on(value: int) -> list[Outcome]:
        return [Outcome(value + 1), Outcome(0)] if value < 30 else []

    system = System("crowd", (toys.Toy("many", "many", (0,), moves), toys.Toy("one", "one", (0,), goes_on)))
    made = simulate(system, Walks(runs=256, depth=80))
    assert made.coverage.values["one"] == 31


# ---- shorter


def is_run(system: System, states: list[State]) -> bool:
    return all(b in {t.target for t in system.successors(a)} for a, b in pairwise(states))


def test_loops_are_cut() -> None:
    tables = Tables(toys.ring())
    start = toys.ring().initial_states()[0]
    there = next(t.target for t in toys.ring().successors(start) if t.target != start)
    rows = [np.array(tables.learned.intern_state(state), np.int32) for state in (start, there) * 3]
    assert [tables.learned.state(row) for row in without_loops(rows)] == [start, there]


def test_a_detour_is_cut_short() -> None:
    """A run that goes everywhere before it breaks the property becomes a shortest one: the toy is small."""
    wrong = toys.prop("small", Kind.SAFETY, lambda value: value < 3, "counter")
    system = toys.counters(3, 3, (wrong,))
    detour = [(a, b, 0) for a in range(3) for b in (0, 1, 2) if b == 0 or a == 2]
    path = [*detour, (2, 2, 1), (2, 2, 2), (2, 2, 3)]
    assert is_run(system, path)
    short = shortened(Tables(system), "small", None, path)
    assert is_run(system, short)
    assert len(short) == 4
    assert short[0] == (0, 0, 0)
    assert max(short[-1]) == 3


def test_a_deadlock_stays_one_when_its_run_is_cut_short() -> None:
    system = toys.deadlock()
    made = simulate(system, Walks(seed=5, runs=2000)).result.violation
    assert made is not None
    assert made.name == DEADLOCK
    assert made.steps == (reference.explore(system).violation or made).steps
