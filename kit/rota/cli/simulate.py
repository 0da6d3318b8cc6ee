"""`rota simulate`: random walks through configurations that are too large to be explored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

import click

from rota.cli import mistaken
from rota.cli.check_protocols import plan
from rota.cli.errors import INTERRUPTED, UNDECIDED, VIOLATED, UsageError
from rota.cli.options import SELECTION, WHAT, Selection, takes
from rota.cli.reporting import REPORTING, Reporting, seconds_alive, traced
from rota.cli.simulate_histories import OF_HISTORIES, HistoryOptions, write_histories
from rota.cli.verb import REPORTING as HOW_TO_REPORT
from rota.cli.verb import Example, Verb
from rota.explore import MissingExtra, engines
from rota.explore.purity import Impure
from rota.explore.walks.model import DEPTH, Simulation, Walks
from rota.kernel import System
from rota.report import simulate as report
from rota.report.check_model import Explored, Found, Plan, Report
from rota.report.check_progress import Explorations, walked
from rota.report.identity import PACKAGES, identified
from rota.report.simulate import Walked, WalkTable

RUNS = 1024
"""Walks in each configuration, unless a number or a time is given."""

REPORT = "simulate.json"


@dataclass(frozen=True)
class WalkOptions:
    """How many walks and how long. runs: in each configuration; seconds: in all; None: not given."""

    runs: int | None = None
    seconds: float | None = None
    depth: int = DEPTH
    seed: int = 0

    def walks(self, configurations: int) -> Walks:
        """What is walked in each of so many configurations."""
        runs = RUNS if self.runs is None and self.seconds is None else self.runs
        seconds = self.seconds and self.seconds / configurations
        return Walks(self.seed, runs, seconds, self.depth)


WALKS = (
    click.option("--runs", type=click.IntRange(min=1), metavar="N",
                 help=f"Walks in each configuration.  [default: {RUNS:,}]"),
    click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S",
                 help="Walk for so long in all."),
    click.option("--depth", type=click.IntRange(min=1), metavar="D", default=DEPTH,
                 help="Steps of a walk at most."),
    click.option("--seed", type=click.IntRange(min=0), metavar="K", default=0,
                 help="The same number, the same walks."),
)  # fmt: skip
"""The options of `WalkOptions`."""

SECTIONS = {
    "What to walk through": WHAT,
    "What to judge": ("--property", "--strict"),
    "How to walk": ("--runs", "--seconds", "--depth", "--seed"),
    "Recordings of groups": ("--histories", "--bugs", "--copies", "--processes"),
    "What to report": HOW_TO_REPORT,
}

EXAMPLES = (
    Example("rota simulate --scope nightly --seconds 60", "Walk for a minute through the largest worlds."),
    Example("rota simulate --scope tiny --configuration core --runs 64 --seed 7",
            "A few walks, the same each time.", code=3),
    Example("rota simulate --histories 20 --bugs 0.2 --out groups",
            "Recordings of twenty groups of clients; a fifth of their servers have a bug."),
)  # fmt: skip


@dataclass
class _Walking:
    """A plan being walked. say: takes lines for stdout."""

    plan: Plan
    walks: Walks
    reporting: Reporting
    runs: list[Explored] = field(default_factory=list)
    simulations: list[Simulation] = field(default_factory=list)
    found: Found | None = None
    systems: Sequence[System] = ()

    def work(self) -> None:
        """Walk in each configuration, until one is violated."""
        try:
            engines.choose("numpy")  # walks need what that engine needs
        except MissingExtra as error:
            raise UsageError(str(error).replace("engine numpy", "rota simulate")) from None
        from rota.explore.walks.simulate import simulate

        # before the first line: bad settings are reported alone
        systems = self.systems = [job.build() for job in self.plan.jobs]
        table = WalkTable([job.name for job in self.plan.jobs])
        self.reporting.say(report.head(self.plan, self.walks))
        self.reporting.say(table.head())
        # only a time is known beforehand: a walk may end at any step
        seconds = self.walks.seconds if self.walks.runs is None else None
        sizes = {job.name: seconds for job in self.plan.jobs}
        explorations = Explorations(
            self.reporting.live_line(), "simulate", sizes, walked, lambda at: at.seconds, float
        )
        for job, system in zip(self.plan.jobs, systems, strict=True):
            explorations.begin(job.name)
            try:
                with mistaken.shown(self.plan, [system], explorations.line.clear, self.reporting.out):
                    one = simulate(system, self.walks, progress=_named(explorations, job.name))
            finally:
                explorations.end(job.name)
            run = Explored(job, one.result)
            self.runs.append(run)
            self.simulations.append(one)
            self.reporting.say(table.row(run, one.coverage))
            violation = one.result.violation
            if violation is not None:
                out = self.reporting.out
                self.found = traced(self.plan, run, system, violation, out, violation.name)
                return

    def walked(self) -> Walked:
        """What is known by now."""
        known = Report(self.plan, tuple(self.runs), self.found, seconds_alive())
        return Walked(known, self.walks, tuple(self.simulations))


def _named(explorations: Explorations, name: str) -> Callable[[int, int, int, int, float], None]:
    return lambda *level: explorations.level(name, *level)


@click.command(cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@takes("selection", Selection, *SELECTION)
@takes("options", WalkOptions, *WALKS)
@takes("histories", HistoryOptions, *OF_HISTORIES)
@takes("reporting", Reporting, *REPORTING)
@click.pass_context
def simulate(
    ctx: click.Context,
    /,
    selection: Selection,
    options: WalkOptions,
    histories: HistoryOptions,
    reporting: Reporting,
) -> None:
    """Walk at random through what is too large to be explored. Finds bugs and proves nothing.

    All successors of the states on a walk are judged. The trace of a violation is not the shortest one.

    Exit 1 if something is violated, else 3, and never 0.

    With --histories no walks: groups of clients with clocks on rota's own server, in virtual time, recorded
    as `rota record` does, with what is true of them beside; exit 0 (docs/many-groups.md).
    """
    histories.checked()
    if histories.histories is not None:
        write_histories(histories, options.seed, reporting.out, reporting.as_json, reporting.quiet)
        return
    what = plan(selection)
    if what.lasting:
        raise UsageError(
            f"walks do not judge endless runs, which {what.only} is about; `rota check --property` does"
        )
    reporting.try_out(REPORT)
    walking = _Walking(what, options.walks(len(what.jobs)), reporting)
    try:
        walking.work()
    except Impure as error:
        raise UsageError(str(error)) from error
    except BaseException:  # an interrupt keeps what was found until then
        if walking.runs:
            _keep(_identified(walking, selection, options), reporting, INTERRUPTED)
        raise
    result = _identified(walking, selection, options)
    verdict = report.verdict_line(result, reporting.quiet)
    reporting.conclude(REPORT, report.as_json(result), report.lines(result), verdict)
    ctx.exit(_keep(result, reporting, VIOLATED if result.report.verdict == "violated" else UNDECIDED))


def _identified(walking: _Walking, selection: Selection, options: WalkOptions) -> Walked:
    """What is known by now, and what it rests on."""
    settings = {**asdict(selection), **asdict(options)}
    identity = identified(__name__, walking.systems, PACKAGES["numpy"], settings)
    found = walking.walked()
    return replace(found, report=replace(found.report, identity=identity))


def _keep(result: Walked, reporting: Reporting, code: int) -> int:
    found = [result.report.found] if result.report.found else []
    return reporting.keep(REPORT, report.as_json(result), found, code)
