"""The search for lassos in plain Python: for small graphs, and what the compiled one is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from rota.explore.liveness import cycles
from rota.explore.liveness.graph import Asked, Classes, Edge, Graph, Origin, build, path_to
from rota.explore.liveness.verdict import LassoPath, LivenessVerdict, verdict
from rota.explore.result import MissingExtra, Progress
from rota.kernel import Liveness, LivenessKind, System

MAX_STATES = 200_000
"""States that are held by default."""

MAX_PAIRS = 1 << 20
"""Most pairs of a state and the goals met so far in one search for a shortest cycle."""


def judge(
    system: System, properties: Sequence[Liveness], max_states: int, progress: Progress | None = None
) -> tuple[Graph, tuple[LivenessVerdict, ...]]:
    """The graph of a system and the verdict on each property. Errors: MissingExtra, TooManyStates."""
    components = components_by_networkx()
    graph = build(system, (one for prop in properties for one in prop.fairness), max_states, progress)
    return graph, tuple(_judged(graph, prop, components) for prop in properties)


Components = Callable[[Graph, Sequence[bool]], list[frozenset[int]]]
"""The strongly connected components of the states that are flagged."""


def components_by_networkx() -> Components:
    """Errors: MissingExtra."""
    try:
        import networkx
    except ImportError as error:
        raise MissingExtra('liveness needs networkx; pip install "rota[liveness]"') from error

    def components(graph: Graph, inside: Sequence[bool]) -> list[frozenset[int]]:
        net: Any = networkx.DiGraph()
        states = [state for state in range(len(graph.states)) if inside[state]]
        net.add_nodes_from(states)
        net.add_edges_from((state, to) for state in states for to in graph.targets[state] if inside[to])
        return [frozenset(found) for found in networkx.strongly_connected_components(net)]

    return components


def _judged(graph: Graph, prop: Liveness, components: Components) -> LivenessVerdict:
    test = Asked(graph, prop, prop.test)
    given = None if prop.given is None else Asked(graph, prop, prop.given)
    choices = graph.system.positions(prop)
    searches = (_Search(graph, prop, test, given, choice, components) for choice in choices)
    return verdict(graph, prop, searches, test, given)


class _Search:
    """One property on one choice of machines.

    bad: states in which the predicate does not hold; inside: states that a violating run may visit from the
    one on in which the property began to demand something; starts: where that may be.
    """

    def __init__(
        self,
        graph: Graph,
        prop: Liveness,
        test: Asked,
        given: Asked | None,
        choice: tuple[int, ...],
        components: Components,
    ) -> None:
        self.graph, self.choice, self.components = graph, choice, components
        self.classes = graph.of(prop.fairness)
        self.bad = [not good for good in test.flags(choice)]
        everywhere = [True] * len(graph.states)
        asked = everywhere if given is None else given.flags(choice)
        self.inside = everywhere if prop.kind is LivenessKind.EVENTUALLY_ALWAYS else self.bad
        self.starts = [some and stays for some, stays in zip(asked, self.inside, strict=True)]
        self.occasions = sum(asked)

    def run(self) -> LassoPath[Edge] | None:
        """The violating run with the shortest stem, none where the property holds."""
        accepting: dict[int, frozenset[int]] = {}
        for part in self.components(self.graph, self.inside):
            if any(self.bad[state] for state in part) and self._fair(part):
                accepting.update(dict.fromkeys(part, part))
        stem = self._stem(accepting) if accepting else None
        if stem is None:
            return None
        path, entry = stem
        fair_component = _FairComponent(self.graph, self.bad, self.classes, accepting[entry])
        loop = cycles.cycle(fair_component, entry, (cycles.BAD, *self.classes))
        return LassoPath(path[0][0] if path else entry, path, loop, self.choice)

    def _fair(self, part: frozenset[int]) -> bool:
        """Whether a run can stay in a component and take every class that is enabled in all its states."""
        always_enabled = self.classes.intersection(*(self.graph.enabled[state] for state in part))
        if not always_enabled:
            return True
        edges = (edge for state in part for edge, _ in self.graph.within(state, part.__contains__))
        return always_enabled <= {one for edge in edges for one in self.graph.classes_of(edge)}

    def _stem(self, accepting: Mapping[int, Any]) -> tuple[list[Edge], int] | None:
        """A shortest path to an accepting state: the property begins to demand and stays unsatisfied."""
        begins: dict[int, list[int]] = defaultdict(list)
        for state, starts in enumerate(self.starts):
            if starts:
                begins[self.graph.depth[state]].append(state)
        origin: Origin = {}
        level: list[int] = []
        for depth in count():
            for state in begins.pop(depth, ()):
                if state not in origin:
                    origin[state] = None
                    level.append(state)
            entry = min((state for state in level if state in accepting), default=None)
            if entry is not None:
                path = path_to(origin, entry)
                first = path[0][0] if path else entry
                return [*path_to(self.graph.parent, first), *path], entry
            if not level and not begins:
                break
            level = self._next(level, origin)
        return None

    def _next(self, level: list[int], origin: Origin) -> list[int]:
        """The states inside that one step from a level reaches first."""
        fresh = []
        for state in level:
            for edge, to in self.graph.within(state, self.inside.__getitem__):
                if to not in origin:
                    origin[to] = edge
                    fresh.append(to)
        return fresh


class _FairComponent:
    """A component of a graph, as `rota.explore.liveness.cycles.FairComponent`."""

    def __init__(self, graph: Graph, bad: Sequence[bool], classes: Classes, part: frozenset[int]) -> None:
        self.graph, self.bad, self.classes, self.part = graph, bad, classes, part
        self.target = graph.target

    def met_in(self, state: int) -> frozenset[int]:
        disabled = self.classes - self.graph.enabled[state]
        return disabled | {cycles.BAD} if self.bad[state] else disabled

    def met_by(self, edge: Edge) -> frozenset[int]:
        return self.classes & self.graph.classes_of(edge)

    def walk(self, start: int, goals: Sequence[int], final: int | None) -> list[Edge] | None:
        wanted = frozenset(goals)

        def ended(state: int, met: frozenset[int]) -> bool:
            return bool(met) if final is None else state == final and met == wanted

        first = (start, self.met_in(start) & wanted)
        before: dict[Any, Any] = {first: None}
        pairs = [first]
        if ended(*first):
            return []
        for state, met in pairs:
            for edge, to in self.graph.within(state, self.part.__contains__):
                pair = (to, met | (wanted & (self.met_by(edge) | self.met_in(to))))
                if ended(*pair):
                    return [*_edges_to(before, (state, met)), edge]
                if pair not in before:
                    if len(pairs) == MAX_PAIRS and wanted and final is not None:
                        return None
                    before[pair] = ((state, met), edge)
                    pairs.append(pair)
        raise AssertionError("a fair component contains whatever fairness demands of it")


def _edges_to(before: Mapping[Any, Any], pair: Any) -> list[Edge]:
    path = []
    while before[pair] is not None:
        pair, edge = before[pair]
        path.append(edge)
    return path[::-1]
