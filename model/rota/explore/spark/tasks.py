"""What Spark's workers are asked to do. Standard library only, until it is known what a worker has.

With numba a task is `rota.explore.spark.worker.round`, without it `rota.explore.spark.worker.plain_round`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from rota.explore.spark import memory
from rota.explore.spark.protocol import Job, Order, TaskOutput
from rota.explore.spark.worker.surroundings import local_folders
from rota.kernel import State

COMPILED, PLAIN = "rota.explore.spark.worker.round", "rota.explore.spark.worker.plain_round"
MEETING = "rota.explore.spark.worker.meeting"


def run_round(job: Job, order: Order, partition: int, inbox: Iterable[bytes]) -> TaskOutput:
    """Absorb what was sent to a partition, judge its new states, expand them, send on what it does not own.

    Gives blocks with their addressees, the answer last: a report, or the error that every try would raise.
    """
    return _work(job).run_round(job, order, partition, inbox)  # type: ignore[no-any-return]


def restore(
    job: Job, order: Order, which: frozenset[int], partition: int, copies: Iterable[Any]
) -> TaskOutput:
    """Write a partition's levels anew from copies, if it is one of those that are missing."""
    if partition not in which:
        return iter(())
    return _work(job).restore(job, order, partition, copies)  # type: ignore[no-any-return]


def find_before(job: Job, order: Order, state: State, partition: int, _: Iterable[Any]) -> TaskOutput:
    """Of a partition's level `order.round` the state with the least hash that leads to `state`, or None."""
    return _work(job).find_before(job, order, partition, state)  # type: ignore[no-any-return]


def verify(job: Job, order: Order, partition: int, _: Iterable[Any]) -> TaskOutput:
    """Read all files of a partition; the answer is None, or the error that says what is wrong with one."""
    return _work(job).verify(job, order, partition)  # type: ignore[no-any-return]


def meet(job: Job, order: Order, partition: int, _: Iterable[Any]) -> TaskOutput:
    """Let values meet that no process had together; gives None, or a partition's values in plain Python."""
    where = import_module(MEETING) if job.compiled else _work(job)
    return where.meet(job, order, partition)  # type: ignore[no-any-return]


def clear(run: str, _: Any = None) -> None:
    """Delete what a run without a folder of its own has left on this host."""
    for folder in local_folders():
        shutil.rmtree(Path(folder, f"rota-{run}"), ignore_errors=True)


def _work(job: Job) -> Any:
    memory.hold(job.ceiling)
    return import_module(COMPILED if job.compiled else PLAIN)
