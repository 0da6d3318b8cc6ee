"""What `bench.server` has measured: rows as in docs/server.json, the page of them, and what has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

TOLERANCE = 0.2
"""By how much of the committed ratio a new one may be lower."""

PAGE_HEAD = """\
# Server figures: `rota serve` beside Apache Kafka

Written by `python -m bench.server` from [server.json](server.json); `make server-bench` measures anew, prints
the ratios beside these and ends with exit 1 where one has fallen by more than {tolerance:.0%}.

Each figure is the median of {rounds} rounds after a warm-up. Rounds of both sides alternate in one run, so
that both meet the same machine, and the client is the same. A ratio above 1 says that rota does better,
whatever is counted; *wanted* is the least that we hold ourselves to. Measured on: {machine}.
"""

SECTIONS: Mapping[str, str] = {
    "starts": """\
From the command, with nothing kept, to the answer to a first ApiVersions, and until the broker says of no
group any more that it is not ready for it; a fresh process for each round. Kafka's folder is formatted first,
and its Java has flags and an archive of classes that make its start short (`-XX:TieredStopAtLevel=1`, a heap
of at most 512 MB). rota's bytecode is there, as pip installs it, kfake is compiled, and librdkafka's mock is
started from Python. Processor and memory (resident) are those of the process that listens. Measured beside
other work, at a load of fifteen.
""",
    "heartbeats": """\
Each connection has a member of one Stable group. *One by one*: the next heartbeat when the last is answered.
*Bursts of 16*: sixteen in one write, the next when all are answered. The Python client is most likely the
limit of both sides; the compiled one (`bench/server_load.c`) follows each answer by another request, so that
so many are always under way. With it the server's processor time is taken from /proc: user and system, all
threads.
""",
    "rebalances": """\
A group with a member on each connection: all join with changed metadata, and when all joins are answered
all sync; the leader assigns a share to everybody. From the first request to the last answer, by the Python
client. The ratios depend on the machine: on another one with two cores, where rota took three times as long
for 1,000 members and Kafka twice, those of 10, 100 and 1,000 members were 1.20, 0.50 and 0.42.
""",
    "data": """\
`rota serve --data-dir`: members of one Stable group, each on its connection, commit an offset of one
partition again and again, by the compiled client. Kafka is as it comes: it leaves the writing to the system
(`never`). What each policy promises: [durability.md](durability.md). A start is from the command to the line
that says where the server listens, Python's own start included; its log was written by the server's own
writer and ended in order. The records are offsets of 10,000 groups: a hundred of each, committed at once, or
one of each, committed a hundred times.
""",
    "core": """\
The coordinator alone, without sockets and codec: requests in, effects carried out (timers in the wheel,
appends acknowledged). Seconds are the processor's. *Joins and syncs* are counted in pairs; all members of a
group join and sync. The day: ten members heartbeat every three seconds and commit each minute, each hour one
leaves and another comes, and a group is made and cleaned away; the bytes are a further level of the wheel.
""",
}
"""Section of the page → what is measured in it."""


@dataclass(frozen=True)
class Row:
    """A figure of both sides, a value for each round. `theirs` is empty where nobody is compared with.

    more: whether more is better. wanted: the least ratio that is wanted. beside: who the other side is.
    """

    section: str
    what: str
    unit: str
    more: bool
    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    beside: str
    wanted: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.section, self.what, self.unit

    @property
    def ratio(self) -> float | None:
        """How much better rota is: above 1 better, below 1 worse."""
        if not self.theirs:
            return None
        ours, theirs = median(self.ours), median(self.theirs)
        return ours / theirs if self.more else theirs / ours


@dataclass(frozen=True)
class Report:
    """All rows, how many rounds each has, and the machine in words."""

    machine: str
    rounds: int
    rows: tuple[Row, ...]


def as_json(report: Report) -> str:
    """The text of the file, a row on each line."""
    rows = ",\n  ".join(json.dumps(asdict(row), ensure_ascii=False) for row in report.rows)
    head = {"schema": 1, "machine": report.machine, "rounds": report.rounds}
    return f'{json.dumps(head)[:-1]}, "rows": [\n  {rows}\n]}}\n'


def from_json(text: str) -> Report:
    """What `as_json` wrote."""
    read: dict[str, Any] = json.loads(text)
    rows = ({**row, "ours": tuple(row["ours"]), "theirs": tuple(row["theirs"])} for row in read["rows"])
    return Report(read["machine"], read["rounds"], tuple(Row(**row) for row in rows))


def page(report: Report) -> str:
    """docs/server-figures.md."""
    out = [PAGE_HEAD.format(tolerance=TOLERANCE, rounds=report.rounds, machine=report.machine)]
    for section, words in SECTIONS.items():
        rows = [row for row in report.rows if row.section == section]
        out.append(f"## {section.capitalize()}\n\n{words}\n{_table(rows)}")
    return "\n".join(out)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| what | unit | rota | the other | ratio | wanted |", "|---|---|---:|---:|---:|---:|"]
    for row in rows:
        theirs = f"{_number(median(row.theirs))} ({row.beside})" if row.theirs else ""
        cells = (row.what, row.unit, _number(median(row.ours)), theirs, _ratio(row.ratio), _ratio(row.wanted))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """Three digits or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


@dataclass(frozen=True)
class Change:
    """A ratio before and now; `now` is None where it was not measured any more."""

    row: Row
    before: float | None
    now: float | None
    fell: bool

    def line(self) -> str:
        """One line of the comparison."""
        words = f"{self.row.section}: {self.row.what}, {self.row.unit}"
        mark = "  FELL" if self.fell else ""
        return f"{words:<84}{_ratio(self.before) or '-':>8}{_ratio(self.now) or '-':>8}{mark}"


def changes(before: Sequence[Row], now: Sequence[Row], tolerance: float) -> Iterator[Change]:
    """Every figure that is or was measured. What was and is not any more has fallen; what is new has not."""
    found = {row.key: row for row in now}
    known = {row.key for row in before}
    for row in before:
        new = found.get(row.key)
        ratio = None if new is None else new.ratio
        fell = row.ratio is not None and (ratio is None or ratio < row.ratio * (1 - tolerance))
        yield Change(row, row.ratio, ratio, fell)
    for row in now:
        if row.key not in known:
            yield Change(row, None, row.ratio, fell=False)
