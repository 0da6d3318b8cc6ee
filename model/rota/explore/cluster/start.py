"""What the driver finds out before the first round, with the tables of the numpy engine."""

from __future__ import annotations

import pickle

import numpy as np

from rota.explore.arrays import RowSet
from rota.explore.cluster.registry import BEYOND_MACHINES, Named, News, digest_of
from rota.explore.cluster.spread import spread
from rota.explore.level import Expanded, Tables
from rota.kernel import System

PROBED = 3000
"""States that are looked at to see which machine's values are many."""


def news(system: System) -> list[News]:
    """The values of the initial states, as if a task had found them."""
    values: list[dict[bytes, Named]] = [{} for _ in system.machines]
    for state in system.initial_states():
        for known, value in zip(values, state, strict=True):
            digest = digest_of(value)
            known.setdefault(digest, (digest, pickle.dumps(value, protocol=5)))
    return [News(0, (*(tuple(known.values()) for known in values), *((),) * BEYOND_MACHINES))]


def deciding(system: System, partitions: int, compiled: bool) -> tuple[int, ...]:
    """The machines whose values decide which partition a state belongs to; see `spread`."""
    every = tuple(range(len(system.machines)))
    if partitions == 1 or not compiled:
        return every
    tables = Tables(system)
    states = [tables.learned.intern_state(state) for state in system.initial_states()]
    visited = RowSet(tables.learned.width)
    visited.add(np.array(states, np.int32).reshape(-1, tables.learned.width))
    begin = 0
    while begin < len(visited) < PROBED:
        level = visited.rows(begin, len(visited))
        begin = len(visited)
        _, target = tables.expand(level, Expanded())
        visited.add(target)
    return spread(tables, visited.rows(0, len(visited)), partitions)
