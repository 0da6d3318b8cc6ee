"""The search for lassos in compiled code, for large graphs: the answers of
`rota.explore.liveness.plain_search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from rota.explore.liveness import cycles, graph_search
from rota.explore.liveness.compiled_graph import Asked, LargeGraph, build
from rota.explore.liveness.fairness_labels import CannotTabulate
from rota.explore.liveness.verdict import LassoPath, LivenessVerdict, verdict
from rota.explore.result import Progress
from rota.explore.tables.arrays import Flags, Ints, Words
from rota.kernel import Liveness, LivenessKind, System

__all__ = ["MAX_STATES", "CannotTabulate", "judge"]

MAX_STATES = 10_000_000
"""States that are held by default."""

PAIR_LIMITS = (1 << 12, 1 << 18, 1 << 24)
"""Most pairs of a state and the goals met so far in one search for a shortest cycle, try by try; 28 bytes
each."""


def judge(
    system: System, properties: Sequence[Liveness], max_states: int, progress: Progress | None = None
) -> tuple[LargeGraph, tuple[LivenessVerdict, ...]]:
    """The graph of a system and the verdict on each property. Errors: as of `build`."""
    graph = build(system, (one for prop in properties for one in prop.fairness), max_states, progress)
    return graph, tuple(_judged(graph, prop) for prop in properties)


def _judged(graph: LargeGraph, prop: Liveness) -> LivenessVerdict:
    test = Asked(graph, prop, prop.test)
    given = None if prop.given is None else Asked(graph, prop, prop.given)
    searches = (_Search(graph, prop, test, given, choice) for choice in graph.system.positions(prop))
    return verdict(graph, prop, searches, test, given)


class _Search:
    """One property on one choice of machines; bad, inside and starts as in the plain search."""

    def __init__(
        self, graph: LargeGraph, prop: Liveness, test: Asked, given: Asked | None, choice: tuple[int, ...]
    ) -> None:
        self.graph, self.choice = graph, choice
        self.classes = graph.tables.of(prop.fairness)
        self.bad = ~test.flags(choice)
        everywhere = np.ones(graph.distinct, np.bool_)
        asked = everywhere if given is None else given.flags(choice)
        self.inside = everywhere if prop.kind is LivenessKind.EVENTUALLY_ALWAYS else self.bad
        self.starts = np.flatnonzero(asked & self.inside)
        self.occasions = int(np.count_nonzero(asked))

    def run(self) -> LassoPath[int] | None:
        """The violating run with the shortest stem, none where the property holds."""
        if not len(self.starts) or not self.bad.any():
            return None
        graph = self.graph
        masks = _bits(graph.tables.belongs(self.classes))
        component, members, begins = graph_search.components(graph.offsets, graph.targets, self.inside)
        edges = graph.offsets, graph.targets, graph.kinds
        fair = graph_search.fair(component, members, begins, *edges, masks, self.bad)
        accepting = self.inside & fair[component] if len(fair) else self.inside
        stem = self._stem(accepting) if accepting.any() else None
        if stem is None:
            return None
        path, entry = stem
        fair_component = _FairComponent(graph, self.bad, self.classes, component)
        loop = cycles.cycle(fair_component, entry, (cycles.BAD, *self.classes))
        return LassoPath(graph.source(path[0]) if path else entry, path, loop, self.choice)

    def _stem(self, accepting: Flags) -> tuple[list[int], int] | None:
        """A shortest path to an accepting state: the property begins to demand and stays unsatisfied."""
        graph = self.graph
        levels = np.array(graph.levels, np.int64)
        entry, origin = graph_search.stem(
            graph.offsets, graph.targets, levels, self.inside, self.starts, accepting
        )
        if entry < 0:
            return None
        path: list[int] = []
        state = int(entry)
        while origin[state] != graph_search.START:
            path.insert(0, int(origin[state]))
            state = graph.source(path[0])
        return [*graph.path_to(state), *path], int(entry)


def _bits(belongs: Flags) -> Words:
    """Flags, shape [kinds, classes], as bits of words, shape [kinds, words]."""
    words = np.zeros((len(belongs), max(1, -(-belongs.shape[1] // 64))), np.uint64)
    for place in range(belongs.shape[1]):
        words[:, place // 64] |= belongs[:, place].astype(np.uint64) << np.uint64(place % 64)
    return words


class _FairComponent:
    """A component of a graph, as `rota.explore.liveness.cycles.FairComponent`."""

    def __init__(self, graph: LargeGraph, bad: Flags, classes: Sequence[int], component: Ints) -> None:
        self.graph, self.bad, self.component = graph, bad, component
        self.classes = frozenset(classes)

    def target(self, edge: int) -> int:
        return int(self.graph.targets[edge])

    def met_by(self, edge: int) -> frozenset[int]:
        return self.classes & self.graph.tables.kinds[int(self.graph.kinds[edge])]

    def met_in(self, state: int) -> frozenset[int]:
        edges = range(self.graph.offsets[state], self.graph.offsets[state + 1])
        disabled: frozenset[int] = self.classes.difference(*map(self.met_by, edges))
        return disabled | {cycles.BAD} if self.bad[state] else disabled

    def walk(self, start: int, goals: Sequence[int], final: int | None) -> list[int] | None:
        graph = self.graph
        bits = _bits(graph.tables.belongs(goals))[:, 0]
        bad_goal = np.uint64(1 << goals.index(cycles.BAD) if cycles.BAD in goals else 0)
        wanted = np.uint64((1 << len(goals)) - 1)
        search = partial(
            graph_search.walk, graph.offsets, graph.targets, graph.kinds, self.component, self.bad, bits,
            bad_goal, wanted, start, -1 if final is None else final)  # fmt: skip
        many = bool(goals) and final is not None
        members = int(np.count_nonzero(self.component == self.component[start]))
        for max_pairs in PAIR_LIMITS if many else (members,):
            end, edges, before = search(max_pairs)
            if end != graph_search.TOO_MANY_PAIRS:
                break
        else:
            return None
        assert end != graph_search.NONE, "a fair component contains whatever fairness demands of it"
        path = []
        while before[end] >= 0:
            path.append(int(edges[end]))
            end = before[end]
        return path[::-1]
