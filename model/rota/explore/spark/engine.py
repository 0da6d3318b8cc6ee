"""The Spark engine: partitions own shares of the states and keep them in files; a round per level.

Same answers as the other engines, canonical traces included. Only the RDD interface is used. What a task does
is in `rota.explore.spark`; here is the driver: it hands out numbers, adds up reports, and says what counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from time import perf_counter
from typing import Any
from uuid import uuid4

from rota.explore.compiled.packing import Layout
from rota.explore.mistakes import finding
from rota.explore.purity import Sampled
from rota.explore.result import (
    DEADLOCK,
    DEADLOCK_MEANING,
    Find,
    Limits,
    Progress,
    Result,
    Violation,
    first,
    overall,
    verdicts,
)
from rota.explore.spark import preflight, tasks
from rota.explore.spark.answers import ExecutorsLost, NoSpace, checked, clear_errors
from rota.explore.spark.commit import Commits, Saved
from rota.explore.spark.exchange import Exchange, Files, Shuffle
from rota.explore.spark.meeting import Meeting
from rota.explore.spark.memory import MEMORY
from rota.explore.spark.preflight import NotSupported
from rota.explore.spark.protocol import Fields, Job, Missing, NotShippable, Order, Part, Report
from rota.explore.spark.registry import Registry
from rota.explore.spark.session import MASTER, Cluster, look_at, spark_context
from rota.explore.spark.tally import Tally
from rota.explore.tables.system import violation
from rota.kernel import IN_STATES, Digest, Kind, State, System, guarded, keeping

STRICT = "strict"
"""Within a checkpoint's folder, that of the run that looks for a shortest violation."""

TRIES = 5
"""How often tasks are run whose executors are lost with what they had."""

__all__ = ["NoSpace", "NotShippable", "NotSupported", "explore"]

Say = Callable[[str], None]


@finding
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
    ceiling: int | None = None,
    say: Say | None = None,
) -> Result:
    """Visit every reachable state, in tasks of Spark.

    Parameters: system, with a ref; limits (`memory`: bytes for all tasks at a time; `checkpoint`: a folder
    that driver and workers see); progress, called after each level; context, a running SparkContext (else one
    is started with `master` and `py_files`, and stopped); partitions, default as many as Spark runs tasks at
    a time; local_levels, how far a task goes by itself in a round: with more than 1 there are fewer rounds,
    and the depth of states is not known, so a violation is looked for anew in rounds of one level (with a
    checkpoint folder of its own within); ceiling, most bytes of data of a worker process, states included
    (default: no bound); say, is told what a person should know.
    With several local levels the same states are visited, and the counts, the digest and the rules fired of a
    system that holds are those of other engines; histogram then has the states of each round, and depth, of
    the whole as of witnesses, is only what it is at most.
    Errors: NotShippable; NotSupported; MissingExtra, MissingJava; NotRebuilt; CheckpointError, NoSpace;
    NoMemory, ExecutorsLost; those of the table engine, UserError as of `finding`.
    """
    limits = limits or Limits()
    preflight.refuse(system, limits)
    with nullcontext(context) if context else spark_context(master, py_files) as running:
        preflight.refuse_speculation(running, limits)
        cluster = look_at(running, say or _nothing)
        result = _Run(system, limits, running, cluster, progress, partitions, local_levels, ceiling).finish()
        if local_levels > 1 and result.violation is not None:
            (say or _nothing)("violated; looking for a shortest run in rounds of one level, without a bound")
            folder = limits.checkpoint and limits.checkpoint / STRICT
            limits = replace(limits, checkpoint=folder, max_states=None)
            result = _Run(system, limits, running, cluster, progress, partitions, 1, ceiling).finish()
        return result


class _Run:
    """One exploration; `finish` it once."""

    def __init__(
        self,
        system: System,
        limits: Limits,
        context: Any,
        cluster: Cluster,
        progress: Progress | None,
        partitions: int | None,
        local_levels: int,
        ceiling: int | None,
    ) -> None:
        self.system = guarded(system)
        self.limits, self.context, self.progress = limits, context, progress
        self.commits = self._commits(system, local_levels)
        saved = self.commits.saved if self.commits else None
        count = len(saved.parts) if saved else partitions or context.defaultParallelism
        preflight.refuse_other_code(saved.compiled if saved else cluster.compiled, cluster.compiled)
        at_once = max(1, min(count, context.defaultParallelism))
        assert system.ref is not None
        self.job = Job(
            ref=system.ref,
            properties=tuple(prop.name for prop in system.properties),
            run=saved.run if saved else uuid4().hex,
            partitions=count,
            deciding=saved.deciding if saved else preflight.deciding(self.system, count, cluster.compiled),
            folder=str(self.commits.folder) if self.commits else None,
            memory=limits.memory // at_once if limits.memory else MEMORY,
            local_levels=local_levels,
            compiled=cluster.compiled,
            copied=cluster.lasting and not self.commits,
            ceiling=ceiling,
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
        self.kinds = preflight.kinds(keeping(system))
        self.histogram: list[int] = []
        self.digest = Digest()
        self.generated, self.fired = 0, frozenset[str]()
        self.tally = Tally(system)
        self.witnesses: dict[str, int | None] = {p.name: None for p in system.select(Kind.WITNESS)}
        self.sent = self.calls = self.repeated = 0
        self.merging, self.bounded, self.sampled = 0.0, False, Sampled()
        self.meeting = Meeting(self.system)
        self.unsaved: list[Any] = []
        if saved:
            self._go_on_with(saved)

    def _commits(self, system: System, local_levels: int) -> Commits | None:
        folder = self.limits.checkpoint
        return Commits(folder, system, self.limits, {"local levels": local_levels}) if folder else None

    # ---- rounds

    def finish(self) -> Result:
        """Rounds until nothing is new; nothing is left in the workers. Errors: as of `explore`."""
        try:
            with clear_errors(self.limits.checkpoint):
                if self.commits and self.round:
                    self._told(self.exchange.asked(partial(tasks.verify, self.job, self._order(0))))
                    self.commits.sweep()
                return self._explore()
        finally:
            self._clear()

    def _explore(self) -> Result:
        started = perf_counter()
        found: Violation | None = None
        undecided = False
        while not found and not undecided:
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
                self.generated = len(set(self.system.initial_states()))
            found = self._judged(reports) or self._expanded(reports)
            if not found:
                self._counts(reports)
                if self.progress:
                    seconds = perf_counter() - started
                    self.progress(self.round, sum(self.histogram), level, self.generated, seconds)
                self.round += 1
                self._commit()
                self.bounded = undecided = self.limits.beyond(self.round)
        if not found and not undecided:
            self.meeting.compare(self._answers(self.round, partial(self._asked, tasks.meet, ())))
        return self._result(found, undecided, perf_counter() - started)

    def _round(self) -> list[Report]:
        """One round of all partitions, again where executors were lost. Errors: the first one reported."""
        if self.round == 0 and self.job.compiled:
            self._number(preflight.news(self.system))
        inbox = self.exchange.inbox()
        answers = self._answers(
            self.round,
            lambda order: self.exchange.put(self.round, inbox, partial(tasks.run_round, self.job, order)),
        )
        self.meeting.know(answers)
        return sorted(answers, key=lambda report: report.partition)

    def _order(self, round_: int) -> Order:
        wanted = frozenset(name for name, seen in self.witnesses.items() if seen is None)
        known = dict(self.tally.known)
        given = self.parts, self.fields, tuple(self.deltas), wanted, self.obsolete, known, self.kinds
        return Order(round_, *given)

    def _answers(self, round_: int, ask: Callable[[Order], Sequence[Any]]) -> Sequence[Any]:
        """What all partitions say, asked again where executors were lost. Errors: the first one reported."""
        for _ in range(TRIES):
            order = self._order(round_)
            answers = self._told(ask(order))
            missing = frozenset(answer.partition for answer in answers if isinstance(answer, Missing))
            if not missing:
                return answers
            self._restore(missing)
        raise ExecutorsLost(f"executors were lost {TRIES} times in one round; name a --checkpoint DIR")

    def _told(self, answers: Sequence[Any]) -> Sequence[Any]:
        return checked(answers, self.limits.checkpoint, self.job.ceiling)

    def _restore(self, missing: frozenset[int]) -> None:
        """Bring back what partitions had that are now with other executors."""
        assert isinstance(self.exchange, Shuffle)
        self.repeated += 1
        task = partial(tasks.restore, self.job, self._order(self.round), missing)
        parts = list(self.parts)
        for answer in self._told(self.exchange.restored(self.round, task)):
            assert isinstance(answer, tuple)
            parts[answer[0]] = answer[1]
        self.parts = tuple(parts)

    def _counts(self, reports: Sequence[Report]) -> None:
        """Take over what a round came to that counts."""
        self.parts = tuple(report.part for report in reports)
        self.obsolete = tuple(report.obsolete for report in reports)
        self.tally.add(report.judged for report in reports)
        self.kinds = self.kinds.union(*(report.kinds for report in reports))
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
        self.tally.commit(self.commits.keep)
        counts = {
            "judged": self.tally.names,
            "histogram": self.histogram,
            "digest": self.digest.hex(),
            "generated": self.generated,
            "witnesses": self.witnesses,
            "fired": sorted(self.fired),
            "sent": self.sent,
            "calls": self.calls,
            "types": self.meeting.saved(),
        }
        saved = Saved(
            run=self.job.run, compiled=self.job.compiled, deciding=self.job.deciding, round=self.round,
            parts=self.parts, fields=self.fields, sent=self.exchange.sent, obsolete=self.obsolete,
            kinds=self.kinds, counts=counts,
        )  # fmt: skip
        self.commits.commit(saved, self.unsaved)
        self.unsaved = []

    def _go_on_with(self, saved: Saved) -> None:
        self.round, self.parts, self.fields = saved.round, saved.parts, saved.fields
        self.obsolete, self.kinds = saved.obsolete, saved.kinds
        counts = saved.counts
        self.histogram = list(counts["histogram"])
        self.digest.add([int(counts["digest"], 16)])
        self.generated = counts["generated"]
        self.witnesses.update(counts["witnesses"])
        self.fired = frozenset(counts["fired"])
        self.sent, self.calls = counts["sent"], counts["calls"]
        assert self.commits is not None
        self.tally.recall(counts["judged"], self.commits.kept)
        self.meeting.recall(counts["types"])

    # ---- what is found

    def _judged(self, reports: Sequence[Report]) -> Violation | None:
        """Witnesses and invariants of the last level."""
        for name in set().union(*(report.witnesses for report in reports)):
            self.witnesses[name] = self.round
        found = first(*(report.bad_state for report in reports))
        if found is None:
            return None
        prop = self.system.select(*IN_STATES)[found.rank]
        return violation(self.system, prop.name, prop.meaning, self._path(found.state))

    def _expanded(self, reports: Sequence[Report]) -> Violation | None:
        """What expanding the last level gave; deadlocks come before bad steps."""
        for report in reports:
            self.generated += report.generated
            self.fired |= report.fired
            self.sent += report.sent_bytes
            self.calls += report.python_calls
            self.sampled += report.sampled
        if (stuck := first(*(report.stuck for report in reports))) is not None:
            return violation(self.system, DEADLOCK, DEADLOCK_MEANING, self._path(stuck.state))
        if (bad := first(*(report.bad_step for report in reports))) is not None:
            prop = self.system.select(Kind.STEP)[bad.rank]
            return violation(self.system, prop.name, prop.meaning, self._path(bad.state), prop)
        return None

    def _path(self, state: State) -> list[State]:
        """The canonical path to a state of the last level, level by level upwards; in strict rounds."""
        path = [state]
        if self.job.local_levels > 1:
            return path  # it is run again, strictly
        for depth in range(self.round - 1, -1, -1):
            answers = self._answers(depth, partial(self._asked, tasks.find_before, (path[0],)))
            found = first(*(answer for answer in answers if isinstance(answer, Find)))
            assert found is not None
            path.insert(0, found.state)
        return path

    def _asked(self, task: Callable[..., Any], about: tuple[Any, ...], order: Order) -> Sequence[Any]:
        return self.exchange.asked(partial(task, self.job, order, *about))

    # ---- the end

    def _clear(self) -> None:
        """Let go of what the context would keep as long as it lives."""
        with suppress(Exception):  # in a context that has come to its end there is nothing to let go of
            self.exchange.close()
            if self.job.folder is None:
                preflight.on_all_hosts(self.context, partial(tasks.clear, self.job.run))
            for delta in self.deltas:
                delta.destroy()

    def _result(self, found: Violation | None, undecided: bool, seconds: float) -> Result:
        most = self.job.local_levels  # edges in a round, at most
        seen = {name: at if at is None else most * (at + 1) - 1 for name, at in self.witnesses.items()}
        return Result(
            engine="spark",
            verdict=overall(found, undecided, seen),
            distinct=sum(self.histogram),
            generated=self.generated,
            depth=most * len(self.histogram) - 1,
            histogram=tuple(self.histogram),
            digest=self.digest.hex(),
            properties=verdicts(self.system, found, undecided, seen, self.tally.counts),
            violation=found,
            rules_fired=self.fired,
            bounded=self.bounded,
            seconds=seconds,
            stats={
                "partitions": self.job.partitions,
                "rounds": len(self.histogram),
                "local_levels": self.job.local_levels,
                "exchange": type(self.exchange).__name__.lower(),
                "compiled": self.job.compiled,
                "owner_by": [self.system.machines[i].name for i in self.job.deciding],
                "python_calls": self.calls,
                "sampled": asdict(self.sampled),
                "peak_frontier": max(self.histogram, default=0),
                "exchanged_bytes": self.sent,
                "judged_bytes": self.tally.received,
                "numbered": sum(self.registry.counts),
                "seconds_merging": self.merging,
                "rounds_repeated": self.repeated,
                **(self.commits.resumed if self.commits else {}),
            },
        )


def _nothing(line: str) -> None:
    """Says nothing."""
