"""Growing arrays, integer maps and exact row sets in numpy: what the table engine searches with.

Nothing here knows states or machines. Hash positions come from the same 64-bit mixing as the digest's, but
nothing is decided by a hash: keys and whole rows are always compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rota.kernel.encoding import GOLDEN

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(GOLDEN)


def mix(x: Words) -> Words:
    """`rota.kernel.encoding.mix64` for an array; works in place on a copy."""
    x = x ^ (x >> np.uint64(30))
    x *= _MULTIPLY_1
    x ^= x >> np.uint64(27)
    x *= _MULTIPLY_2
    x ^= x >> np.uint64(31)
    return x


class Column:
    """An array that grows by its first axis. Take `data` anew after each append: growth moves it.

    Parameters: dtype; fill, what new entries hold; width, how many numbers an entry has that are read
    together (None: it is one number). They lie side by side, so that compiled code waits for memory once.
    """

    def __init__(self, dtype: Any, fill: int = 0, width: int | None = None) -> None:
        self._entry = () if width is None else (width,)
        self._store = np.full((64, *self._entry), fill, dtype)
        self._fill = fill
        self._stored = 0
        self._late: list[int | tuple[int, ...]] = []
        """Appended last and not stored yet: numpy takes many at once in the time of a few."""

    @property
    def size(self) -> int:
        """How many entries there are."""
        return self._stored + len(self._late)

    @property
    def data(self) -> NDArray[Any]:
        """The entries so far, a view."""
        if self._late:
            late, self._late = self._late, []
            start = self._stored
            self.reserve(start + len(late))
            self._store[start : self._stored] = late
        return self._store[: self._stored]

    def reserve(self, size: int) -> None:
        """Make `size` entries exist; new ones hold the fill value."""
        held = self.data
        if size > len(self._store):
            room = (max(size, 2 * len(self._store)), *self._entry)
            self._store = np.full(room, self._fill, self._store.dtype)
            self._store[: len(held)] = held
        self._stored = max(self._stored, size)

    def append(self, entry: int | tuple[int, ...]) -> None:
        """One more entry at the end."""
        self._late.append(entry)


class Pool:
    """One array that many columns live in, so that compiled code gets them all as one argument."""

    def __init__(self, dtype: Any, fill: int = 0) -> None:
        self.store = np.full(1024, fill, dtype)
        self.fill = fill
        self._used = 0

    def claim(self, size: int) -> int:
        """Room for so many entries, filled; returns where it begins."""
        start, self._used = self._used, self._used + size
        if self._used > len(self.store):
            # memory that is zero already costs nothing until it is used
            bigger = np.zeros(2 * self._used, self.store.dtype)
            bigger[:start] = self.store[:start]
            if self.fill:
                bigger[start:] = self.fill
            self.store = bigger
        return start


class Region:
    """A column within a pool. Take `data` anew after each append or reserve, in any column of the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.start = 0
        self._room = 0
        self.size = 0

    @property
    def data(self) -> NDArray[Any]:
        """The values so far, a view."""
        return self._pool.store[self.start : self.start + self.size]

    def reserve(self, size: int) -> None:
        """Make `size` entries exist; new ones hold the pool's fill value."""
        if size > self._room:
            room = max(16, 2 * size)
            start = self._pool.claim(room)
            self._pool.store[start : start + self.size] = self.data
            self.start, self._room = start, room
        self.size = max(self.size, size)

    def append(self, value: int) -> None:
        """One more entry at the end."""
        self.reserve(self.size + 1)
        self._pool.store[self.start + self.size - 1] = value


class IntMap:
    """int64 keys (not negative) to int32 values (not negative); whole arrays at a time."""

    def __init__(self) -> None:
        self._clear(8)

    def _clear(self, bits: int) -> None:
        # A key and its value lie side by side: compiled code that looks one up waits for memory once.
        self._slots = np.full((1 << bits, 2), -1, np.int64)
        self._keys, self._values = self._slots.T
        self._shift = np.uint64(64 - bits)
        self.size = 0

    @property
    def arrays(self) -> tuple[Longs, int]:
        """Slots, shape [n, 2], each a key (-1: free) and its value; how far a mixed key is shifted."""
        return self._slots, int(self._shift)

    def items(self) -> tuple[Longs, Ints]:
        """All keys, in no order, and their values."""
        used = self._keys >= 0
        return self._keys[used], self._values[used].astype(np.int32)

    def get(self, keys: Longs) -> Ints:
        """The value of each key, -1 where there is none."""
        mask = len(self._keys) - 1
        place = self._place(keys)
        found = self._keys[place]
        out = np.where(found == keys, self._values[place], -1).astype(np.int32)
        open_ = np.flatnonzero((found != keys) & (found >= 0))
        while open_.size:
            place[open_] = (place[open_] + 1) & mask
            found = self._keys[place[open_]]
            same = found == keys[open_]
            out[open_[same]] = self._values[place[open_[same]]]
            open_ = open_[~same & (found >= 0)]
        return out

    def put(self, keys: Longs, values: Ints) -> None:
        """Enter keys that are distinct and not there yet."""
        if 2 * (self.size + len(keys)) > len(self._keys):
            self._grow(2 * (self.size + len(keys)))
        mask = len(self._keys) - 1
        place = self._place(keys)
        open_ = np.arange(len(keys))
        while open_.size:
            at = place[open_]
            empty = self._keys[at] < 0
            self._keys[at[empty]] = keys[open_[empty]]
            mine = self._keys[at] == keys[open_]
            self._values[at[mine]] = values[open_[mine]]
            open_ = open_[~mine]
            place[open_] = (place[open_] + 1) & mask
        self.size += len(keys)

    def _place(self, keys: Longs) -> Longs:
        return ((keys.view(np.uint64) * _GOLDEN) >> self._shift).view(np.int64)

    def _grow(self, atleast: int) -> None:
        keys, values = self._keys, self._values
        self._clear(max(8, int(atleast).bit_length() + 1))
        used = keys >= 0
        self.put(keys[used], values[used].astype(np.int32))


class RowSet:
    """Distinct rows of int32, numbered in order of arrival; open addressing, whole rows compared.

    Parameters: width, columns per row, even (see `padded`). Memory: 4 bytes per column and 8 to 16 per
    row for the table of slots.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows = np.zeros((1024, width // 2), np.uint64)
        self._slots = np.full(1 << 12, -1, np.int32)
        self.size = 0

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self._rows.nbytes + self._slots.nbytes

    def rows(self, start: int, stop: int) -> Ints:
        """A copy of the rows numbered from `start` to `stop`, exclusive."""
        return self._rows[start : min(stop, self.size)].copy().view(np.int32)

    def add(self, rows: Ints) -> Longs:
        """Enter rows, shape [n, width], C order. Returns their numbers; those >= the old size are new."""
        count = len(rows)
        base = self.size
        self._reserve(base + count)
        # Every row gets a number of its own first; the losers of a slot then compare with its winner.
        self._rows[base : base + count] = rows.view(np.uint64)
        place = self._place(rows.view(np.uint64))
        number = np.arange(base, base + count)
        out = np.empty(count, np.int64)
        mask = len(self._slots) - 1
        pending = np.arange(count)
        while pending.size:
            at = place[pending]
            empty = self._slots[at] < 0
            self._slots[at[empty]] = number[pending[empty]]
            holder = self._slots[at]
            same = np.ones(len(pending), np.bool_)
            for word in range(self._rows.shape[1]):
                column = self._rows[:, word]
                same &= column[holder] == column[number[pending]]
            out[pending[same]] = holder[same]
            pending = pending[~same]
            place[pending] = (place[pending] + 1) & mask
        return self._renumber(base, number, out, place)

    def _renumber(self, base: int, number: Longs, out: Longs, place: Longs) -> Longs:
        """Close the gaps that known rows and repetitions left in the numbering."""
        fresh = out == number
        count = int(np.count_nonzero(fresh))
        final = np.cumsum(fresh) + (base - 1)
        self._rows[base : base + count] = self._rows[base : base + len(number)][fresh]
        self._slots[place[fresh]] = final[fresh]
        self.size = base + count
        inner = out >= base
        out[inner] = final[out[inner] - base]
        return out

    def _place(self, words: Words) -> Longs:
        code = words[:, 0] * _GOLDEN
        for word in range(1, words.shape[1]):
            code = (code ^ (code >> np.uint64(32)) ^ words[:, word]) * _GOLDEN
        code ^= code >> np.uint64(29)
        code *= _MULTIPLY_1
        shift = np.uint64(64 - (len(self._slots).bit_length() - 1))
        return (code >> shift).view(np.int64)

    def _reserve(self, count: int) -> None:
        if count > len(self._rows):
            # realloc moves pages instead of copying them; `rows` hands out copies, so nothing dangles
            self._rows.resize((max(count, len(self._rows) * 5 // 4), self._rows.shape[1]), refcheck=False)
        if 2 * count > len(self._slots):
            self._slots = np.full(1 << (2 * count).bit_length(), -1, np.int32)
            self._rehash()

    def _rehash(self) -> None:
        mask = len(self._slots) - 1
        for start in range(0, self.size, 1 << 18):
            stop = min(start + (1 << 18), self.size)
            number = np.arange(start, stop, dtype=np.int32)
            place = self._place(self._rows[start:stop])
            while number.size:
                empty = self._slots[place] < 0
                self._slots[place[empty]] = number[empty]
                left = self._slots[place] != number
                number, place = number[left], (place[left] + 1) & mask


def padded(width: int) -> int:
    """The even number of columns that rows of `width` values are kept in, so that two make a word."""
    return width + width % 2


def least(high: Words, low: Words) -> int:
    """The index of the least 128-bit number given as two lanes; of equal ones, the first."""
    top = np.flatnonzero(high == high.min())
    return int(top[np.argmin(low[top])])


def total128(high: Words, low: Words) -> int:
    """The exact sum of 128-bit numbers given as two lanes (up to 2**32 of them)."""
    halves = [int((lane >> shift & np.uint64(0xFFFFFFFF)).sum()) for lane in (low, high) for shift in _SHIFTS]
    return halves[0] + (halves[1] << 32) + (halves[2] << 64) + (halves[3] << 96)


_SHIFTS = (np.uint64(0), np.uint64(32))
