"""Which machines' values decide what partition a state belongs to."""

from __future__ import annotations

import numpy as np

from rota.explore.tables.arrays import Ints, Words, mix
from rota.explore.tables.system import Tables

ENOUGH = 8
"""Distinct values per partition that one machine must have to decide alone."""

UNEVEN = 1.5
"""Most states that a partition may get then, in units of its fair share."""


def owners_of(tables: Tables, rows: Ints, partitions: int, machines: tuple[int, ...]) -> Words:
    """The partition of each row; what `Numbers.owners` says of packed states."""
    lane = np.zeros(len(rows), np.uint64)
    for position in machines:
        lane += tables.learned.machines[position].low.data[rows[:, position]]
    return ((mix(lane) & np.uint64(0xFFFFFFFF)) * np.uint64(partitions)) >> np.uint64(32)


def spread(tables: Tables, rows: Ints, partitions: int) -> tuple[int, ...]:
    """The positions of the machines that decide who owns a state.

    Parameters: rows, the first few thousand states, in numbers of `tables`. The machine with most distinct
    values among them decides alone, because a step of the others then stays at home: if it has ENOUGH values
    for every partition and no partition gets more than UNEVEN times its share of the rows. Else all machines.
    """
    every = tuple(range(len(tables.learned.machines)))
    if partitions == 1 or not len(rows):
        return every
    distinct = [len(np.unique(rows[:, position])) for position in every]
    chosen = (int(np.argmax(distinct)),)
    share = np.bincount(owners_of(tables, rows, partitions, chosen).astype(np.int64), minlength=partitions)
    fine = max(distinct) >= ENOUGH * partitions and share.max() <= UNEVEN * len(rows) / partitions
    return chosen if fine else every
