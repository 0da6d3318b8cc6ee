"""`rota check --design`: the two designs before the classic protocol, by themselves or beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from rota import herd
from rota.cli.check_plan import DESIGNS, Options, plan, recognised
from rota.cli.check_system import parse_settings
from rota.cli.errors import HOLDS, UNDECIDED, VIOLATED, UsageError
from rota.designs import suites
from rota.explore import Limits, MissingExtra, engines
from rota.herd import CHANGES, SUBJECTS
from rota.kernel import System
from rota.mutants import designs as mutants
from rota.report import check_designs, check_text
from rota.report.check_designs import Judged
from rota.report.check_model import Found, Job, Plan, Report, Run
from rota.report.check_progress import Meter
from rota.trace import dumps, origin_of, record, text

EXIT_CODES = {"holds": HOLDS, "violated": VIOLATED, "undecided": UNDECIDED}
ALL = "all"

BESIDE = "tiny"
"""The scope of the classic protocol that is explored beside the others, unless one is named."""

MEMBERS = 2
"""Members of the group in which the cost of a change is counted over all runs."""

REFUSED = ("system", "strict", "only", "workers", "symmetry", "fingerprints", "memory",
           "checkpoint", "resume", "stats")  # fmt: skip
OF_ONE, OF_ALL = ("mutant", "configurations", "settings", "liveness"), ("scope",)
"""Options that are for the classic protocol alone, for one older design alone, and for `all` alone."""

OPTIONS = {"only": "property", "configurations": "configuration", "settings": "set"}
"""How options are typed that are called otherwise here."""

Say = Callable[[str], None]


def run(
    given: Mapping[str, Any], out: Path, alive: Callable[[], float], *, as_json: bool, quiet: bool
) -> int:
    """Work off `--design` for anything but the classic protocol alone.

    Parameters: given, the options of `rota check` by name; out, the folder of traces and report; alive,
    seconds since the process began. Returns the exit code. Errors: UsageError for what is not known or does
    not go together.
    """
    design = recognised("design", given["design"], DESIGNS)
    wrong = (*REFUSED, *(OF_ONE if design == ALL else OF_ALL))
    if refused := [name for name in wrong if given.get(name)]:
        option = OPTIONS.get(refused[0], refused[0]).replace("_", "-")
        raise UsageError(f"--{option} does not go with --design {design}; leave it out")
    silent = quiet or as_json
    work = _Work(given, Limits(given["max_states"]), out, _nothing if silent else click.echo, alive, quiet)
    told, lines, last = work.all() if design == ALL else work.one(design)
    content = json.dumps(told, indent=2)
    path = out / "check.json"
    path.write_text(content + "\n", encoding="utf-8")
    for line in () if silent else lines:
        click.echo(line)
    if not silent:
        click.echo(f"report: {path}")
    click.echo(content if as_json else last)
    return EXIT_CODES[told["verdict"]]


Answer = tuple[dict[str, Any], Iterator[str], str]
"""The report, what is printed of it, and the verdict's line."""


@dataclass(frozen=True)
class _Work:
    """Explores configurations, and tells of each as it is done."""

    given: Mapping[str, Any]
    limits: Limits
    out: Path
    say: Say
    alive: Callable[[], float]
    quiet: bool

    def one(self, name: str) -> Answer:
        """One of the older designs."""
        judged = self._explored(self._plan(name))
        return check_designs.as_json(judged), check_designs.lines(judged), check_designs.verdict_line(judged)

    def all(self) -> Answer:
        """All three, and what a change costs in each."""
        options = Options(
            scope=self.given["scope"] or BESIDE,
            engine=self.given["engine"],
            profile=self.given["profile"],
        )
        plans = [*(self._plan(name) for name in suites.DESIGNS), plan(options)]
        every = [self._explored(each) for each in plans]
        costs = {
            name: {change: herd.explored(subject, MEMBERS, change) for change in CHANGES}
            for name, subject in SUBJECTS.items()
        }
        lines = check_designs.side_by_side(every, costs, MEMBERS)
        return (
            check_designs.all_as_json(every, costs, MEMBERS),
            lines,
            check_designs.together_line(every),
        )

    def _plan(self, design: str) -> Plan:
        bugs, bug = mutants.BUGS[design], self.given["mutant"]
        if bug is not None:
            recognised("mutant", bug, bugs)
        engine = recognised("engine", self.given["engine"], ("auto", *engines.ENGINES))
        if self.given["liveness"] and engine != "auto":
            raise UsageError(f"--liveness is a search of its own; leave --engine {engine} out")
        return Plan(
            design=design,
            system=design,
            engine=engines.LASSO if self.given["liveness"] else engine,
            jobs=tuple(self._jobs(design, bug)),
            scope=None,
            mutant=bug,
            replaced=bugs[bug].slug if bug else None,
            rules=suites.DESIGNS[design].rules,
            omitted=suites.DESIGNS[design].omitted,
        )

    def _jobs(self, design: str, bug: str | None) -> Iterator[Job]:
        there = {one.name: one for one in suites.load(design).configurations}
        first = (mutants.BUGS[design][bug].configuration,) if bug else there
        overrides = parse_settings(self.given["settings"])
        lasting = self.given["liveness"]  # such a search goes on where others end with a violation
        for name in self.given["configurations"] or first:
            one = there[recognised(f"configuration of {design} called", name, there)]
            yield Job(
                name=one.name,
                build=partial(_built, design, {**one.settings, **overrides}, bug),
                feature=one.cause,
                expected=None if bug or overrides or (lasting and one.cause) else one.expected,
                size=one.expected["distinct"],
            )

    def _explored(self, what: Plan) -> Judged:
        try:
            explore = engines.choose(what.engine)
        except MissingExtra as error:
            raise UsageError(str(error)) from None
        systems = [job.build() for job in what.jobs]
        self.out.mkdir(parents=True, exist_ok=True)
        table = check_text.RunTable([job.name for job in what.jobs])
        parts = [f"design {what.design}", *([f"scope {what.scope}"] if what.scope else [])]
        parts += [f"mutant {what.mutant} (it replaces {what.replaced})"] if what.mutant else []
        self.say(check_text.wrapped("rota check: ", ", ".join([*parts, f"engine {what.engine}"])))
        self.say(table.head())
        runs, found = [], []
        meter = Meter(sys.stderr, silent=self.quiet)
        for job, system in zip(what.jobs, systems, strict=True):
            meter.begin(job.name, job.pinned)
            try:
                result = explore(system, self.limits, progress=partial(meter.level, job.name))
            finally:
                meter.end(job.name)
            runs.append(Run(job, result))
            self.say(check_designs.row(table, runs[-1]))
            if result.violation is not None:
                found.append(self._traced(what, runs[-1], system))
        self.say("")
        report = Report(what, tuple(runs), next(iter(found), None), self.alive())
        return Judged(report, tuple(found))

    def _traced(self, what: Plan, of: Run, system: System) -> Found:
        """The counterexample as JSON lines, and as text beside it."""
        violation = of.result.violation
        assert violation is not None
        origin = replace(origin_of(system), configuration=of.job.name, mutant=what.mutant)
        trace = record(system, violation.name, violation.start, violation.path, origin, violation.cycle)
        path = self.out / f"trace-{what.design}-{of.job.name}.jsonl"
        path.write_text(dumps(trace), encoding="utf-8")
        path.with_suffix(".txt").write_text(text(trace), encoding="utf-8")
        return Found(of, violation, trace, str(path), f"rota trace {path} --replay")


def _built(design: str, settings: Mapping[str, Any], bug: str | None) -> System:
    """A world. Errors: UsageError for settings that it does not take."""
    try:
        return mutants.system(design, settings, bug) if bug else suites.system(design, settings)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"cannot build a world of {design} ({error}); check --set") from error


def _nothing(line: str) -> None:
    """Says nothing."""
