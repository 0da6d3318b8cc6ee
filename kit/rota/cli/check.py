"""`rota check`: explore every configuration of a scope; counts, properties, the shortest violation."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from rota.cli import check_design, check_simulate, check_spark, check_workers
from rota.cli.check_plan import DESIGNS, ENGINES, Options, plan
from rota.cli.errors import HOLDS, UNDECIDED, VIOLATED, UsageError
from rota.explore import CheckpointError, Limits, MissingExtra, Result, Violation, engines
from rota.kernel import System
from rota.mutants import MUTANTS, Mutant
from rota.mutants.designs import BUGS
from rota.report import check_text
from rota.report.check_json import report_of
from rota.report.check_model import Found, Plan, Report, Run
from rota.report.check_progress import Meter
from rota.spec import PROFILES
from rota.trace import dumps, origin_of, record, text

EXIT_CODES = {"holds": HOLDS, "violated": VIOLATED, "undecided": UNDECIDED}

_IMPORTED = time.perf_counter()

Say = Callable[[str], None]

_LIMITS = ("max_states", "memory", "checkpoint", "resume", "symmetry", "fingerprints")
"""Options that are fields of `Limits`; memory is given in MiB."""


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
        meter: Meter,
        workers: int | None = None,
        on_spark: check_spark.Asked | None = None,
    ) -> None:
        self.plan, self.limits, self.out, self.say, self.meter = what, limits, out, say, meter
        self._on_spark = on_spark
        self.runs: list[Run] = []
        self.found: Found | None = None
        self._table = check_text.RunTable([job.name for job in what.jobs])
        self._asked, self._workers = workers, 1
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
        # before the first line: bad settings are told alone
        systems = [job.build() for job in self.plan.jobs]
        if self.limits.symmetry and not all(system.symmetry for system in systems):
            raise UsageError(
                "--symmetry needs interchangeable machines; this system declares none, leave it out"
            )
        self._workers = check_workers.processes(self.plan, systems, self._asked)
        shared = check_workers.threads(self.plan, self._asked)
        memory = self.limits.memory and max(1, self.limits.memory // self._workers)
        self.limits = replace(self.limits, workers=shared, memory=memory)
        self._began = time.perf_counter()
        self.say(check_text.head(self.report()))
        self.say(self._table.head())
        if self._workers > 1:
            self._explore_together(explore, systems)
            return
        with check_spark.at_hand(explore, self._on_spark, self.meter.note) as engine:
            for number in range(len(systems)):
                if self._add(number, systems, self._explore_here(engine, number, systems)):
                    break

    def _explore_here(self, explore: engines.Engine, number: int, systems: Sequence[System]) -> Result:
        job = self.plan.jobs[number]
        self.meter.begin(job.name, job.pinned)
        try:
            limits = check_workers.limits_of(self.limits, job)
            return explore(systems[number], limits, progress=partial(self.meter.level, job.name))
        finally:
            self.meter.end(job.name)

    def _explore_together(self, explore: engines.Engine, systems: Sequence[System]) -> None:
        """Let workers explore; what is told comes in the plan's order all the same."""
        answers: dict[int, check_workers.Answer] = {}
        lost = []
        try:
            with check_workers.Crew(self.plan, systems, self._workers, self.limits, self.meter) as crew:
                for number, answer in crew.answers():
                    if answer is None:
                        lost.append(number)
                        name = self.plan.jobs[number].name
                        self.meter.note(f"the process exploring {name} died; exploring {name} again")
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

    def _add_next(self, answers: Mapping[int, check_workers.Answer], systems: Sequence[System]) -> bool:
        """Take the answers whose turn it is; whether one ends it. Errors: that of a worker, in its turn."""
        while (number := len(self.runs)) in answers:
            answer = answers[number]
            if isinstance(answer, Exception):
                raise answer
            if self._add(number, systems, answer):
                return True
        return False

    def _add_rest(self, answers: Mapping[int, check_workers.Answer], systems: Sequence[System]) -> None:
        """Take what is there, although something before it is missing."""
        for number in range(len(self.runs), len(systems) if self.found is None else 0):
            answer = answers.get(number)
            if isinstance(answer, Result) and self._add(number, systems, answer):
                return

    def _add(self, number: int, systems: Sequence[System], result: Result) -> bool:
        """Tell a result; whether it ends the run."""
        self.meter.clear()
        self.runs.append(Run(self.plan.jobs[number], result))
        self.say(self._table.row(self.runs[-1]))
        if result.violation is None:
            return False
        self.found = self._write_trace(systems[number], self.runs[-1], result.violation)
        return True

    def _write_trace(self, system: System, run: Run, violation: Violation) -> Found:
        """The counterexample as JSON lines, and as text beside it."""
        plan = self.plan
        origin = replace(
            origin_of(system),
            scope=run.job.scope,
            configuration=run.job.name if run.job.scope else None,
            profile=plan.profile,
            mutant=plan.mutant,
        )
        trace = record(system, violation.name, violation.start, violation.path, origin, violation.cycle)
        path = self.out / f"trace-{re.sub(r'[^A-Za-z0-9._-]', '_', violation.name)}.jsonl"
        path.write_text(dumps(trace), encoding="utf-8")
        path.with_suffix(".txt").write_text(text(trace), encoding="utf-8")
        replay = f"rota trace {shlex.quote(str(path))} --replay"
        if plan.origin:
            replay += f" --system {shlex.quote(trace.origin.factory or plan.origin)}"
        return Found(run, violation, trace, str(path), replay)


def seconds_alive() -> float:
    """Seconds since this process began; since this module was imported where the system does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        alive = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        alive = 0.0
    return max(alive, time.perf_counter() - _IMPORTED)


def _list_mutants(there: Mapping[str, Mutant], as_json: bool) -> None:
    if as_json:
        fields = ("name", "slug", "meaning", "configuration", "killer", "seen_in")
        told = [{field: getattr(one, field) for field in fields} for one in there.values()]
        click.echo(json.dumps({"schema": 1, "verdict": "ok", "mutants": told}, indent=2))
        return
    width = max(map(len, there))
    for one in there.values():
        click.echo(check_text.wrapped(f"{one.name:<{width}}  ", one.meaning))
        detail = f"replaces {one.slug}; dies in {one.configuration} by {one.killer}"
        seen = f"; seen in {one.seen_in}" if one.seen_in else ""
        click.echo(check_text.wrapped(" " * (width + 2), detail + seen))


@click.command()
@click.option(
    "--scope",
    metavar="SCOPE",
    help="Suite of configurations: tiny, small (the default), standard, nightly, or endless.",
)
@click.option("--configuration", "configurations", multiple=True, metavar="NAME",
              help="Only this one of the scope; repeatable.")  # fmt: skip
@click.option(
    "--profile", default="kafka-4.x", show_default=True, metavar="|".join(PROFILES), help="Line of brokers."
)
@click.option("--design", default="classic", show_default=True, metavar="|".join(DESIGNS),
              help="Which protocol; docs/designs.md tells of the older two.")  # fmt: skip
@click.option("--engine", default="auto", show_default=True, metavar="|".join(ENGINES),
              help="How to explore; the answer is the same.")  # fmt: skip
@click.option("--mutant", metavar="NAME", help="Plant this bug and see whether it is found (exit 1).")
@click.option("--list-mutants", is_flag=True, help="Name the bugs that can be planted; explore nothing.")
@click.option("--system", metavar="MODULE:NAME", help="Explore what this function returns, a kernel System.")
@click.option("--set", "settings", multiple=True, metavar="K=V", help="A setting of the system; repeatable.")
@click.option("--strict", is_flag=True, help="Known weaknesses of the profile count as violations.")
@click.option("--property", "only", metavar="NAME",
              help="Judge this one alone. A known weakness that is named counts as a violation: so its "
                   "run is shown.")  # fmt: skip
@click.option("--liveness", is_flag=True,
              help="Judge what must happen in the end, on endless runs of small configurations.")  # fmt: skip
@click.option(
    "--max-states", type=click.IntRange(min=1), metavar="N", help="Give up beyond N states (exit 3)."
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N",
              help="Processes that explore, or threads for one configuration.  [default: 1 for "
                   "small scopes, else the cores, "
                   f"{check_workers.MOST} at most]")  # fmt: skip
@click.option("--symmetry", is_flag=True,
              help="One state of each orbit, if machines are interchangeable. Engine fast.")  # fmt: skip
@click.option("--fingerprints", is_flag=True,
              help="Tell states apart by 64 bits; prints the odds of missing one. Engine fast.")  # fmt: skip
@click.option("--memory", type=click.IntRange(min=1), metavar="MIB",
              help="Memory; states beyond it go to disk. Fast: for states, about. Spark: of "
                   "all processes, kept; see docs/spark.md.")  # fmt: skip
@click.option("--checkpoint", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Keep on disk what is known after each level. Fast and Spark.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with what --checkpoint has.")
@check_spark.options
@check_simulate.options
@click.option("--stats", is_flag=True, help="Also what the engine tells of itself.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="Only the verdict, and no progress.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("rota-out"),
              show_default=True, help="Where report and trace go.")  # fmt: skip
@click.pass_context
def check(
    ctx: click.Context,
    /,
    list_mutants: bool,
    workers: int | None,
    stats: bool,
    as_json: bool,
    quiet: bool,
    out: Path,
    **given: object,
) -> None:
    """Explore the protocol exhaustively: every configuration of a scope, every interleaving.

    What is known to be weak in a profile's brokers must be found anew, and is listed; to see the run of such
    a weakness name it: --property weakness.unused-id-holds-up.

    With --liveness: every endless run that is fair (what remains possible is done in the end, but for
    faults), in configurations of up to 100,000 states or --max-states; the default scope is then endless.

    With --simulate: random walks, for what is too large to be explored. They find bugs and prove nothing.

    Exit 0 if everything holds, 1 if something is violated, a witness is not reached or a count differs
    from the pinned one, 3 if a bound ended the search or nothing but walks was asked for.
    """
    if list_mutants:
        _list_mutants(BUGS.get(str(given["design"]), MUTANTS), as_json)
        return
    walks = check_simulate.asked({**given, "workers": workers, "stats": stats})
    given = {name: value for name, value in given.items() if name not in check_simulate.NAMES}
    on_spark = check_spark.asked({**given, "workers": workers})
    given = {name: value for name, value in given.items() if name not in check_spark.NAMES}
    if given["design"] != "classic":
        asked = {**given, "workers": workers, "stats": stats}
        ctx.exit(check_design.run(asked, out, seconds_alive, as_json=as_json, quiet=quiet))
    limits = Limits(**{name: given.pop(name) for name in _LIMITS})  # type: ignore[arg-type]
    options = Options(**given, bound=limits.max_states)  # type: ignore[arg-type]  # click's names are its fields'
    what = plan(options)
    _fits(what, limits)
    limits = replace(limits, memory=limits.memory and limits.memory << 20)
    if on_spark:
        what, limits = check_spark.fitted(what, limits, on_spark)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "check.json"
    silent = quiet or as_json
    checking = Checking(what, limits, out, _nothing if silent else click.echo,
                        Meter(sys.stderr, silent=quiet), workers, on_spark)  # fmt: skip
    if walks is not None:
        writer = checking._write_trace
        ctx.exit(check_simulate.run(what, walks, out, writer, seconds_alive, as_json=as_json, quiet=quiet))
    try:
        checking.work()
    except (CheckpointError, MissingExtra) as error:
        raise UsageError(str(error)) from error
    finally:  # an interrupt keeps what was found until then
        report = checking.report()
        content = json.dumps(report_of(report), indent=2)
        if checking.started:
            path.write_text(content + "\n", encoding="utf-8")
    if as_json:
        click.echo(content)
    else:
        if not quiet:
            for line in check_text.lines(report, stats):
                click.echo(line)
            click.echo(f"report: {path}")
        click.echo(check_text.verdict_line(report, quiet))
    ctx.exit(EXIT_CODES[report.verdict])


def _fits(what: Plan, limits: Limits) -> None:
    """Errors: UsageError for limits that do not go together, or not with the engine."""
    if limits.resume and limits.checkpoint is None:
        raise UsageError("--resume needs the folder to go on with; name it: --checkpoint DIR")
    for name in ("symmetry", "fingerprints", "memory", "checkpoint"):
        if getattr(limits, name) and what.engine == engines.LASSO:
            raise UsageError(f"--{name} is not for endless runs; leave it out")
        on_spark = what.engine == check_spark.ENGINE and name in ("memory", "checkpoint")
        if getattr(limits, name) and not on_spark and what.engine not in ("auto", "fast"):
            raise UsageError(f"--{name} is not for engine {what.engine}; use --engine fast")


def _nothing(line: str) -> None:
    """Says nothing."""
