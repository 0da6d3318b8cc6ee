"""`rota check --simulate`: random walks through configurations that are too large to be explored."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from rota.cli.errors import UNDECIDED, VIOLATED, UsageError
from rota.explore import MissingExtra, Violation, engines
from rota.explore.walks.model import DEPTH, Simulation, Walks
from rota.kernel import System
from rota.report import check_walks
from rota.report.check_model import Found, Plan, Report, Run
from rota.report.check_progress import Meter
from rota.report.check_walks import Walked, WalkTable

RUNS = 1024
"""Walks in each configuration, unless told otherwise."""

OPTIONS = ("runs", "seconds", "depth", "seed")
"""Options that say what to walk."""

NAMES = ("simulate", *OPTIONS)

REFUSED = (
    "liveness",
    "max_states",
    "workers",
    "stats",
    "memory",
    "checkpoint",
    "resume",
    "symmetry",
    "fingerprints",
)
"""Options that are about states, not about walks."""

Write = Callable[[System, Run, Violation], Found]
"""Writes a trace."""


@dataclass(frozen=True)
class Asked:
    """What was asked for. runs: in each configuration; seconds: in all; None: not given."""

    seed: int
    depth: int
    runs: int | None
    seconds: float | None


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `rota check` that are about walks."""
    for option in reversed(
        (
            click.option("--simulate", is_flag=True,
                         help="Random walks instead: for what is too large. Finds bugs and proves nothing: "
                              "exit 1 or 3, never 0."),
            click.option("--runs", type=click.IntRange(min=1), metavar="N",
                         help=f"--simulate: walks in each configuration.  [default: {RUNS:,}]"),
            click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S",
                         help="--simulate: for so long in all."),
            click.option("--depth", type=click.IntRange(min=1), metavar="D",
                         help=f"--simulate: steps of a walk at most.  [default: {DEPTH}]"),
            click.option("--seed", type=click.IntRange(min=0), metavar="K",
                         help="--simulate: the same number, the same walks.  [default: 0]"),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def asked(given: Mapping[str, Any]) -> Asked | None:
    """What the options say of walks; None if nothing is to be walked.

    Errors: UsageError for options that do not go together.
    """
    told = {name: given[name] for name in OPTIONS}
    if not given["simulate"]:
        for name, value in told.items():
            if value is not None:
                raise UsageError(f"--{name} is for random walks; add --simulate, or leave it out")
        return None
    for name in REFUSED:
        if given.get(name):
            raise UsageError(f"--{name.replace('_', '-')} does not go with --simulate; leave it out")
    if given["design"] != "classic":
        raise UsageError(
            f"--simulate does not go with --design {given['design']}, which is small; leave it out"
        )
    if given["engine"] != "auto":
        raise UsageError(f"--simulate uses no engine; leave --engine {given['engine']} out")
    runs = RUNS if told["runs"] is None and told["seconds"] is None else told["runs"]
    return Asked(told["seed"] or 0, told["depth"] or DEPTH, runs, told["seconds"])


class _Steps(Meter):
    """Progress in walks."""

    def _one(self) -> str:
        ((name, at),) = self._running.items()
        met = f"{at.depth:,} walks, {at.distinct:,} states met, {at.frontier:,} steps"
        return f"{name}: {met}, {at.seconds:.0f} s"


@dataclass
class _Walking:
    """A plan being walked. write: traces; say: takes lines for stdout."""

    plan: Plan
    asked: Asked
    write: Write
    say: Callable[[str], None]
    meter: _Steps
    alive: Callable[[], float]
    runs: list[Run] = field(default_factory=list)
    simulations: list[Simulation] = field(default_factory=list)
    found: Found | None = None

    def work(self) -> None:
        """Walk in each configuration, until one is violated."""
        try:
            engines.choose("numpy")  # walks need what that engine needs
        except MissingExtra as error:
            raise UsageError(str(error).replace("engine numpy", "--simulate")) from None
        from rota.explore.walks.simulate import simulate

        systems = [
            job.build() for job in self.plan.jobs
        ]  # before the first line: bad settings are told alone
        table = WalkTable([job.name for job in self.plan.jobs])
        self.say(check_walks.head(self.plan, self.walks()))
        self.say(table.head())
        for job, system in zip(self.plan.jobs, systems, strict=True):
            self.meter.begin(job.name, None)
            try:
                one = simulate(
                    system, self.walks(), progress=lambda *told, of=job: self.meter.level(of.name, *told)
                )
            finally:
                self.meter.end(job.name)
            run = Run(job, one.result)
            self.runs.append(run)
            self.simulations.append(one)
            self.say(table.row(run, one.coverage))
            if one.result.violation is not None:
                self.found = self.write(system, run, one.result.violation)
                return

    def walks(self) -> Walks:
        """What is walked in each configuration."""
        seconds = self.asked.seconds and self.asked.seconds / len(self.plan.jobs)
        return Walks(self.asked.seed, self.asked.runs, seconds, self.asked.depth)

    def walked(self) -> Walked:
        """What is known by now."""
        report = Report(self.plan, tuple(self.runs), self.found, self.alive())
        return Walked(report, self.walks(), tuple(self.simulations))


def run(
    plan: Plan,
    wanted: Asked,
    out: Path,
    write: Write,
    alive: Callable[[], float],
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    """Work off `--simulate`.

    Parameters: plan; wanted; out, the folder of the report; write, writes a trace; alive, seconds since the
    process began. Returns the exit code, never that of `holds`. Errors: UsageError.
    """
    if plan.lasting:
        raise UsageError(f"--simulate does not judge endless runs, which {plan.only} is about; leave it out")
    silent = quiet or as_json
    say = _nothing if silent else click.echo
    walking = _Walking(plan, wanted, write, say, _Steps(sys.stderr, silent=silent), alive)
    try:
        walking.work()
    finally:  # an interrupt keeps what was found until then
        walked = walking.walked()
        content = json.dumps(check_walks.as_json(walked), indent=2)
        path = out / "check.json"
        if walking.runs:
            path.write_text(content + "\n", encoding="utf-8")
    if not silent:
        for line in check_walks.lines(walked):
            click.echo(line)
        click.echo(f"report: {path}")
    click.echo(content if as_json else check_walks.verdict_line(walked, quiet))
    return VIOLATED if walked.report.verdict == "violated" else UNDECIDED


def _nothing(line: str) -> None:
    """Says nothing."""
