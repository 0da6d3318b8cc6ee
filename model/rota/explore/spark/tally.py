"""The driver's count of what properties were judged on in all processes, each combination once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from rota.explore.spark.combinations import KEY, MARKED, counted
from rota.explore.spark.protocol import Judged
from rota.explore.tables.arrays import RowSet
from rota.kernel import System

Write = Callable[[str, bytes], None]
Read = Callable[[str, Callable[[bytes], None]], None]
"""A file of a commit, by its name."""


class Tally:
    """Keys of combinations, see `rota.explore.spark.combinations`.

    known: by process, how many portions of its journal are here; names: of the files of commits that have
    them; received: bytes that were reported, repetitions included.
    """

    def __init__(self, system: System) -> None:
        self._counted = counted(system)
        self._keys = RowSet(KEY // 4)
        self._committed = 0
        self.known: dict[str, int] = {}
        self.names: list[str] = []
        self.received = 0

    def add(self, reports: Iterable[Judged]) -> None:
        """Take over what processes report, of a round that counts."""
        for one in reports:
            self._add(one.keys)
            self.received += len(one.keys)
            self.known[one.process] = max(one.portions, self.known.get(one.process, 0))

    def commit(self, write: Write) -> None:
        """Keep what is new since the last time."""
        if len(self._keys) > self._committed:
            self.names.append(f"judged-{len(self.names):05d}")
            write(self.names[-1], self._keys.rows(self._committed, len(self._keys)).tobytes())
            self._committed = len(self._keys)

    def recall(self, names: Iterable[str], read: Read) -> None:
        """Begin with what was kept."""
        self.names = list(names)
        for name in self.names:
            read(name, self._take)
        self._committed = len(self._keys)

    def counts(self) -> dict[str, tuple[int, int]]:
        """By property how often it was judged, and of how many combinations its premise was True."""
        marks = (self._keys.rows(0, len(self._keys)).view("<u8")[:, 0] & np.uint64(MARKED)).astype(np.int64)
        split = np.bincount(marks, minlength=2 * len(self._counted)).reshape(-1, 2).tolist()
        return {
            prop.name: (vacuous + given, given)
            for prop, (vacuous, given) in zip(self._counted, split, strict=True)
        }

    def _take(self, keys: bytes) -> None:
        """What was kept. Errors: ValueError for what it cannot be."""
        self._add(keys)
        marks = np.frombuffer(keys, np.int32).reshape(-1, KEY // 4).view("<u8")[:, 0] & np.uint64(MARKED)
        if len(marks) and marks.max() >= 2 * len(self._counted):
            raise ValueError("it names properties that are not there")

    def _add(self, keys: bytes) -> None:
        self._keys.add(np.frombuffer(keys, np.int32).reshape(-1, KEY // 4))
