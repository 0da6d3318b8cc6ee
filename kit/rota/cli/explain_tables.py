"""A run of `rota explain` that leaves tables: in this process, or by tasks on Spark."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import click

from rota.cli.errors import HOLDS, NOTHING, UsageError, say
from rota.cli.explain_options import ExplainOptions
from rota.cli.source_options import what_was_read
from rota.cli.validate_options import TableOptions, ValidateOptions
from rota.cli.validate_tables import TablesRun
from rota.explain import telling
from rota.explain.worst import Explained, Totals, costliest_first
from rota.report.format import wrapped

COLUMNS = (
    "cluster",
    "group",
    "began",
    "ended",
    "open",
    "seconds",
    "rebalances",
    "title",
    "sentence",
    "routine",
)


@dataclass
class ExplainTables:
    """paths: to read; options; tables: of what is left."""

    paths: Sequence[str]
    options: ExplainOptions
    tables: TableOptions
    as_json: bool
    quiet: bool
    _worst: list[tuple[tuple[bool, float], int, dict[str, Any]]] = field(default_factory=list)

    def run(self) -> int:
        """Make the tables, and tell the costliest of what they have; the exit code. Errors: UsageError."""
        if not self.paths:
            raise UsageError("nothing to read; give the paths of logs or recordings")
        given = {name: getattr(self.options, name) for name in ("format", "time_format", "zone", "layout")}
        given |= {name: getattr(self.options, name) for name in ("skews", "ports", "config", "unordered")}
        only = self.options.groups[0] if len(self.options.groups) == 1 else ""
        options = ValidateOptions(**given, group=only, since=self.options.since, until=self.options.until)
        run = TablesRun(self.paths, options, (), self.as_json, self.quiet, tables=self.tables)
        run.made()
        found = self._explained(run)
        read = what_was_read(run.tally)
        if not found.events:
            say(f"nothing about groups was found in {read}; give logs, recordings or the offsets topic")
            return NOTHING
        for line in self._lines(found, read, run):
            click.echo(line)
        return HOLDS

    def _explained(self, run: TablesRun) -> Explained:
        from rota.histories.tables import rows
        from rota.validate.account import history_of

        found = Explained([], 0, [], 0, 0, 0.0, 0, run.tally.events)
        totals: dict[str, Totals] = {}
        for number, row in enumerate(rows(run.out, "incidents", COLUMNS)):
            if self.options.groups and row["group"] not in self.options.groups:
                continue
            name = history_of(row["cluster"], row["group"])
            _add(totals.setdefault(name, Totals(name)), found, row)
            item = (_rank(row), -number, {**row, "group": name})
            (heapq.heappushpop if len(self._worst) >= self.options.most else heapq.heappush)(
                self._worst, item
            )
            found.left_out += 1
        found.left_out -= len(self._worst)
        found.groups = costliest_first(totals.values())
        return found

    def _lines(self, found: Explained, read: str, run: TablesRun) -> Iterator[str]:
        worst = [row for *_, row in sorted(self._worst, reverse=True)]
        if self.as_json:
            yield json.dumps(_as_json(found, worst), indent=2)
            return
        yield wrapped("", worst[0]["sentence"] if worst else telling.none(found))
        if not self.quiet:
            if worst:
                yield from ("", *telling.table(found), "")
            yield from (wrapped(f"{row['group']}: ", row["sentence"]) for row in worst)
            if found.left_out:
                yield f"not told: {found.left_out:,} incidents that cost less; the table has them"
            yield from (wrapped("read: ", read), f"tables: {run.out}")
        yield telling.verdict(found)


def _rank(row: dict[str, Any]) -> tuple[bool, float]:
    """What is told first: what is routine comes last."""
    return not row["routine"], row["seconds"] or 0.0


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


def _add(totals: Totals, found: Explained, row: dict[str, Any]) -> None:
    """An incident of a group."""
    seconds, untimed = row["seconds"] or 0.0, row["rebalances"] if row["seconds"] is None else 0
    totals.count(row["rebalances"], seconds, untimed)
    totals.last, totals.open = _seconds(row["ended"]), row["open"]
    totals.compare(row["title"], _rank(row))
    found.rebalances += row["rebalances"]
    found.seconds += seconds
    found.untimed += untimed


def _as_json(found: Explained, worst: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """For programs; all that there is stands in the table."""
    moments = ("began", "ended")
    return {
        "schema": 1,
        "verdict": "explained",
        "first": worst[0]["sentence"] if worst else None,
        "rebalances": found.rebalances,
        "seconds": round(found.seconds, 3),
        "groups": len(found.groups),
        "incidents": [{**row, **{name: _seconds(row[name]) for name in moments}} for row in worst],
        "incidents_left_out": found.left_out,
        "events": found.events,
    }
