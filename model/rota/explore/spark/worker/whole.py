"""A whole system explored by one task: by the fast engine where a worker has numpy, else in plain Python.

Standard library only, until it is known what a worker has.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec

from rota.explore import Limits, Result, Verdict, engines
from rota.explore.spark import memory
from rota.explore.spark.worker.plain_tables import Remembering, Values
from rota.explore.spark.worker.surroundings import built
from rota.kernel import System, SystemRef, keeping


@dataclass(frozen=True)
class Whole:
    """One system for one task.

    max_states: as asked for, a run that passes it is undecided; room: states that fit into a worker's memory;
    ceiling: most bytes of data of a worker process, None: no bound; steps: how many a violation may have to
    be of interest, None: any number.
    """

    ref: SystemRef
    max_states: int | None
    room: int
    ceiling: int | None = None
    steps: int | None = None


@dataclass(frozen=True)
class TooLarge:
    """The system has more states than fit into a worker's memory."""


def explore_whole(task: Whole) -> Iterator[Result | TooLarge | Exception]:
    """What exploring a system comes to, TooLarge, or the error of rota's own that every try would raise."""
    gc.collect()  # of the tables of the system before
    memory.hold(task.ceiling)
    try:
        yield _explored(task)
    except MemoryError:
        yield TooLarge()
    except Exception as error:
        if not type(error).__module__.startswith("rota."):
            raise
        yield error


def _explored(task: Whole) -> Result | TooLarge:
    system, asked = built(task.ref), task.max_states
    bounded = asked is None or asked > task.room
    limits = Limits(max_states=task.room if bounded else asked, bound=lambda: task.steps)
    if find_spec("numpy"):
        result = engines.choose("fast")(system, limits)
    else:
        values = Values(len(system.machines))
        result = engines.choose("reference")(_remembering(system, values), limits)
        sampled = values.again.ask()
        result = replace(result, stats={**result.stats, "sampled": asdict(sampled)})
    if bounded and result.verdict is Verdict.UNDECIDED and not result.bounded:
        return TooLarge()
    return replace(result, engine="spark", stats={"whole": result.engine, **result.stats})


def _remembering(system: System, values: Values) -> System:
    """The same system, whose machines are asked each question once: half of the reference engine's time."""
    system = keeping(system)
    machines = (Remembering(one, position, values) for position, one in enumerate(system.machines))
    return replace(system, machines=tuple(machines))
