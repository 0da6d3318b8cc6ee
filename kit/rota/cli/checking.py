"""A plan of explorations being worked off, one by one or in several processes: each as far as it matters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from rota.cli import check_spark, check_suite, check_workers, mistaken
from rota.cli.check_counts import noticed_by_counts
from rota.cli.errors import UsageError
from rota.cli.exploration import Exploration, explored
from rota.cli.reporting import seconds_alive, traced
from rota.cli.shortest import Shortest
from rota.explore import Limits, MissingExtra, Violation, engines
from rota.explore.elsewhere import Elsewhere
from rota.kernel import System
from rota.report import check_text
from rota.report.check_model import (
    Explored,
    Found,
    Plan,
    Report,
)
from rota.report.check_progress import Explorations
from rota.report.counts import Noticed

Say = Callable[[str], None]


class Checking:
    """A plan being worked off.

    say: takes lines for stdout; workers: processes at most, None: as it pays; on_spark: None: another engine;
    keep_going: look for everything that breaks, not for the shortest violation only.
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
        keep_going: bool = False,
    ) -> None:
        self.plan, self.limits, self.out, self.say = what, limits, out, say
        self.progress = progress
        self._on_spark = on_spark
        self.runs: list[Explored] = []
        self.systems: Sequence[System] = ()
        self.found: tuple[Found, ...] = ()
        self._noticed: Noticed | None = None
        self._violations: list[tuple[int, Explored, Violation]] = []
        self._keep_going = keep_going
        self._shortest = Shortest(what.lasting, keep_going)
        self._table = check_text.RunTable([job.name for job in what.jobs], what.reach is not None)
        self._most, self._workers = workers, 1
        self._began: float | None = None
        self._elsewhere: tuple[int, str] | None = None

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
        found, further = next(iter(self.found), None), self.found[1:]
        declared = dict.fromkeys(slug for system in self.systems for slug in system.rules)
        return Report(
            self.plan,
            tuple(self.runs),
            found,
            seconds_alive(),
            workers,
            exploring,
            further,
            declared=tuple(declared),
            elsewhere=self._elsewhere,
            noticed=self._noticed,
        )

    def work(self) -> None:
        """Explore the configurations, each as far as a violation there would be the shortest."""
        try:
            explore = engines.choose(self.plan.engine)
        except MissingExtra as error:
            raise UsageError(str(error)) from None
        # before the first line: bad settings are reported alone
        systems = self.systems = [job.build() for job in self.plan.jobs]
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
        # what is rota's own has pinned counts, which are the same in every process
        with Elsewhere(systems[0]) if self.plan.origin else nullcontext() as other:
            self._explore(explore, systems)
            if other:
                other.compare()
                self._elsewhere = other.states, other.why

    def _explore(self, explore: engines.Engine, systems: Sequence[System]) -> None:
        try:
            with mistaken.shown(self.plan, systems, self.progress.line.clear, self.out):
                self._go_through(explore, systems)
            self._noticed = noticed_by_counts(self.runs, self.plan.engine, self.limits, self.progress)
        finally:  # an interrupt keeps what was found until then
            self.found = tuple(self._traces(systems))

    def _go_through(self, explore: engines.Engine, systems: Sequence[System]) -> None:
        if self._workers > 1:
            explorers = check_workers.Explorers(
                self.plan,
                systems,
                self._workers,
                self.limits,
                self._shortest,
                self.progress,
                self._keep_going,
            )
            self._explore_together(explore, systems, explorers)
        else:
            self._explore_one_by_one(explore, systems)

    def _explore_one_by_one(self, explore: engines.Engine, systems: Sequence[System]) -> None:
        with check_spark.at_hand(explore, self._on_spark, self.progress.line.note) as engine:
            suite = check_suite.suite(engine, self.plan, systems, self.limits, self._shortest, self.progress)
            if suite:
                self._workers = suite.count
                self._explore_together(engine, systems, suite)
                return
            for number in range(len(systems)):
                if not self._shortest.needs(number):
                    return
                self._add(number, self._explore_here(engine, number, systems))

    def _explore_here(self, explore: engines.Engine, number: int, systems: Sequence[System]) -> Exploration:
        job = self.plan.jobs[number]
        self.progress.begin(job.name)
        limits = check_workers.limits_of(self.limits, job)
        limits = replace(limits, bound=partial(self._shortest.bound, number))
        report = partial(self.progress.level, job.name)
        try:
            one = explored(explore, systems[number], limits, report, self._keep_going)
        finally:
            self.progress.end(job.name)
        for violation in one.violations:
            self._shortest.add(number, violation)
        return one

    def _explore_together(
        self,
        explore: engines.Engine,
        systems: Sequence[System],
        explorers: check_workers.Explorers | check_suite.Suite,
    ) -> None:
        """Let workers explore; what is printed comes in the plan's order all the same."""
        answers: dict[int, check_workers.Answer] = {}
        lost = []
        try:
            with explorers:
                for number, answer in explorers.answers():
                    if answer is None:
                        lost.append(number)
                    else:
                        answers[number] = answer
                    self._add_next(answers)
            for number in sorted(lost):
                if self._shortest.needs(number):
                    answers[number] = self._explore_here(explore, number, systems)
                    self._add_next(answers)
        except KeyboardInterrupt:
            self._add_rest(answers)
            raise

    def _add_next(self, answers: Mapping[int, check_workers.Answer]) -> None:
        """Take the answers that are next in the plan. Errors: that of a worker."""
        while (number := len(self.runs)) in answers and self._shortest.needs(number):
            answer = answers[number]
            if isinstance(answer, Exception):
                raise answer
            self._add(number, answer)

    def _add_rest(self, answers: Mapping[int, check_workers.Answer]) -> None:
        """Take what is there, although something before it is missing."""
        for number in range(len(self.runs), len(self.plan.jobs)):
            answer = answers.get(number)
            if isinstance(answer, Exploration):
                self._add(number, answer)

    def _add(self, number: int, one: Exploration) -> None:
        """Print a result."""
        self.progress.line.clear()
        run = Explored(self.plan.jobs[number], one.result)
        self.runs.append(run)
        self._violations += [(number, run, violation) for violation in one.violations]
        if self._violations and not self._keep_going:
            self.progress.unpredictable()
        self.say(self._table.row(run))

    def _traces(self, systems: Sequence[System]) -> Iterator[Found]:
        """The trace of the shortest violation, or to keep going that of each property, shortest first.

        Of equally short ones the first in the plan counts; of endless runs always the first in the plan.
        """
        lasting = self.plan.lasting and not self._keep_going
        order = sorted(self._violations, key=lambda one: (0 if lasting else one[2].steps, one[0]))
        least: dict[str, tuple[int, Explored, Violation]] = {}
        for one in order:
            least.setdefault(one[2].name, one)
        for number, run, violation in list(least.values())[: None if self._keep_going else 1]:
            yield traced(self.plan, run, systems[number], violation, self.out, violation.name)
