"""One worker's share of the states, exact and packed: what it has visited, what it expands, what it absorbs.

Compiled code does the work; a state that needs something not learned yet is noted and tried again later. An
owner knows nothing of its peers but their number: successors leave it sorted by who owns them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rota.explore.compiled import state_set
from rota.explore.compiled.arguments import Fields, Groups, Lanes
from rota.explore.compiled.expansion import PIECE, Expansion, scan
from rota.explore.compiled.packing import Layout
from rota.explore.compiled.state_set import FREE
from rota.explore.fast.spill import Runs
from rota.explore.tables.arrays import Longs, Words

FIRST_SLOTS = 1 << 12
LARGEST = 1 << 18
"""Most states of one array of a level."""
FULL = 0.7
"""Share of slots in use beyond which their number is doubled."""


class Owner:
    """The states that fall to one of `owners` workers; which is the same in every layout.

    Parameters: owners; layout, of states; budget, bytes of memory for states, and folder, where to write what
    is beyond (None: there is no bound); exact, whether states are compared or only their fingerprints. A
    level that is being filled may pass the budget.
    levels: the states of each level as arrays of packed states; open: the level being filled; expansion: of
    the last level.
    """

    def __init__(
        self,
        owners: int,
        layout: Layout,
        budget: int | None = None,
        folder: Path | None = None,
        exact: bool = True,
    ) -> None:
        self.owners = owners
        self._exact = exact
        self._unit = (0,) * layout.words
        """What tells compiled code how many words a state has: a tuple as long."""
        self._budget = budget
        self._runs = Runs(folder) if folder else None
        self._in_memory = 0
        """The first level of which some states are not in a run."""
        self.levels: list[list[Words]] = []
        self.expansion = Expansion(owners, layout.words)
        self._open: list[Words] = []
        self._filled = 0
        self._slots = _free(FIRST_SLOTS, self._print_unit)
        self._used = 0

    @property
    def _print_unit(self) -> tuple[int, ...]:
        """The same for what stands for a state in a slot."""
        return self._unit if self._exact else (0,)

    def _prints(self, keys: Words) -> Words:
        """What stands for states in slots: themselves, or their fingerprints."""
        return keys if self._exact else state_set.fingerprints(keys, self._unit)

    @property
    def nbytes(self) -> int:
        """Bytes of memory held for states: slots and levels, without the working room."""
        kept = sum(array.nbytes for array in self._held())
        return self._slots.nbytes + kept

    @property
    def bytes_on_disk(self) -> int:
        """Bytes of states in files."""
        files = (array for level in self.levels[: self._in_memory] for array in level)
        return sum(array.nbytes for array in files) + (self._runs.nbytes if self._runs else 0)

    # ---- levels

    def close_level(self) -> int:
        """What was absorbed since the last call becomes a level; returns its number of states."""
        if self._open:
            self._open[-1] = self._open[-1][: self._filled].copy()
        level = [array for array in self._open if len(array)]
        self._open, self._filled = [], 0
        if self._runs and level:
            level = [array for array in map(self._runs.unknown, level) if len(array)]
        self.levels.append(level)
        count = sum(map(len, level))
        if self._budget is not None and self.nbytes > self._budget:
            self._spill()
        self.expansion.begin(level)
        return count

    def _held(self) -> Iterator[Words]:
        """All states in memory, the level being filled included."""
        for level in self.levels[self._in_memory :]:
            yield from level
        yield from self._open[:-1]
        if self._open:
            yield self._open[-1][: self._filled]

    def _spill(self) -> None:
        """Write everything to disk but the last level, which is still to be expanded."""
        assert self._runs is not None
        leaving = self.levels[self._in_memory : -1]
        arrays = [array for level in leaving for array in level]
        if not arrays:
            return  # the last level alone is too large; nothing can be done about that
        self._runs.add(np.concatenate(arrays))
        self.levels[self._in_memory : -1] = [[self._runs.keep(array) for array in level] for level in leaving]
        self._in_memory = len(self.levels) - 1
        held = sum(map(len, self._held()))
        self._rebuild(max(FIRST_SLOTS, 1 << int(held / FULL).bit_length()))

    def scan(self, fields: Fields, lanes: Lanes, groups: Groups, asks: Longs) -> tuple[int, Words]:
        """The sum of the hashes of the last level's states, and those states that need a look."""
        total, suspects = 0, [np.empty((0, len(self._unit)), np.uint64)]
        for array in self.levels[-1]:
            added, noted = scan(array, fields, lanes, groups, asks)
            total += added
            suspects.append(noted)
        return total, np.concatenate(suspects)

    # ---- absorbing

    def absorb(self, incoming: Words) -> None:
        """Take in states, shape [n, words]; known ones change nothing."""
        at, prints = 0, self._prints(incoming)
        while True:
            if not self._open or self._filled == len(self._open[-1]):
                held = len(self._open[-1]) if self._open else 0
                self._open.append(np.empty((min(max(PIECE, 2 * held), LARGEST), len(self._unit)), np.uint64))
                self._filled = 0
            most = int(FULL * len(self._slots))
            at, self._used, self._filled = state_set.absorb(
                prints, incoming, at, len(incoming), self._slots, _shift(self._slots), self._used, most,
                self._open[-1], self._filled, self._print_unit, self._unit)  # fmt: skip
            if at == len(incoming):
                return
            if self._used == most:
                self._rebuild(2 * len(self._slots))

    def repack(self, old: Layout, new: Layout) -> None:
        """Give every state the bits that another layout says. Not while successors wait to be absorbed."""
        width = len(old.word)

        def packed(array: Words) -> Words:
            out = np.empty((len(array), new.words), np.uint64)
            for start in range(0, len(array), PIECE):
                rows = old.unpack(array[start : start + PIECE], width)
                out[start : start + PIECE] = new.pack(rows)
            return out

        held = self._in_memory
        self.levels[held:] = [[packed(array) for array in level] for level in self.levels[held:]]
        if self._runs:
            for level in self.levels[:held]:
                for number, array in enumerate(level):
                    level[number] = self._runs.keep(packed(array))
                    self._runs.drop(array)
            self._runs.repack(packed)
        if self._open:
            last = np.empty((len(self._open[-1]), new.words), np.uint64)
            last[: self._filled] = packed(self._open[-1][: self._filled])
            self._open = [*(packed(array) for array in self._open[:-1]), last]
        self._unit = (0,) * new.words
        self._rebuild(len(self._slots))
        self.expansion.goes_on_with(self.levels[-1] if self.levels else (), new.words)

    def _rebuild(self, size: int) -> None:
        del self._slots  # before there are new ones: both together may be too much
        self._slots = _free(size, self._print_unit)
        self._used = sum(map(len, self._held()))
        for array in self._held():
            state_set.refill(self._prints(array), self._slots, _shift(self._slots), self._print_unit)


def _free(size: int, unit: tuple[int, ...]) -> Words:
    empty = np.empty((size, len(unit)), np.uint64)
    empty[:, 0] = FREE
    return empty


def _shift(slots: Words) -> int:
    """How far a code is shifted to give its slot."""
    return 64 - (len(slots).bit_length() - 1)
