"""`--resume` and `--resume-if-any`: what there is to go on with, told before it is gone on with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rota.cli.check_spark import ENGINE as SPARK
from rota.cli.check_workers import limits_of
from rota.cli.errors import UsageError
from rota.cli.options import Search
from rota.explore import Limits
from rota.report.check_model import Plan


def tell(plan: Plan, limits: Limits, search: Search, note: Callable[[str], None]) -> None:
    """Say from where searches go on. note: takes lines for people.

    Errors: UsageError where --resume finds none; CheckpointError for a damaged manifest.
    """
    if not limits.resume or limits.checkpoint is None:
        return
    lines = list(_kept(plan, limits))
    if search.resume and not lines:
        of = plan.jobs[0].name if len(plan.jobs) == 1 else "any of these configurations"
        raise UsageError(
            f"--resume: {limits.checkpoint} has no search of {of} to go on with; name the folder that "
            "has one, or begin there with --resume-if-any, or without either"
        )
    for line in lines:
        note(line)


def _kept(plan: Plan, limits: Limits) -> Iterator[str]:
    from rota.explore.manifest import kept_in
    from rota.explore.spark.finished import NAME

    for job in plan.jobs:
        folder = limits_of(limits, job).checkpoint
        assert folder is not None
        if plan.engine == SPARK and Path(folder, NAME).exists():
            yield f"{job.name}: finished before"
        elif kept := kept_in(folder):
            yield f"{job.name}: goes on from level {kept.level}, {kept.states:,} states"
