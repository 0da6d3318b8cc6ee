"""A plan on Spark whose units of work are whole configurations: a task for each, the dearest first.

Those that do not fit into a worker's memory are left to the engine that goes level by level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rota.cli.check_spark import Session, cause
from rota.cli.check_workers import Answer, limits_of
from rota.cli.exploration import Exploration
from rota.cli.shortest import Shortest
from rota.explore import Limits, Result, engines
from rota.kernel import System
from rota.report.check_model import Plan
from rota.report.check_progress import Explorations

if TYPE_CHECKING:
    from rota.explore.spark.finished import Finished
    from rota.explore.spark.suite import Tasks

TICK = 1.0
"""Seconds without an answer after which it is shown again what is under way."""


def suite(
    engine: engines.Engine,
    plan: Plan,
    systems: Sequence[System],
    limits: Limits,
    shortest: Shortest,
    progress: Explorations,
) -> Suite | None:
    """The plan as one of whole configurations; None where they are explored one after the other.

    That is: on another engine, where levels were asked for, and for one configuration if it has a checkpoint
    or its size is not known: it may be one that takes a cluster.
    """
    if (
        not isinstance(engine, Session)
        or engine.wanted.options.by_level
        or not all(one.ref for one in systems)
    ):
        return None
    if len(plan.jobs) == 1 and (limits.checkpoint or not plan.jobs[0].size):
        return None
    return Suite(engine, plan, systems, limits, shortest, progress)


def order(plan: Plan) -> list[int]:
    """The numbers of the plan's jobs, first to start first: the dearest; unknown ones may be dearer still.

    Before them where a mutant is expected to die.
    """
    sizes = [job.size or math.inf for job in plan.jobs]
    return sorted(range(len(sizes)), key=lambda number: (not (plan.mutant and number == 0), -sizes[number]))


class Suite:
    """Configurations that Spark's tasks explore whole. A context manager: no task outlives it."""

    def __init__(
        self,
        engine: Session,
        plan: Plan,
        systems: Sequence[System],
        limits: Limits,
        shortest: Shortest,
        progress: Explorations,
    ) -> None:
        self._tasks: Tasks = engine.tasks()
        self._engine, self._plan, self._systems = engine, plan, systems
        self._limits, self._shortest, self._progress = limits, shortest, progress
        self._at_once: int = self._tasks.count
        self._waiting = order(plan)
        self._end = len(plan.jobs)
        """Number of the first job that ended with an error; later ones need no answer."""

    @property
    def count(self) -> int:
        """How many are explored at a time."""
        return min(self._at_once, len(self._plan.jobs))

    def __enter__(self) -> Self:
        self._tasks.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._progress.line.clear()
        self._tasks.__exit__(kind, error, where)

    def answers(self) -> Iterator[tuple[int, Answer | None]]:
        """(number of a job, its answer), as they come; None for a job that is to go by levels.

        Every job gets one, but for those after one with an error, and those of no interest any more.
        """
        for number in list(self._waiting):
            if self._is_large(number):
                self._waiting.remove(number)
                yield number, None
            elif known := self._known(number):
                self._waiting.remove(number)
                yield self._counted(number, _exploration(known))
        while True:
            self._hand_out()
            if not self._tasks.busy:
                return
            self._progress.waiting()
            if told := self._tasks.answer(TICK):
                number, answer = told
                if isinstance(answer, Result):
                    self._keep(number, answer)
                    yield self._counted(number, _exploration(answer))
                elif isinstance(answer, Exception):
                    yield self._counted(number, answer)
                else:
                    self._progress.end(self._plan.jobs[number].name, again=True)
                    self._say_why(number, getattr(answer, "cause", None))
                    yield number, None

    def _hand_out(self) -> None:
        """As many jobs as can be under way."""
        self._waiting = [number for number in self._waiting if self._needs(number)]
        while self._waiting and self._tasks.free:
            number = self._waiting.pop(0)
            job, ref = self._plan.jobs[number], self._systems[number].ref
            assert ref is not None
            self._progress.begin(job.name)
            self._tasks.give(number, job.name, ref, self._limits.max_states, self._shortest.bound(number))

    def _counted(self, number: int, answer: Answer) -> tuple[int, Answer]:
        """An answer that is the last word on a job; what is of no interest beside it is given up."""
        self._progress.end(self._plan.jobs[number].name)
        if isinstance(answer, Exception):
            self._end = min(self._end, number)
        for violation in answer.violations if isinstance(answer, Exploration) else ():
            self._shortest.add(number, violation)
        for late in self._tasks.busy:
            if not self._needs(late):
                self._progress.end(self._plan.jobs[late].name)
                self._tasks.withdraw(late)
        return number, answer

    def _needs(self, number: int) -> bool:
        return number < self._end and self._shortest.needs(number)

    # ---- what goes by levels

    def _is_large(self, number: int) -> bool:
        """Whether a job goes by levels from the first: it is known not to fit, or levels are on disk."""
        job, record = self._plan.jobs[number], self._record(number)
        if record and record.by_level:
            return True
        if large := (job.size or 0) > self._tasks.room and not self._is_bounded():
            self._say_why(number, None)
        return large

    def _is_bounded(self) -> bool:
        """Whether a run is given up before it could be too large."""
        most = self._limits.max_states
        return most is not None and most <= self._tasks.room

    def _say_why(self, number: int, why: str | None) -> None:
        lost = f"the task exploring it was lost ({cause(RuntimeError(why))})" if why else ""
        name = self._plan.jobs[number].name
        self._progress.line.note(f"{name} goes by levels: {lost or 'it does not fit into a worker'}")

    # ---- what is known from before

    def _record(self, number: int) -> Finished | None:
        limits = limits_of(self._limits, self._plan.jobs[number])
        return self._engine.record(self._systems[number], limits)

    def _known(self, number: int) -> Result | None:
        record = self._record(number)
        return record.read() if record else None

    def _keep(self, number: int, result: Result) -> None:
        record = self._record(number)
        if record:
            record.write(result)


def _exploration(result: Result) -> Exploration:
    return Exploration(result, (result.violation,) if result.violation else ())
