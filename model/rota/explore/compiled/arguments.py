"""What compiled code is given and what it writes: arrays that belong together, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rota.explore.tables.arrays import Ints, Longs, Words
from rota.explore.tables.machines import Learned
from rota.explore.tables.properties import CheckGroup, Judge

NO_OFFER, NO_RECEIVE, NO_QUEUE, NO_STEP, NO_SEEN, NO_RENAMED = range(6)
"""Kinds of misses: (kind, position or group, value or first queue, delivery or second queue)."""


class Fields(NamedTuple):
    """Where each machine's value number is in a state; see `rota.explore.compiled.packing.Layout`."""

    word: Longs
    shift: Words
    mask: Words


class Learnt(NamedTuple):
    """The tables of `rota.explore.tables.machines` end to end; `offers_at` says where each machine's
    begin.
    """

    actions: Ints
    actions_at: Longs
    entries: Longs
    outcomes: Ints
    head: Ints
    rest: Ints
    receiver: Ints
    receives: Longs
    receive_shift: int
    joins: Longs
    join_shift: int


class Lanes(NamedTuple):
    """The two lanes of each value's hash, end to end, and where each machine's begin."""

    high: Words
    low: Words
    high_at: Longs
    low_at: Longs


class Groups(NamedTuple):
    """Groups of checks as `rota.explore.tables.properties` has tabulated them, end to end.

    first, second: positions of the machines (second -1: there is one only); codes of joint views by value,
    from `first_at` and `second_at` on, -1 unknown; status by pair of codes, from `status_at` on, the first
    one shifted by `bits`. A group with `status_size` 0 has its statuses in the sparse map, under its number.
    """

    number: Longs
    first: Longs
    second: Longs
    first_at: Longs
    second_at: Longs
    first_known: Longs
    second_known: Longs
    codes: Ints
    status: Any
    status_at: Longs
    status_size: Longs
    bits: Longs
    sparse: Longs
    sparse_shift: int


class Turning(NamedTuple):
    """The tables of `rota.explore.compiled.symmetry`.

    homes: positions of the interchangeable machines (none: nothing is turned); orders: permutations as
    places; number: of a permutation, by its places as digits; seen: hashes by value, for (machine,
    interchangeable machine) from `seen_at` on; renamed values by (position, permutation, value).
    """

    homes: Longs
    orders: Longs
    number: Longs
    seen: Words
    seen_at: Longs
    seen_known: Longs
    renamed: Longs
    renamed_shift: int


class Given(NamedTuple):
    """All that an expansion reads."""

    learnt: Learnt
    fields: Fields
    lanes: Lanes
    steps: Groups
    turning: Turning


class Room(NamedTuple):
    """What an expansion writes: successors by owner, marks of outcomes, rows without successor, misses.

    asked: misses noted lately by a hash of theirs, so that one that many states share is noted about once.

    counts: by the places that `rota.explore.compiled.primitives` names (`TRANSITIONS_AT` and so on).
    """

    out: Words
    out_count: Longs
    marks: Any
    stuck: Longs
    again: Longs
    misses: Longs
    asked: Words
    counts: Longs


def learnt(learned: Learned) -> Learnt:
    """The tables as they are now."""
    return Learnt(
        learned.pools.actions.store,
        _column(table.actions.start for table in learned.machines),
        learned.entries.data,
        learned.outcomes.data,
        learned.head.data,
        learned.rest.data,
        learned.receiver.data,
        *learned.receives.arrays,
        *learned.joins.arrays,
    )


def lanes(learned: Learned) -> Lanes:
    """The hashes of all values known now."""
    machines, pools = learned.machines, learned.pools
    return Lanes(
        pools.high.store,
        pools.low.store,
        _column(table.high.start for table in machines),
        _column(table.low.start for table in machines),
    )


def groups(judge: Judge, chosen: Sequence[tuple[Sequence[int], CheckGroup]]) -> Groups:
    """Groups, each with the positions of its machines, as they are tabulated now."""
    dense = [group.dense for _, group in chosen]
    return Groups(
        _column(group.number for _, group in chosen),
        _column(places[0] for places, _ in chosen),
        _column(places[1] if len(places) > 1 else -1 for places, _ in chosen),
        _column(group.slots[0].code.start for _, group in chosen),
        _column(group.slots[-1].code.start for _, group in chosen),
        _column(group.slots[0].code.size for _, group in chosen),
        _column(group.slots[-1].code.size for _, group in chosen),
        judge.pools.codes.store,
        judge.pools.status.store,
        _column(region.start if region else 0 for region in dense),
        _column(region.size if region else 0 for region in dense),
        _column(group.bits[1] for _, group in chosen),
        *judge.pools.sparse.arrays,
    )


def _column(values: Iterable[int]) -> Longs:
    return np.array(list(values), np.int64)
