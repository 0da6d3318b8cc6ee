"""A plan of explorations being worked off: one by one or in several processes, until one is violated."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rota.cli import check_spark, check_workers
from rota.cli.errors import UsageError
from rota.cli.reporting import seconds_alive, write_trace
from rota.explore import Limits, MissingExtra, Result, engines
from rota.kernel import System
from rota.report import check_text
from rota.report.check_model import Found, Plan, Report, Run
from rota.report.check_progress import Explorations

Say = Callable[[str], None]


class Checking:
    """A plan being worked off.

    say: takes lines for stdout; workers: processes at most, None: as it pays; on_spark: None: another engine.
    """

    def __init__(
        self,
        what: Plan,
        limits: Limits,
        out: Path,
        say: Say,
        progress: Explorations,
        workers: int | None = None,
        on_spark: check_spark.OnSpark | None = None,
    ) -> None:
        self.plan, self.limits, self.out, self.say = what, limits, out, say
        self.progress = progress
        self._on_spark = on_spark
        self.runs: list[Run] = []
        self.found: Found | None = None
        self._table = check_text.RunTable([job.name for job in what.jobs])
        self._most, self._workers = workers, 1
        self._began: float | None = None

    @property
    def started(self) -> bool:
        """Whether the plan turned out to be one that can be worked off."""
        return self._began is not None

    def report(self) -> Report:
        """What is known by now."""
        exploring = None
        if self._workers > 1 and self._began is not None:
            exploring = time.perf_counter() - self._began
        workers = max(self._workers, self.limits.workers)
        return Report(self.plan, tuple(self.runs), self.found, seconds_alive(), workers, exploring)

    def work(self) -> None:
        """Explore the configurations until one is violated, in the plan's order or together."""
        try:
            explore = engines.choose(self.plan.engine)
        except MissingExtra as error:
            raise UsageError(str(error)) from None
        # before the first line: bad settings are reported alone
        systems = [job.build() for job in self.plan.jobs]
        if self.limits.symmetry and not all(system.symmetry for system in systems):
            raise UsageError(
                "--symmetry needs interchangeable machines; this system declares none, leave it out"
            )
        self._workers = check_workers.processes(self.plan, systems, self._most)
        shared = check_workers.threads(self.plan, self._most)
        memory = self.limits.memory and max(1, self.limits.memory // self._workers)
        self.limits = replace(self.limits, workers=shared, memory=memory)
        self._began = time.perf_counter()
        self.say(check_text.head(self.report()))
        self.say(self._table.head())
        if self._workers > 1:
            self._explore_together(explore, systems)
            return
        with check_spark.at_hand(explore, self._on_spark, self.progress.line.note) as engine:
            for number in range(len(systems)):
                if self._add(number, systems, self._explore_here(engine, number, systems)):
                    break

    def _explore_here(self, explore: engines.Engine, number: int, systems: Sequence[System]) -> Result:
        job = self.plan.jobs[number]
        self.progress.begin(job.name, job.pinned)
        try:
            limits = check_workers.limits_of(self.limits, job)
            return explore(systems[number], limits, progress=partial(self.progress.level, job.name))
        finally:
            self.progress.end(job.name)

    def _explore_together(self, explore: engines.Engine, systems: Sequence[System]) -> None:
        """Let workers explore; what is printed comes in the plan's order all the same."""
        answers: dict[int, check_workers.Explored] = {}
        lost = []
        try:
            with check_workers.Explorers(
                self.plan, systems, self._workers, self.limits, self.progress
            ) as crew:
                for number, answer in crew.answers():
                    if answer is None:
                        lost.append(number)
                        name = self.plan.jobs[number].name
                        self.progress.line.note(f"the process exploring {name} died; exploring {name} again")
                    else:
                        answers[number] = answer
                    if self._add_next(answers, systems):
                        return
            for number in sorted(lost):
                answers[number] = self._explore_here(explore, number, systems)
                if self._add_next(answers, systems):
                    return
        except KeyboardInterrupt:
            self._add_rest(answers, systems)
            raise

    def _add_next(self, answers: Mapping[int, check_workers.Explored], systems: Sequence[System]) -> bool:
        """Take the answers that are next in the plan; whether one ends it. Errors: that of a worker."""
        while (number := len(self.runs)) in answers:
            answer = answers[number]
            if isinstance(answer, Exception):
                raise answer
            if self._add(number, systems, answer):
                return True
        return False

    def _add_rest(self, answers: Mapping[int, check_workers.Explored], systems: Sequence[System]) -> None:
        """Take what is there, although something before it is missing."""
        for number in range(len(self.runs), len(systems) if self.found is None else 0):
            answer = answers.get(number)
            if isinstance(answer, Result) and self._add(number, systems, answer):
                return

    def _add(self, number: int, systems: Sequence[System], result: Result) -> bool:
        """Print a result; whether it ends the run."""
        self.progress.line.clear()
        self.runs.append(Run(self.plan.jobs[number], result))
        self.say(self._table.row(self.runs[-1]))
        if result.violation is None:
            return False
        self.found = write_trace(
            self.plan, self.runs[-1], systems[number], result.violation, self.out, result.violation.name
        )
        return True
