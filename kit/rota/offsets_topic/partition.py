"""The batches of one partition as events, in their order: each record is one event, when it begins to count.

What belongs to a transaction waits for its end. Then it is stored, or told as a record that counts for
nothing: because the transaction was aborted, or a later record of the same key has overtaken it. So whoever
lets the last event of each key count has what a coordinator has that loads the partition. Source: upstream's
OffsetMetadataManager#replay and #replayEndTransactionMarker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from rota.history import Event, Kind
from rota.log.group_records import EndOfTransaction, decode_marker
from rota.offsets_topic.records import Place, bare, damaged, event_of, other
from rota.wire.records import BatchInfo, Record, RecordsError, decode_batch, split

TOPIC = "__consumer_offsets"

ABORTED, OVERTAKEN, OPEN = "aborted-offset", "overtaken-offset", "open-offset"
"""Types of records of transactions that count for nothing: the last is told of those that have not ended."""

END = "end-of-transaction"
"""The type of a control record."""

_Key = tuple[str, object, object]


def _key(event: Event) -> _Key:
    return event.group, event.data.get("topic"), event.data.get("topic_partition")


@dataclass(slots=True)
class PartitionEvents:
    """Reads the batches of a partition from its beginning, in order.

    Memory: what transactions that have not ended hold, one event for each of their keys.
    """

    place: Place
    next_offset: int = 0
    _pending: dict[int, dict[_Key, Event]] = field(default_factory=dict)

    def take(self, batch: bytes) -> Iterator[Event]:
        """The events of the next batch, whose CRC is right. What cannot be read in it is told.

        Records that have been read before, as a segment holds again that was being compacted, are left out.
        """
        ((info, _),) = split(batch)
        if info.last_offset < self.next_offset:
            return
        try:
            records = decode_batch(batch)
        except RecordsError as error:
            what = f"offsets {info.base_offset} to {info.last_offset} ({info.count} records)"
            yield damaged(self.place, info.base_offset, what, str(error))
        else:
            for record in records:
                if record.offset >= self.next_offset:
                    yield from self._control(record, info) if info.is_control else self._data(record, info)
        self.next_offset = info.last_offset + 1

    def end(self) -> Iterator[Event]:
        """What is still waiting when there are no more batches."""
        for pending in self._pending.values():
            yield from (other(event, OPEN) for event in pending.values())
        self._pending.clear()

    def _data(self, record: Record, info: BatchInfo) -> Iterator[Event]:
        event = event_of(record, self.place, info.producer_id if info.is_transactional else -1)
        if event.kind not in (Kind.OFFSET_STORED, Kind.OFFSET_REMOVED):
            yield event
        elif info.is_transactional and event.kind is Kind.OFFSET_STORED:
            pending = self._pending.setdefault(info.producer_id, {})
            if (before := pending.pop(_key(event), None)) is not None:
                yield other(before, OVERTAKEN)
            pending[_key(event)] = event
        else:
            yield event
            yield from self._overtaken(event)

    def _control(self, record: Record, info: BatchInfo) -> Iterator[Event]:
        marker = decode_marker(record.key, record.value)
        told = bare(record, self.place, info.producer_id)
        if marker is None:
            yield other(told, "control-record")
            return
        yield other(told, END, committed=marker.is_commit)
        yield from self._ended(info.producer_id, marker, told.at)

    def _ended(self, producer_id: int, marker: EndOfTransaction, at: float | None) -> Iterator[Event]:
        for event in self._pending.pop(producer_id, {}).values():
            if not marker.is_commit:
                yield other(event, ABORTED)
                continue
            yield replace(event, at=at if at is not None else event.at)
            yield from self._overtaken(event)

    def _overtaken(self, event: Event) -> Iterator[Event]:
        """What waits of the same key and stands before a record that counts now, will never count."""
        key = _key(event)
        for pending in self._pending.values():
            waiting = pending.get(key)
            if waiting is not None and waiting.data["offset"] < event.data["offset"]:
                yield other(pending.pop(key), OVERTAKEN)
