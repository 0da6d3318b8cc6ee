"""The rows of offenders.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.offenders_run import Outcome


@dataclass(frozen=True)
class Row:
    """One offence from so many connections; units as of `bench.offenders_run.Outcome`.

    measured: when, in UTC, to the minute.
    """

    offence: str
    connections: int
    seconds: float
    beats: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    late_ms: float
    cpu: float
    starved: float
    before: float
    peak: float
    after: float
    back: float | None
    stop: float | None
    done: int
    closed: int
    faults: tuple[str, ...]
    measured: str

    @staticmethod
    def of(
        offence: str, connections: int, outcome: Outcome, faults: tuple[str, ...], measured: str = ""
    ) -> Row:
        """The row of an outcome."""
        beats = outcome.members
        latency = {"p50_ms": beats.p50, "p99_ms": beats.p99, "max_ms": beats.most, "late_ms": beats.late}
        memory = {name: round(getattr(outcome, name)) for name in ("before", "peak", "after")}
        return Row(
            offence, connections, round(outcome.seconds, 1), beats.beats, **latency,
            cpu=round(outcome.cpu, 2), starved=round(outcome.starved, 2), **memory,
            back=_rounded(outcome.back), stop=_rounded(outcome.stop), done=outcome.done,
            closed=outcome.closed, faults=faults, measured=measured,
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return asdict(self)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def merged(before: Iterable[Row], now: Iterable[Row]) -> list[Row]:
    """Both; what was measured now takes the place of what was there."""
    found = {(row.offence, row.connections): row for row in (*before, *now)}
    return list(found.values())


def oldest(rows: Iterable[Row], number: int) -> list[tuple[str, int]]:
    """So many rows that were measured before all others: each an offence and its connections."""
    by_age = sorted(rows, key=lambda row: row.measured)
    return [(row.offence, row.connections) for row in by_age[:number]]


def rows_in(text: str) -> list[Row]:
    """The rows of a file."""
    rows = json.loads(text)["rows"]
    return [Row(**row | {"faults": tuple(row["faults"])}) for row in rows]


def text_of(machine: str, rows: Sequence[Row]) -> str:
    """The file."""
    lines = ",\n  ".join(json.dumps(row.as_json()) for row in rows)
    return f'{{"schema": 1, "machine": {json.dumps(machine)}, "rows": [\n  {lines}\n]}}\n'
