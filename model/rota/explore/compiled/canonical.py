"""The canonical state of an orbit in compiled code, by the tables of `rota.explore.compiled.symmetry`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rota.explore.compiled.arguments import NO_RENAMED, NO_SEEN
from rota.explore.compiled.primitives import find, note_miss, value_of


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _turned(key: Any, index: Any, order: Any, fields: Any, turning: Any, room: Any, unit: Any) -> Any:
    """Write key[index] with its machines in another order into key[index + 1]; whether all is known."""
    for word in range(len(unit)):
        key[index + 1, word] = np.uint64(0)
    fine = True
    for position in range(len(fields.word)):
        value = value_of(key, index, position, fields)
        home = position
        for i in range(len(turning.homes)):
            if turning.homes[i] == position:
                home = turning.homes[turning.orders[order, i]]
        wanted = (np.int64(position) << 53) | (np.int64(order) << 32) | value
        renamed = find(turning.renamed, turning.renamed_shift, wanted)
        if renamed < 0:
            note_miss(room, NO_RENAMED, position, value, order)
            fine = False
        else:
            key[index + 1, fields.word[home]] |= np.uint64(renamed) << fields.shift[home]
    return fine


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _less(key: Any, one: Any, other: Any, fields: Any, lanes: Any) -> Any:
    """Whether a state comes before another one, by the hashes of their values."""
    for position in range(len(fields.word)):
        start = lanes.high_at[position]
        first = lanes.high[start + value_of(key, one, position, fields)]
        second = lanes.high[start + value_of(key, other, position, fields)]
        if first != second:
            return first < second
    return False


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _compared(rows: Any, one: Any, other: Any) -> Any:
    """-1, 0 or 1 as a row is less, equal or greater."""
    for column in range(rows.shape[1]):
        if rows[one, column] != rows[other, column]:
            return -1 if rows[one, column] < rows[other, column] else 1
    return 0


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def canonical_at(key: Any, index: Any, fields: Any, lanes: Any, turning: Any, room: Any, unit: Any) -> Any:
    """Put the canonical state of key[index]'s orbit in its place; uses the two rows behind it.

    Returns whether all that it takes is known.
    """
    count, machines = len(turning.homes), len(fields.word)
    seen = np.zeros((count, machines + 1), np.uint64)
    fine = True
    for i in range(count):
        for position in range(machines):
            at = turning.seen_at[position, i]
            if at < 0:
                continue
            value = value_of(key, index, position, fields)
            # What is seen of itself comes first, wherever it is.
            column = 0 if position == turning.homes[i] else position + 1
            if value < turning.seen_known[position, i]:
                seen[i, column] = turning.seen[at + value]
            if seen[i, column] == 0:
                note_miss(room, NO_SEEN, position, value, i)
                fine = False
    rank = np.zeros(count, np.int64)
    alike = np.zeros(count, np.int64)
    for i in range(count):
        for j in range(count):
            order = _compared(seen, j, i)
            rank[i] += order < 0
            alike[i] += order == 0
    if not fine:
        return False
    digits, digit, settled = 0, 1, True
    for i in range(count):
        digits += rank[i] * digit
        digit *= count
        settled = settled and alike[i] == 1
    if settled:
        order = turning.number[digits]
        if order != 0:
            fine = _turned(key, index, order, fields, turning, room, unit)
            for word in range(len(unit)):
                key[index, word] = key[index + 1, word]
        return fine
    chosen = False
    for order in range(len(turning.orders)):
        fits = True
        for i in range(count):
            place = turning.orders[order, i]
            fits = fits and rank[i] <= place and place < rank[i] + alike[i]
        if not fits:
            continue
        if not _turned(key, index, order, fields, turning, room, unit):
            fine = False
        elif not chosen or _less(key, index + 1, index + 2, fields, lanes):
            chosen = True
            for word in range(len(unit)):
                key[index + 2, word] = key[index + 1, word]
    for word in range(len(unit)):
        key[index, word] = key[index + 2, word]
    return fine


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def canonical(keys: Any, fields: Any, lanes: Any, turning: Any, room: Any, unit: Any) -> Any:
    """Put canonical states in the place of states; those that need something unknown are left as they are.

    Returns how many were left.
    """
    key = np.empty((3, len(unit)), np.uint64)
    left = 0
    for number in range(len(keys)):
        for word in range(len(unit)):
            key[0, word] = keys[number, word]
        if canonical_at(key, 0, fields, lanes, turning, room, unit):
            for word in range(len(unit)):
                keys[number, word] = key[0, word]
        else:
            left += 1
    return left
