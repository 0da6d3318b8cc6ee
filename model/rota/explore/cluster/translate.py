"""From one process's numbers of values to another's, in compiled code: one pass over packed states.

A map has for each machine, from `at` on, the other number of each value, negative where there is none yet;
see `rota.explore.cluster.wire`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rota.explore.arrays import Ints, Longs
from rota.explore.primitives import mixed, owner_of, value_of
from rota.explore.stale import forget_stale

forget_stale(Path(__file__).parent)  # before anything is compiled or taken from disk

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
def _other(key: Any, index: Any, position: Any, fields: Any, numbers: Any, noted: Any, count: Any) -> Any:
    """The other number of a machine's value, or why there is none; a missing one is noted once."""
    value = value_of(key, index, position, fields)
    if value >= numbers.size[position]:
        return np.int64(OUT_OF_RANGE)
    place = numbers.at[position] + value
    other = np.int64(numbers.store[place])
    if other == UNKNOWN and count[0] < len(noted):
        numbers.store[place] = NOTED
        noted[count[0], 0] = position
        noted[count[0], 1] = value
        count[0] += 1
    return other


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def translate(keys: Any, source: Any, target: Any, numbers: Any, out: Any, noted: Any, count: Any) -> Any:
    """Write states with other numbers to `out`, packed by the fields `target`; returns how many it could not.

    noted: shape [any, 2], gets (position, value) of what is missing, and count[0] how many. `out` is whole
    only if the answer is 0; OUT_OF_RANGE ends it.
    """
    left = 0
    for index in range(len(keys)):
        for word in range(out.shape[1]):
            out[index, word] = np.uint64(0)
        fine = True
        for position in range(len(source.word)):
            other = _other(keys, index, position, source, numbers, noted, count)
            if other < 0:
                if other == OUT_OF_RANGE:
                    return OUT_OF_RANGE
                fine = False
                continue
            out[index, target.word[position]] |= np.uint64(other) << target.shift[position]
        left += not fine
    return left


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def owners(keys: Any, fields: Any, lanes: Any, machines: Any, partitions: Any, out: Any) -> None:
    """The partition of each state, by the hashes of some machines' values: the same in any numbers."""
    for index in range(len(keys)):
        lane = np.uint64(0)
        for position in machines:
            lane += lanes.low[lanes.low_at[position] + value_of(keys, index, position, fields)]
        out[index] = owner_of(mixed(lane), partitions)


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
    for index in range(len(keys)):
        for word in range(out.shape[1]):
            out[index, word] = np.uint64(0)
        for position in range(len(source.word)):
            value = value_of(keys, index, position, source)
            behind = value - base[position]
            if behind >= size[position]:
                return OUT_OF_RANGE
            if behind >= 0:
                value = final[final_at[position] + behind]
            out[index, target.word[position]] |= np.uint64(value) << target.shift[position]
    return 0
