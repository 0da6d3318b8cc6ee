"""One state for each orbit of a symmetry: learned tables of renamed values, and the canonical state by them.

The machines are sorted by what is seen of them, not tried in all orders; only those that look alike are. What
decides are hashes of values, never numbers, so that every run has the same canonical states.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from rota.explore.compiled.arguments import NO_RENAMED, NO_SEEN, Turning
from rota.explore.tables.arrays import IntMap, Longs, Pool, Region
from rota.explore.tables.machines import Learned
from rota.kernel import Symmetry, component_hash
from rota.kernel.twins import unfit

MOST = 7
"""Interchangeable machines at most; a table has an entry for each of their permutations."""


class Orbits:
    """The tables of one system's symmetry. Without one, states stay as they are.

    Errors: ValueError for more than MOST machines.
    """

    def __init__(self, learned: Learned, symmetry: Symmetry | None) -> None:
        self._learned, self._symmetry = learned, symmetry
        names = symmetry.machines if symmetry else ()
        if len(names) > MOST:
            raise ValueError(f"{len(names)} interchangeable machines are too many; {MOST} are the most")
        self._homes = [learned.system.index[name] for name in names]
        self._orders = list(permutations(range(len(names))))
        self._number = np.full(max(1, len(names) ** len(names)), -1, np.int64)
        for number, places in enumerate(self._orders):
            self._number[sum(place * len(names) ** i for i, place in enumerate(places))] = number
        self._pool = Pool(np.uint64)
        self._seen = {
            (position, i): Region(self._pool)
            for position in range(len(learned.machines))
            for i in range(len(names))
            if position not in self._homes or self._homes[i] == position
        }
        self._renamed = IntMap()

    def bundle(self) -> Turning:
        """The tables as compiled code wants them."""
        count = len(self._homes)
        shape = (len(self._learned.machines), max(1, count))
        at, known = np.full(shape, -1, np.int64), np.zeros(shape, np.int64)
        for (position, i), region in self._seen.items():
            at[position, i], known[position, i] = region.start, region.size
        return Turning(
            np.array(self._homes, np.int64),
            np.array(self._orders, np.int64).reshape(len(self._orders), count),
            self._number,
            self._pool.store,
            at,
            known,
            *self._renamed.arrays,
        )

    def learn(self, kind: int, position: int, one: Longs, other: Longs) -> None:
        """What compiled code missed: values seen from the side of a machine, or values renamed."""
        assert self._symmetry is not None
        table = self._learned.machines[position]
        role = table.machine.role
        for value, what in zip(one.tolist(), other.tolist(), strict=True):
            meant = table.interned.values[value]
            if kind == NO_SEEN:
                region = self._seen[position, what]
                region.reserve(value + 1)
                high = _code_of(self._symmetry.seen(role, meant, what))
                region.data[value] = high | 1  # 0 is not known yet
            elif kind == NO_RENAMED:
                places = self._orders[what]
                renamed = self._symmetry.renamed(role, meant, places)
                number = self._learned.machines[self._home(position, places)].intern(renamed)
                key = position << 53 | what << 32 | value
                self._renamed.put(np.array([key], np.int64), np.array([number], np.int32))

    def _home(self, position: int, places: tuple[int, ...]) -> int:
        """Where the machine at a position goes."""
        if position in self._homes:
            return self._homes[places[self._homes.index(position)]]
        return position


def _code_of(seen: Any) -> int:
    """64 bits of the hash of what a machine is in a value. Errors: UserError."""
    try:
        return component_hash(seen)[0]
    except Exception as error:  # it may be anything
        raise unfit("symmetry", seen, error) from error
