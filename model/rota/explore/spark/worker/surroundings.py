"""What a worker finds around it: the system that it rebuilds, and folders for a partition's files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir

from rota.explore.spark.protocol import Job
from rota.kernel import System, SystemRef


class NotRebuilt(ValueError):
    """A worker process cannot import the system's factory."""


def rebuilt(job: Job) -> System:
    """The system of a run, with the properties that the driver judges. Errors: NotRebuilt."""
    system = built(job.ref)
    chosen = tuple(prop for prop in system.properties if prop.name in job.properties)
    if tuple(prop.name for prop in chosen) != job.properties:
        raise NotRebuilt(
            f"{job.ref.factory} gives workers other properties than the driver; let it depend on nothing but "
            "its settings"
        )
    return replace(system, properties=chosen)


def built(ref: SystemRef) -> System:
    """The system, with all that is claimed of it. Errors: NotRebuilt."""
    try:
        return ref.build()
    except (ImportError, AttributeError) as error:
        raise NotRebuilt(
            f"a worker cannot build {ref.factory} ({error}); name its file in py_files, or start rota where "
            "Python finds it"
        ) from error


def place(job: Job, partition: int) -> Path:
    """The folder of a partition's files: in the run's, or where Spark lets this executor write."""
    folders = local_folders()
    folder = job.folder or os.path.join(folders[partition % len(folders)], f"rota-{job.run}")
    return Path(folder, f"partition-{partition:04d}")


def local_folders() -> list[str]:
    """Where Spark lets the executors of this host write, on several disks perhaps.

    Spark brings a task to the host that has its files, but perhaps to another executor there; so the folders
    are not those that each executor has for itself.
    """
    return [_shared(Path(folder)) for folder in os.environ.get("SPARK_LOCAL_DIRS", gettempdir()).split(",")]


def _shared(folder: Path) -> str:
    while folder.name.startswith(("blockmgr-", "executor-")):
        folder = folder.parent
    return str(folder)
