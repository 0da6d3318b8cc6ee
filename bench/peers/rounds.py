"""Runs of the tools, each a process of its own, in turn."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.peers.instances import Counts, Instance
from bench.peers.tools import ROOT, Failed, Missing, Tool


class Differ(Exception):
    """A tool has other counts than it must have."""


@dataclass(frozen=True)
class Measurement:
    """One search. seconds: as the tool reports, else of the whole process; peak_kib: of that."""

    counts: Counts
    seconds: float
    peak_kib: int


@dataclass(frozen=True)
class Row:
    """The runs of a tool on an instance; seconds and memory are medians."""

    tool: Tool
    instance: Instance
    runs: tuple[Measurement, ...]

    @property
    def counts(self) -> Counts:
        """What it has counted; depth None where it does not go by levels."""
        return self.runs[0].counts

    @property
    def seconds(self) -> float:
        """Of the search; a clock's tick at least."""
        return max(median(run.seconds for run in self.runs), 0.001)

    @property
    def rate(self) -> float:
        """States per second. Under symmetry: the states stood for, so that rates compare."""
        return self.instance.counts.distinct / self.seconds

    @property
    def peak_kib(self) -> float:
        """Peak memory."""
        return median(run.peak_kib for run in self.runs)

    @property
    def bytes_per_state(self) -> float:
        """Peak memory of the process by states kept."""
        return self.peak_kib * 1024 / self.counts.distinct

    def report(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "tool": self.tool.name,
            "family": self.tool.family,
            "workers": self.tool.workers,
            "instance": self.instance.name,
            "settings": self.instance.named,
            **asdict(self.counts),
            "seconds": self.seconds,
            "states_per_second": round(self.rate),
            "peak_kib": round(self.peak_kib),
            "bytes_per_state": round(self.bytes_per_state, 1),
            "runs": [{"seconds": run.seconds, "peak_kib": run.peak_kib} for run in self.runs],
        }


def run(tool: Tool, instance: Instance, command: Sequence[str], limit: float) -> Measurement:
    """One run. Parameters: limit, seconds after which it is killed. Errors: Failed, Differ."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=err, start_new_session=True)
        usage = _wait(process, limit)
        lasted = time.monotonic() - started
        out.seek(0)
        err.seek(0)
        if process.returncode:
            said = (err.read().strip() or out.read().strip()).splitlines()
            raise Failed(f"{tool.name} on {instance.name}: exit {process.returncode}: {said[-1:]}")
        try:
            reading = tool.read(out.read())
        except Failed as failed:
            raise Failed(f"{tool.name} on {instance.name}: {failed}") from None
    _compare(tool, instance, reading.counts)
    seconds = lasted if reading.seconds is None else reading.seconds
    return Measurement(reading.counts, seconds, reading.peak_kib or usage.ru_maxrss)


def _wait(process: subprocess.Popen[bytes], limit: float) -> resource.struct_rusage:
    """Wait for the end; after the limit, or if this program is to end, have the process end as well."""
    end = time.monotonic() + limit
    try:
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return usage
            if time.monotonic() > end:
                raise Failed(f"`{process.args!r}` took more than {limit:g} s")
            time.sleep(0.05)
    finally:
        if process.returncode is None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt, as pan then gives its shared memory back; kill what does not end by that."""
    for number, seconds in ((signal.SIGINT, 5.0), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def _compare(tool: Tool, instance: Instance, counts: Counts) -> None:
    expected = tool.expected(instance)
    for name in ("distinct", "generated", "depth"):
        has, needs = getattr(counts, name), getattr(expected, name)
        if has is not None and has != needs:
            raise Differ(f"{tool.name} on {instance.name}: {name} is {has:,} and must be {needs:,}")


def measure(
    tools: Sequence[Tool],
    instance: Instance,
    rounds: int,
    folder: Path,
    limit: float,
    say: Callable[[str], None],
) -> tuple[list[Row], dict[str, str]]:
    """All tools that fit the instance, in turn. Returns rows and, by tool, why it is not there.

    Everything is built before the first run. Errors: Failed, Differ.
    """
    commands, missing = {}, {}
    for tool in tools:
        if tool.fits(instance):
            try:
                commands[tool] = tool.prepare(instance, folder)
            except Missing as reason:
                missing[tool.name] = str(reason)
    runs: dict[Tool, list[Measurement]] = {tool: [] for tool in commands}
    for number in range(rounds):
        for tool, command in commands.items():
            say(f"{instance.name}, round {number + 1} of {rounds}: {tool.name}")
            runs[tool].append(run(tool, instance, command, limit))
    return [Row(tool, instance, tuple(done)) for tool, done in runs.items()], missing
