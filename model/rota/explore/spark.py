"""The Spark engine: partitions own hash slices of the visited states; one round per level, blocks, not rows.

Same answers as the other engines, canonical traces included. See `rota.explore.owned` for what a task does.
Only the RDD interface is used. The work folder must be seen by driver and workers alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypeVar
from uuid import uuid4

from rota.explore.level import violation
from rota.explore.owned import Job, Report, find_before, take_turn
from rota.explore.reference import overall, verdicts
from rota.explore.result import DEADLOCK, DEADLOCK_MEANING, Find, Limits, Progress, Result, Violation, first
from rota.explore.session import MASTER, spark_context
from rota.kernel import Digest, Kind, State, System

T = TypeVar("T")


class NotShippable(ValueError):
    """The system has no SystemRef, so a worker process cannot rebuild it."""


def explore(
    system: System,
    limits: Limits | None = None,
    *,
    progress: Progress | None = None,
    context: Any = None,
    master: str = MASTER,
    partitions: int | None = None,
    py_files: Sequence[str] = (),
) -> Result:
    """Visit every reachable state, in tasks of Spark.

    Parameters: system, with a ref; limits; progress, called after each level; context, a running
    SparkContext (else one is started with `master` and `py_files`, and stopped); partitions, default as
    many as Spark runs tasks at a time.
    Errors: NotShippable; MissingExtra, MissingJava; NotRebuilt; those of the table engine.
    """
    if system.ref is None:
        raise NotShippable(f"system {system.name} cannot be rebuilt in a worker process; give it a SystemRef")
    with (
        nullcontext(context) if context else spark_context(master, py_files) as running,
        TemporaryDirectory(prefix="rota-states-") as folder,
    ):
        count = partitions or running.defaultParallelism
        job = Job(system.ref, uuid4().hex, folder, count)
        return _Run(system, job, running, limits or Limits(), progress).run()


class _Run:
    def __init__(
        self, system: System, job: Job, context: Any, limits: Limits, progress: Progress | None
    ) -> None:
        self.system, self.job, self.context = system, job, context
        self.limits, self.progress = limits, progress
        self.witnesses: dict[str, int | None] = {p.name: None for p in system.select(Kind.WITNESS)}
        self.histogram: list[int] = []
        self.digest = Digest()
        self.generated = 0
        self.fired: set[str] = set()
        self.sent = self.calls = 0

    def run(self) -> Result:
        started = perf_counter()
        found: Violation | None = None
        undecided = False
        while not found:
            depth = len(self.histogram)
            wanted = frozenset(name for name, seen in self.witnesses.items() if seen is None)
            reports = self._tasks(partial(take_turn, self.job, depth, wanted))
            level = sum(report.states for report in reports)
            self.digest.add(report.digest for report in reports)
            distinct = sum(self.histogram) + level
            most = self.limits.max_states
            undecided = depth > 0 and most is not None and distinct > most
            if level:
                self.histogram.append(level)
            if undecided or not level:
                break
            if depth == 0:
                self.generated = level
            found = self._judged(reports) or self._expanded(reports)
            if self.progress and not found:
                self.progress(depth, distinct, level, self.generated, perf_counter() - started)
        return self._result(found, undecided, perf_counter() - started)

    def _tasks(self, task: Callable[[int], T | Exception]) -> list[T]:
        """One task per partition. Errors: the first that a task reports."""
        count = self.job.partitions
        done: list[T] = []
        for answer in self.context.parallelize(range(count), count).map(task).collect():
            if isinstance(answer, Exception):
                raise answer
            done.append(answer)
        return done

    def _judged(self, reports: list[Report]) -> Violation | None:
        """Witnesses and invariants of the last level."""
        depth = len(self.histogram) - 1
        for name in set().union(*(report.witnesses for report in reports)):
            self.witnesses[name] = depth
        found = first(*(report.bad_state for report in reports))
        if found is None:
            return None
        prop = self.system.select(Kind.SHAPE, Kind.SAFETY)[found.rank]
        return violation(self.system, prop.name, prop.meaning, self._path(found.state))

    def _expanded(self, reports: list[Report]) -> Violation | None:
        """What expanding the last level gave; deadlocks come before bad steps."""
        for report in reports:
            self.generated += report.generated
            self.fired |= report.fired
            self.sent += report.sent_bytes
            self.calls += report.python_calls
        if (stuck := first(*(report.stuck for report in reports))) is not None:
            return violation(self.system, DEADLOCK, DEADLOCK_MEANING, self._path(stuck.state))
        if (bad := first(*(report.bad_step for report in reports))) is not None:
            prop = self.system.select(Kind.STEP)[bad.rank]
            return violation(self.system, prop.name, prop.meaning, self._path(bad.state), prop)
        return None

    def _path(self, state: State) -> list[State]:
        """The canonical path to a state of the last level, level by level upwards."""
        path = [state]
        for depth in range(len(self.histogram) - 2, -1, -1):
            finds: list[Find | None] = self._tasks(partial(find_before, self.job, depth, path[0]))
            found = first(*finds)
            assert found is not None
            path.insert(0, found.state)
        return path

    def _result(self, found: Violation | None, undecided: bool, seconds: float) -> Result:
        distinct = sum(self.histogram)
        return Result(
            engine="spark",
            outcome=overall(found, undecided, self.witnesses),
            distinct=distinct,
            generated=self.generated,
            depth=len(self.histogram) - 1,
            histogram=tuple(self.histogram),
            digest=self.digest.hex(),
            properties=verdicts(self.system, found, undecided, self.witnesses),
            violation=found,
            rules_fired=frozenset(self.fired),
            seconds=seconds,
            stats={
                "partitions": self.job.partitions,
                "rounds": len(self.histogram),
                "python_calls": self.calls,
                "states_per_second": distinct / seconds if seconds else 0.0,
                "peak_frontier": max(self.histogram, default=0),
                "exchanged_bytes": self.sent,
            },
        )
