"""What Spark's workers are asked to do. Standard library only, until it is known what a worker has.

With numba a task is `rota.explore.spark.worker.round`, without it `rota.explore.spark.worker.plain_round`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from rota.explore.spark import memory
from rota.explore.spark.protocol import Job, Order, Turn
from rota.kernel import State, System, SystemRef


class NotRebuilt(ValueError):
    """A worker process cannot import the system's factory."""


def take_turn(job: Job, order: Order, partition: int, inbox: Iterable[bytes]) -> Turn:
    """Absorb what was sent to a partition, judge its new states, expand them, send on what it does not own.

    Gives blocks with their addressees, the answer last: a report, or the error that every try would raise.
    """
    return _work(job).take_turn(job, order, partition, inbox)  # type: ignore[no-any-return]


def restore(job: Job, order: Order, which: frozenset[int], partition: int, copies: Iterable[Any]) -> Turn:
    """Write a partition's levels anew from copies, if it is one of those that are missing."""
    if partition not in which:
        return iter(())
    return _work(job).restore(job, order, partition, copies)  # type: ignore[no-any-return]


def find_before(job: Job, order: Order, state: State, partition: int, _: Iterable[Any]) -> Turn:
    """Of a partition's level `order.round` the state with the least hash that leads to `state`, or None."""
    return _work(job).find_before(job, order, partition, state)  # type: ignore[no-any-return]


def verify(job: Job, order: Order, partition: int, _: Iterable[Any]) -> Turn:
    """Read all files of a partition; the answer is None, or the error that says what is wrong with one."""
    return _work(job).verify(job, order, partition)  # type: ignore[no-any-return]


def clear(run: str, _: Any = None) -> None:
    """Delete what a run without a folder of its own has left on this host."""
    for folder in _local_folders():
        shutil.rmtree(Path(folder, f"rota-{run}"), ignore_errors=True)


def _work(job: Job) -> Any:
    memory.hold(job.ceiling)
    return import_module(f"rota.explore.spark.{'turn' if job.compiled else 'plain'}")


def rebuilt(ref: SystemRef) -> System:
    """The system. Errors: NotRebuilt."""
    try:
        return ref.build()
    except (ImportError, AttributeError) as error:
        raise NotRebuilt(
            f"a worker cannot build {ref.factory} ({error}); name its file in py_files, or start rota where "
            "Python finds it"
        ) from error


def place(job: Job, partition: int) -> Path:
    """The folder of a partition's files: in the run's, or where Spark lets this executor write."""
    folders = _local_folders()
    folder = job.folder or os.path.join(folders[partition % len(folders)], f"rota-{job.run}")
    return Path(folder, f"partition-{partition:04d}")


def _local_folders() -> list[str]:
    """Where Spark lets the executors of this host write, on several disks perhaps.

    Spark brings a task to the host that has its files, but perhaps to another executor there; so the folders
    are not those that each executor has for itself.
    """
    return [_shared(Path(folder)) for folder in os.environ.get("SPARK_LOCAL_DIRS", gettempdir()).split(",")]


def _shared(folder: Path) -> str:
    while folder.name.startswith(("blockmgr-", "executor-")):
        folder = folder.parent
    return str(folder)
