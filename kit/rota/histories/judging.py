"""A task that judges the groups of a bucket, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from rota.histories import pairs, tables
from rota.histories.explaining import Explaining
from rota.histories.plan import Plan, Span
from rota.histories.record import keep, kept
from rota.histories.routing import FOR_ALL, TOGETHER
from rota.histories.rows import BROKEN, LEFT
from rota.histories.runs import Row, merged, whole
from rota.histories.told import violation_row
from rota.history import Event, event_of
from rota.linearise import learned
from rota.validate.account import Account, Unaccounted, history_of
from rota.validate.apart import History
from rota.validate.routing import UNREADABLE, Told
from rota.validate.routing import Part as What

NOT_CHECKED, UNDECIDED, QUARANTINED = "not checked", "undecided", "quarantined"
"""Fates of events that are not judged."""

WHAT = {one.value: one for one in What}
"""By the words of rows: to ask the enumeration takes longer than to look."""

HISTORY, PLACE = itemgetter(1, 2), itemgetter(3, 4, 5, 6, 7)
"""Of a row: whose it is, and where it belongs among others."""


@dataclass(frozen=True)
class Bucket:
    """What a task has to judge.

    number: of the bucket; folder: where it leaves its tables; before: where this bucket's tables were left
    before, "" if it has none.
    """

    number: int
    folder: str
    before: str = ""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Bucket:
        """From what JSON has."""
        return cls(**told)


@dataclass
class Tables:
    """The rows of a bucket, by table."""

    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in tables.JUDGED})

    def write(self, folder: Path) -> None:
        """All of them, in the order of clusters and groups."""
        for name, rows in self.rows.items():
            rows.sort(key=itemgetter(0, 1))
            tables.write(folder / f"{name}.table", rows, tables.JUDGED[name])


def judge(plan: Plan, bucket: Bucket) -> None:
    """Judge the groups of a bucket, unless that was done."""
    target = Path(bucket.folder)
    if kept(target) is not None:
        return
    with whole(target) as folder, learned.counting(plan.folder, plan.learned) as asked:
        wanted, judged = _wanted(plan, bucket) if bucket.before else None, 0
        found, for_all = _before(plan, bucket, wanted or set()), _for_all(plan)
        streams = [one for routed in plan.routed for one in routed.rows(bucket.number)]
        for (cluster, group), rows in groupby(merged(streams), key=HISTORY):
            if wanted is None or (cluster, group) in wanted or cluster in plan.anew:
                span = plan.spans[cluster]
                one = _History(plan, span, cluster, group)
                one.take(rows, for_all.get(cluster, []) if group else [])
                judged += one.leave(found)
        found.write(folder)
        pairs.write(folder, asked.union(pairs.read(bucket.before) if bucket.before else ()))
        keep(folder, {"judged": judged, "open": sum(row[-1] for row in found.rows["open"])})


def _wanted(plan: Plan, bucket: Bucket) -> set[tuple[str, str]]:
    """Groups that are judged anew: something new is told of them, or time alone may tell more."""
    new = (one for one in plan.routed if one.new)
    found = {HISTORY(row) for routed in new for rows in routed.rows(bucket.number) for row in rows}
    told = tables.read(Path(bucket.before, "open.table"))
    return found | {(one["cluster"], one["group"]) for one in told if one["waits"]}


def _before(plan: Plan, bucket: Bucket, anew: set[tuple[str, str]]) -> Tables:
    """What was told of groups that are not judged anew."""
    found = Tables()
    if not bucket.before:
        return found
    for name, rows in found.rows.items():
        for one in tables.read(Path(bucket.before, f"{name}.table")):
            if (one["cluster"], one["group"]) not in anew and one["cluster"] not in plan.anew:
                rows.append(tuple(one.values()))
    return found


def _for_all(plan: Plan) -> dict[str, list[Row]]:
    """What every group is told, by cluster, in order."""
    found: dict[str, list[Row]] = {}
    for row in merged(one for routed in plan.routed for one in routed.rows(TOGETHER, FOR_ALL)):
        found.setdefault(row[1], []).append(row)
    return found


class _History:
    """Judges one group from its rows. Parameters: plan; span, of its cluster; cluster; group."""

    def __init__(self, plan: Plan, span: Span, cluster: str, group: str) -> None:
        self._cluster, self._group = cluster, group
        self._history = History(cluster, group, plan.terms, span.began or 0.0)
        self._explaining = Explaining(cluster, group, plan.terms)
        self._ends = plan.terms.ends(span.ended)
        self._events = 0
        self._moments: list[float] = []
        self._quarantined: list[Row] = []
        self._compared: list[Row] = []

    @property
    def _account(self) -> Account:
        return self._history.account

    def take(self, rows: Iterator[Row], for_all: Sequence[Row]) -> None:
        """All rows, and between them what is for all groups."""
        line, event = b"", None
        for row in merge(rows, for_all, key=PLACE) if for_all else rows:
            part, weight = row[9], row[10]
            own = row[1:3] == (self._cluster, self._group)
            self._events += weight if own else 0
            if part in (LEFT, BROKEN):
                self._beside(row)
                continue
            if row[14] != line or event is None:
                line, event = row[14], event_of(row[14])
                self._explaining.take(event)
            self._take(row, event, own)

    def _take(self, row: Row, event: Event, own: bool) -> None:
        _, _, group, at, *_ = row
        told = Told(WHAT[row[9]], group, row[10], row[11], row[12], cause=row[13])
        unread, compared = self._account.quarantined, len(self._history.comparisons)
        self._history.take(told, event, max(0.0, at))
        if own and at > 0:
            self._moments = [self._moments[0] if self._moments else at, at]
        if self._account.quarantined > unread:
            self._quarantined.append((self._cluster, self._group, event.origin, event.reason or UNREADABLE))
        for one in self._history.comparisons[compared:]:
            told_apart = "" if one.violation is None else json.dumps(violation_row("", one.violation))
            self._compared.append(
                (
                    self._cluster,
                    self._group,
                    *PLACE(row),
                    one.one,
                    one.other,
                    one.difference,
                    one.what,
                    told_apart,
                )
            )

    def _beside(self, row: Row) -> None:
        """An event of no group that was not checked, or could not be read."""
        if row[9] == LEFT:
            self._account.leave(row[13], row[11], row[10])
        else:
            self._account.quarantine("", row[10])
            self._quarantined.append((self._cluster, "", event_of(row[14]).origin, row[13]))

    def leave(self, found: Tables) -> bool:
        """Judge to the end, and add the rows of all tables. Returns whether there is such a group: one that
        is on a list alone is none."""
        waits = self._history.end(self._ends)
        account, key = self._account, (self._cluster, self._group)
        Unaccounted.unless(self._events, account.events, f" of {history_of(*key)}")
        found.rows["incidents"] += self._explaining.rows(self._ends)
        if self._group and not account.standings:
            return False
        rows = found.rows
        first, last = map(tables.micros, self._moments or (None, None))
        if self._group:
            for (cluster, group), standing in account.standings.items():
                told = standing.as_row(cluster, group)
                counts = {name: list(told.pop(name).items()) for name in ("rules", "causes")}
                rows["verdicts"] += [(*told.values(), *counts.values(), first, last)] if group else []
        rows["violations"] += [violation_row(self._cluster, one) for one in account.violations]
        rows["not_judged"] += _not_judged(account, key)
        rows["quarantined"] += self._quarantined
        rows["late"] += [(*key, what, seconds) for (_, what), seconds in sorted(account.late.items())]
        rows["coverage"] += [(*key, rule, state) for rule, state in sorted(account.reached)]
        rows["compared"] += self._compared
        rows["open"].append((*key, self._events, waits))
        return bool(self._group)


def _not_judged(account: Account, key: tuple[str, str]) -> Iterator[Row]:
    for (what, source), events in sorted(account.not_checked.items()):
        yield (*key, NOT_CHECKED, what, source, events)
    for (_, cause), events in sorted(account.undecided.items()):
        yield (*key, UNDECIDED, cause, "", events)
    if account.quarantined:
        yield (*key, QUARANTINED, UNREADABLE, "", account.quarantined)
