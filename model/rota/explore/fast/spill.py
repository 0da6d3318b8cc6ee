"""States that do not fit into memory any more: sorted pieces on disk, read from end to end to be compared.

The order is that of the states' codes; nothing is decided by a code, whole states are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from rota.explore.compiled import state_set
from rota.explore.tables.arrays import Flags, Words


class Runs:
    """Sorted pieces of states in files of one folder, which nobody else writes to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pieces: list[Words] = []
        self._written = 0

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def nbytes(self) -> int:
        """Bytes on disk, without those of `keep`."""
        return sum(piece.nbytes for piece in self._pieces)

    def add(self, keys: Words) -> None:
        """One more piece: states, shape [n, words], that are in none yet."""
        self._pieces.append(self.keep(in_order(keys)))

    def unknown(self, keys: Words) -> Words:
        """Those states, in order, that no piece has."""
        keys = in_order(keys)
        fresh: Flags = np.ones(len(keys), np.bool_)
        for piece in self._pieces:
            state_set.strike(keys, piece, fresh, (0,) * keys.shape[1])
        return keys[fresh]

    def repack(self, packed: Callable[[Words], Words]) -> None:
        """Write every piece anew, its states packed otherwise."""
        old, self._pieces = self._pieces, []
        for piece in old:
            self.add(packed(piece))
            self.drop(piece)

    def keep(self, keys: Words) -> Words:
        """The same states in a file, read as they are needed."""
        self._written += 1
        path = self._folder / f"states-{self._written:06d}"
        if not len(keys):
            return keys
        keys.tofile(path)
        return np.memmap(path, np.uint64, "r", shape=keys.shape)

    def drop(self, keys: Words) -> None:
        """Delete the file of states that `keep` has written; others are left alone."""
        if isinstance(keys, np.memmap) and keys.filename is not None:
            Path(keys.filename).unlink(missing_ok=True)


def in_order(keys: Words) -> Words:
    """States sorted by their codes."""
    return keys[np.argsort(state_set.codes(keys, (0,) * keys.shape[1]), kind="stable")]
