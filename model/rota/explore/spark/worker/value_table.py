"""One table of values in a worker process: its own numbers, the registry's, and a round's for what is new.

A value that came from elsewhere stays encoded until it is needed here; one that was found here is recognised
by its digest when the registry has numbered it, and never decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rota.explore.spark.registry import Named, named
from rota.explore.spark.values import Reader
from rota.explore.spark.worker.translate import UNKNOWN
from rota.explore.tables.arrays import Ints, Pool, Region
from rota.explore.tables.machines import Interned
from rota.kernel import encode


class Known:
    """One table.

    Parameters: interned, the process's own numbers; intern, gives them; pools of both maps; reader, of values
    from elsewhere.

    local_of: by global number; wire_of: by local number the global one, or the provisional one of this round,
    which is `base` + its place in `provisional`.
    """

    def __init__(
        self,
        interned: Interned,
        intern: Callable[[Any], int],
        local_pool: Pool,
        wire_pool: Pool,
        reader: Reader,
    ) -> None:
        self.interned, self.own_number = interned, intern
        self.local_of, self.wire_of = Region(local_pool), Region(wire_pool)
        self.provisional: list[int] = []
        self._reader = reader
        self._raws: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        self._own: dict[int, Named] = {}
        """Values found here that the registry has not numbered."""

    @property
    def base(self) -> int:
        """How many global numbers there are."""
        return len(self._raws)

    @property
    def count(self) -> int:
        """How many numbers there are on the wire, provisional ones included."""
        return self.base + len(self.provisional)

    def begin(self) -> None:
        """Nothing is provisional any more."""
        for local in self.provisional:
            self.wire_of.data[local] = UNKNOWN
        self.provisional = []

    def add(self, values: Sequence[Named]) -> None:
        """Take in values with the next global numbers. Not while something is provisional."""
        for digest, raw in values:
            self._numbers[digest] = len(self._raws)
            self._raws.append(raw)
        self.local_of.reserve(self.base)
        for local, (digest, _) in list(self._own.items()):
            number = self._numbers.get(digest)
            if number is not None:
                del self._own[local]
                self._pair(local, number)

    def cover(self) -> None:
        """Make room for all of the process's own numbers."""
        self.wire_of.reserve(len(self.interned))

    def local(self, number: int) -> int:
        """The own number of a global one; the value is read and interned if it must be."""
        local = int(self.local_of.data[number])
        if local < 0:
            local = self.own_number(self._reader.value(self._raws[number]))
            self._raws[number] = b""
            self._pair(local, number)
        return local

    def value(self, number: int) -> Any:
        """The value with a global number."""
        return self.interned.values[self.local(number)]

    def given(self, local: int) -> int:
        """The global number of an own one, else the provisional one; negative if it has neither."""
        self.cover()
        number = int(self.wire_of.data[local])
        if number < 0 and local not in self._own:
            one = named(encode(self.interned.values[local]))
            number = self._numbers.get(one[0], -1)
            if number < 0:
                self._own[local] = one
            else:
                self._pair(local, number)
        return number

    def wire(self, local: int) -> int:
        """The global number of an own one, or a provisional one."""
        number = self.given(local)
        if number < 0:
            number = self.wire_of.data[local] = self.count
            self.provisional.append(local)
        return number

    def wires(self, locals_: Ints) -> Ints:
        """As `wire`, for many."""
        self.cover()
        for local in np.unique(locals_[self.wire_of.data[locals_] < 0]).tolist():
            self.wire(local)
        numbers: Ints = self.wire_of.data[locals_]
        return numbers

    def number_of(self, digest: bytes) -> int:
        """The global number of a digest, -1 if there is none."""
        return self._numbers.get(digest, -1)

    def news(self) -> tuple[Named, ...]:
        """The values with provisional numbers, in their order."""
        return tuple(self._own[local] for local in self.provisional)

    def found(self) -> list[Any]:
        """The values with provisional numbers themselves."""
        return [self.interned.values[local] for local in self.provisional]

    def _pair(self, local: int, number: int) -> None:
        self.cover()
        self.local_of.data[number] = local
        self.wire_of.data[local] = number
