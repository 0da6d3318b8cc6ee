"""Blocks of states as they travel between processes, whose numbers of values mean nothing to each other."""

from __future__ import annotations

import pickle

import numpy as np

from rota.explore.arrays import Ints
from rota.explore.learn import Learned


class Freight:
    """Values as bytes, each pickled once per process; bytes seen before need no unpickling.

    Equal values may have unequal pickles (what is shared within decides), so bytes are only a shortcut:
    unknown ones are unpickled and looked up by value.
    """

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self._sent: list[dict[int, bytes]] = [{} for _ in learned.machines]
        self._known: list[dict[bytes, int]] = [{} for _ in learned.machines]

    def pack(self, rows: Ints) -> bytes:
        """Rows as a block that any process can read: the values that occur, and indices of them."""
        values = []
        local = np.empty((len(rows), len(self._learned.machines)), np.int32)
        for position, table in enumerate(self._learned.machines):
            occurs = np.zeros(len(table.interned), np.bool_)
            occurs[rows[:, position]] = True
            local[:, position] = (np.cumsum(occurs) - 1)[rows[:, position]]
            values.append([self._bytes(position, i) for i in np.flatnonzero(occurs).tolist()])
        return pickle.dumps((values, local.tobytes()), protocol=5)

    def unpack(self, blob: bytes) -> Ints:
        """The rows of a block in this process's numbers."""
        values, raw = pickle.loads(blob)
        local = np.frombuffer(raw, np.int32).reshape(-1, len(self._learned.machines))
        rows = np.zeros((len(local), self._learned.width), np.int32)
        for position, known in enumerate(values):
            numbers = np.array([self._number(position, value) for value in known], np.int32)
            if len(local):
                rows[:, position] = numbers[local[:, position]]
        return rows

    def _bytes(self, position: int, number: int) -> bytes:
        sent = self._sent[position]
        if number not in sent:
            value = self._learned.machines[position].interned.values[number]
            sent[number] = pickle.dumps(value, protocol=5)
        return sent[number]

    def _number(self, position: int, raw: bytes) -> int:
        known = self._known[position]
        if raw not in known:
            known[raw] = self._learned.machines[position].intern(pickle.loads(raw))
        return known[raw]
