"""The whole graph of a system in memory: every state, every transition, and the fairness classes of each.

For questions about endless runs, which a breadth-first search over levels cannot answer. Plain Python over
`System.successors`; each machine's outcomes are computed once per distinct (value, message).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from time import perf_counter
from typing import Any

from rota.explore.purity import NOTHING, Again, Noting, Sampled
from rota.explore.result import Progress
from rota.kernel import (
    Asking,
    Digest,
    Fairness,
    Liveness,
    Machine,
    Message,
    Outcome,
    State,
    System,
    Transition,
    component_hash,
    keeping,
    state_hash,
)

Edge = tuple[int, int]
"""(number of a state, position of one of its transitions in the order of `System.successors`)."""

Classes = frozenset[int]
"""Numbers of classes of fairness assumptions."""

Origin = dict[int, Edge | None]
"""State -> the transition by which a search visited it first, None where the search began."""


class TooManyStates(Exception):
    """The graph has more states than allowed."""


@dataclass
class Graph:
    """States are numbered in the order of a breadth-first search, so a lower number is never deeper.

    states; depth and parent, per state: edges from the nearest initial state and the last one of them (None:
    initial); targets and edge_classes, per state and transition: where it goes and the classes it belongs to;
    enabled, per state: the classes of its transitions; classes: (assumption, class) -> number; rules:
    slugs of those seen in any transition; sampled: how much was looked at twice.
    """

    system: System
    states: list[State] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    parent: Origin = field(default_factory=dict)
    targets: list[tuple[int, ...]] = field(default_factory=list)
    edge_classes: list[tuple[Classes, ...]] = field(default_factory=list)
    enabled: list[Classes] = field(default_factory=list)
    classes: dict[tuple[Fairness, Hashable], int] = field(default_factory=dict)
    rules: set[str] = field(default_factory=set)
    sampled: Sampled = NOTHING

    @property
    def distinct(self) -> int:
        """States."""
        return len(self.states)

    @property
    def edges(self) -> int:
        """Transitions, duplicates included."""
        return sum(len(targets) for targets in self.targets)

    @property
    def generated(self) -> int:
        """As in `Result`: 1 per initial state, and the transitions."""
        return self.edges + sum(parent is None for parent in self.parent.values())

    @property
    def histogram(self) -> tuple[int, ...]:
        """States per level."""
        return tuple(count for _, count in sorted(Counter(self.depth).items()))

    @property
    def fired(self) -> frozenset[str]:
        """Slugs of the rules seen in any transition."""
        return frozenset(self.rules)

    def digest(self) -> str:
        """As every engine makes it: the sum of the states' hashes."""
        code = cache(component_hash)
        digest = Digest()
        digest.add(state_hash([code(value) for value in state]) for state in self.states)
        return digest.hex()

    def state(self, number: int) -> State:
        """A state by its number."""
        return self.states[number]

    def of(self, fairness: Iterable[Fairness]) -> Classes:
        """The classes of some assumptions that occur."""
        wanted = set(fairness)
        return frozenset(number for (one, _), number in self.classes.items() if one in wanted)

    def target(self, edge: Edge) -> int:
        """Where a transition goes."""
        return self.targets[edge[0]][edge[1]]

    def classes_of(self, edge: Edge) -> Classes:
        """The classes that a transition belongs to."""
        return self.edge_classes[edge[0]][edge[1]]

    def within(self, state: int, inside: Callable[[int], bool]) -> list[tuple[Edge, int]]:
        """The transitions out of a state whose targets are inside, with the targets, in order."""
        return [((state, i), to) for i, to in enumerate(self.targets[state]) if inside(to)]

    def transitions(self, path: Iterable[Edge]) -> tuple[Transition, ...]:
        """The transitions along a path of edges."""
        return tuple(list(self.system.successors(self.states[state]))[i] for state, i in path)


class Asked:
    """A predicate over the views of a property; asked once of each combination of what they see."""

    def __init__(self, graph: Graph, prop: Liveness, test: Callable[..., bool]) -> None:
        self._graph, self._views, self._test = graph, prop.views, test
        self._known: dict[tuple[Hashable, ...], bool] = {}

    def flags(self, choice: Sequence[int]) -> list[bool]:
        """Per state: whether it is true, on one choice of machines."""
        known, out = self._known, []
        for state in self._graph.states:
            seen = tuple(view.of(state[i]) for view, i in zip(self._views, choice, strict=True))
            if seen not in known:
                known[seen] = bool(self._test(*seen))
            out.append(known[seen])
        return out

    def counts(self) -> tuple[int, int]:
        """Of how many combinations it was asked, and of how many it is true."""
        return len(self._known), sum(self._known.values())


def path_to(origin: Origin, state: int) -> list[Edge]:
    """The path by which a search visited a state first."""
    path = []
    while (edge := origin[state]) is not None:
        path.append(edge)
        state = edge[0]
    return path[::-1]


Observer = Callable[[State, Transition], None]
"""Called with every transition and the state that it leaves."""


def build(
    system: System,
    fairness: Iterable[Fairness],
    max_states: int,
    progress: Progress | None = None,
    watch: Observer | None = None,
) -> Graph:
    """The graph of all reachable states. progress is called after each level.

    Errors: TooManyStates; Impure for a machine that answers otherwise when it is asked again.
    """
    assumptions = tuple(dict.fromkeys(fairness))
    again, system = Again(), keeping(system)
    machines = tuple(_Memoised(Noting(machine, again)) for machine in system.machines)
    graph = Graph(replace(system, machines=machines))
    numbers: dict[State, int] = {}
    end_of_state = _Levels(graph, progress)

    def number(state: State, parent: Edge | None) -> int:
        known = numbers.setdefault(state, len(numbers))
        if known == len(graph.states):
            graph.states.append(state)
            graph.parent[known] = parent
            graph.depth.append(0 if parent is None else graph.depth[parent[0]] + 1)
        return known

    for state in system.initial_states():
        number(state, None)
    at = 0
    while at < len(graph.states):
        if len(graph.states) > max_states:
            raise TooManyStates
        targets, edge_classes = [], []
        for i, transition in enumerate(graph.system.successors(graph.states[at])):
            targets.append(number(transition.target, (at, i)))
            edge_classes.append(_classes(graph, assumptions, transition))
            graph.rules.update(transition.rules)
            if watch:
                watch(graph.states[at], transition)
        graph.targets.append(tuple(targets))
        graph.edge_classes.append(tuple(edge_classes))
        graph.enabled.append(frozenset[int]().union(*edge_classes))
        at += 1
        end_of_state(at, len(targets))
    graph.sampled = again.ask()
    return graph


class _Levels:
    """Reports each level when the last of its states has been expanded."""

    def __init__(self, graph: Graph, progress: Progress | None) -> None:
        self._graph, self._progress = graph, progress
        self._began = perf_counter()
        self._level, self._first, self._edges = 0, 0, 0

    def __call__(self, expanded: int, edges: int) -> None:
        """expanded: how many states have been expanded so far; edges: transitions out of the last one."""
        depth, states = self._graph.depth, len(self._graph.states)
        self._edges += edges
        if expanded < states and depth[expanded] == self._level:
            return
        if self._progress:
            seconds = perf_counter() - self._began
            self._progress(self._level, states, expanded - self._first, self._edges, seconds)
        self._level, self._first = self._level + 1, expanded


def _classes(graph: Graph, assumptions: Iterable[Fairness], transition: Transition) -> Classes:
    named = [(one, name) for one in assumptions for name in one.of(transition)]
    return frozenset(graph.classes.setdefault(pair, len(graph.classes)) for pair in named)


class _Memoised(Asking):
    """A machine that computes its outcomes once per distinct value and message; machines are pure."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.name, self.role = machine, machine.name, machine.role
        self._offers: dict[Any, tuple[Outcome, ...]] = {}
        self._taken: dict[tuple[Any, str, Message], tuple[Outcome, ...]] = {}

    def initial(self) -> Sequence[Any]:
        values: Sequence[Any] = self.machine.initial()
        return values

    def actions(self, value: Any) -> Sequence[Outcome]:
        if value not in self._offers:
            self._offers[value] = tuple(self.machine.actions(value))
        return self._offers[value]

    def receive(self, value: Any, sender: str, message: Message) -> Sequence[Outcome]:
        key = (value, sender, message)
        if key not in self._taken:
            self._taken[key] = tuple(self.machine.receive(value, sender, message))
        return self._taken[key]
