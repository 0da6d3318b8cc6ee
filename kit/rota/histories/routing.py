"""A task that finds out which groups events are about, connection by connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rota.histories.plan import Plan
from rota.histories.reading import folder_of
from rota.histories.record import keep, kept
from rota.histories.rows import BROKEN, LEFT, ROUTED, digest
from rota.histories.runs import Row, Runs, merged, rows_of, whole
from rota.histories.shards import Shard
from rota.history import event_of, line_of
from rota.reading.unordered import TWICE
from rota.validate.account import Account
from rota.validate.apart import is_for_all, parts_of
from rota.validate.routing import FRAMES, UNREADABLE, Router
from rota.validate.terms import Terms

FOR_ALL = "for-all"
"""The folder, below that of the task, of what every group of a cluster is told."""

TOGETHER = 0
"""Its only part."""


@dataclass(frozen=True)
class Part:
    """What a task has to route: of new shards all, of old ones conversations that go on in new ones.

    number: of the part; folder: where its rows go; new, old: shards; again: conversations of old shards.
    """

    number: int
    folder: str
    new: Sequence[Shard]
    old: Sequence[Shard] = ()
    again: frozenset[int] = frozenset()

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Part:
        """From what JSON has."""
        shards = {name: [Shard.of(one) for one in told[name]] for name in ("new", "old")}
        return cls(told["number"], told["folder"], **shards, again=frozenset(told["again"]))


@dataclass
class _Noted(Account):
    """Keeps what a router says of events of no group. rows: part and cause of each."""

    rows: list[tuple[str, str, str]] = field(default_factory=list)

    def leave(self, what: str, source: str, events: int, group: str = "") -> None:
        self.rows += [(LEFT, what, source)] * events

    def quarantine(self, group: str, events: int = 1) -> None:
        self.rows += [(BROKEN, UNREADABLE, FRAMES)] * events


@dataclass
class _Cluster:
    """A cluster's router, with what it says of events of no group."""

    account: _Noted
    router: Router

    @classmethod
    def of(cls, terms: Terms) -> _Cluster:
        account = _Noted()
        return cls(account, Router(terms, account))


def route(plan: Plan, part: Part) -> None:
    """Make rows for groups of a part's events, unless they are there."""
    target = Path(part.folder)
    if kept(target) is not None:
        return
    with whole(target) as folder:
        (folder / FOR_ALL).mkdir()
        own, announced = Runs(folder, ROUTED, plan.rows), Runs(folder / FOR_ALL, ROUTED, plan.rows)
        for row, for_all in _routed(plan, _rows(plan, part)):
            own.add(row)
            if for_all:
                announced.add((TOGETHER, *row[1:]))
        own.flush()
        announced.flush()
        keep(folder, {"buckets": own.parts, "for_all": sum(announced.parts.values())})


def _rows(plan: Plan, part: Part) -> Iterator[Row]:
    """Events in their order."""
    streams = [_of_shard(plan, shard, part.number, None) for shard in part.new]
    streams += [_of_shard(plan, shard, part.number, part.again) for shard in part.old]
    return merged(streams)


def _of_shard(plan: Plan, shard: Shard, part: int, again: frozenset[int] | None) -> Iterator[Row]:
    """A shard's rows of a part, with its place among sources, if order matters. again: only these
    conversations."""
    source = 0 if plan.options.unordered else shard.source
    for _, at, _, *rest in merged(rows_of(folder_of(plan, shard), part)):
        if again is None or rest[-1] in again:
            yield at, source, *rest


def _once(rows: Iterator[Row]) -> Iterator[tuple[Row, bool]]:
    """Rows, and whether each was told before. Of those in one place, which is a row's first four values, the
    order is that of their lines as they are written here, which few have to be."""
    together: list[Row] = []
    for row in rows:
        if together and row[:4] != together[0][:4]:
            yield from _each_once(together)
            together = []
        together.append(row)
    yield from _each_once(together)


def _each_once(together: Sequence[Row]) -> Sequence[tuple[Row, bool]]:
    """Rows in one place, as `_once` has them."""
    if len(together) == 1:
        return ((together[0], False),)
    found: list[tuple[Row, bool]] = []
    before: Row = ()
    for row in sorted((*row[:4], line_of(event_of(row[4])).encode(), *row[5:]) for row in together):
        found.append((row, before == row[:6]))
        before = row[:6]
    return found


def _routed(plan: Plan, rows: Iterator[Row]) -> Iterator[tuple[Row, bool]]:
    """What events mean for groups, and whether it is for all of them."""
    clusters: dict[str, _Cluster] = {}
    place, turn = (), 0
    for row, copy in _once(rows) if plan.options.unordered else ((row, False) for row in rows):
        at, source, told, number, line, name, conversation = row
        turn = turn if place == row[:4] else 0
        place = row[:4]
        cluster = clusters.get(name)
        if cluster is None:
            cluster = clusters[name] = _Cluster.of(plan.terms)
        for means, event_line, for_all in _means(cluster, line, max(0.0, at), copy):
            bucket = digest(name, means[0]) % plan.buckets
            yield (
                (
                    bucket,
                    name,
                    means[0],
                    at,
                    source,
                    told,
                    number,
                    turn,
                    conversation,
                    *means[1:],
                    event_line,
                ),
                for_all,
            )
            turn += 1


def _means(cluster: _Cluster, line: bytes, now: float, copy: bool) -> Sequence[tuple[Row, bytes, bool]]:
    """(group, part, weight, connection, asked, cause), the line where it is needed, whether it is for all."""
    event = event_of(line)
    if copy:
        return [(("", LEFT, 1, event.source.value, 0, TWICE), b"", False)]
    found = [
        (
            (told.group, str(told.part), told.weight, told.connection, told.number, told.cause),
            line,
            is_for_all(told, event),
        )
        for told in parts_of(cluster.router, event, now)
    ]
    if noted := cluster.account.rows:
        found += [
            (("", part, 1, source, 0, why), line if part == BROKEN else b"", False)
            for part, why, source in noted
        ]
        noted.clear()
    return found
