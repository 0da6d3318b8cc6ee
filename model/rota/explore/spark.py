"""The Spark engine: partitions own shares of the states and keep them in files; a round per level.

Same answers as the other engines, canonical traces included. Only the RDD interface is used. What a task does
is in `rota.explore.cluster`; here is the driver: it hands out numbers, adds up reports, and says what counts.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import Any
from uuid import uuid4

from rota.explore.cluster import start, tasks
from rota.explore.cluster.commit import Commits, Saved
from rota.explore.cluster.exchange import Exchange, Files, Shuffle
from rota.explore.cluster.registry import Registry
from rota.explore.cluster.work import Answer, Fields, Job, Missing, Order, Part, Report
from rota.explore.level import violation
from rota.explore.packing import Layout
from rota.explore.reference import overall, verdicts
from rota.explore.result import (
    DEADLOCK,
    DEADLOCK_MEANING,
    CheckpointError,
    Find,
    Limits,
    Progress,
    Result,
    Violation,
    first,
)
from rota.explore.session import MASTER, Cluster, look_at, spark_context
from rota.kernel import Digest, Kind, State, System, SystemRef

MEMORY = 2 << 30
"""Bytes for all tasks that run at a time, unless told otherwise."""

TRIES = 5
"""How often a round is run in which executors are lost with what they had."""


class NotShippable(ValueError):
    """The system has no SystemRef, so a worker process cannot rebuild it."""


class NoSpace(CheckpointError):
    """A disk is full; what was committed is not lost."""


Say = Callable[[str], None]


def explore(
    system: System,
    limits: Limits | None = None,
    *,
    progress: Progress | None = None,
    context: Any = None,
    master: str = MASTER,
    partitions: int | None = None,
    py_files: Sequence[str] = (),
    local_levels: int = 1,
    say: Say | None = None,
) -> Result:
    """Visit every reachable state, in tasks of Spark.

    Parameters: system, with a ref; limits (`memory`: bytes for all tasks at a time; `checkpoint`: a folder
    that driver and workers see); progress, called after each level; context, a running SparkContext (else one
    is started with `master` and `py_files`, and stopped); partitions, default as many as Spark runs tasks at
    a time; local_levels, how far a task goes by itself in a round: with more than 1 there are fewer rounds,
    and the depth of states is not known, so a violation is looked for anew in rounds of one level; say, is
    told what a person should know.
    Errors: NotShippable; MissingExtra, MissingJava; NotRebuilt; CheckpointError, NoSpace; those of the table
    engine.
    """
    if system.ref is None:
        raise NotShippable(f"system {system.name} cannot be rebuilt in a worker process; give it a SystemRef")
    limits = limits or Limits()
    with nullcontext(context) if context else spark_context(master, py_files) as running:
        cluster = look_at(running, say or _nothing)
        run = partial(_Run, system, limits, running, cluster, progress, partitions)
        result = run(local_levels).explore()
        if local_levels > 1 and result.violation is not None:
            (say or _nothing)("violated; looking for a shortest run in rounds of one level")
            result = run(1).explore()
        return result


class _Run:
    """One exploration; `explore` it once."""

    def __init__(
        self,
        system: System,
        limits: Limits,
        context: Any,
        cluster: Cluster,
        progress: Progress | None,
        partitions: int | None,
        local_levels: int,
    ) -> None:
        self.system, self.limits, self.context, self.progress = system, limits, context, progress
        self.commits = self._commits(local_levels)
        saved = self.commits.saved if self.commits else None
        count = len(saved.parts) if saved else partitions or context.defaultParallelism
        if saved and saved.compiled != cluster.compiled:
            there, then = ("", "no ") if cluster.compiled else ("no ", "")
            raise CheckpointError(
                f"this search was begun by workers with {then}numba, and these have {there}numba"
            )
        at_once = max(1, min(count, context.defaultParallelism))
        self.job = Job(
            ref=_sure(system.ref),
            run=saved.run if saved else uuid4().hex,
            partitions=count,
            deciding=saved.deciding if saved else start.deciding(system, count, cluster.compiled),
            folder=str(self.commits.folder) if self.commits else None,
            memory=(limits.memory or MEMORY) // at_once,
            local_levels=local_levels,
            compiled=cluster.compiled,
            copied=cluster.lasting and not self.commits,
        )
        self.exchange: Exchange = (
            Files(context, count, self.commits.folder, saved.sent if saved else ())
            if self.commits
            else Shuffle(context, count, cluster.lasting)
        )
        self.registry = Registry(len(system.machines), self.commits.deltas if self.commits else ())
        self.deltas = [context.broadcast(delta) for delta in (self.commits.deltas if self.commits else ())]
        self.round = 0
        self.parts: tuple[Part, ...] = (Part(),) * count
        self.obsolete: tuple[tuple[str, ...], ...] = ((),) * count
        self.fields: Fields | None = None
        self.histogram: list[int] = []
        self.digest = Digest()
        self.generated = 0
        self.fired: frozenset[str] = frozenset()
        self.witnesses: dict[str, int | None] = {p.name: None for p in system.select(Kind.WITNESS)}
        self.sent = self.calls = self.repeated = 0
        self.merging = 0.0
        self.unsaved: list[Any] = []
        if saved:
            self._go_on_with(saved)

    def _commits(self, local_levels: int) -> Commits | None:
        folder = self.limits.checkpoint
        return Commits(folder, self.system, self.limits, {"local levels": local_levels}) if folder else None

    # ---- rounds

    def explore(self) -> Result:
        """Rounds until nothing is new. Errors: as of the module's `explore`."""
        started = perf_counter()
        found: Violation | None = None
        undecided = False
        while not found:
            reports = self._round()
            level = sum(report.states for report in reports)
            self.digest.add(report.digest for report in reports)
            most = self.limits.max_states
            undecided = self.round > 0 and most is not None and sum(self.histogram) + level > most
            if level:
                self.histogram.append(level)
            if undecided or not level:
                break
            if self.round == 0:
                self.generated = level
            found = self._judged(reports) or self._expanded(reports)
            if not found:
                self._counts(reports)
                if self.progress:
                    seconds = perf_counter() - started
                    self.progress(self.round, sum(self.histogram), level, self.generated, seconds)
                self.round += 1
                self._commit()
        return self._result(found, undecided, perf_counter() - started)

    def _round(self) -> list[Report]:
        """One round of all partitions, again where executors were lost. Errors: the first one reported."""
        if self.round == 0 and self.job.compiled:
            self._number(start.news(self.system))
        inbox = self.exchange.inbox()
        for _ in range(TRIES):
            wanted = frozenset(name for name, seen in self.witnesses.items() if seen is None)
            order = Order(self.round, self.parts, self.fields, tuple(self.deltas), wanted, self.obsolete)
            answers = self._told(self.exchange.put(self.round, inbox, self._task(order)))
            missing = [answer.partition for answer in answers if isinstance(answer, Missing)]
            if not missing:
                return sorted((a for a in answers if isinstance(a, Report)), key=lambda a: a.partition)
            self._restore(missing, order)
        raise RuntimeError(f"executors were lost {TRIES} times in one round; name a --checkpoint DIR")

    def _task(self, order: Order) -> Callable[[int, Iterable[bytes]], Any]:
        return partial(tasks.take_turn, self.job, order)

    def _told(self, answers: Sequence[Answer]) -> Sequence[Answer]:
        """The answers, if none is an error."""
        for answer in answers:
            if isinstance(answer, OSError) and answer.errno in (errno.ENOSPC, errno.EDQUOT):
                go_on = "go on with --resume" if self.commits else "begin again"
                raise NoSpace(f"no space is left ({answer}); make room and {go_on}") from answer
            if isinstance(answer, FileNotFoundError):
                raise CheckpointError(
                    f"{answer.filename} is gone; begin again in an empty folder"
                ) from answer
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _restore(self, missing: Sequence[int], order: Order) -> None:
        """Bring back what partitions had that are now with other executors."""
        assert isinstance(self.exchange, Shuffle)
        self.repeated += 1
        task = partial(tasks.restore, self.job, order, frozenset(missing))
        parts = list(self.parts)
        for answer in self._told(self.exchange.restored(self.round, task)):
            assert isinstance(answer, tuple)
            parts[answer[0]] = answer[1]
        self.parts = tuple(parts)

    def _counts(self, reports: Sequence[Report]) -> None:
        """Take over what a round came to that counts."""
        self.parts = tuple(report.part for report in reports)
        self.obsolete = tuple(report.obsolete for report in reports)
        if self.job.compiled:
            self._number([report.news for report in reports])

    def _number(self, news: Sequence[Any]) -> None:
        """Hand out numbers for what was found, and room for them in states."""
        started = perf_counter()
        delta = self.registry.merge(news)
        if delta is not None:
            self.unsaved.append(delta)
            self.deltas.append(self.context.broadcast(delta))
            counts = self.registry.counts
            if self.fields is None or not Layout.of_fields(*vars(self.fields).values()).fits(counts):
                self.fields = Fields(*(tuple(array.tolist()) for array in Layout(counts).fields()))
        self.merging += perf_counter() - started

    # ---- what is known on disk

    def _commit(self) -> None:
        if self.commits is None:
            return
        assert isinstance(self.exchange, Files)
        counts = {
            "histogram": self.histogram,
            "digest": self.digest.hex(),
            "generated": self.generated,
            "witnesses": self.witnesses,
            "fired": sorted(self.fired),
            "sent": self.sent,
            "calls": self.calls,
        }
        saved = Saved(
            run=self.job.run,
            compiled=self.job.compiled,
            deciding=self.job.deciding,
            round=self.round,
            parts=self.parts,
            fields=self.fields,
            sent=self.exchange.sent,
            obsolete=self.obsolete,
            counts=counts,
        )
        try:
            self.commits.commit(saved, self.unsaved)
        except OSError as error:
            self._told([error])
            raise
        self.unsaved = []

    def _go_on_with(self, saved: Saved) -> None:
        self.round, self.parts, self.fields = saved.round, saved.parts, saved.fields
        self.obsolete = saved.obsolete
        counts = saved.counts
        self.histogram = list(counts["histogram"])
        self.digest.add([int(counts["digest"], 16)])
        self.generated = counts["generated"]
        self.witnesses.update(counts["witnesses"])
        self.fired = frozenset(counts["fired"])
        self.sent, self.calls = counts["sent"], counts["calls"]

    # ---- what is found

    def _judged(self, reports: Sequence[Report]) -> Violation | None:
        """Witnesses and invariants of the last level."""
        for name in set().union(*(report.witnesses for report in reports)):
            self.witnesses[name] = self.round
        found = first(*(report.bad_state for report in reports))
        if found is None:
            return None
        prop = self.system.select(Kind.SHAPE, Kind.SAFETY)[found.rank]
        return violation(self.system, prop.name, prop.meaning, self._path(found.state, reports))

    def _expanded(self, reports: Sequence[Report]) -> Violation | None:
        """What expanding the last level gave; deadlocks come before bad steps."""
        for report in reports:
            self.generated += report.generated
            self.fired |= report.fired
            self.sent += report.sent_bytes
            self.calls += report.python_calls
        if (stuck := first(*(report.stuck for report in reports))) is not None:
            return violation(self.system, DEADLOCK, DEADLOCK_MEANING, self._path(stuck.state, reports))
        if (bad := first(*(report.bad_step for report in reports))) is not None:
            prop = self.system.select(Kind.STEP)[bad.rank]
            return violation(self.system, prop.name, prop.meaning, self._path(bad.state, reports), prop)
        return None

    def _path(self, state: State, reports: Sequence[Report]) -> list[State]:
        """The canonical path to a state of the last level, level by level upwards; in strict rounds."""
        path = [state]
        if self.job.local_levels > 1:
            return path  # it is run again, strictly
        parts = tuple(report.part for report in reports)
        for depth in range(self.round - 1, -1, -1):
            order = Order(depth, parts, self.fields, tuple(self.deltas), frozenset())
            answers = self._told(self.exchange.asked(partial(tasks.find_before, self.job, order, path[0])))
            found = first(*(answer for answer in answers if isinstance(answer, Find)))
            assert found is not None
            path.insert(0, found.state)
        return path

    # ---- the end

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
            rules_fired=self.fired,
            seconds=seconds,
            stats={
                "partitions": self.job.partitions,
                "rounds": len(self.histogram),
                "local_levels": self.job.local_levels,
                "exchange": type(self.exchange).__name__.lower(),
                "compiled": self.job.compiled,
                "owner_by": [self.system.machines[i].name for i in self.job.deciding],
                "python_calls": self.calls,
                "states_per_second": distinct / seconds if seconds else 0.0,
                "peak_frontier": max(self.histogram, default=0),
                "exchanged_bytes": self.sent,
                "numbered": sum(self.registry.counts),
                "merging_seconds": self.merging,
                "rounds_repeated": self.repeated,
            },
        )


def _sure(ref: SystemRef | None) -> SystemRef:
    assert ref is not None
    return ref


def _nothing(line: str) -> None:
    """Says nothing."""
