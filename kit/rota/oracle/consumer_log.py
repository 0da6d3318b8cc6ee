"""The log that core and spec write to in the lockstep of the consumer protocol, and what is read of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rota import coordinator as core
from rota.coordinator.consumer.records import GROUP, TARGET, TOPICS, ConsumerBatch, Entry
from rota.oracle.consumer_translate import Words
from rota.spec.consumer.group import AnyGroup
from rota.spec.consumer.records import Written, load

OFFSET = 7
"""What is committed."""

ENDED: tuple[Entry, ...] = ((TARGET, None), (TOPICS, None), (GROUP, None))
"""What the tombstone of a group is in the log."""


def entries_of(record: Any) -> tuple[Entry, ...]:
    """The records of this protocol in what the core appends."""
    if isinstance(record, ConsumerBatch):
        return record.entries
    return ENDED if isinstance(record, core.GroupTombstone) and record.is_consumer else ()


@dataclass(frozen=True)
class Logged:
    """A batch: records of both sides, whose offsets it stores, what of them it forgets, a classic record."""

    records: tuple[Written, ...] = ()
    entries: tuple[Entry, ...] = ()
    stores: tuple[tuple[str, int], ...] = ()
    forgets: str | None = None
    classic: Any = None


@dataclass
class Log:
    """The batches that are stored, the oldest first."""

    words: Words
    batches: list[Logged] = field(default_factory=list)

    def group(self, upto: int, kept: int, tombstones: bool) -> AnyGroup | None:
        """The group by the spec's records of so many batches; before `kept` they are compacted."""
        some = self.batches[:upto]
        first = [one for each in some[:kept] for one in each.records]
        last = {one.key: place for place, one in enumerate(first)}
        left = [one for place, one in enumerate(first) if last[one.key] == place]
        rest = [one for each in some[kept:] for one in each.records]
        return load([one for one in left if tombstones or one.value is not None] + rest)

    def entries(self, upto: int, tombstones: bool) -> list[Entry]:
        """The last record of each key by the core, the newest key first."""
        last = dict(one for each in self.batches[:upto] for one in each.entries)
        return [(key, value) for key, value in reversed(last.items()) if tombstones or value is not None]

    def committed(self, upto: int) -> frozenset[tuple[str, int]]:
        """The partitions of which there are offsets, by the names of topics."""
        found: set[tuple[str, int]] = set()
        for each in self.batches[:upto]:
            found |= set(each.stores)
            if each.forgets is not None:
                found = {one for one in found if each.forgets not in ("", one[0])}
        return frozenset(found)

    def offsets(self, upto: int) -> list[core.OffsetRecord]:
        """The same as the core's records."""
        return [core.OffsetRecord(*one, OFFSET, -1, "", 0) for one in sorted(self.committed(upto))]

    def classic(self, upto: int) -> Any:
        """The last record of a classic group, unless what came later ended it."""
        found = None
        for each in self.batches[:upto]:
            found = each.classic or (None if each.records else found)
        return found
