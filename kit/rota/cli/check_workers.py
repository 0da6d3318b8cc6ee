"""Explorations in several processes: who explores what next, what comes back, and who has died."""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Self

from rota.explore import Limits, Result, engines
from rota.kernel import System, SystemRef
from rota.report.check_model import Job, Plan
from rota.report.check_progress import Meter

MOST = 8
"""Workers at most, unless more are asked for."""

WORTH = 50_000
"""States; what has fewer in all is explored sooner than processes are started."""

EARLY = 5_000
"""States; configurations up to this size go first: they show most mistakes, and take a second or two."""

Answer = Result | Exception
"""What an exploration came to: a result or an error."""


def processes(plan: Plan, systems: Sequence[System], asked: int | None) -> int:
    """How many processes shall explore; 1 means this one.

    Parameters: systems, those of the plan's jobs; asked, how many at most, None for as many as pay.
    """
    together = len(plan.jobs) > 1 and plan.engine != "spark" and all(system.ref for system in systems)
    if not together or (asked is None and sum(job.size or 0 for job in plan.jobs) < WORTH):
        return 1
    return min(asked or min(cores(), MOST), len(plan.jobs))


def limits_of(limits: Limits, job: Job) -> Limits:
    """The limits of one job: each has a folder of its own in that of the checkpoints."""
    folder = limits.checkpoint and limits.checkpoint / job.name
    return replace(limits, checkpoint=folder)


def threads(plan: Plan, asked: int | None) -> int:
    """How many threads shall share a plan's only exploration, where the engine can share one."""
    if len(plan.jobs) > 1 or plan.engine not in ("auto", "fast"):
        return 1
    return asked or min(cores(), MOST)


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
    """An exploration as it travels to a worker."""

    engine: str
    ref: SystemRef
    limits: Limits


@dataclass(eq=False)
class _Worker:
    """A process and the number of the job that it is at, None if it waits for one."""

    process: SpawnProcess
    connection: Connection
    number: int | None = None


class Crew:
    """Workers that explore the jobs of a plan. A context manager: no worker outlives it.

    Parameters: plan; systems, those of its jobs; count, of processes; limits; meter, is told of progress.
    """

    def __init__(
        self, plan: Plan, systems: Sequence[System], count: int, limits: Limits, meter: Meter
    ) -> None:
        self._plan, self._systems, self._count = plan, systems, count
        self._limits, self._meter = limits, meter
        self._waiting = order(plan)
        self._workers: list[_Worker] = []
        self._end = len(plan.jobs)
        """Number of the first job known to end the run; later ones need no answer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._meter.clear()
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            self._dismiss(worker)

    def answers(self) -> Iterator[tuple[int, Answer | None]]:
        """(number of a job, its answer), as they come; None for a job whose worker died.

        Every job gets one, but for those after the first one with an error or a violation.
        """
        while True:
            self._hand_out()
            busy = {worker.connection: worker for worker in self._workers if worker.number is not None}
            if not busy:
                return
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]  # what wait() was given it gives back
                number = worker.number
                told = self._listen(worker)
                if number is None or number > self._end or isinstance(told, tuple):
                    continue  # dismissed meanwhile, or only progress
                if isinstance(told, Exception) or (told and told.violation):
                    self._end_with(number)
                yield number, told

    def _hand_out(self) -> None:
        """A job for everyone who has none, as long as there are jobs."""
        self._waiting = [number for number in self._waiting if number < self._end]
        while self._waiting:
            idle = next((worker for worker in self._workers if worker.number is None), None)
            if idle is None and len(self._workers) == self._count:
                return
            worker = idle or self._hire()
            worker.number = self._waiting.pop(0)
            job = self._plan.jobs[worker.number]
            self._meter.begin(job.name, job.pinned)
            ref = self._systems[worker.number].ref
            assert ref is not None
            with suppress(OSError):  # it died; listening to it will tell
                worker.connection.send(Task(self._plan.engine, ref, limits_of(self._limits, job)))

    def _hire(self) -> _Worker:
        spawn = get_context("spawn")
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=serve, args=(theirs,), daemon=True)
        with theirs, interrupts_held():
            process.start()
            worker = _Worker(process, ours)
            self._workers.append(worker)
        return worker

    def _listen(self, worker: _Worker) -> Answer | tuple[Any, ...] | None:
        """What a worker says: progress, the answer, or nothing any more."""
        if worker.number is None:
            return None
        name = self._plan.jobs[worker.number].name
        told: Answer | tuple[Any, ...] | None = None
        try:
            told = worker.connection.recv()
        except (EOFError, OSError):
            self._dismiss(worker)
        if isinstance(told, tuple):
            self._meter.level(name, *told)
        else:
            worker.number = None
            self._meter.end(name)
        return told

    def _end_with(self, number: int) -> None:
        """Nothing after this job matters any more."""
        self._end = min(self._end, number)
        for worker in list(self._workers):
            if worker.number is not None and worker.number > self._end:
                self._meter.end(self._plan.jobs[worker.number].name)
                self._dismiss(worker)

    def _dismiss(self, worker: _Worker) -> None:
        """End a process, and wait until it has ended."""
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        worker.number = None
        self._workers = [other for other in self._workers if other is not worker]


@contextmanager
def interrupts_held() -> Iterator[None]:
    """What is started meanwhile never sees Ctrl-C; this process sees it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first start would do it, and let interrupts in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(connection: Connection) -> None:
    """A worker's life: explore what comes, answer progress (tuples) and the answer, until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent ends us
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            connection.send(_answer(connection.recv(), connection.send))


def _answer(task: Task, tell: Callable[[tuple[Any, ...]], None]) -> Answer:
    def progress(*level: Any) -> None:
        tell(level)

    try:
        return engines.choose(task.engine)(task.ref.build(), task.limits, progress=progress)
    except Exception as error:
        return portable(error)


def portable(error: Exception) -> Exception:
    """The error, or its words where it cannot travel; its traceback is a note in either case."""
    words = f"{type(error).__name__}: {error}"
    traced = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(words)
    error.add_note(f"in a worker process:\n{traced}")
    return error
