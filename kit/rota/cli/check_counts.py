"""A mutant that breaks no property may still be noticed: the counts of its system are not the pinned ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rota.cli.exploration import explored
from rota.explore import Limits, Verdict, engines
from rota.report.check_model import (
    Explored,
)
from rota.report.check_progress import Explorations
from rota.report.counts import Noticed, differing

ALONE = ("reference", "fast", "numpy")
"""Engines that count a configuration by themselves, without a cluster and without endless runs."""


def noticed_by_counts(
    runs: Sequence[Explored], engine: str, limits: Limits, progress: Explorations
) -> Noticed | None:
    """The first configuration in which a mutant that broke nothing has other counts than the sound system.

    The mutant was judged in a world that keeps dead data. The pinned counts are those of one that clears it,
    so it is explored there once more.
    """
    if not all(run.complete for run in runs):
        return None
    plain = engine if engine in ALONE else "auto"
    for run in runs:
        job = run.job
        if job.sound is None or job.build_countable is None:
            continue
        report = partial(progress.level, job.name)
        progress.begin(job.name)
        try:
            settled = replace(limits, checkpoint=None, bound=None)
            one = explored(engines.choose(plain), job.build_countable(), settled, report, keep_going=True)
        finally:
            progress.end(job.name)
        if one.result.verdict is not Verdict.UNDECIDED and (counts := differing(job.sound, one.result)):
            return Noticed(job.name, counts)
    return None
