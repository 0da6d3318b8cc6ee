"""Where a verb's findings go: lines for people, JSON for programs, a report and traces in a folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from rota.cli.errors import HOLDS, UNDECIDED, VIOLATED
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
                 show_default=True, help="Where report and traces go."),
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

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Write the report into the folder."""
        (self.out / name).write_text(_json(content), encoding="utf-8")

    def conclude(self, name: str, content: Mapping[str, Any], lines: Iterable[str], verdict: str) -> None:
        """Print the report that was written.

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


def write_trace(
    plan: Plan, run: Explored, system: System, violation: Violation, out: Path, name: str
) -> Found:
    """Write a counterexample as JSON lines, and as text beside it. name: of the files, behind `trace-`."""
    origin = replace(
        origin_of(system),
        scope=run.job.scope,
        configuration=None if plan.origin else run.job.name,
        profile=plan.profile,
        mutant=plan.mutant,
    )
    trace = record(system, violation.name, violation.start, violation.path, origin, violation.cycle)
    path = out / f"trace-{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.jsonl"
    path.write_text(dumps(trace), encoding="utf-8")
    path.with_suffix(".txt").write_text(text(trace), encoding="utf-8")
    replay = f"rota trace {shlex.quote(str(path))} --replay"
    if plan.origin:
        replay += f" --system {shlex.quote(trace.origin.factory or plan.origin)}"
    return Found(run, violation, trace, str(path), replay)


def seconds_alive() -> float:
    """Seconds since this process began; since this module was imported where the system does not say."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        alive = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        alive = 0.0
    return max(alive, time.perf_counter() - _IMPORTED)
