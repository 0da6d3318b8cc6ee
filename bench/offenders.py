"""What one client can do to the others of `rota serve`: every offence, from one and from eight connections.

    .venv/bin/python -m bench.offenders [--only NAME | --oldest N] [--seconds N] [--docs FOLDER]

Twenty members of one group send ten heartbeats a second each, by the clock: a heartbeat's latency counts from
the moment when it was due. Meanwhile an offender repeats its offence as fast as it can; the members are
watched until the server's memory is given back and it answers somebody new. Server, members and offender
are processes of their own; the offender's has a lower priority, since it stands for other machines.

What is judged: 99 of 100 heartbeats take at most 100 ms and none more than a second, none is refused, memory
is given back, what has to be answered is, and the server stops within two seconds.

All of them take some forty minutes with 30 seconds each; how long is said before, and what is left after
each. With --docs each row goes to offenders.json and server-limits.md in that folder as soon as it is
measured; other rows stay. --oldest N measures those N again that were measured before all others.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.offenders_list import OFFENCES
from bench.offenders_run import Failed, Outcome, Plan, measured
from bench.offenders_table import Row, merged, oldest, rows_in, text_of

ROOT = Path(__file__).resolve().parent.parent
DOCS, FILE = ROOT / "docs", "offenders.json"
CONNECTIONS = (1, 8)

P99_MS = 100.0
MOST_MS = 1_000.0
STOP_SECONDS = 2.0

BESIDE_SECONDS = 11.0
"""What a row takes beside the time in which is offended."""

STARVED = 0.05
"""Of the time: a server that waits longer for a processor shows what else the machine does."""

COMMAND = [sys.executable, "-m", "rota", "serve"]
SETTINGS = ("group.initial.rebalance.delay.ms=0", "log.retention.bytes=4194304")
"""Members join at once; a partition keeps little, so that what it keeps on purpose is no leak."""

HEAD = (
    f"{'offence':<24}{'conn.':>5}{'p50':>8}{'p99':>10}{'max ms':>10}{'CPU':>6}"
    f"{'before':>8}{'peak':>8}{'after':>8}{'done':>10}{'closed':>8}"
)


def faults(outcome: Outcome, plan: Plan, keeps: int = 0) -> Iterator[str]:
    """What is wrong with it. keeps: MiB that the offence may leave behind."""
    beats = outcome.members
    if outcome.died:
        yield f"the server {outcome.died}"
    if not beats.beats:
        yield "no heartbeat was measured"
    if beats.p99 > P99_MS:
        yield f"p99 {beats.p99:,.0f} ms"
    if beats.most > MOST_MS:
        yield f"one took {beats.most:,.0f} ms"
    if beats.refused:
        yield f"{beats.refused:,} heartbeats refused"
    if outcome.mute:
        yield f"{outcome.mute:,} requests without an answer"
    if outcome.died:
        return
    if outcome.back is None:
        kept = outcome.after - outcome.before
        yield (
            f"{kept:,.0f} MiB kept" if kept > plan.slack + keeps else f"nobody answered after {plan.wait:g} s"
        )
    if outcome.stop is None or outcome.stop > STOP_SECONDS:
        yield "no stop" if outcome.stop is None else f"a stop of {outcome.stop:.1f} s"


def measure(those: Iterable[tuple[str, int]], plan: Plan) -> Iterator[Row]:
    """One after the other, each an offence and from how many connections. Errors: Failed."""
    for name, number in those:
        offence = OFFENCES[name]
        measured_at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M}Z"
        outcome = measured(offence, number, plan)
        yield Row.of(name, number, outcome, tuple(faults(outcome, plan, offence.keeps)), measured_at)


def minutes(rows: int, plan: Plan) -> str:
    """About how long so many rows take."""
    return f"{rows * (plan.seconds + BESIDE_SECONDS) / 60:.0f} min"


def line(row: Row) -> str:
    """As it is printed."""
    figures = (
        f"{row.offence:<24}{row.connections:>5}{row.p50_ms:>8,.1f}{row.p99_ms:>10,.1f}{row.max_ms:>10,.1f}"
        f"{row.cpu:>6.0%}{row.before:>8,.0f}{row.peak:>8,.0f}{row.after:>8,.0f}{row.done:>10,}{row.closed:>8,}"
    )
    busy = row.late_ms > P99_MS or row.starved > STARVED
    doubt = f"  (the machine is busy: {row.starved:.0%} starved, clock {row.late_ms:,.0f} ms late)"
    return figures + doubt * busy + "".join(f"\n    {fault}" for fault in row.faults)


def main(arguments: Sequence[str]) -> int:
    """Measure, print, write. Returns the exit code: 1 if anything is wrong."""
    given, plan = _arguments(arguments)
    those = _chosen(given)
    wrong = False
    print(f"{len(those)} rows, some {minutes(len(those), plan)}, more where memory is not given back")
    print(HEAD, flush=True)
    try:
        for left, row in zip(reversed(range(len(those))), measure(those, plan), strict=True):
            print(line(row) + (f"  [{minutes(left, plan)} left]" if left else ""), flush=True)
            wrong = wrong or bool(row.faults)
            if given.docs:
                _write(given.docs, row)
    except Failed as error:
        print(f"bench: {error}", file=sys.stderr)
        wrong = True
    return int(wrong)


def _chosen(given: argparse.Namespace) -> list[tuple[str, int]]:
    """The rows to be measured."""
    if given.oldest is not None:
        return oldest(_rows_of((given.docs or DOCS) / FILE), given.oldest)
    names = given.only or OFFENCES
    return [(name, number) for name in names for number in ((0,) if name == "nobody" else given.connections)]


def _rows_of(file: Path) -> list[Row]:
    return rows_in(file.read_text(encoding="utf-8")) if file.exists() else []


def _write(folder: Path, row: Row) -> None:
    from bench.offenders_page import page

    file = folder / FILE
    order = list(OFFENCES)
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    all_rows = [each for each in merged(_rows_of(file), [row]) if each.offence in order]
    all_rows.sort(key=lambda each: (order.index(each.offence), each.connections))
    file.write_text(text_of(machine, all_rows), encoding="utf-8")
    (folder / "server-limits.md").write_text(page(file.read_text(encoding="utf-8")), encoding="utf-8")


def _arguments(arguments: Sequence[str]) -> tuple[argparse.Namespace, Plan]:
    parser = argparse.ArgumentParser(prog="python -m bench.offenders", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--only", action="append", choices=OFFENCES, metavar="NAME",
                        help=f"one offence; repeatable: {', '.join(OFFENCES)}")  # fmt: skip
    parser.add_argument("--oldest", type=int, metavar="N", help="the N rows that were measured first")
    parser.add_argument("--connections", type=int, action="append", metavar="N", help="default: 1 and 8")
    parser.add_argument("--seconds", type=float, default=Plan.seconds, help="of the offender (default: 30)")
    parser.add_argument("--wait", type=float, default=Plan.wait, metavar="SECONDS",
                        help="for memory to be given back (default: 60)")  # fmt: skip
    parser.add_argument("--memory", type=float, default=Plan.memory, metavar="MIB",
                        help="a server with more is ended (default: 3072)")  # fmt: skip
    parser.add_argument("--server", type=shlex.split, metavar="COMMAND",
                        help="starts another server, which says where it listens")  # fmt: skip
    parser.add_argument("--docs", type=Path, metavar="FOLDER", help="where to write the figures")
    given = parser.parse_args(arguments)
    given.connections = given.connections or CONNECTIONS
    own = COMMAND + [word for setting in SETTINGS for word in ("--set", setting)]
    return given, Plan(given.server or own, given.seconds, given.wait, memory=given.memory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
