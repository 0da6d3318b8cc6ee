"""States as few 64-bit words: every machine's value number in a field of bits, exact, no hashing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.explore.tables.arrays import Ints, Longs, Words

WORD_BITS = 63
"""Bits of a word that fields may take. One is left, so that a word of ones is no state (an empty slot)."""


class Layout:
    """Where each column of a row has its bits.

    Parameters: counts, how many values each column must be able to hold. Bits that are left over are handed
    out, so that tables can grow a while before states have to be packed anew.
    words: how many words a state takes; word, shift, mask: of each column; limits: what each can hold.
    """

    def __init__(self, counts: Sequence[int]) -> None:
        bits = [max(count - 1, 0).bit_length() for count in counts]
        if max(bits, default=0) > WORD_BITS:
            raise ValueError("a column has more values than a word can number")
        placed: list[list[int]] = []
        for column in sorted(range(len(bits)), key=lambda i: -bits[i]):
            for word in placed:
                if sum(bits[i] for i in word) + bits[column] <= WORD_BITS:
                    word.append(column)
                    break
            else:
                placed.append([column])
        self.words = len(placed)
        self.word = np.zeros(len(bits), np.int64)
        self.shift = np.zeros(len(bits), np.uint64)
        self.mask = np.zeros(len(bits), np.uint64)
        for number, columns in enumerate(placed):
            at = 0
            for column, width in _widened([(i, bits[i]) for i in columns]):
                self.word[column], self.shift[column] = number, at
                self.mask[column] = (1 << width) - 1
                at += width
        self.limits = [int(mask) + 1 for mask in self.mask]

    @staticmethod
    def of_fields(word: Sequence[int], shift: Sequence[int], mask: Sequence[int]) -> Layout:
        """The layout that has exactly these fields."""
        layout = Layout([])
        layout.words = max(word, default=0) + 1
        layout.word = np.array(word, np.int64)
        layout.shift, layout.mask = np.array(shift, np.uint64), np.array(mask, np.uint64)
        layout.limits = [int(each) + 1 for each in mask]
        return layout

    def fits(self, counts: Sequence[int]) -> bool:
        """Whether columns with so many values still have room."""
        return all(count <= limit for count, limit in zip(counts, self.limits, strict=True))

    def pack(self, rows: Ints) -> Words:
        """Rows, shape [n, at least the columns], as words, shape [n, words]."""
        keys = np.zeros((len(rows), self.words), np.uint64)
        for column in range(len(self.word)):
            keys[:, self.word[column]] |= rows[:, column].astype(np.uint64) << self.shift[column]
        return keys

    def unpack(self, keys: Words, width: int) -> Ints:
        """Words, shape [n, words], as rows, shape [n, width]; columns that the layout has not are 0."""
        rows = np.zeros((len(keys), width), np.int32)
        for column in range(len(self.word)):
            field = (keys[:, self.word[column]] >> self.shift[column]) & self.mask[column]
            rows[:, column] = field.astype(np.int32)
        return rows

    def fields(self) -> tuple[Longs, Words, Words]:
        """word, shift and mask of each column, for compiled code."""
        return self.word, self.shift, self.mask


def _widened(fields: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Fields (column, bits) of one word with its spare bits handed out, wide fields first."""
    spare = WORD_BITS - sum(bits for _, bits in fields)
    share, rest = divmod(spare, len(fields))
    # No field is wider than a number of a value can be (int32).
    return [(column, min(31, bits + share + (rank < rest))) for rank, (column, bits) in enumerate(fields)]
