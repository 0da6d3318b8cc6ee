"""A task that reads a shard: its events as rows, and what cannot be read."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rota.histories import tables
from rota.histories.plan import Plan, Span
from rota.histories.record import keep, kept
from rota.histories.rows import READ, conversation_of
from rota.histories.runs import Runs, whole
from rota.histories.shards import Shard
from rota.history import Event, Kind, Source, line_of
from rota.reading import OpenSource, Tally
from rota.reading.event_lines import EventLines, told
from rota.reading.merging import noted, straightened
from rota.reading.readers import READERS
from rota.reading.unordered import NEVER, place_of

CONVERSATIONS = "conversations.i64"
"""The file with the digests of a shard's conversations, in order."""

BROKEN_LINES = "broken.table"


@dataclass
class Broken(Tally):
    """A tally that also keeps every single thing that could not be read and is no event: where it stands, and
    why."""

    each: list[tuple[str, str]] = field(default_factory=list)

    def quarantine(self, origin: str, reason: str, also_told: bool = False) -> None:
        super().quarantine(origin, reason, also_told)
        if not also_told:
            self.each.append((origin, reason))


def folder_of(plan: Plan, shard: Shard) -> Path:
    """Where its rows are."""
    return plan.work / "read" / shard.id


def read(plan: Plan, shard: Shard) -> None:
    """Make rows of a shard, unless they are there."""
    target = folder_of(plan, shard)
    if kept(target) is not None:
        return
    tally, began, ended, asked = Broken(), float("inf"), 0.0, Counter[str]()
    conversations: set[int] = set()
    with whole(target) as folder:
        runs = Runs(folder, READ, plan.rows)
        for at, place, number, line, event in _placed(plan, shard, tally):
            conversation = conversation_of(shard.cluster, event)
            frames = event.source is Source.FRAMES
            if frames or plan.options.unordered:
                conversations.add(conversation)
            moment = max(0.0, at)
            ended = max(ended, moment)
            began = min(began, moment) if frames else began
            if event.kind is Kind.REQUEST:
                asked[str(event.data.get("api"))] += 1
            runs.add((conversation % plan.parts, at, 0, place, number, line, shard.cluster, conversation))
        runs.flush()
        (folder / CONVERSATIONS).write_bytes(array("q", sorted(conversations)).tobytes())
        before = shard.lines_before() if tally.each else 0
        rows = [(shard.cluster, "", _numbered(origin, before), why) for origin, why in tally.each]
        tables.write(folder / BROKEN_LINES, rows, tables.QUARANTINED)
        span = Span(began if began < float("inf") else None, ended)
        keep(folder, _record(tally, span, asked, runs.parts))


def _record(tally: Broken, span: Span, asked: Counter[str], parts: dict[int, int]) -> dict[str, object]:
    return {
        "events": tally.events,
        "broken": tally.broken - tally.also_told,
        "unread": tally.unread,
        "unknown": tally.unknown,
        "untimed": [tally.untimed.first, tally.untimed.number] if tally.untimed else None,
        "reasons": {why: [one.first, one.number] for why, one in tally.quarantined.items()},
        "asked": dict(asked),
        "began": span.began,
        "ended": span.ended,
        "parts": parts,
    }


def _placed(plan: Plan, shard: Shard, tally: Tally) -> Iterator[tuple[float, str, int, bytes, Event]]:
    """Events with their moment, their place among those of one moment, and their line."""
    unordered, latest = plan.options.unordered, NEVER
    for number, (line, event) in enumerate(_told(plan, shard, tally)):
        noted(event, tally)
        if unordered:
            place = place_of(event)
            yield place.at, place.source, place.number, line or line_of(event).encode(), event
        else:
            latest = latest if event.at is None else max(latest, event.at)
            yield latest, "", number, line or line_of(event).encode(), event


def _told(plan: Plan, shard: Shard, tally: Tally) -> Iterator[tuple[bytes, Event]]:
    """Events, and their lines where these stand there as they are sent."""
    source: OpenSource = shard.open(plan.options, tally)
    reader = next(one for one in READERS if one.name == shard.reader)
    if isinstance(reader, EventLines) and not shard.skew:
        return told(source)
    return ((b"", event) for event in straightened(reader.read(source), shard.skew))


def _numbered(origin: str, before: int) -> str:
    """Where it stands in the whole file. before: lines of it before the piece that was read."""
    name, _, number = origin.rpartition(":")
    return f"{name}:{int(number) + before}" if before and number.isdigit() else origin
