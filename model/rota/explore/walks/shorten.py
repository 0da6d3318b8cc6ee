"""A run that ends in a violation, made shorter: loops are cut, then short cuts are looked for breadth-first.

What comes out need not be shortest: only the neighbourhood of the run is searched, as far as a budget allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rota.explore.result import DEADLOCK
from rota.explore.tables.arrays import Flags, Ints, Longs, RowSet
from rota.explore.tables.successors import expand
from rota.explore.tables.system import Tables
from rota.kernel import Property, State

FIRST_LOOK, NEARBY, IN_ALL = 10_000, 1_500, 60_000
"""States that are visited from the start of the run, from each later state of it, and altogether."""


def shortened(tables: Tables, name: str, prop: Property | None, path: Sequence[State]) -> list[State]:
    """A run to a state that breaks the same property.

    Parameters: tables; name, of the property, or `deadlock`; prop, the step property that a step out of the
    last state breaks (None: the last state itself is wrong); path, states, each a successor of the last.
    Errors: as of `expand`.
    """
    rows = [np.array(tables.learned.intern_state(state), np.int32) for state in path]
    run = _Shortening(tables, name, prop).run(rows)
    return [tables.learned.state(row) for row in run]


def without_loops(rows: Sequence[Ints]) -> list[Ints]:
    """The same run, from each state on as it goes on after the last visit to that state."""
    last = {row.tobytes(): at for at, row in enumerate(rows)}
    out, at = [], 0
    while at < len(rows):
        at = last[rows[at].tobytes()]
        out.append(rows[at])
        at += 1
    return out


@dataclass
class _Shortening:
    tables: Tables
    name: str
    prop: Property | None
    left: int = field(default=IN_ALL)

    def run(self, rows: Sequence[Ints]) -> list[Ints]:
        """Short cuts until there are none, or nothing is left of the budget."""
        path, at = without_loops(rows), 0
        while at < len(path) - 1 and self.left > 0:
            cut = self._cut(path, at, FIRST_LOOK if at == 0 else NEARBY)
            if cut is None:
                at += 1
            else:
                path = without_loops([*path[:at], *cut])
                at = 0 if at and len(cut) < 3 else at
        return path

    def _cut(self, path: Sequence[Ints], at: int, most: int) -> list[Ints] | None:
        """The rest of the run from path[at] on, shorter; None if none is found among `most` states.

        Breadth-first: the first state met that breaks the property, or the one of the run that saves most.
        """
        ahead = {row.tobytes(): number for number, row in enumerate(path) if number > at}
        seen = RowSet(self.tables.learned.width)
        seen.add(path[at][np.newaxis])
        parents = np.full(1, -1)
        best: tuple[int, int, int] | None = None
        begin, depth = 0, 0
        while begin < seen.size and seen.size < most and depth < len(path) - 2 - at:
            level, base = seen.rows(begin, seen.size), seen.size
            source, target = self._successors(level)
            numbers = seen.add(target)
            fresh, where = np.unique(numbers[numbers >= base], return_index=True)
            parents = np.concatenate([parents, begin + source[numbers >= base][where]])
            begin, depth = base, depth + 1
            new = seen.rows(base, seen.size)
            self.left -= len(new)
            if (broken := np.flatnonzero(self._breaks(new))).size:
                return self._path(seen, parents, base + int(broken[0]))
            for number, row in zip(fresh.tolist(), new, strict=True):
                reached = ahead.get(row.tobytes(), 0)
                saved = reached - at - depth
                if saved > (best[0] if best else 0):
                    best = (saved, number, reached)
        if best is None:
            return None
        return [*self._path(seen, parents, best[1]), *path[best[2] + 1 :]]

    def _path(self, seen: RowSet, parents: Longs, number: int) -> list[Ints]:
        found = []
        while number >= 0:
            found.append(seen.rows(number, number + 1)[0])
            number = int(parents[number])
        return found[::-1]

    def _successors(self, rows: Ints) -> tuple[Longs, Ints]:
        expansion = expand(self.tables.learned, rows)
        return expansion.source, np.ascontiguousarray(expansion.target)

    def _breaks(self, rows: Ints) -> Flags:
        """Which states break the property, themselves or by a step out of them."""
        judge, out = self.tables.judge, np.zeros(len(rows), np.bool_)
        if self.name == DEADLOCK:
            return expand(self.tables.learned, rows).stuck(rows) & ~judge.may_end(rows)
        if self.prop is None:
            for rank, flags in judge.bad_states(rows):
                if judge.invariants[rank].name == self.name:
                    out |= flags
            return out
        source, target = self._successors(rows)
        for rank, flags in judge.bad_steps(rows[source], target):
            if judge.steps[rank].name == self.name:
                out[source[flags]] = True
        return out
