"""From one process's numbers of values to another's, in compiled code: one pass over packed states.

A map has for each machine, from `at` on, the other number of each value, negative where there is none yet;
see `rota.explore.spark.worker.numbers`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rota.explore.compiled.primitives import LOW, mixed
from rota.explore.compiled.stale_code import forget_stale
from rota.explore.tables.arrays import Ints, Longs

forget_stale(Path(__file__).parent)  # before anything is compiled or taken from disk

_S32 = np.uint64(32)

UNKNOWN, NOTED = -1, -2
"""What a map holds where a number is missing: not yet noted, noted in this pass."""

OUT_OF_RANGE = -3
"""The answer to states with a number that no value has."""


class Map(NamedTuple):
    """Other numbers of values, end to end; where each machine's begin, and how many there are."""

    store: Ints
    at: Longs
    size: Longs


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _note(numbers: Any, position: Any, value: Any, noted: Any, count: Any) -> None:
    """Note a missing number, once, while there is room for it."""
    place = numbers.at[position] + value
    if numbers.store[place] == UNKNOWN and count[0] < len(noted):
        numbers.store[place] = NOTED
        noted[count[0], 0] = position
        noted[count[0], 1] = value
        count[0] += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def translate(keys: Any, source: Any, target: Any, numbers: Any, out: Any, noted: Any, count: Any) -> Any:
    """Write states with other numbers to `out`, packed by the fields `target`; returns how many it could not.

    noted: shape [any, 2], gets (position, value) of what is missing, and count[0] how many. `out` is whole
    only if the answer is 0; OUT_OF_RANGE ends it.
    """
    word, shift, mask = source
    home, at, _ = target
    store, begin, size = numbers
    left = 0
    for index in range(len(keys)):
        for each in range(out.shape[1]):
            out[index, each] = np.uint64(0)
        fine = True
        for position in range(len(word)):
            value = np.int64((keys[index, word[position]] >> shift[position]) & mask[position])
            if value >= size[position]:
                return OUT_OF_RANGE
            other = store[begin[position] + value]
            if other < 0:
                _note(numbers, position, value, noted, count)
                fine = False
            else:
                out[index, home[position]] |= np.uint64(other) << at[position]
        left += not fine
    return left


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def owners(keys: Any, fields: Any, lanes: Any, machines: Any, partitions: Any, out: Any) -> None:
    """The partition of each state, by the hashes of some machines' values: the same in any numbers."""
    word, shift, mask = fields
    low, low_at = lanes.low, lanes.low_at
    for index in range(len(keys)):
        lane = np.uint64(0)
        for position in machines:
            value = np.int64((keys[index, word[position]] >> shift[position]) & mask[position])
            lane += low[low_at[position] + value]
        out[index] = np.int64(((mixed(lane) & LOW) * np.uint64(partitions)) >> _S32)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def deal(keys: Any, whose: Any, ends: Any, out: Any) -> None:
    """Sort states by owner. ends: one more than there are owners; owner i gets out[ends[i]:ends[i + 1]]."""
    for owner in range(len(ends)):
        ends[owner] = 0
    for index in range(len(keys)):
        ends[whose[index]] += 1
    total = 0
    for owner in range(len(ends)):
        total, ends[owner] = total + ends[owner], total
    for index in range(len(keys)):
        at = ends[whose[index]]
        for word in range(out.shape[1]):
            out[at, word] = keys[index, word]
        ends[whose[index]] = at + 1
    for owner in range(len(ends) - 1, 0, -1):
        ends[owner] = ends[owner - 1]
    ends[0] = 0


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def renumber(
    keys: Any, source: Any, target: Any, base: Any, final: Any, final_at: Any, size: Any, out: Any
) -> Any:
    """Replace what is not final: number base[position] + n by final[final_at[position] + n].

    size: how many such numbers each machine has. Returns OUT_OF_RANGE for a number behind these, else 0.
    """
    word, shift, mask = source
    home, at, _ = target
    for index in range(len(keys)):
        for each in range(out.shape[1]):
            out[index, each] = np.uint64(0)
        for position in range(len(word)):
            value = np.int64((keys[index, word[position]] >> shift[position]) & mask[position])
            behind = value - base[position]
            if behind >= size[position]:
                return OUT_OF_RANGE
            if behind >= 0:
                value = final[final_at[position] + behind]
            out[index, home[position]] |= np.uint64(value) << at[position]
    return 0
