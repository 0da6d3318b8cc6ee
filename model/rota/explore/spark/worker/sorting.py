"""States in order of their codes, in compiled code: sorted, without repeats, without those that are known.

Codes are 64 well mixed bits, so their upper bits spread states evenly: that is what sorting and look-ups rest
on for their speed. Nothing is decided by a code; states with one code are in order of their words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from rota.explore.compiled.primitives import code_of
from rota.explore.compiled.stale_code import forget_stale
from rota.explore.compiled.state_set import prefetch

forget_stale(Path(__file__).parent)  # before anything is compiled or taken from disk

_BUCKET = 256
"""States of a bucket that is sorted in the processor's nearest memory."""

_MOST_BITS = 11
"""Upper bits of a code that choose the bucket: writing to more places at once is slow."""

_AHEAD = 32
"""Look-ups that are begun before the first of them is finished."""

_LINE = 4
"""States from the begin of a bucket that are asked for together."""

_WORD = np.uint64(64)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def arrange(keys: Any, count: Any, spare: Any, unit: Any) -> Any:
    """Sort keys[:count] by code, equal codes by words, and drop repeats; returns how many are left.

    spare: room for as many states, overwritten.
    """
    bits = 1
    while bits < _MOST_BITS and (count >> bits) > _BUCKET:
        bits += 1
    shift = _WORD - np.uint64(bits)
    ends = np.zeros(1 << bits, np.int64)
    for index in range(count):
        ends[code_of(keys, index, unit) >> shift] += 1
    total = 0
    for bucket in range(len(ends)):
        size = ends[bucket]
        ends[bucket] = total
        total += size
    for index in range(count):
        bucket = code_of(keys, index, unit) >> shift
        place = ends[bucket]
        ends[bucket] = place + 1
        for word in range(len(unit)):
            spare[place, word] = keys[index, word]
    room = 4 * max(_BUCKET, count >> bits)
    codes, order, heads = _desk(room)
    begin = 0
    left = 0
    for bucket in range(len(ends)):
        end = ends[bucket]
        while begin < end:
            some = min(room, end - begin)
            filled = _settle(spare, begin, begin + some, bits, codes, order, heads, keys, left, unit)
            begin += some
            if begin == end:
                left = filled
                break
            # many repeats: what is left of these states goes before the others, to be settled with them
            kept = filled - left
            begin -= kept
            for index in range(kept):
                for word in range(len(unit)):
                    spare[begin + index, word] = keys[left + index, word]
            if 2 * kept > room:
                room *= 2
                codes, order, heads = _desk(room)
    return left


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _desk(room: Any) -> Any:
    """What it takes to settle a bucket of so many states: codes, their order, and where codes go."""
    fine = 1
    while (1 << fine) < room:
        fine += 1
    return np.empty((2, room), np.uint64), np.empty(room, np.int64), np.empty(1 << fine, np.int64)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _settle(
    bucket: Any, begin: Any, end: Any, bits: Any,
    codes: Any, order: Any, heads: Any, out: Any, filled: Any, unit: Any,
) -> Any:  # fmt: skip
    """Append the states bucket[begin:end], whose codes share the upper bits, to `out`, sorted, each once."""
    size = end - begin
    fine = 1
    while (1 << fine) < size:
        fine += 1
    upper = np.uint64(bits)
    shift = _WORD - np.uint64(fine)
    for place in range(1 << fine):
        heads[place] = 0
    for index in range(size):
        code = code_of(bucket, begin + index, unit)
        codes[1, index] = code
        heads[(code << upper) >> shift] += 1
    total = 0
    for place in range(1 << fine):
        here = heads[place]
        heads[place] = total
        total += here
    for index in range(size):
        code = codes[1, index]
        place = heads[(code << upper) >> shift]
        heads[(code << upper) >> shift] = place + 1
        codes[0, place] = code
        order[place] = begin + index
    for index in range(1, size):  # states are a few places away from where they belong
        code = codes[0, index]
        which = order[index]
        place = index
        while place > 0 and (
            codes[0, place - 1] > code
            or (codes[0, place - 1] == code and _before(bucket, which, order[place - 1], unit))
        ):
            codes[0, place] = codes[0, place - 1]
            order[place] = order[place - 1]
            place -= 1
        codes[0, place] = code
        order[place] = which
    for index in range(size):
        which = order[index]
        if index > 0 and _same(bucket, which, bucket, order[index - 1], unit):
            continue
        for word in range(len(unit)):
            out[filled, word] = bucket[which, word]
        filled += 1
    return filled


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _before(keys: Any, one: Any, other: Any, unit: Any) -> Any:
    """Whether the words of keys[one] come before those of keys[other]."""
    for word in range(len(unit)):
        if keys[one, word] != keys[other, word]:
            return keys[one, word] < keys[other, word]
    return False


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _same(keys: Any, one: Any, others: Any, other: Any, unit: Any) -> Any:
    same = True
    for word in range(len(unit)):
        same &= keys[one, word] == others[other, word]
    return same


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def subtract(keys: Any, count: Any, known: Any, starts: Any, shift: Any, unit: Any) -> Any:
    """Keep those of keys[:count] that `known` does not have, in their order; returns how many they are.

    known: states in order of their codes; starts, shape [buckets + 1, 1], and shift: where in `known` those
    begin whose code shifted so far is the bucket's number.
    """
    places = np.empty(_AHEAD, np.int64)
    kept = 0
    at = 0
    while at < count:
        batch = min(_AHEAD, count - at)
        for ahead in range(batch):
            places[ahead] = np.int64(code_of(keys, at + ahead, unit) >> np.uint64(shift))
            prefetch(starts, places[ahead])
        for ahead in range(batch):
            first = np.int64(starts[places[ahead], 0])
            prefetch(known, first)
            prefetch(known, min(first + _LINE, len(known) - 1))
        for ahead in range(batch):
            twin = np.int64(starts[places[ahead], 0])
            end = np.int64(starts[places[ahead] + 1, 0])
            while twin < end and not _same(known, twin, keys, at, unit):
                twin += 1
            if twin == end:
                for word in range(len(unit)):
                    keys[kept, word] = keys[at, word]
                kept += 1
            at += 1
    return kept


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def starts_of(keys: Any, base: Any, bucket: Any, shift: Any, unit: Any) -> Any:
    """Where buckets from `bucket` to that of the last of some sorted states begin; `base`, before keys[0]."""
    last = np.int64(code_of(keys, len(keys) - 1, unit) >> np.uint64(shift))
    out = np.empty(last + 1 - bucket, np.uint32)
    filled = 0
    for index in range(len(keys)):
        while filled < len(out) and bucket + filled <= np.int64(
            code_of(keys, index, unit) >> np.uint64(shift)
        ):
            out[filled] = base + index
            filled += 1
    return out


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def first_from(keys: Any, code: Any, unit: Any) -> Any:
    """The first of the sorted states whose code is at least `code`; their number if there is none."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if code_of(keys, middle, unit) < np.uint64(code):
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def sift(keys: Any, start: Any, recent: Any, shift: Any, out: Any, filled: Any, unit: Any) -> Any:
    """Append the states keys[start:] that are not in the table of recent ones to `out` and enter them there.

    recent: a state for each place, the code shifted so far tells which. Returns (where it stopped, states in
    out): it stops where `out` is full.
    """
    places = np.empty(_AHEAD, np.int64)
    at = start
    while at < len(keys) and filled < len(out):
        batch = min(_AHEAD, len(keys) - at, len(out) - filled)
        for ahead in range(batch):
            places[ahead] = np.int64(code_of(keys, at + ahead, unit) >> np.uint64(shift))
            prefetch(recent, places[ahead])
        for ahead in range(batch):
            place = places[ahead]
            if not _same(recent, place, keys, at, unit):
                for word in range(len(unit)):
                    recent[place, word] = keys[at, word]
                    out[filled, word] = keys[at, word]
                filled += 1
            at += 1
    return at, filled
