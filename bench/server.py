"""`rota serve` beside Apache Kafka over the wire: starts, heartbeats, rebalances, commits; and alone.

    .venv/bin/python -m bench.server [--only SECTION] [--target HOST:PORT] [--write]

Both servers run in processes of their own and stay for the whole run, but for starts, which go first; rounds
alternate between them after a warm-up, each figure is the median of five, and a ratio is made of both. The
ratios are compared with those of docs/server.json: exit 1 if one has fallen by more than the tolerance, 3 if
Kafka cannot be started. --write puts the new ones there and writes docs/server-figures.md from them; --page
writes the page from what is there. Wants Java, Go, a compiler for C, 2 GB and a machine with nothing else to
do; takes some twelve minutes.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from bench.coordinator_growth import (
    day_rounds,
    group_work,
    heartbeat_work,
    memory_rounds,
    pair_work,
    rate_rounds,
    wanted_rounds,
)
from bench.server_client import (
    Failed,
    compiled,
    group,
    heartbeats,
    heartbeats_compiled,
    rebalance,
    repeated,
)
from bench.server_data import (
    POLICIES,
    all_alive,
    commit_rounds,
    kept_commit_rounds,
    log_start_rounds,
    overtaken,
)
from bench.server_page import SECTIONS, TOLERANCE, Report, Row, as_json, changes, from_json, page
from bench.server_sides import Side, at, kafka, rota
from bench.server_starts import OTHERS, first_rounds, start_rounds
from bench.server_starts import rota as started

from rota.conformance.targets.process import NotStarted

DOCS = Path(__file__).resolve().parent.parent / "docs"
FILE, PAGE = "server.json", "server-figures.md"

ROUNDS = 5
WARM_UPS = 5
"""Rounds that do not count."""

SECONDS = 1.0
"""How long a round of one figure lasts, at least."""

BURSTS = {1: "one by one", 16: "bursts of 16"}
CONNECTIONS = (1, 4)
MEMBERS = (10, 100, 1_000)
MANY = 10_000
MOST = 100_000
HOURS = 24
ALONE = "starts"
"""The section that is measured before either side is there."""

NOBODY = Side("nobody", "", None)

READY_SECONDS = 0.5
"""How long a start with nothing may take until the first answer."""

COMMITTERS = 4
COMMITS_UNDER_WAY = (1, 16)
RECORDS = 1_000_000
START_SECONDS = 10.0
"""How long a start from so many records may take."""

Round = Callable[[], Sequence[float]]
"""One round on one side: a value for each figure of the measurement."""


@dataclass(frozen=True)
class Figure:
    """What is measured: its words and unit, whether more is better, and the least ratio that is wanted."""

    what: str
    unit: str
    more: bool
    wanted: float | None = None


@dataclass(frozen=True)
class Measurement:
    """Figures that come out of the same rounds, and how a round is made ready on either side.

    `theirs` is None where nobody is compared with. exact: a round gives what all the others would.
    """

    section: str
    figures: tuple[Figure, ...]
    ours: AbstractContextManager[Round]
    theirs: AbstractContextManager[Round] | None = None
    beside: str = ""
    exact: bool = False

    def rows(self, rounds: int, warm_ups: int) -> Iterator[Row]:
        """Alternates between the sides; warm-ups do not count."""
        if self.exact:
            rounds, warm_ups = 1, 0
        with self.ours as ours, self.theirs or nullcontext(tuple) as theirs:
            values = [(ours(), theirs()) for _ in range(warm_ups + rounds)][warm_ups:]
        for index, figure in enumerate(self.figures):
            mine = tuple(_short(one[index]) for one, _ in values)
            other = tuple(_short(one[index]) for _, one in values if one)
            words = (figure.what, figure.unit, figure.more)
            yield Row(self.section, *words, mine, other, self.beside, figure.wanted)


def _short(value: float) -> float:
    """Five digits: what follows is noise."""
    return float(f"{value:.5g}")


@contextmanager
def heartbeat_rounds(side: Side, members: int, burst: int) -> Iterator[Round]:
    """Heartbeats a second by the Python client."""
    with group(side.address, members) as connected:

        def run() -> Sequence[float]:
            answers, seconds = heartbeats(connected, burst, SECONDS)
            return (answers / seconds,)

        yield run


@contextmanager
def compiled_rounds(side: Side, members: int, under_way: int, program: Path) -> Iterator[Round]:
    """Heartbeats a second by the compiled client, and microseconds of the server's processor for each."""
    with group(side.address, members) as connected:

        def run() -> Sequence[float]:
            before = side.cpu_seconds()
            answers, seconds = heartbeats_compiled(program, connected, under_way, SECONDS)
            return answers / seconds, 1e6 * (side.cpu_seconds() - before) / answers

        yield run


@contextmanager
def rebalance_rounds(side: Side, members: int, each: bool = False) -> Iterator[Round]:
    """Milliseconds of a rebalance and of the server's processor for it; if `each`, microseconds a member."""
    with group(side.address, members) as connected:

        def once() -> int:
            rebalance(connected)
            return 1

        def run() -> Sequence[float]:
            before = side.cpu_seconds()
            done, seconds = repeated(once, SECONDS)
            scale = 1e6 / members if each else 1e3
            return scale * seconds / done, scale * (side.cpu_seconds() - before) / done

        yield run


def start_measurements(ours: Side, theirs: Side, program: Path) -> Iterator[Measurement]:
    """Starts with nothing, beside what is wanted and whatever else a test may start; no side is used."""
    figure = Figure("first answer", "s", more=False, wanted=1.0)
    yield Measurement("starts", (figure,), first_rounds(started), wanted_rounds(READY_SECONDS), "wanted")
    for name, start in OTHERS.items():
        figures = (
            Figure(f"until groups are coordinated, beside {name}", "s", more=False),
            Figure(f"processor until then, beside {name}", "s", more=False),
            Figure(f"memory then, beside {name}", "MB", more=False),
        )
        yield Measurement("starts", figures, start_rounds(started), start_rounds(start), name)


def heartbeat_measurements(ours: Side, theirs: Side, program: Path) -> Iterator[Measurement]:
    """Heartbeats, by either client."""
    for members in CONNECTIONS:
        for burst, words in BURSTS.items():
            what = f"{_connections(members)}, {words}; Python client"
            sides = (heartbeat_rounds(side, members, burst) for side in (ours, theirs))
            figures = (Figure(what, "a second", more=True, wanted=0.8),)
            yield Measurement("heartbeats", figures, *sides, theirs.name)
    for members in CONNECTIONS:
        for under_way in BURSTS:
            what = f"{_connections(members)}, {under_way} under way on each; compiled client"
            sides = (compiled_rounds(side, members, under_way, program) for side in (ours, theirs))
            figures = (
                Figure(what, "a second", more=True),
                Figure(what, "µs of the server's processor for each", more=False),
            )
            yield Measurement("heartbeats", figures, *sides, theirs.name)


def _connections(count: int) -> str:
    return f"{count} connection{'s' * (count > 1)}"


def rebalance_measurements(ours: Side, theirs: Side, program: Path) -> Iterator[Measurement]:
    """Rebalances beside the other; and of a group that is larger than what the other is asked for."""
    for members in MEMBERS:
        figures = (
            Figure(f"{members:,} members", "ms", more=False, wanted=1.0),
            Figure(f"{members:,} members", "ms of the server's processor", more=False),
        )
        sides = (rebalance_rounds(side, members) for side in (ours, theirs))
        yield Measurement("rebalances", figures, *sides, theirs.name)
    figures = (
        Figure(f"{MANY:,} members, for each member", "µs", more=False, wanted=0.67),
        Figure(f"{MANY:,} members, for each member", "µs of the server's processor", more=False),
    )
    large, small = (rebalance_rounds(ours, members, each=True) for members in (MANY, MEMBERS[-1]))
    yield Measurement("rebalances", figures, large, small, f"rota with {MEMBERS[-1]:,}")


def data_measurements(ours: Side, theirs: Side, program: Path) -> Iterator[Measurement]:
    """Commits that are kept, by each policy, beside the other's own; starts beside what is wanted."""
    for under_way in COMMITS_UNDER_WAY:
        for policy in POLICIES:
            what = f"commits, --fsync {policy}, {_connections(COMMITTERS)}, {under_way} under way on each"
            load = (COMMITTERS, under_way, program, SECONDS)
            figures = (
                Figure(what, "a second", more=True),
                Figure(what, "µs of the server's processor for each", more=False),
            )
            sides = kept_commit_rounds(policy, *load), commit_rounds(theirs, *load)
            yield Measurement("data", figures, *sides, theirs.name)
    for commits_of, words in ((all_alive, "all of which count"), (overtaken, "one in a hundred counts")):
        what = f"start from a log of {RECORDS:,} records, {words}"
        figures = (
            Figure(what, "s", more=False, wanted=1.0),
            Figure(what, "s of the server's processor", more=False, wanted=1.0),
        )
        sides = log_start_rounds(commits_of, RECORDS), wanted_rounds(START_SECONDS, START_SECONDS)
        yield Measurement("data", figures, *sides, "wanted")


def core_measurements(ours: Side, theirs: Side, program: Path) -> Iterator[Measurement]:
    """The coordinator's core without sockets, beside what is wanted and beside itself."""
    for work, what, wanted in (
        (heartbeat_work, "heartbeats", 300_000),
        (pair_work, "joins and syncs", 50_000),
    ):
        figure = Figure(f"{what}, a group of ten", "a second", more=True, wanted=1.0)
        sides = rate_rounds(work, 10), wanted_rounds(wanted)
        yield Measurement("core", (figure,), *sides, "wanted")
        figure = Figure(f"{what}, a group of {MOST:,}", "a second", more=True)
        sides = rate_rounds(work, MOST), rate_rounds(work, 10)
        yield Measurement("core", (figure,), *sides, "a group of ten")
    figure = Figure(f"joins and syncs, {MOST:,} groups of one", "a second", more=True)
    sides = rate_rounds(group_work, MOST), rate_rounds(group_work, 10)
    yield Measurement("core", (figure,), *sides, "ten groups")
    figures = (
        Figure(f"memory of a member in a group of {MANY:,}", "bytes", more=False),
        Figure(f"memory of a group of one, of {MANY:,}", "bytes", more=False),
    )
    yield Measurement("core", figures, memory_rounds(MANY), exact=True)
    what = f"growth from the first hour to the end of {HOURS} of virtual time"
    figures = (Figure(what, "bytes", more=False),)
    yield Measurement("core", figures, day_rounds(10, HOURS), exact=True)


MEASUREMENTS = {
    ALONE: start_measurements,
    "heartbeats": heartbeat_measurements,
    "rebalances": rebalance_measurements,
    "data": data_measurements,
    "core": core_measurements,
}
"""Section → its measurements, of two sides; the compiled client is given to all."""


def measure(
    sections: Sequence[str], ours: Side, theirs: Side, rounds: int = ROUNDS, warm_ups: int = WARM_UPS
) -> Iterator[Row]:
    """The rows of some sections."""
    with tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        program = compiled(Path(folder))
        all_of_them = (MEASUREMENTS[section](ours, theirs, program) for section in sections)
        for measurement in chain.from_iterable(all_of_them):
            yield from measurement.rows(rounds, warm_ups)


def measured(sections: Sequence[str], target: str | None) -> Iterator[Row]:
    """The rows of some sections, beside a target or Kafka. Errors: NotStarted, Failed."""
    if ALONE in sections and not target:
        yield from measure([ALONE], NOBODY, NOBODY)
    if rest := [section for section in sections if section != ALONE]:
        with ExitStack() as stack:
            ours = stack.enter_context(rota())
            theirs = at(target, "target") if target else stack.enter_context(kafka())
            yield from measure(rest, ours, theirs)


def machine() -> str:
    """What it is measured on, as far as another machine has something to compare."""
    java = subprocess.run(("java", "-version"), capture_output=True, text=True).stderr.split('"')
    version = f", Java {java[1]}" if len(java) > 1 else ""
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}{version}"


def merged(committed: Report | None, new: Report, sections: Sequence[str]) -> Report:
    """The new report, with what the committed one has of sections that were not measured."""
    kept = () if committed is None else tuple(row for row in committed.rows if row.section not in sections)
    return replace(new, rows=kept + new.rows)


def write(docs: Path, report: Report) -> None:
    """The file and the page."""
    (docs / FILE).write_text(as_json(report), encoding="utf-8")
    (docs / PAGE).write_text(page(report), encoding="utf-8")


def compare(committed: Report | None, rows: Sequence[Row], sections: Sequence[str], tolerance: float) -> int:
    """Prints both ratios of each figure. Returns the exit code."""
    before = [] if committed is None else [row for row in committed.rows if row.section in sections]
    print(f"\n{'ratio':<84}{'before':>8}{'now':>8}")
    found = list(changes(before, rows, tolerance))
    for change in found:
        print(change.line())
    fallen = sum(change.fell for change in found)
    print(f"{fallen} of {len(found)} ratios fell by more than {tolerance:.0%} of what docs/{FILE} has")
    return 1 if fallen else 0


def main(arguments: Sequence[str]) -> int:
    """Measure and compare, or write. Returns the exit code."""
    given = parsed(arguments)
    path = given.docs / FILE
    committed = from_json(path.read_text(encoding="utf-8")) if path.exists() else None
    if given.page:
        if committed is None:
            print(f"rota: there is no {path}; measure with --write", file=sys.stderr)
            return 2
        write(given.docs, committed)
        return 0
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    sections = given.only or list(MEASUREMENTS)
    rows = []
    try:
        for row in measured(sections, given.target):
            rows.append(row)
            print(f"{row.section}: {row.what}: {row.ours} {row.theirs} {row.unit}", flush=True)
    except (NotStarted, Failed, OSError) as error:
        print(f"rota: {error}", file=sys.stderr)
        return 3
    if given.write:
        write(given.docs, merged(committed, Report(machine(), ROUNDS, tuple(rows)), sections))
        return 0
    return compare(None if given.target else committed, rows, sections, given.tolerance)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.server", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--only", action="append", choices=list(SECTIONS), help="a section; repeatable")
    parser.add_argument(
        "--target", metavar="HOST:PORT", help="another coordinator in place of Kafka; not compared"
    )
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, metavar="PART",
                        help="how much lower a ratio may be (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--docs", type=Path, default=DOCS, metavar="FOLDER", help="where the committed file is"
    )
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument("--write", action="store_true", help="write the file and the page anew")
    wanted.add_argument("--page", action="store_true", help="write the page from the file; measures nothing")
    given = parser.parse_args(arguments)
    if given.write and given.target:
        parser.error("--write is for figures beside Kafka; leave out --target")
    return given


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
