"""Engines agree with each other and with what is known without them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import networkx
import pytest
import toys

from rota.explore import reference
from rota.explore.fast import numpy_search, search
from rota.explore.result import Limits, Result, Verdict
from rota.kernel import System

KNOWN = {
    # name: (distinct, generated) by formula, or from the literature
    "counters": (4**3, 1 + 3 * 3 * 4**2),
    "ring": (4 * 2**4, 1 + 4 * 2**3 * 4 + 4 * 2**4),
    "die-hard-9": (16, 97),
    "two-phase": (288, 1146),
}


def every(system: System, limits: Limits | None = None) -> tuple[Result, ...]:
    """The results of all engines of one machine, the reference first."""
    return (
        reference.explore(system, limits),
        numpy_search.explore(system, limits),
        search.explore(system, limits),
        search.explore(system, replace(limits or Limits(), workers=3)),
    )


@pytest.mark.parametrize("name", toys.ALL)
def test_engines_agree_with_the_reference(name: str) -> None:
    slow, *others = every(toys.ALL[name]())
    for fast in others:
        assert fast.answer == slow.answer
        assert fast.violation == slow.violation


@pytest.mark.parametrize("name", KNOWN)
def test_counts_that_are_known_without_an_engine(name: str) -> None:
    for result in every(toys.ALL[name]()):
        assert (result.distinct, result.generated) == KNOWN[name]
        assert result.verdict is Verdict.HOLDS


@pytest.mark.parametrize(("total", "room"), [(4, 2), (6, 1), (5, 5)])
def test_channel_has_the_counted_states(total: int, room: int) -> None:
    for result in every(toys.channel(total, room)):
        assert result.distinct == toys.channel_states(total, room)
        assert result.verdict is Verdict.HOLDS
        # refusals leave no trace: what is only taken in refused steps has not fired
        assert result.rules_fired == {"p.send", "c.hold", "p.ack", "p.thanks", "k.keep", "k.lose"}


def test_four_gallons_take_six_steps() -> None:
    for result in every(toys.die_hard()):
        assert result.violation is not None
        assert (result.violation.name, result.violation.steps) == ("never-goal", 6)
        assert result.violation.path[-1].target[1] == 4


@pytest.mark.parametrize(
    ("name", "property_", "steps"),
    [
        ("broken-shape", "broken", 3),
        ("broken-safety", "broken", 4),
        ("broken-step", "broken", 2),
        ("broken-stutter", "broken", 3),
        ("broken-initial", "broken", 0),
        ("broken-two", "broken", 3),
        ("deadlock", "deadlock", 3),
    ],
)
def test_each_kind_of_violation_is_found_by_the_shortest_path(name: str, property_: str, steps: int) -> None:
    system = toys.ALL[name]()
    for result in every(system):
        assert result.violation is not None
        assert (result.violation.name, result.violation.steps) == (property_, steps)
        states = [result.violation.start, *(t.target for t in result.violation.path)]
        assert states[0] in system.initial_states()
        for before, transition in zip(states, result.violation.path, strict=False):
            assert transition in list(system.successors(before))


def test_a_witness_that_is_never_reached_is_a_violation_without_a_trace() -> None:
    for result in every(toys.broken("witness")):
        assert (result.verdict, result.violation) == (Verdict.VIOLATED, None)
        assert {p.name: p.depth for p in result.properties if p.kind is toys.Kind.WITNESS} == {
            "broken": None,
            "full": 6,
        }


@pytest.mark.parametrize("name", ["counters", "ring", "die-hard-9", "two-phase", "channel", "scatter"])
def test_depths_are_shortest_paths(name: str) -> None:
    system = toys.ALL[name]()
    graph = networkx.DiGraph()
    open_ = list(system.initial_states())
    graph.add_edges_from(("start", state) for state in open_)
    while open_:
        state = open_.pop()
        for transition in system.successors(state):
            if transition.target not in graph:
                open_.append(transition.target)
            graph.add_edge(state, transition.target)
    lengths = networkx.single_source_shortest_path_length(graph, "start")
    histogram = [0] * max(lengths.values())
    for state, length in lengths.items():
        if state != "start":
            histogram[length - 1] += 1
    for result in every(system):
        assert list(result.histogram) == histogram
        assert result.depth == len(histogram) - 1


@pytest.mark.parametrize("most", [0, 1, 30, 287, 288, 10_000])
def test_limits_stop_every_engine_after_the_same_level(most: int) -> None:
    slow, *others = every(toys.two_phase(), Limits(max_states=most))
    assert all(fast.answer == slow.answer for fast in others)
    assert (slow.verdict is Verdict.UNDECIDED) == (most < 288)


@pytest.mark.parametrize("most", [0, 1, 5, 7, 8])
def test_a_bound_ends_every_engine_after_the_same_level(most: int) -> None:
    whole = reference.explore(toys.ring())
    slow, *others = every(toys.ring(), Limits(bound=lambda: most))
    assert all(fast.answer == slow.answer and fast.bounded == slow.bounded for fast in others)
    assert (slow.depth, slow.histogram) == (min(most, 7), whole.histogram[: most + 1])
    assert slow.bounded == (slow.verdict is Verdict.UNDECIDED) == (most < 8)


@pytest.mark.parametrize(("name", "steps"), [("broken-shape", 3), ("broken-safety", 4), ("deadlock", 3)])
def test_a_bound_lets_violations_be_found_that_are_no_longer(name: str, steps: int) -> None:
    for most in (steps, steps - 1):
        for result in every(toys.ALL[name](), Limits(bound=lambda most=most: most)):  # type: ignore[misc]
            found = result.violation is not None
            assert (found, result.bounded) == (most == steps, most < steps)


def test_a_bound_may_shrink_while_engines_run() -> None:
    results = [
        engine.explore(toys.ring(), Limits(bound=partial(next, iter([None, 9, 9, 3]), 3)))
        for engine in (reference, numpy_search, search)
    ]
    assert [result.depth for result in results] == [3, 3, 3]


def test_progress_is_reported_alike() -> None:
    seen: list[list[tuple[int, int, int, int]]] = []
    for engine in (reference, numpy_search, search):
        calls: list[tuple[int, int, int, int]] = []
        engine.explore(toys.ring(), progress=lambda *a, calls=calls: calls.append(a[:4]))
        seen.append(calls)
    assert seen[0] == seen[1] == seen[2]
    assert [call[0] for call in seen[0]] == list(range(8))
    assert seen[0][-1][1] == 64
