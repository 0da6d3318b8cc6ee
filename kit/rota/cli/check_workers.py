"""Explorations in several processes: who explores what next, what comes back, and who has died."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from rota.cli.exploration import Exploration, explored
from rota.cli.shortest import Shortest
from rota.cli.workers import Gone, Parent, Worker, Workers, served
from rota.explore import Limits, engines
from rota.kernel import System, SystemRef
from rota.report.check_model import Job, Plan
from rota.report.check_progress import Explorations

MOST = 8
"""Workers at most, unless more are asked for."""

WORTH = 50_000
"""States; what has fewer in all is explored sooner than processes are started."""

EARLY = 5_000
"""States; configurations up to this size go first: they show most mistakes, and take a second or two."""

Answer = Exploration | Exception
"""What a worker says at its end."""


def processes(plan: Plan, systems: Sequence[System], wanted: int | None) -> int:
    """How many processes shall explore; 1 means this one.

    Parameters: systems, those of the plan's jobs; wanted, how many at most, None for as many as pay.
    """
    together = len(plan.jobs) > 1 and plan.engine != "spark" and all(system.ref for system in systems)
    if not together or (wanted is None and sum(job.size or 0 for job in plan.jobs) < WORTH):
        return 1
    return min(wanted or min(cores(), MOST), len(plan.jobs))


def limits_of(limits: Limits, job: Job) -> Limits:
    """The limits of one job: each has a folder of its own in that of the checkpoints."""
    folder = limits.checkpoint and limits.checkpoint / job.name
    return replace(limits, checkpoint=folder)


def threads(plan: Plan, wanted: int | None) -> int:
    """How many threads shall share a plan's only exploration, where the engine can share one."""
    if len(plan.jobs) > 1 or plan.engine not in ("auto", "fast"):
        return 1
    return wanted or min(cores(), MOST)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def order(plan: Plan) -> list[int]:
    """The numbers of the plan's jobs, first to start first.

    Where a mutant is expected to die comes first, then what is small, then the largest: it ends last.
    """
    sizes = [job.size or 0 for job in plan.jobs]
    early = [number for number, size in enumerate(sizes) if size <= EARLY or (plan.mutant and number == 0)]
    late = [number for number in range(len(sizes)) if number not in early]
    return [*early, *sorted(late, key=lambda number: -sizes[number])]


@dataclass(frozen=True)
class Task:
    """An exploration as it travels to a worker. bound: that of `Limits`, for the time being."""

    engine: str
    ref: SystemRef
    limits: Limits
    bound: int | None
    keep_going: bool


class Explorers(Workers):
    """Workers that explore the jobs of a plan. A context manager: no worker outlives it.

    Parameters: plan; systems, those of its jobs; count, of processes; limits; shortest, gets what is found;
    progress, theirs; keep_going, beyond the first violation.
    """

    def __init__(
        self,
        plan: Plan,
        systems: Sequence[System],
        count: int,
        limits: Limits,
        shortest: Shortest,
        progress: Explorations,
        keep_going: bool = False,
    ) -> None:
        super().__init__(serve, count)
        self._plan, self._systems, self._keep_going = plan, systems, keep_going
        self._limits, self._shortest, self._progress = limits, shortest, progress
        self._waiting = order(plan)
        self._end = len(plan.jobs)
        """Number of the first job that ended with an error; later ones need no answer."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._progress.line.clear()
        super().__exit__(kind, error, where)

    def answers(self) -> Iterator[tuple[int, Answer | None]]:
        """(number of a job, its answer), as they come; None for a job whose worker died, which is noted.

        Every job gets one, but for those after one with an error, and those of no interest any more.
        """
        while True:
            self._hand_out()
            if not self.busy():
                return
            for worker in self.speaking():
                number = worker.number
                if number is None:
                    continue  # dismissed meanwhile
                message = self._listen(worker, number)
                if isinstance(message, tuple):
                    continue  # only progress
                if isinstance(message, Exception):
                    self._end = min(self._end, number)
                for violation in message.violations if isinstance(message, Exploration) else ():
                    self._shortest.add(number, violation)
                self._bound()
                yield number, message

    def _hand_out(self) -> None:
        """A job for everyone who has none, as long as there are jobs."""
        self._waiting = [number for number in self._waiting if self._needs(number)]
        while self._waiting and self.free():
            number = self._waiting.pop(0)
            job, ref = self._plan.jobs[number], self._systems[number].ref
            assert ref is not None
            self._progress.begin(job.name)
            limits, bound = limits_of(self._limits, job), self._shortest.bound(number)
            self.give(number, Task(self._plan.engine, ref, limits, bound, self._keep_going))

    def _listen(self, worker: Worker, number: int) -> Answer | tuple[Any, ...] | None:
        """What a worker says: progress, the answer, or nothing any more."""
        name = self._plan.jobs[number].name
        message: Answer | tuple[Any, ...] | None = None
        with suppress(Gone):
            message = self.listen(worker)
        if isinstance(message, tuple):
            self._progress.level(name, *message)
        else:
            worker.number = None
            self._progress.end(name, again=message is None)
        if message is None:
            self._progress.line.note(f"the process exploring {name} died; exploring {name} again")
        return message

    def _needs(self, number: int) -> bool:
        return number < self._end and self._shortest.needs(number)

    def _bound(self) -> None:
        """Let everyone know how far to go; end those who need to go no further."""
        for worker in self.busy():
            assert worker.number is not None
            if self._needs(worker.number):
                self.notify(worker, self._shortest.bound(worker.number))
            else:
                self._progress.end(self._plan.jobs[worker.number].name)
                self.dismiss(worker)


def serve(connection: Connection) -> None:
    """A worker's life: explore what comes; send progress (tuples), then the answer."""
    served(connection, _answer)


def _answer(task: Task, parent: Parent) -> Exploration:
    known = [task.bound]

    def bound() -> int | None:
        known.extend(parent.heard())
        return known[-1]

    limits = replace(task.limits, bound=bound)
    engine = engines.choose(task.engine)
    return explored(
        engine, task.ref.build(), limits, lambda *level: parent.send(level), keep_going=task.keep_going
    )
