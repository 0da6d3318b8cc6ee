"""Where a verb's findings go: lines for people, JSON for programs, a report and traces in a folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from rota.cli.errors import HOLDS, UNDECIDED, VIOLATED
from rota.cli.keeping import keep, try_files
from rota.explore import Violation
from rota.kernel import System
from rota.report.check_model import Explored, Found, Plan
from rota.report.live_line import LiveLine
from rota.trace import dumps, origin_of, record, text

EXIT_CODES = {"holds": HOLDS, "violated": VIOLATED, "undecided": UNDECIDED}

_IMPORTED = time.perf_counter()

REPORTING = (
    click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
    click.option("--quiet", is_flag=True, help="Only the verdict, and no progress."),
    click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("rota-out"),
                 help="Where report and traces go."),
)  # fmt: skip
"""The options of `Reporting`."""


@dataclass(frozen=True)
class Reporting:
    """How a verb reports. out: the folder of report and traces."""

    as_json: bool = False
    quiet: bool = False
    out: Path = Path("rota-out")

    def say(self, line: str) -> None:
        """A line on stdout, if people read it."""
        if not (self.quiet or self.as_json):
            click.echo(line)

    def live_line(self) -> LiveLine:
        """Where progress is shown."""
        return LiveLine(sys.stderr, silent=self.quiet)

    def try_out(self, name: str) -> None:
        """See whether the report can be written, before the work begins. Errors: UsageError."""
        try_files([self.out / name])

    def keep(self, name: str, content: Mapping[str, Any], found: Iterable[Found], code: int) -> int:
        """Write report and traces, when they were printed; the exit code, as `keep` says."""
        return keep({self.out / name: _json(content), **dict(_traces(found))}, code)

    def conclude(self, name: str, content: Mapping[str, Any], lines: Iterable[str], verdict: str) -> None:
        """Print the report, before anything is written.

        Parameters: name, of its file; content, for programs; lines, what stands above
        the verdict.
        """
        if self.as_json:
            click.echo(_json(content), nl=False)
            return
        if not self.quiet:
            for line in lines:
                click.echo(line)
            click.echo(f"report: {self.out / name}")
        click.echo(verdict)


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2) + "\n"


def _traces(found: Iterable[Found]) -> Iterator[tuple[Path, str]]:
    """Counterexamples as files: JSON lines, and as text beside it."""
    for one in found:
        path = Path(one.path)
        yield path, dumps(one.trace)
        yield path.with_suffix(".txt"), text(one.trace)


def traced(plan: Plan, run: Explored, system: System, violation: Violation, out: Path, name: str) -> Found:
    """A counterexample and where it will be written. name: of its files, behind `trace-`."""
    origin = replace(
        origin_of(system),
        scope=run.job.scope,
        configuration=None if plan.origin else run.job.name,
        profile=plan.profile,
        mutant=plan.mutant,
    )
    trace = record(system, violation.name, violation.start, violation.path, origin, violation.cycle)
    path = out / f"trace-{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.jsonl"
    trust = f" --system {shlex.quote(trace.origin.factory or plan.origin)}" if plan.origin else ""
    replay, page = (f"rota trace {shlex.quote(str(path))} {how}{trust}" for how in ("--replay", "--as html"))
    return Found(run, violation, trace, str(path), replay, page)


def seconds_alive() -> float:
    """Seconds since this process began; since this module was imported where the system does not say."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        alive = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        alive = 0.0
    return max(alive, time.perf_counter() - _IMPORTED)
