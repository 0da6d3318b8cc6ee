"""docs/server-limits.md: what one client can do to the others, from the measured rows and the limits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.offenders_limits import CHEAP, LIMITS, Limit
from bench.offenders_list import OFFENCES
from bench.offenders_table import Row, rows_in

from rota.server.intake import FRAME_LIMITS

HEAD = """# What one client can do to the others

<!-- Written by `make offenders`; do not edit. -->

Every client of a coordinator sits beside others whose sessions run out when it does not answer in time. So
nothing that one of them sends may hold up the rest, and what it makes the server keep is bounded. Here is
each offence that somebody has thought of, what bounds it, and what it does to well-behaved members
(`python -m bench.offenders`).

## Limits

What is refused is refused to the offender alone. A setting is given by `rota serve --set NAME=VALUE`; a name
in capitals is a constant of that module.
"""

FRAMES = """
What each request may have, if it is longer than 4 KiB: bytes of its frame, and elements of all its arrays,
tagged fields among them. A longer one closes its connection as soon as its length and its API are read.
"""

MEASURED = """
## Measured

Twenty members of one group send ten heartbeats a second each, by the clock; the latency of each counts from
the moment when it was due, answered or not. Beside them an offender repeats its offence as fast as it can
for {seconds:g} seconds, from one connection or from eight. The members are watched until the server has given
its memory back. Wanted: p99 at most 100 ms, none above a second, nobody expelled, memory as before (64 MiB
are allowed, and what the settings let members and offsets take that the offence leaves behind: they stay
until their sessions or their retention end). Latencies in milliseconds, memory in MiB; *done* counts
offences, *closed* the connections that the server has closed on the offender. Measured on {machine}; *nobody*
is the machine itself. The rows are of {first} to {last} (UTC); `make offenders OLDEST=10` measures the ten
oldest again.
"""


def page(figures: str) -> str:
    """The page. figures: the text of offenders.json."""
    return "\n".join((HEAD, *_limits(), *_frames(), *_measured(figures), *_meanings())) + "\n"


def _limits() -> Iterator[str]:
    yield "| offence | what is bounded | limit | default | the offender is told | line of the log |"
    yield "|---|---|---|---|---|---|"
    for name in OFFENCES:
        for limit in LIMITS:
            if name in limit.offences:
                yield _row(name, limit)
        for cheap in CHEAP:
            if name in cheap.offences:
                yield f"| {name} | (cheap: {cheap.how}) | | | | |"


def _frames() -> Iterator[str]:
    yield FRAMES
    yield "| request | bytes | elements |"
    yield "|---|--:|--:|"
    for name, limit in FRAME_LIMITS.items():
        own = f"{limit.bytes:,}" if limit.bytes < 2**31 - 1 else "as `socket.request.max.bytes`"
        yield f"| {name} | {own} | {limit.elements:,} |"


def _row(name: str, limit: Limit) -> str:
    module, _, constant = limit.where.partition(":")
    where = f"`{constant}` of `{module}`" if constant else f"`{limit.where}`"
    log = f"`{limit.log} …`" if limit.log else ""
    return f"| {name} | {limit.what} | {where} | {limit.value:,} {limit.unit} | {limit.told} | {log} |"


def _measured(figures: str) -> Iterator[str]:
    rows = rows_in(figures)
    seconds = max(row.seconds for row in rows)
    days = sorted(row.measured for row in rows)
    first, last = (day.replace("T", " ").removesuffix("Z") for day in (days[0], days[-1]))
    machine = json.loads(figures)["machine"]
    yield MEASURED.format(seconds=round(seconds), machine=machine, first=first, last=last)
    yield "| offence | connections | p50 | p99 | max | CPU | before | peak | after | done | closed | |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    yield from map(_measured_row, rows)
    fine = sum(not row.faults for row in rows)
    yield ""
    yield f"{fine} of {len(rows)} are as wanted."


def _measured_row(row: Row) -> str:
    figures = (f"{row.p50_ms:,.1f}", f"{row.p99_ms:,.1f}", f"{row.max_ms:,.1f}", f"{row.cpu:.0%}")
    memory = (f"{row.before:,.0f}", f"{row.peak:,.0f}", f"{row.after:,.0f}")
    cells: Sequence[object] = (row.offence, row.connections, *figures, *memory, f"{row.done:,}",
                               f"{row.closed:,}", "; ".join(row.faults))  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _meanings() -> Iterator[str]:
    yield ""
    yield "## The offences"
    yield ""
    for offence in OFFENCES.values():
        yield f"- **{offence.name}**: {offence.meaning}"


if __name__ == "__main__":  # the figures stay
    docs = Path(__file__).resolve().parent.parent / "docs"
    (docs / "server-limits.md").write_text(page((docs / "offenders.json").read_text(encoding="utf-8")))
