"""A partition's log in memory: record batches as they came, with offsets. Its end is its high watermark.

There is one replica, so whatever is appended is committed at once. Where transactions are open the last
stable offset is that of the first record of any of them, else it is the high watermark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from rota.log.group_records import EndOfTransaction, encode_marker
from rota.server.errors import ErrorCode, Refusal
from rota.server.producers import AbortedTransaction, Producers
from rota.wire.record_scan import READABLE, first_since
from rota.wire.records import BatchInfo, Record, encode_batch, rebased, split

LEADER_EPOCH = 0
"""The epoch of the one leader that a partition ever has."""

OVERHEAD = 512
"""Bytes that a batch is counted for beside its own: what it takes to keep track of it, roughly."""


def check_leader_epoch(current_leader_epoch: int) -> None:
    """Whether a client knows no newer leader; -1 is for one that does not say. Errors: Refusal."""
    if current_leader_epoch > LEADER_EPOCH:
        text = f"leader epoch {current_leader_epoch} is unknown, this is {LEADER_EPOCH}"
        raise Refusal(ErrorCode.UNKNOWN_LEADER_EPOCH, text)


@dataclass(slots=True)
class Memory:
    """What all logs of a server may hold together, and do hold, in bytes."""

    capacity: int
    held: int = 0


@dataclass(frozen=True, slots=True)
class Appended:
    """Where a batch is; `log_append_time_ms` is -1 unless it was there before."""

    base_offset: int
    log_append_time_ms: int = -1


@dataclass(frozen=True, slots=True)
class TimedOffset:
    """An offset and the timestamp of the record there; both -1 for none."""

    offset: int = -1
    timestamp: int = -1


Looking = Generator[None, None, TimedOffset]
"""A search that yields after some work and returns what it found."""


@dataclass(frozen=True, slots=True)
class _Batch:
    base_offset: int
    max_timestamp: int
    producer_id: int
    data: bytes


class Found(NamedTuple):
    """What a read brings: whole batches, whether one more did not fit, and the offset behind them."""

    batches: tuple[bytes, ...]
    more: bool
    end: int


class PartitionLog:
    """One partition. `log_start` is the first offset that can be read, `log_end` the next one to be given.

    With more than `retention_bytes` (negative: no bound) in it the oldest batches are deleted, but never the
    last one.
    """

    def __init__(self, retention_bytes: int, memory: Memory) -> None:
        self.log_start = 0
        self.log_end = 0
        self.held = 0
        self._retention_bytes = retention_bytes
        self._memory = memory
        self._producers = Producers()
        self._is_gone = False
        self._batches: list[_Batch] = []
        self._last_offsets: list[int] = []

    @property
    def last_stable(self) -> int:
        """The offset before which nothing is part of an open transaction."""
        first = self._producers.first_unstable
        return self.log_end if first is None else max(first, self.log_start)

    def is_open(self, info: BatchInfo) -> bool:
        """Whether a batch goes on with a transaction whose records are here.

        Errors: Refusal with INVALID_PRODUCER_EPOCH if somebody has taken the producer's place.
        """
        self._producers.check_epoch(info)
        return self._producers.is_open(info.producer_id, info.producer_epoch)

    def append(self, info: BatchInfo, batch: bytes) -> Appended:
        """Gives the batch the next offsets. One that its producer has sent before stays where it is.

        Errors: Refusal with INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE, or
        POLICY_VIOLATION if the server's memory is full, or UNKNOWN_TOPIC_OR_PARTITION if its topic has been
        deleted.
        """
        if self._is_gone:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic has been deleted")
        if info.producer_id >= 0:
            before = self._producers.duplicate(info)
            if before is not None:
                return Appended(before.base_offset, before.max_timestamp)
            self._producers.check(info)
        self._make_room(len(batch) + OVERHEAD)
        base_offset = self.log_end
        if info.producer_id >= 0:
            self._producers.appended(info, base_offset)
        self._put(info.last_offset - info.base_offset + 1, info.max_timestamp, info.producer_id, batch)
        return Appended(base_offset)

    def end_transaction(self, producer_id: int, producer_epoch: int, is_commit: bool, now_ms: int) -> None:
        """Appends the marker of a transaction, for which the oldest batches go where there is no room."""
        if self._is_gone:
            return
        key, value = encode_marker(EndOfTransaction(is_commit, 0))
        marker = encode_batch(
            [Record(0, now_ms, key, value)],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=True,
            is_control=True,
        )
        self._make_room(len(marker) + OVERHEAD, always=True)
        self._producers.ended(producer_id, producer_epoch, is_commit, self.log_end, now_ms)
        self._put(1, now_ms, producer_id, marker)

    def read(self, offset: int, max_bytes: int, at_least_one: bool, stable: bool = False) -> Found:
        """Whole batches from the one with that offset on, as many as fit, or the first one nevertheless.

        stable: none that are not before the last stable offset. Errors: Refusal with OFFSET_OUT_OF_RANGE.
        """
        if not self.log_start <= offset <= self.log_end:
            text = f"offset {offset} is not within {self.log_start} to {self.log_end}"
            raise Refusal(ErrorCode.OFFSET_OUT_OF_RANGE, text)
        found: list[bytes] = []
        more = False
        end = offset
        stops = self.last_stable if stable else self.log_end
        for index in range(bisect_left(self._last_offsets, offset), len(self._batches)):
            data = self._batches[index].data
            if self._batches[index].base_offset >= stops:
                break
            max_bytes -= len(data)
            if max_bytes < 0 and not (at_least_one and not found):
                more = True
                break
            found.append(data)
            end = self._last_offsets[index] + 1
        return Found(tuple(found), more, end)

    def aborted(self, offset: int, end: int) -> list[dict[str, int]]:
        """The aborted transactions with records from an offset on and before `end`, as Fetch tells them."""
        return [
            {"producer_id": each.producer_id, "first_offset": each.first_offset}
            for each in self._aborted_since(offset)
            if each.first_offset < end
        ]

    def producers(self) -> list[dict[str, int]]:
        """The producers with numbers, as DescribeProducers tells them."""
        return list(self._producers.described())

    def clear(self) -> None:
        """Its topic is deleted: nothing is in it any more, and nothing will be."""
        self._is_gone = True
        self._batches.clear()
        self._last_offsets.clear()
        self._count(-self.held)

    def size_between(self, offset: int, end: int) -> int:
        """How many bytes the batches have from that offset on up to the end, which is one of a batch."""
        first = bisect_left(self._last_offsets, offset)
        last = bisect_left(self._last_offsets, end)
        return sum(len(batch.data) for batch in self._batches[first:last])

    def offset_of_time(self, timestamp: int) -> Looking:
        """The first record that is not older than `timestamp` (milliseconds)."""
        for batch in self._batches:
            if batch.max_timestamp >= timestamp:
                return (yield from _first_since(batch, timestamp))
        return TimedOffset()

    def offset_of_max_timestamp(self) -> Looking:
        """The first record of the newest timestamp."""
        if not self._batches:
            return TimedOffset()
        newest = max(self._batches, key=_max_timestamp)
        return (yield from _first_since(newest, newest.max_timestamp))

    def _make_room(self, size: int, always: bool = False) -> None:
        """Deletes what is too old once `size` more bytes are in; `always`: also where memory is lacking."""
        excess = self.held + size - self._retention_bytes if self._retention_bytes >= 0 else 0
        over = self._memory.held + size - self._memory.capacity
        excess = max(excess, over) if always else excess
        count = freed = 0
        while freed < excess and count < len(self._batches):
            freed += len(self._batches[count].data) + OVERHEAD
            count += 1
        if over > freed and not always:
            text = f"all topics together may hold {self._memory.capacity} bytes; lower log.retention.bytes"
            raise Refusal(ErrorCode.POLICY_VIOLATION, text)
        for batch, last_offset in zip(self._batches[:count], self._last_offsets[:count], strict=True):
            self.log_start = last_offset + 1
            self._producers.deleted(batch.producer_id, last_offset)
        del self._batches[:count], self._last_offsets[:count]
        self._count(-freed)
        if count:
            self._producers.begins_at(self.log_start)

    def _put(self, records: int, max_timestamp: int, producer_id: int, batch: bytes) -> None:
        """Gives a batch of so many records the next offsets."""
        data = rebased(batch, self.log_end, LEADER_EPOCH)
        self._batches.append(_Batch(self.log_end, max_timestamp, producer_id, data))
        self.log_end += records
        self._last_offsets.append(self.log_end - 1)
        self._count(len(batch) + OVERHEAD)

    def _aborted_since(self, offset: int) -> list[AbortedTransaction]:
        aborted = self._producers.aborted
        return aborted[bisect_left(aborted, offset, key=attrgetter("last_offset")) :]

    def _count(self, size: int) -> None:
        self.held += size
        self._memory.held += size


_max_timestamp = attrgetter("max_timestamp")


def _first_since(batch: _Batch, timestamp: int) -> Looking:
    """The first record of a batch that is not older; there is one.

    A batch whose compression cannot be read here is taken as a whole: its first offset, its newest timestamp.
    Who reads from there gets nothing too late, and perhaps a few records that are older.
    """
    whole = batch.base_offset, batch.max_timestamp
    info, data = next(split(batch.data))
    if info.compression not in READABLE:
        return TimedOffset(*whole)
    found = yield from first_since(data, info, timestamp)
    return TimedOffset(*(found or whole))
