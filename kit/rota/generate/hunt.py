"""Looks for a planted bug by walks on rota's own server in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from rota.generate.planner import Planner
from rota.generate.player import Coordinator
from rota.generate.settings import SETTINGS
from rota.generate.verdicts import Verdict, Walked
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import AT_ONCE, Walks, drawn_here
from rota.mutants.core import CoreBug, planted

BUDGET = 60.0
"""Seconds of virtual time, as long as a run is by default."""


@dataclass(frozen=True)
class Hunt:
    """What walks have come to: how many there were, how many undecided, and the first that failed."""

    walks: int
    undecided: int
    failed: Walked | None


class _Over(Exception):
    """A walk has failed."""


def hunt(
    bug: CoreBug | None,
    seed: int,
    seconds: float = BUDGET,
    profile: str = "",
    settings: Mapping[str, int] = SETTINGS,
    at_once: int = AT_ONCE,
) -> Hunt:
    """Walk until something fails. bug: what is planted, None for nothing; profile: if not the bug's own."""
    walks: list[Walked] = []

    def done(walked: Walked) -> None:
        walks.append(walked)
        if walked.verdict is Verdict.FAIL:
            raise _Over

    async def walk(coordinator: Coordinator) -> None:
        plans = drawn_here(Planner(seed, coordinator.terms, coordinator.profile))
        await Walks(coordinator, "walk").many(plans, seconds, done, at_once=at_once)

    line = profile or ("rota" if bug is None or bug.mended else "kafka-4.x")
    try:
        with nullcontext() if bug is None else planted(bug):
            in_virtual_time(settings, walk, line)
    except _Over:
        pass
    failed = walks[-1] if walks and walks[-1].verdict is Verdict.FAIL else None
    return Hunt(len(walks), sum(one.verdict is Verdict.UNDECIDED for one in walks), failed)
