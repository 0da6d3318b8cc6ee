"""Liveness: whether every fair endless run does what it should, and a lasso where one does not.

For small graphs: all of it is held in memory. A run that breaks a property ends up in a strongly connected
component of the states that it may still visit; under weak fairness, if any part of such a component can be
walked for ever in a fair way, so can the whole. So maximal components decide, and networkx finds them.

A counterexample is a lasso: a stem from an initial state, and a cycle that goes on for ever. An empty cycle
means that the run stays where it is, for nothing is left that fairness demands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any

from rota.explore.engines import MissingExtra
from rota.explore.graph import Classes, Edge, Graph, Origin, TooManyStates, build, path_to
from rota.explore.result import Outcome, Progress
from rota.kernel import Fairness, Liveness, LivenessKind, State, System, Transition

MAX_STATES = 200_000
"""States that are held unless told otherwise."""


@dataclass(frozen=True)
class Lasso:
    """A fair endless run that breaks a property.

    machines: on whose views the property was judged; start: the initial state; stem: transitions from it to
    the first state of the cycle, as few as can be; cycle: transitions back to that state, repeated for ever,
    not always as few as can be; empty: the run stays.
    """

    machines: tuple[str, ...]
    start: State
    stem: tuple[Transition, ...]
    cycle: tuple[Transition, ...]

    @property
    def entry(self) -> State:
        """The state in which the cycle begins and ends."""
        return self.stem[-1].target if self.stem else self.start

    @property
    def lines(self) -> tuple[str, ...]:
        """The run in words, a line per transition."""
        steps = (f"{number:4d}  {step.label}" for number, step in enumerate(self.stem, 1))
        loop = (f"      {step.label}" for step in self.cycle)
        return (*steps, "for ever:", *(loop if self.cycle else ("      nothing more need happen",)))


@dataclass(frozen=True)
class LivenessVerdict:
    """A property's verdict.

    occasions: states in which it demands something (LEADS_TO: in which `given` holds, else all), summed over
    the choices of machines; with none it holds in vain.
    """

    name: str
    kind: LivenessKind
    meaning: str
    outcome: Outcome
    occasions: int = 0
    lasso: Lasso | None = None


@dataclass(frozen=True)
class LivenessResult:
    """Verdicts in the order of the properties. distinct, generated: as in `Result`, 0 where undecided."""

    outcome: Outcome
    verdicts: tuple[LivenessVerdict, ...]
    distinct: int
    generated: int
    seconds: float


def check(
    system: System,
    properties: Sequence[Liveness],
    fairness: Sequence[Fairness] | None = None,
    max_states: int = MAX_STATES,
) -> LivenessResult:
    """Judge liveness properties on every fair run of a system.

    Parameters: system, its own properties do not matter; properties; fairness, what is assumed instead
    of what each property states; max_states, beyond which all is undecided.
    The answer is the same in every process. Errors: MissingExtra without networkx, ValueError for two
    properties of one name.
    """
    started = perf_counter()
    assumed = properties
    if fairness is not None:
        assumed = [replace(prop, fairness=tuple(fairness)) for prop in properties]
    try:
        graph, verdicts = judge(system, assumed, max_states)
    except TooManyStates:
        unknown = tuple(LivenessVerdict(p.name, p.kind, p.meaning, Outcome.UNDECIDED) for p in properties)
        return LivenessResult(Outcome.UNDECIDED, unknown, 0, 0, perf_counter() - started)
    broken = any(verdict.lasso is not None for verdict in verdicts)
    return LivenessResult(
        outcome=Outcome.VIOLATED if broken else Outcome.HOLDS,
        verdicts=verdicts,
        distinct=len(graph.states),
        generated=graph.generated,
        seconds=perf_counter() - started,
    )


def judge(
    system: System, properties: Sequence[Liveness], max_states: int, progress: Progress | None = None
) -> tuple[Graph, tuple[LivenessVerdict, ...]]:
    """The graph of a system and the verdict on each property, as `check`. Errors: TooManyStates too."""
    if len({prop.name for prop in properties}) != len(properties):
        raise ValueError("two liveness properties share a name")
    components = _components_by_networkx()
    graph = build(system, (one for prop in properties for one in prop.fairness), max_states, progress)
    return graph, tuple(_verdict(graph, prop, graph.of(prop.fairness), components) for prop in properties)


Components = Callable[[Graph, Sequence[bool]], list[frozenset[int]]]
"""The strongly connected components of the states that are flagged, those with the lowest states first."""


def _components_by_networkx() -> Components:
    try:
        import networkx
    except ImportError as error:
        raise MissingExtra('liveness needs networkx; pip install "rota[liveness]"') from error

    def components(graph: Graph, inside: Sequence[bool]) -> list[frozenset[int]]:
        net: Any = networkx.DiGraph()
        states = [state for state in range(len(graph.states)) if inside[state]]
        net.add_nodes_from(states)
        net.add_edges_from((state, to) for state in states for to in graph.targets[state] if inside[to])
        return sorted((frozenset(found) for found in networkx.strongly_connected_components(net)), key=min)

    return components


@dataclass(frozen=True)
class _Run:
    """A violating run. entry: the number of the state in which the cycle begins."""

    stem: list[Edge]
    entry: int
    cycle: list[Edge]
    choice: tuple[int, ...]

    @property
    def order(self) -> tuple[int, int, tuple[int, ...]]:
        """What decides which of several runs is shown."""
        return len(self.stem), len(self.cycle), self.choice

    def lasso(self, graph: Graph) -> Lasso:
        """The run as transitions."""
        first = self.stem[0][0] if self.stem else self.entry
        return Lasso(
            machines=tuple(graph.system.machines[i].name for i in self.choice),
            start=graph.states[first],
            stem=graph.transitions(self.stem),
            cycle=graph.transitions(self.cycle),
        )


def _verdict(graph: Graph, prop: Liveness, classes: Classes, components: Components) -> LivenessVerdict:
    searches = [_Search(graph, prop, classes, choice) for choice in graph.system.positions(prop)]
    occasions = sum(search.occasions for search in searches)
    found = (search.run(components(graph, search.inside)) for search in searches)
    worst = min((run for run in found if run is not None), key=lambda run: run.order, default=None)
    return LivenessVerdict(
        name=prop.name,
        kind=prop.kind,
        meaning=prop.meaning,
        outcome=Outcome.HOLDS if worst is None else Outcome.VIOLATED,
        occasions=occasions,
        lasso=None if worst is None else worst.lasso(graph),
    )


class _Search:
    """One property on one choice of machines.

    bad: states in which the predicate does not hold; inside: states that a violating run may visit from the
    one on in which the property began to demand something; starts: where that may be.
    """

    def __init__(self, graph: Graph, prop: Liveness, classes: Classes, choice: tuple[int, ...]) -> None:
        self.graph, self.classes, self.choice = graph, classes, choice
        self.bad = [not good for good in graph.flags(prop, choice, prop.test)]
        everywhere = [True] * len(graph.states)
        given = everywhere if prop.given is None else graph.flags(prop, choice, prop.given)
        self.inside = everywhere if prop.kind is LivenessKind.EVENTUALLY_ALWAYS else self.bad
        self.starts = [asked and stays for asked, stays in zip(given, self.inside, strict=True)]
        self.occasions = sum(given)

    def run(self, components: list[frozenset[int]]) -> _Run | None:
        """The violating run with the shortest stem, none where the property holds."""
        traps: dict[int, frozenset[int]] = {}
        for part in components:
            if any(self.bad[state] for state in part) and self._fair(part):
                traps.update(dict.fromkeys(part, part))
        stem = self._stem(traps) if traps else None
        if stem is None:
            return None
        path, entry = stem
        return _Run(path, entry, self._cycle(traps[entry], entry), self.choice)

    def _fair(self, part: frozenset[int]) -> bool:
        """Whether a run can stay in a component and take every class that it always could take."""
        demanded = self.classes.intersection(*(self.graph.possible[state] for state in part))
        if not demanded:
            return True
        edges = (edge for state in part for edge, _ in self.graph.within(state, part.__contains__))
        return demanded <= {one for edge in edges for one in self.graph.classes_of(edge)}

    def _stem(self, traps: Mapping[int, Any]) -> tuple[list[Edge], int] | None:
        """A shortest path into a trap, on which the property begins to demand and is not satisfied after."""
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
            entry = min((state for state in level if state in traps), default=None)
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

    def _cycle(self, part: frozenset[int], entry: int) -> list[Edge]:
        """A walk through a component from a state back to it, fair, and through a bad state."""
        walk: list[Edge] = []
        for goal in (None, *sorted(self.classes)):
            visited = [entry, *(self.graph.target(edge) for edge in walk)]
            met = any(self._met_in(goal, state) for state in visited)
            if not met and not any(self._met_by(goal, edge) for edge in walk):
                meets, does = partial(self._met_in, goal), partial(self._met_by, goal)
                walk += self._route(part, visited[-1], meets, does)
        end = self.graph.target(walk[-1]) if walk else entry
        return walk + self._route(part, end, entry.__eq__, lambda edge: False)

    def _met_in(self, goal: int | None, state: int) -> bool:
        """Whether being in a state is what a class asks for: it is impossible there. None: a bad state."""
        return self.bad[state] if goal is None else goal not in self.graph.possible[state]

    def _met_by(self, goal: int | None, edge: Edge) -> bool:
        """Whether a transition is what a class asks for."""
        return goal is not None and goal in self.graph.classes_of(edge)

    def _route(
        self, part: frozenset[int], start: int, meets: Callable[[int], bool], does: Callable[[Edge], bool]
    ) -> list[Edge]:
        """A shortest path within a component to a state or over a transition that is wanted."""
        origin: Origin = {start: None}
        queue = [start]
        for state in queue:
            if meets(state):
                return path_to(origin, state)
            for edge, to in self.graph.within(state, part.__contains__):
                if does(edge):
                    return [*path_to(origin, state), edge]
                if to not in origin:
                    origin[to] = edge
                    queue.append(to)
        raise AssertionError("a fair component contains whatever fairness demands of it")
