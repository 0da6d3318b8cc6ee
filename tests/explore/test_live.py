"""The compiled search for lassos beside the plain one, beside definitions, and with bugs planted in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx
import numpy as np
import pytest
import toys
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.thinned import some
from rota.explore.fast import engine as fast
from rota.explore.liveness import check as liveness
from rota.explore.liveness import (
    compiled_graph,
    compiled_search,
    cycles,
    fairness_labels,
    graph_kernel,
    graph_search,
    plain_search,
)
from rota.explore.liveness import engine as lasso
from rota.explore.liveness.check import LivenessVerdict
from rota.explore.result import Verdict
from rota.explore.tables.system import EngineError
from rota.invariants.liveness import KNOWN_WEAKNESSES, LIVENESS
from rota.kernel import (
    PER_LABEL,
    PER_MACHINE,
    PER_RULE,
    Fairness,
    Liveness,
    LivenessKind,
    Outcome,
    Send,
    System,
    View,
)
from rota.mutants import system as protocol
from rota.scopes import load
from rota.trace import endless

BY_VALUE = Fairness(
    "by value",
    "What one is afterwards is read.",
    lambda step: (("odd", "even")[step.local_steps[-1].value % 2],),
)
BY_TARGET = Fairness("by target", "All is read.", lambda step: (step.target[0],))

# ---- arrays: the layers by themselves

GRAPHS = st.integers(1, 12).flatmap(
    lambda size: st.lists(
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, 3)), max_size=4),
        min_size=size,
        max_size=size,
    )
)
"""Per state its edges: (target, kind)."""

FLAGS = st.integers(0, 2**12 - 1)


def flags(number: int, size: int) -> Any:
    return np.array([number >> i & 1 for i in range(size)], np.bool_)


def arrays(edges: Sequence[Sequence[tuple[int, int]]]) -> tuple[Any, Any, Any]:
    """offsets, targets, kinds"""
    flat = [edge for some in edges for edge in some]
    offsets = np.cumsum([0, *map(len, edges)]).astype(np.int64)
    targets, kinds = np.array(flat, np.int32).reshape(-1, 2).T
    return offsets, np.ascontiguousarray(targets), np.ascontiguousarray(kinds)


def net_of(edges: Sequence[Sequence[tuple[int, int]]], inside: Any) -> Any:
    net = networkx.DiGraph()
    net.add_nodes_from(state for state in range(len(edges)) if inside[state])
    net.add_edges_from((a, b) for a in net for b, _ in edges[a] if inside[b])
    return net


@given(GRAPHS, FLAGS)
@settings(max_examples=80, deadline=None)
def test_components_are_those_of_networkx(edges: Any, number: int) -> None:
    inside = flags(number, len(edges))
    offsets, targets, _ = arrays(edges)
    component, members, starts = graph_search.components(offsets, targets, inside)
    net = net_of(edges, inside)
    parts = [frozenset(members[a:b].tolist()) for a, b in pairwise(starts)]
    assert set(parts) == {frozenset(part) for part in networkx.strongly_connected_components(net)}
    assert len(parts) == len(set(parts))
    assert component.tolist() == [
        next((i for i, part in enumerate(parts) if state in part), -1) for state in range(len(edges))
    ]


@given(GRAPHS, FLAGS, st.lists(st.sets(st.integers(0, 69), max_size=4), min_size=4, max_size=4))
@settings(max_examples=80, deadline=None)
def test_fairness_is_what_it_is_said_to_be(edges: Any, number: int, classes: list[set[int]]) -> None:
    """70 classes take two words."""
    offsets, targets, kinds = arrays(edges)
    belongs = np.array([[one in members for one in range(70)] for members in classes])
    inside, bad = np.ones(len(edges), np.bool_), flags(number, len(edges))
    component, members, starts = graph_search.components(offsets, targets, inside)
    fair = graph_search.fair(
        component, members, starts, offsets, targets, kinds, compiled_search._bits(belongs), bad)  # fmt: skip
    for part, answer in enumerate(fair):
        states = members[starts[part] : starts[part + 1]].tolist()
        enabled = [set().union(*(classes[kind] for _, kind in edges[state])) for state in states]
        taken = [classes[kind] for state in states for to, kind in edges[state] if to in states]
        stays_fair = set.intersection(*enabled) <= set().union(*taken)
        assert answer == (stays_fair and bool(bad[states].any()))


@given(GRAPHS, FLAGS, FLAGS, FLAGS)
@settings(max_examples=80, deadline=None)
def test_a_stem_is_a_shortest_path(edges: Any, in_: int, start: int, accepts: int) -> None:
    """Each state a level of its own: to begin at state n takes n steps."""
    inside = flags(in_, len(edges))
    starts, accepting = inside & flags(start, len(edges)), inside & flags(accepts, len(edges))
    offsets, targets, _ = arrays(edges)
    levels = np.arange(len(edges) + 1)
    entry, origin = graph_search.stem(offsets, targets, levels, inside, np.flatnonzero(starts), accepting)
    net = net_of(edges, inside)
    net.add_weighted_edges_from([("begin", state, state) for state in np.flatnonzero(starts).tolist()])
    net.add_node("begin")
    far = networkx.single_source_dijkstra_path_length(net, "begin", weight=lambda a, b, d: d.get("weight", 1))
    nearest = min(((far[s], s) for s in np.flatnonzero(accepting).tolist() if s in far), default=(0, -1))
    assert entry == nearest[1]
    if entry >= 0:
        steps, state = 0, int(entry)
        while origin[state] != graph_search.START:
            state, steps = int(np.searchsorted(offsets, origin[state], side="right")) - 1, steps + 1
        assert (starts[state], state + steps) == (True, nearest[0])


# ---- systems: two machines, one of which may ask the other

STATES = st.integers(0, 3)
LABELS = st.sampled_from(("x", "y", "z"))
OWN = st.lists(st.tuples(STATES, LABELS, STATES, st.booleans()), min_size=2, max_size=6, unique=True)
SYSTEMS = st.tuples(OWN, OWN, st.dictionaries(STATES, STATES, max_size=3))


def asking(shape: Any) -> System:
    def moves(edges: Any, name: str, other: str) -> Callable[[int], list[Outcome]]:
        def of(value: int) -> list[Outcome]:
            return [
                Outcome(to, (Send(other, "?"),) if asks else (), f"{name} {label}", (label,))
                for at, label, to, asks in edges
                if at == value
            ]

        return of

    first, second, takes = shape

    def taken(value: int, sender: str, message: str) -> list[Outcome]:
        return [Outcome(takes[value], label="taken", rules=("take",))] if value in takes else []

    machines = (
        toys.Toy("a", "a", (0, 1), moves(first, "a", "b"), taken),
        toys.Toy("b", "b", (0,), moves(second, "b", "a"), taken),
    )
    return System("asking", machines)


def sentence(kind: LivenessKind, good: frozenset[int], *fairness: Fairness) -> Liveness:
    views = (View("a", toys.whole), View("b", toys.whole))
    given = (lambda a, b: a == 1) if kind is LivenessKind.LEADS_TO else None
    return Liveness("toy", kind, "As it should.", views, lambda a, b: a + b in good, fairness, given)


SENTENCES = st.builds(
    lambda kind, good, fairness: sentence(kind, good, *fairness),
    st.sampled_from(LivenessKind),
    st.frozensets(st.integers(0, 6), max_size=4),
    st.sets(st.sampled_from((PER_LABEL, PER_MACHINE, PER_RULE, BY_VALUE)), max_size=3).map(
        lambda some: tuple(sorted(some, key=lambda one: one.name))
    ),
)


def both(system: System, *props: Liveness) -> tuple[LivenessVerdict, ...]:
    """The verdicts, which are the same from both searches, and so are the counts."""
    (slow, expected), (quick, found) = (
        one.judge(system, props, 10**6) for one in (plain_search, compiled_search)
    )
    assert found == expected
    for what in ("distinct", "generated", "histogram", "fired"):
        assert getattr(quick, what) == getattr(slow, what), what
    assert quick.digest() == slow.digest()
    return found


def holds_together(system: System, prop: Liveness, verdict: LivenessVerdict) -> None:
    """A lasso by the definitions alone."""
    if (run := verdict.lasso) is not None:
        states = [run.start, *(step.target for step in (*run.stem, *run.cycle))]
        for state, step in zip(states, (*run.stem, *run.cycle), strict=False):
            assert step in system.successors(state)
        loop = len(run.cycle)
        assert run.start in system.initial_states()
        assert endless.closed(states, loop)
        assert endless.unfair(system, prop, states, (*run.stem, *run.cycle), loop) == ()
        choice = tuple(system.index[name] for name in run.machines)
        assert choice in endless.breaking(system, prop, states, loop)


@given(SYSTEMS, SENTENCES)
@settings(max_examples=120, deadline=None)
def test_both_searches_say_the_same(shape: Any, prop: Liveness) -> None:
    system = asking(shape)
    (verdict,) = both(system, prop)
    holds_together(system, prop, verdict)


@given(SYSTEMS, SENTENCES, st.sampled_from((0, 1, 2)))
@settings(max_examples=60, deadline=None)
def test_a_cycle_that_too_many_pairs_keep_from_being_shortest_is_fair(
    shape: Any, prop: Liveness, goals: int
) -> None:
    system = asking(shape)
    (shortest,) = compiled_search.judge(system, [prop], 1000)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycles, "MOST_GOALS", max(1, goals))
        patch.setattr(compiled_search, "PAIR_LIMITS", (1,) if goals else ())
        patch.setattr(plain_search, "MAX_PAIRS", 1)
        (verdict,) = compiled_search.judge(system, [prop], 1000)[1]
        holds_together(system, prop, plain_search.judge(system, [prop], 1000)[1][0])
    holds_together(system, prop, verdict)
    assert verdict.verdict is shortest.verdict
    if verdict.lasso is not None and shortest.lasso is not None:
        assert len(verdict.lasso.stem) == len(shortest.lasso.stem)
        assert len(verdict.lasso.cycle) >= len(shortest.lasso.cycle)


def test_a_loop_that_meets_nothing_is_cut() -> None:
    class Ring:
        """Edges are (from, to); what is met is to be in 2."""

        def target(self, edge: tuple[int, int]) -> int:
            return edge[1]

        def met_in(self, state: int) -> frozenset[int]:
            return frozenset({7} if state == 2 else ())

        def met_by(self, edge: tuple[int, int]) -> frozenset[int]:
            return frozenset()

    ring = [(0, 1), (1, 3), (3, 1), (1, 2), (2, 1), (1, 0)]
    kept = [(0, 1), (1, 2), (2, 1), (1, 0)]
    assert cycles._cut(Ring(), 0, ring, frozenset({7})) == kept  # type: ignore[arg-type]


# ---- what is read of a transition


def test_what_reads_targets_is_judged_by_the_plain_search(monkeypatch: pytest.MonkeyPatch) -> None:
    system = asking(([(0, "x", 0, False), (0, "y", 2, False)], [(0, "x", 0, False)], {}))
    prop = sentence(LivenessKind.EVENTUALLY_ALWAYS, frozenset({2}), BY_TARGET)
    with pytest.raises(fairness_labels.CannotTabulate):
        compiled_search.judge(system, [prop], 1000)
    found = liveness.check(system, [prop])
    assert found.verdicts == plain_search.judge(system, [prop], 1000)[1]
    assert found.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    "use",
    [
        lambda one: one == 1, lambda one: one.state, lambda one: bool(one), lambda one: 1 in one,
        lambda one: hash(one), lambda one: f"{one}", lambda one: isinstance(one, int), lambda one: one[0],
        lambda one: [*one], lambda one: one < 1, lambda one: one % 2, lambda one: match(one),
    ],
)  # fmt: skip
def test_whoever_reads_what_is_not_there_is_noticed(use: Callable[[Any], Any]) -> None:
    with pytest.raises((fairness_labels._Read, TypeError)):
        use(fairness_labels.UNREAD)


def match(value: Any) -> int:
    match value:
        case str():
            return 1
        case _:
            return 2


# ---- graphs: growing, packing anew, several words


def waiting(idle: int, bound: int) -> System:
    """A counter that begins again beside machines that never move."""
    outcomes = toys.Toy("counter", "counter", (0,), lambda value: [Outcome((value + 1) % bound, label="on")])
    still = (toys.Toy(f"idle/{i}", "idle", (0,)) for i in range(idle))
    return System("waiting", (outcomes, *still))


@pytest.mark.parametrize(
    "system",
    [toys.ring(5), toys.channel(), toys.scatter(), toys.two_phase(), waiting(11, 300), waiting(62, 300)],
    ids=["ring", "channel", "scatter", "two phases", "packed anew", "two words"],
)
def test_a_graph_counts_as_engines_do(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_graph, "PIECE", 3)
    bare = replace(system, properties=())
    assert lasso.explore(bare).answer == fast.explore(bare).answer


def test_arrays_grow() -> None:
    full = sentence_of("counter", lambda value: value == 6)
    graph, (verdict,) = compiled_search.judge(toys.counters(5, 6), [full], 10**6)
    assert (graph.distinct, graph.edges) == (7**5, 5 * 6 * 7**4)
    assert (verdict.verdict, verdict.occasions) == (Verdict.HOLDS, 5 * 7**5)
    assert graph.nbytes == 8 * graph.distinct + 8 * (graph.distinct + 1) + 8 * graph.edges


def sentence_of(role: str, test: Callable[[Any], bool]) -> Liveness:
    views = (View(role, toys.whole),)
    return Liveness("toy", LivenessKind.EVENTUALLY_ALWAYS, "As it should.", views, test, (PER_MACHINE,))


def test_both_searches_report_the_same_levels() -> None:
    reported: list[list[tuple[int, ...]]] = [[], []]
    for search, levels in zip((plain_search, compiled_search), reported, strict=True):
        search.judge(toys.ring(4), [], 1000, lambda *level, to=levels: to.append(level[:4]))
    assert reported[0] == reported[1]
    assert [(depth, left) for depth, _, left, _ in reported[0]][:2] == [(0, 1), (1, 4 + 1)]


# ---- the protocol

ENDLESS = load("endless")


def weakened() -> list[Liveness]:
    """Each sentence without each of its assumptions: most of these are violated somewhere."""
    return [
        replace(prop, name=f"{prop.name} without {one.name}", fairness=tuple(set(prop.fairness) - {one}))
        for prop in LIVENESS
        for one in prop.fairness
    ]


@pytest.mark.parametrize("name", some(["core", "alone-crash", "append", "alone-move", "commit"]))
def test_both_searches_say_the_same_of_the_protocol(name: str) -> None:
    system = protocol(ENDLESS.configuration(name).settings)
    props = [*LIVENESS, *KNOWN_WEAKNESSES, *weakened()]
    verdicts = both(system, *props)
    assert sum(verdict.lasso is not None for verdict in verdicts) >= 10
    for prop, verdict in zip(props, verdicts, strict=True):
        holds_together(system, prop, verdict)


# ---- bugs in compiled code

WALK = [(0, "x", 1, False), (1, "x", 0, False), (1, "y", 2, True), (2, "z", 3, False), (3, "x", 2, False)]
ROUND = [(0, "x", 1, False), (1, "x", 0, False), (1, "z", 2, False), (2, "y", 0, True)]
LEAVES = [(0, "x", 0, False), (0, "y", 3, False), (1, "y", 3, True)]
CASES = [
    (asking(shape), sentence(kind, good, *fairness))
    for shape, goods in (
        ((WALK, ROUND, {0: 0, 1: 1}), ({2}, {4, 5})),
        ((LEAVES, [(0, "x", 0, False)], {0: 0}), ({3}, {0, 1})),
    )
    for kind in LivenessKind
    for good in map(frozenset, goods)
    for fairness in ((), (PER_LABEL,), (PER_MACHINE, PER_RULE), (BY_VALUE,))
]


def one_by_one(component: Any, members: Any, starts: Any) -> tuple[Any, Any, Any]:
    """Every state inside as a component of its own."""
    single = np.full(len(component), -1, np.int32)
    single[members] = np.arange(len(members))
    return single, members, np.arange(len(members) + 1, dtype=np.int32)


def dropping(real: Any) -> Any:
    """The last edge of the last state of each piece is forgotten."""

    def grow(*given: Any) -> Any:
        out, todo, offsets = real(*given), given[4], given[9]
        offsets[todo[-1] + 1] -= out[2] == graph_kernel.DONE and offsets[todo[-1] + 1] > offsets[todo[-1]]
        return out

    return grow


def astray(real: Any) -> Any:
    """The first edge leads to the first state."""

    def grow(*given: Any) -> Any:
        out = real(*given)
        given[10][0] = 0
        return out

    return grow


BUGS: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "fairness is ignored": (
        graph_search, "fair", lambda real: lambda *given: np.ones_like(real(*given)),
    ),
    "what leaves a component counts as taken there": (
        graph_search, "fair", lambda real: lambda component, *rest: real(np.zeros_like(component), *rest),
    ),
    "classes are forgotten": (
        fairness_labels.LabelledTables, "belongs", lambda real: lambda self, classes: np.zeros_like(real(self,
        classes)),
    ),
    "only the first local step is looked at": (
        fairness_labels.LabelledTables, "_kind_by_local_steps",
        lambda real: lambda self, local_steps: real(self, local_steps[:1]),
    ),
    "what a machine was before is read": (
        fairness_labels.LabelledTables, "_kind_by_outcomes",
        lambda real: lambda self, outcomes: real(self, [outcomes[0] * 0] * len(outcomes)),
    ),
    "components fall apart": (
        graph_search, "components", lambda real: lambda *given: one_by_one(*real(*given)),
    ),
    "flags are turned round": (
        compiled_graph.CheckGroup, "status", lambda real: lambda self, columns: 3 - real(self, columns),
    ),
    "stems begin in accepting states": (
        graph_search, "stem", lambda real: lambda *given: real(*given[:4], np.flatnonzero(given[5]),
        given[5]),
    ),
    "goals are forgotten": (
        compiled_search._FairComponent, "walk",
        lambda real: lambda self, start, goals, final: real(self, start, (), final),
    ),
    "a combination counts for each choice of machines": (
        compiled_graph.Asked, "counts", lambda real: lambda self: tuple(2 * count for count in real(self)),
    ),
    "an edge is dropped": (graph_kernel, "grow", dropping),
    "an edge goes astray": (graph_kernel, "grow", astray),
}  # fmt: skip


def all_cases() -> list[Verdict]:
    return [both(system, prop)[0].verdict for system, prop in CASES]


def test_without_a_bug_both_say_the_same() -> None:
    found = all_cases()
    assert 5 < found.count(Verdict.VIOLATED) < len(found) - 5


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches differ, or the graph differs from the system."""
    where, name, planted = BUGS[bug]
    monkeypatch.setattr(where, name, planted(getattr(where, name)))
    with pytest.raises((AssertionError, EngineError)):
        all_cases()
