"""The graph of a large system: packed states, edges in two arrays, built and read by compiled code.

It has the states, numbers and transitions of `rota.explore.liveness.graph`, in the same order. Memory: for a
state 8 bytes a word (most systems need one), 8 for where its edges begin and, while it is built, 6 to 12 for
slots; for an edge 8, where it goes and its kind. Arrays grow by half, so as much as a half may be unused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from rota.explore.compiled import arguments
from rota.explore.compiled.arguments import Fields
from rota.explore.compiled.packing import Layout
from rota.explore.compiled.primitives import AGAIN_AT, MISSES_AT
from rota.explore.liveness import graph_kernel
from rota.explore.liveness.fairness_labels import LabelledTables
from rota.explore.liveness.graph import TooManyStates
from rota.explore.liveness.graph_kernel import (
    DONE,
    FREE,
    MISSED,
    NO_EDGES,
    NO_SLOTS,
    NO_STATES,
    TOO_DEEP,
)
from rota.explore.purity import Sampled, doubt
from rota.explore.result import Progress
from rota.explore.tables.arrays import Flags, Ints, Longs, Words, total128
from rota.explore.tables.properties import FINE, CheckGroup, Pools
from rota.explore.tables.system import EngineError, blocks, sample, worth
from rota.explore.tables.views import TRUE, Answers, Seen, ViewTable
from rota.kernel import Digest, Fairness, Kind, Liveness, Property, State, System, Transition
from rota.kernel.system import endless

PIECE = 1 << 14
"""States that are expanded at a time: what is missing is learned for all of them at once."""

BLOCK = 1 << 18
"""States that numpy looks at at a time."""


class LargeGraph:
    """All reachable states and transitions; see `build`.

    offsets: where the edges of each state begin, shape [states + 1]; targets, kinds: per edge the state that
    it leads to and the number of the set of its classes in `tables`; levels: the first state of each level,
    and the number of states.
    """

    def __init__(self, system: System, tables: LabelledTables) -> None:
        self.system, self.tables = system, tables
        self.layout = Layout([len(table.interned) for table in tables.machines])
        self.keys: Words = np.empty((0, 0), np.uint64)
        self.offsets: Longs = np.zeros(1, np.int64)
        self.targets: Ints = np.empty(0, np.int32)
        self.kinds: Ints = np.empty(0, np.int32)
        self.levels = [0]
        self.sampled = Sampled()

    @property
    def distinct(self) -> int:
        """States."""
        return len(self.keys)

    @property
    def edges(self) -> int:
        """Transitions, duplicates included."""
        return int(self.offsets[-1])

    @property
    def generated(self) -> int:
        """As in `Result`."""
        return self.edges + self.levels[1]

    @property
    def histogram(self) -> tuple[int, ...]:
        """States per level."""
        return tuple(np.diff(self.levels).tolist())

    @property
    def fired(self) -> frozenset[str]:
        """Slugs of the rules seen in any transition."""
        return self.tables.fired()

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in (self.keys, self.offsets, self.targets, self.kinds))

    def digest(self) -> str:
        """The sum of the states' hashes."""
        digest = Digest()
        for rows in self._rows():
            digest.add([total128(*self.tables.hashes(rows))])
        return digest.hex()

    def column(self, begin: int, end: int, place: int) -> Ints:
        """The number of a machine's value in some states."""
        word, shift, mask = self.layout.word[place], self.layout.shift[place], self.layout.mask[place]
        column: Ints = (self.keys[begin:end, word] >> shift & mask).astype(np.int32)
        return column

    def _rows(self) -> Iterator[Ints]:
        for begin, end in blocks(0, self.distinct, BLOCK):
            yield self.layout.unpack(self.keys[begin:end], self.tables.width)

    def state(self, number: int) -> State:
        """A state by its number."""
        return self.tables.state(self.layout.unpack(self.keys[number : number + 1], self.tables.width)[0])

    def source(self, edge: int) -> int:
        """The state that an edge leads out of."""
        return int(np.searchsorted(self.offsets, edge, side="right")) - 1

    def path_to(self, state: int) -> list[int]:
        """The edges by which the search visited a state first, from an initial one."""
        path: list[int] = []
        depth = int(np.searchsorted(self.levels, state, side="right")) - 1
        for level in range(depth - 1, -1, -1):
            first, end = self.offsets[self.levels[level]], self.offsets[self.levels[level + 1]]
            path.insert(0, int(first + np.argmax(self.targets[first:end] == state)))
            state = self.source(path[0])
        return path

    def transitions(self, path: Iterable[int]) -> tuple[Transition, ...]:
        """The transitions along a path of edges. Errors: EngineError."""
        out = []
        for edge in path:
            source = self.source(edge)
            transition = list(self.system.successors(self.state(source)))[edge - int(self.offsets[source])]
            if transition.target != self.state(int(self.targets[edge])):
                raise EngineError(f"{self.system.name}: an edge leads elsewhere than its transition")
            out.append(transition)
        return tuple(out)

    def check(self, number: int) -> None:
        """Compare the edges out of a state with the system's transitions. Errors: EngineError."""
        edges = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        ours = [
            (self.state(to), kind)
            for to, kind in zip(self.targets[edges].tolist(), self.kinds[edges].tolist(), strict=True)
        ]
        steps = self.system.successors(self.state(number))
        theirs = [(step.target, self.tables.kind_of(step)) for step in steps]
        if ours != theirs:
            doubt(self.system, self.state(number))
            raise EngineError(
                f"{self.system.name}: the graph has {len(ours)} transitions and the system {len(theirs)}, or "
                f"other ones, out of {self.state(number)!r}; is a machine or an assumption impure?"
            )


class Asked:
    """A predicate over the views of a property; asked once of each combination of what they see."""

    def __init__(self, graph: LargeGraph, prop: Liveness, test: Callable[..., bool]) -> None:
        self._graph = graph
        as_property = Property(prop.name, Kind.SAFETY, prop.meaning, prop.views, test)
        self._answers = Answers(as_property, [Seen(graph.tables, view) for view in prop.views])

    def flags(self, choice: Sequence[int]) -> Flags:
        """Per state: whether it is true, on one choice of machines."""
        graph, group = self._graph, CheckGroup(len(choice), Pools(), 0)
        views = [ViewTable(seen, place) for seen, place in zip(self._answers.seen, choice, strict=True)]
        group.add(self._answers, list(enumerate(views)))
        out = np.empty(graph.distinct, np.bool_)
        for begin, end in blocks(0, graph.distinct, BLOCK):
            columns = [graph.column(begin, end, place) for place in choice]
            out[begin:end] = group.status(columns) == FINE
        return out

    def counts(self) -> tuple[int, int]:
        """Of how many combinations it was asked, and of how many it is true."""
        answers = self._answers.pairs()[1]
        return len(answers), int(np.count_nonzero(answers == TRUE))


def build(
    system: System, fairness: Iterable[Fairness], max_states: int, progress: Progress | None = None
) -> LargeGraph:
    """The graph of all reachable states, a sample of them compared with the system's own transitions.

    progress is called after each level. Errors: TooManyStates, CannotTabulate, UserError,
    Impure, EngineError.
    """
    graph = _Building(system, fairness, max_states).run(progress)
    for table in graph.tables.machines:
        table.check()
    asked = graph.tables.again.ask()
    chosen = sample(graph.distinct, worth(graph.edges)).tolist()
    for number in chosen:
        graph.check(number)
    graph.sampled = replace(asked, states=len(chosen))
    return graph


class _Building:
    """A graph that grows. count: states so far; the arrays are longer than what is in them."""

    def __init__(self, system: System, fairness: Iterable[Fairness], max_states: int) -> None:
        self.tables = LabelledTables(system, fairness)
        initial = [self.tables.intern_state(state) for state in system.initial_states()]
        self.graph = LargeGraph(system, self.tables)
        self.max_states = max_states
        self.miss_log = graph_kernel.new_miss_log(PIECE)
        self.keys = self.graph.layout.pack(np.array(initial, np.int32).reshape(-1, self.tables.width))
        self.count = len(initial)
        self.slots = _free(1 << max(12, (2 * self.count).bit_length()))
        self._number()
        self.offsets = np.zeros(len(self.keys) + 1, np.int64)
        self.targets, self.kinds = np.empty(1 << 12, np.int32), np.empty(1 << 12, np.int32)

    def run(self, progress: Progress | None) -> LargeGraph:
        started, levels = perf_counter(), self.graph.levels
        while levels[-1] < self.count:
            levels.append(self.count)
            self._expand(levels[-2], levels[-1])
            if progress:
                edges, left = int(self.offsets[levels[-1]]), levels[-1] - levels[-2]
                progress(len(levels) - 2, self.count, left, edges, perf_counter() - started)
        return self._finished()

    def _expand(self, begin: int, end: int) -> None:
        """The edges out of the states of a level. Errors: TooManyStates, UserError."""
        while begin < end:
            begin, self.count, why = self._grow(np.arange(begin, min(end, begin + PIECE)))
            if self.count > self.max_states:
                raise TooManyStates
            if why == MISSED:
                self._learn()
            elif why == TOO_DEEP:
                raise endless("messages", self.graph.system.name)
            elif why != DONE:
                self._enlarge(why)

    def _learn(self) -> None:
        """Learn what the states of a piece miss, until they miss nothing."""
        log = self.miss_log
        while log.counts[AGAIN_AT]:
            again = log.again[: log.counts[AGAIN_AT]].copy()
            self.tables.learn(log.misses[: log.counts[MISSES_AT]])
            log.asked[:], log.counts[:] = 0, 0
            self._fit()
            self._grow(again, trying=True)

    def _grow(self, todo: Longs, trying: bool = False) -> tuple[int, int, int]:
        fields, learnt = Fields(*self.graph.layout.fields()), arguments.learnt(self.tables)
        stopped, count, why = graph_kernel.grow(
            self.keys, self.count, self.slots, _shift(self.slots), todo, trying, learnt,
            self.tables.label_tables(), fields, self.offsets, self.targets, self.kinds, self.miss_log,
            self._unit)  # fmt: skip
        return int(stopped), int(count), int(why)

    @property
    def _unit(self) -> tuple[int, ...]:
        """What tells compiled code how many words a state has: a tuple as long."""
        return (0,) * int(self.keys.shape[1])

    def _enlarge(self, why: int) -> None:
        if why == NO_EDGES:
            # resizing moves pages instead of copying them; nobody keeps a view
            more = len(self.targets) * 3 // 2
            self.targets.resize(more, refcheck=False)
            self.kinds.resize(more, refcheck=False)
        elif why == NO_STATES:
            more = max(1024, len(self.keys) * 3 // 2)
            self.keys.resize((more, self.keys.shape[1]), refcheck=False)
            self.offsets.resize(more + 1, refcheck=False)
        else:
            assert why == NO_SLOTS
            self.slots = _free(2 * len(self.slots))
            self._number()

    def _number(self) -> None:
        """Enter all states into the slots, which hold none."""
        self.count = graph_kernel.enter(self.keys, self.count, self.slots, _shift(self.slots), self._unit)

    def _fit(self) -> None:
        """Pack all states anew if a machine has more values than its field can number."""
        counts = [len(table.interned) for table in self.tables.machines]
        old = self.graph.layout
        if old.fits(counts):
            return
        new = self.graph.layout = Layout(counts)
        packed = np.empty((len(self.keys), new.words), np.uint64)
        for begin, end in blocks(0, self.count, BLOCK):
            packed[begin:end] = new.pack(old.unpack(self.keys[begin:end], self.tables.width))
        self.keys = packed
        self.slots[:] = FREE
        self._number()

    def _finished(self) -> LargeGraph:
        """The graph, its arrays as long as what is in them."""
        del self.slots
        graph, edges = self.graph, int(self.offsets[self.count])
        self.keys.resize((self.count, self.keys.shape[1]), refcheck=False)
        self.offsets.resize(self.count + 1, refcheck=False)
        self.targets.resize(edges, refcheck=False)
        self.kinds.resize(edges, refcheck=False)
        graph.keys, graph.offsets, graph.targets, graph.kinds = (
            self.keys, self.offsets, self.targets, self.kinds)  # fmt: skip
        return graph


def _free(size: int) -> Any:
    return np.full(size, FREE, np.int32)


def _shift(slots: Any) -> int:
    """How far a code is shifted to give its slot."""
    return 64 - (len(slots).bit_length() - 1)
