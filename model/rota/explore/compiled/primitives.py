"""Small compiled functions that the others are made of: hashes, look-ups, fields of a state, misses.

All compiled code runs without the interpreter's lock and is cached on disk. It sees numbers of values and
what `rota.explore.tables.machines` and `rota.explore.tables.properties` have put into arrays; what is missing
there is noted. `unit` is a tuple with as many entries as a state has words, which lets the compiler know
their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rota.explore.compiled.stale_code import forget_stale
from rota.explore.tables.properties import CODE_BITS
from rota.kernel.encoding import GOLDEN

forget_stale()  # before anything is compiled or taken from disk

_GOLDEN = np.uint64(GOLDEN)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_S27, _S29, _S30, _S31, _S32 = (np.uint64(n) for n in (27, 29, 30, 31, 32))
_ONE = np.uint64(1)
_S57 = np.uint64(57)
LOW = np.uint64(0xFFFFFFFF)
"""The lower half of a word."""

index = np.uint64
"""Says of an index that it is not negative, which spares compiled code the look at the array's end."""


TRANSITIONS_AT, STUCK_AT, AGAIN_AT, MISSES_AT, BAD_STEPS_AT = range(5)
"""Where an expansion counts transitions, rows without successor, rows to try again, misses, and bad steps."""


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def mixed(x: Any) -> Any:
    """`rota.kernel.encoding.mix64`."""
    x = (x ^ (x >> _S30)) * _MULTIPLY_1
    x = (x ^ (x >> _S27)) * _MULTIPLY_2
    return x ^ (x >> _S31)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def find(slots: Any, shift: Any, key: Any) -> Any:
    """`IntMap.get` for one key."""
    place, last = (np.uint64(key) * _GOLDEN) >> np.uint64(shift), np.uint64(len(slots) - 1)
    while True:
        found = slots[place, 0]
        if found == key:
            return slots[place, 1]
        if found < 0:
            return np.int64(-1)
        place = (place + _ONE) & last


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def status_of(groups: Any, group: Any, first: Any, second: Any) -> Any:
    """The status of a pair of value numbers; 0 where it is not tabulated."""
    if first >= groups.first_known[group]:
        return 0
    code = np.int64(groups.codes[groups.first_at[group] + first])
    other = np.int64(0)
    if groups.second[group] >= 0:
        if second >= groups.second_known[group]:
            return 0
        other = np.int64(groups.codes[groups.second_at[group] + second])
    if code < 0 or other < 0:
        return 0
    if groups.status_size[group] == 0:
        key = (groups.number[group] << (2 * CODE_BITS)) | (code << CODE_BITS) | other
        return max(0, find(groups.sparse, groups.sparse_shift, key))
    at = (code << groups.bits[group]) | other
    if at >= groups.status_size[group]:
        return 0
    return np.int64(groups.status[groups.status_at[group] + at])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def code_of(keys: Any, index: Any, unit: Any) -> Any:
    """64 well mixed bits of a state; the upper ones choose the slot."""
    mixed = keys[index, 0] * _GOLDEN
    for word in range(1, len(unit)):
        mixed = (mixed ^ (mixed >> _S32) ^ keys[index, word]) * _GOLDEN
    mixed ^= mixed >> _S29
    mixed *= _MULTIPLY_1
    return mixed ^ (mixed >> _S32)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def value_of(key: Any, index: Any, position: Any, fields: Any) -> Any:
    """The number of a machine's value in the state key[index]."""
    field = (key[index, fields.word[position]] >> fields.shift[position]) & fields.mask[position]
    return np.int64(np.uint32(field))  # no field is wider; so compiled code knows that it is not negative


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def weights(machines: Any) -> Any:
    """What each machine's value number is multiplied by in `weight_of`."""
    out = np.empty(machines, np.uint64)
    for position in range(machines):
        out[position] = mixed(np.uint64(position) + _GOLDEN)
    return out


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def weight_of(key: Any, index: Any, fields: Any, weight: Any) -> Any:
    """The weighted sum of the value numbers in the state key[index]: a change of one only adds to it."""
    total = np.uint64(0)
    for position in range(len(fields.word)):
        total += weight[position] * np.uint64(value_of(key, index, position, fields))
    return total


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def owner_of(weight: Any, owners: Any) -> Any:
    """Who of so many owns a state of this weight: the same in every layout, so that owners keep states."""
    return np.int64(((weight >> _S32) * np.uint64(owners)) >> _S32)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _code_of_miss(kind: Any, position: Any, first: Any, second: Any) -> Any:
    """A hash of a miss. It is odd: 0 is nothing asked."""
    return mixed(np.uint64((first << 32) | second) ^ (np.uint64(position * 4 + kind) << _S57)) | _ONE


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _place_of_miss(room: Any, code: Any) -> Any:
    return np.int64((code >> _ONE) & np.uint64(len(room.asked) - 1))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def forget_misses(room: Any) -> None:
    """Nothing was asked lately. Misses are few, and to clear all of `asked` would empty the caches."""
    for number in range(room.counts[MISSES_AT]):
        kind, position = room.misses[number, 0], room.misses[number, 1]
        code = _code_of_miss(kind, position, room.misses[number, 2], room.misses[number, 3])
        room.asked[_place_of_miss(room, code)] = 0


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def note_miss(room: Any, kind: Any, position: Any, first: Any, second: Any) -> None:
    # one type for all, or it would be compiled for each kind of number
    code = _code_of_miss(np.int64(kind), np.int64(position), np.int64(first), np.int64(second))
    place = _place_of_miss(room, code)
    if room.asked[place] == code:
        return
    number = room.counts[MISSES_AT]
    if number < len(room.misses):
        room.asked[place] = code
        room.misses[number, 0] = kind
        room.misses[number, 1] = position
        room.misses[number, 2] = first
        room.misses[number, 3] = second
        room.counts[MISSES_AT] = number + 1
