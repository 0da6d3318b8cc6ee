"""What the driver finds out before the first round, with the tables of the numpy engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rota.explore.result import CheckpointError, Limits
from rota.explore.spark.protocol import NotShippable
from rota.explore.spark.registry import BEYOND_MACHINES, Named, News, named
from rota.explore.spark.session import is_local
from rota.explore.spark.spread import spread
from rota.explore.spark.values import Reader
from rota.explore.tables.arrays import RowSet
from rota.explore.tables.system import Expanded, Tables
from rota.kernel import System, encode

PROBED = 3000
"""States that are looked at to see which machine's values are many."""


class NotSupported(ValueError):
    """What was asked for is nothing that this engine can do."""


def refuse(system: System, limits: Limits) -> None:
    """Errors: NotShippable, NotSupported."""
    if system.ref is None:
        raise NotShippable(f"system {system.name} cannot be rebuilt in a worker process; give it a SystemRef")
    if limits.symmetry or limits.fingerprints:
        what = "symmetry" if limits.symmetry else "fingerprints"
        raise NotSupported(f"engine spark has no {what}; leave it out, or choose the fast engine")


def refuse_speculation(context: Any, limits: Limits) -> None:
    """A copy of a task runs where its files are not, unless all workers see them. Errors: NotSupported."""
    copies = context.getConf().get("spark.speculation", "false") == "true"
    if copies and not limits.checkpoint and not is_local(context.master):
        raise NotSupported("spark.speculation is on; turn it off, or name a --checkpoint DIR for all workers")


def refuse_other_code(then: bool, now: bool) -> None:
    """Errors: CheckpointError where workers had numba and have none now, or the other way round."""
    if then != now:
        there, had = ("", "no ") if now else ("no ", "")
        raise CheckpointError(
            f"this search was begun by workers with {had}numba, and these have {there}numba"
        )


def on_all_hosts(context: Any, work: Callable[[int], None]) -> None:
    """Do something wherever there are executors, twice perhaps."""
    count = 2 * context.defaultParallelism
    context.parallelize(range(count), count).map(work).collect()


def news(system: System) -> list[News]:
    """The values of the initial states, as if a task had found them."""
    values: list[dict[bytes, Named]] = [{} for _ in system.machines]
    for state in system.initial_states():
        for known, value in zip(values, state, strict=True):
            one = named(encode(value))
            known.setdefault(one[0], one)
    return [News(0, (*(tuple(known.values()) for known in values), *((),) * BEYOND_MACHINES))]


def kinds(system: System) -> frozenset[type]:
    """The types that the values of the initial states are made of. Errors: NotShippable."""
    reader = Reader()
    reader.look_at(value for state in system.initial_states() for value in state)
    return reader.kinds


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
