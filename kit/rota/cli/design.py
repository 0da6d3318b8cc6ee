"""`rota design`: the two designs before the classic protocol, by themselves or beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import click

from rota import herd
from rota.cli import completing
from rota.cli.check_plan import plan, recognised
from rota.cli.check_system import parse_settings
from rota.cli.choices import ALL, CLASSIC, ENGINES
from rota.cli.errors import INTERRUPTED, UsageError
from rota.cli.mutants import list_mutants
from rota.cli.options import (
    CONFIGURATION,
    ENGINE,
    MAX_STATES,
    MUTANT,
    PROFILE,
    SETTING,
    Search,
    Selection,
    takes,
)
from rota.cli.reporting import EXIT_CODES, REPORTING, Reporting, seconds_alive, traced
from rota.cli.verb import REPORTING as HOW_TO_REPORT
from rota.cli.verb import Example, Verb
from rota.designs import suites
from rota.explore import Limits, MissingExtra, engines
from rota.herd import CHANGES, SUBJECTS
from rota.kernel import System
from rota.mutants import designs as mutants
from rota.report import check_text
from rota.report import design as report
from rota.report.check_model import Explored, Found, Job, Plan, Report
from rota.report.check_progress import Explorations
from rota.report.design import Judged
from rota.report.identity import PACKAGES, identified

DESIGNS = (*suites.DESIGNS, ALL)

BESIDE = "tiny"
"""The scope of the classic protocol that is explored beside the others, unless one is named."""

MEMBERS = 2
"""Members of the group in which the cost of a change is counted over all runs."""

REPORT = "design.json"


@dataclass(frozen=True)
class DesignOptions:
    """What is explored of a design, and how. scope, profile: of the classic protocol, which `all` has too."""

    scope: str | None = None
    configurations: tuple[str, ...] = ()
    profile: str = "kafka-4.x"
    engine: str = "auto"
    mutant: str | None = None
    settings: tuple[str, ...] = ()
    liveness: bool = False
    max_states: int | None = None

    def misplaced(self, design: str) -> str | None:
        """An option that is given and does not go with the design."""
        of_one = {"--configuration": self.configurations, "--mutant": self.mutant, "--set": self.settings,
                  "--liveness": self.liveness}  # fmt: skip
        wrong: Mapping[str, object] = of_one if design == ALL else {"--scope": self.scope}
        return next((name for name, given in wrong.items() if given), None)


OPTIONS = (
    CONFIGURATION,
    MUTANT,
    SETTING,
    click.option("--liveness", is_flag=True, help="Judge what must happen in the end, on endless runs."),
    click.option("--scope", metavar="SCOPE", shell_complete=completing.scopes,
                 help=f"With all: of the classic protocol.  [default: {BESIDE}]"),
    PROFILE,
    ENGINE,
    MAX_STATES,
)  # fmt: skip
"""The options of `DesignOptions`."""

SECTIONS = {
    "What to explore": ("--configuration", "--scope", "--profile", "--mutant", "--set", "--liveness"),
    "How to explore": ("--engine", "--max-states"),
    "What to report": ("--list-mutants", *HOW_TO_REPORT),
}

EXAMPLES = (
    Example("rota design all", "All three side by side: what breaks, and what a change of membership costs."),
    Example("rota design server-side --configuration two", "One world of one design.", code=0),
    Example("rota design watchers", "What breaks in the design that ZooKeeper's watchers make.", code=1),
)


@click.command(cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@click.argument("design", metavar="|".join(DESIGNS), shell_complete=completing.designs)
@takes("options", DesignOptions, *OPTIONS)
@click.option("--list-mutants", "only_list", is_flag=True,
              help="Name the bugs that can be planted; explore nothing.")  # fmt: skip
@takes("reporting", Reporting, *REPORTING)
@click.pass_context
def design(
    ctx: click.Context, /, design: str, options: DesignOptions, only_list: bool, reporting: Reporting
) -> None:
    """Explore a design before the classic protocol, or all side by side.

    With all: what breaks in each, and what a change of membership costs.

    Exit 0 if everything holds, 1 if something is violated or differs from what is pinned, 3 if a bound ended
    the search. In watchers something is violated: that is why they were replaced.
    """
    if design == CLASSIC:
        raise UsageError("the classic protocol is what `rota check` explores")
    recognised("design", design, DESIGNS)
    misplaced = "--list-mutants" if only_list and design == ALL else options.misplaced(design)
    if misplaced:
        raise UsageError(f"{misplaced} does not go with {design}; leave it out")
    if only_list:
        list_mutants(mutants.BUGS[design], reporting.as_json)
        return
    reporting.try_out(REPORT)
    work = _Work(options, reporting)
    try:
        output = work.all() if design == ALL else work.one(design)
    except BaseException:  # an interrupt keeps what was found until then
        if work.judged:
            reporting.keep(REPORT, work.partial(), work.found(), INTERRUPTED)
        raise
    reporting.conclude(REPORT, output.content, output.lines, output.last)
    ctx.exit(reporting.keep(REPORT, output.content, work.found(), EXIT_CODES[output.content["verdict"]]))


@dataclass(frozen=True)
class _Output:
    """The report, what is printed of it, and the verdict's line."""

    content: Mapping[str, Any]
    lines: Iterable[str]
    last: str


@dataclass(frozen=True)
class _Work:
    """Explores configurations, and reports each as it is done."""

    options: DesignOptions
    reporting: Reporting
    judged: list[Judged] = field(default_factory=list)
    """What was explored of each design until now."""

    def found(self) -> Iterator[Found]:
        """Every counterexample until now."""
        for one in self.judged:
            yield from one.found

    def partial(self) -> Mapping[str, Any]:
        """The report on what was explored until now."""
        if len(self.judged) == 1:
            return report.as_json(self.judged[0])
        return report.all_as_json(self.judged, {}, MEMBERS)

    def one(self, name: str) -> _Output:
        """One of the older designs."""
        what = self._plan(name)
        judged = self._explored(what, self._progress([what]))
        return _Output(report.as_json(judged), report.lines(judged), report.verdict_line(judged))

    def all(self) -> _Output:
        """All three, and what a change costs in each."""
        classic = plan(
            Selection(scope=self.options.scope or BESIDE, profile=self.options.profile),
            Search(engine=self.options.engine),
        )
        plans = [*map(self._plan, suites.DESIGNS), classic]
        progress = self._progress(plans)
        every = [self._explored(each, progress) for each in plans]
        costs = {
            name: {change: herd.explored(subject, MEMBERS, change) for change in CHANGES}
            for name, subject in SUBJECTS.items()
        }
        return _Output(
            report.all_as_json(every, costs, MEMBERS),
            report.side_by_side(every, costs, MEMBERS),
            report.together_line(every),
        )

    def _plan(self, design: str) -> Plan:
        bugs, bug = mutants.BUGS[design], self.options.mutant
        if bug is not None:
            recognised("mutant", bug, bugs)
        engine = recognised("engine", self.options.engine, ENGINES)
        if self.options.liveness and engine != "auto":
            raise UsageError(f"--liveness is a search of its own; leave --engine {engine} out")
        return Plan(
            design=design,
            system=design,
            engine=engines.LASSO if self.options.liveness else engine,
            jobs=tuple(self._jobs(design, bug)),
            scope=None,
            mutant=bug,
            replaced=bugs[bug].slug if bug else None,
            rules=suites.DESIGNS[design].rules,
            omitted=suites.DESIGNS[design].omitted,
            suite=not (bug or self.options.configurations or self.options.settings),
        )

    def _jobs(self, design: str, bug: str | None) -> Iterator[Job]:
        there = {one.name: one for one in suites.load(design).configurations}
        first = (mutants.BUGS[design][bug].configuration,) if bug else there
        overrides = parse_settings(self.options.settings)
        lasting = self.options.liveness  # such a search goes on where others end with a violation
        for name in self.options.configurations or first:
            one = there[recognised(f"configuration of {design} called", name, there)]
            yield Job(
                name=one.name,
                build=partial(_built, design, {**one.settings, **overrides}, bug),
                feature=one.cause,
                expected=None if bug or overrides or (lasting and one.cause) else one.expected,
                size=one.expected["distinct"],
            )

    def _progress(self, plans: Sequence[Plan]) -> Explorations:
        """How far all of it is."""
        sizes = {_called(what, job): job.pinned for what in plans for job in what.jobs}
        return Explorations(self.reporting.live_line(), "design", sizes)

    def _explored(self, what: Plan, progress: Explorations) -> Judged:
        try:
            explore = engines.choose(what.engine)
        except MissingExtra as error:
            raise UsageError(str(error)) from None
        systems = [job.build() for job in what.jobs]
        table = check_text.RunTable([job.name for job in what.jobs])
        self.reporting.say(report.head(what))
        self.reporting.say(table.head())
        runs, at = list[Explored](), len(self.judged)
        found: list[Found] = []
        limits = Limits(self.options.max_states)
        for job, system in zip(what.jobs, systems, strict=True):
            name = _called(what, job)
            progress.begin(name)
            try:
                result = explore(system, limits, progress=partial(progress.level, name))
            finally:
                progress.end(name)
            runs.append(Explored(job, result))
            if result.violation is not None:
                name, out = f"{what.design}-{job.name}", self.reporting.out
                found.append(traced(what, runs[-1], system, result.violation, out, name))
            known = Report(what, tuple(runs), next(iter(found), None), seconds_alive())
            self.judged[at:] = [Judged(known, tuple(found))]
            self.reporting.say(report.row(table, runs[-1]))
        self.reporting.say("")
        used = [name for run in runs for name in PACKAGES.get(run.result.engine, ())]
        identity = identified(__name__, systems, used, {"design": what.design, **asdict(self.options)})
        whole = self.judged[at]
        self.judged[at] = replace(whole, report=replace(whole.report, identity=identity))
        return self.judged[at]


def _called(what: Plan, job: Job) -> str:
    """A configuration's name among those of several designs."""
    return f"{what.design} {job.name}"


def _built(design: str, settings: Mapping[str, Any], bug: str | None) -> System:
    """A world. Errors: UsageError for settings that it does not take."""
    try:
        return mutants.system(design, settings, bug) if bug else suites.system(design, settings)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"cannot build a world of {design} ({error}); check --set") from error
