"""A partition's log in memory: record batches as they came, with offsets. Its end is its high watermark.

There is one replica, so whatever is appended is committed at once, and no transactions, so the last stable
offset is the high watermark too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator
from dataclasses import dataclass
from operator import attrgetter

from rota.server.errors import ErrorCode, Refusal
from rota.server.producers import Producers
from rota.wire.record_scan import READABLE, first_since
from rota.wire.records import BatchInfo, rebased, split

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

    def append(self, info: BatchInfo, batch: bytes) -> Appended:
        """Gives the batch the next offsets. One that its producer has sent before stays where it is.

        Errors: Refusal with INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, or POLICY_VIOLATION if the
        server's memory is full, or UNKNOWN_TOPIC_OR_PARTITION if its topic has been deleted.
        """
        if self._is_gone:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic has been deleted")
        if info.producer_id >= 0:
            before = self._producers.duplicate(info)
            if before is not None:
                return Appended(before.base_offset, before.max_timestamp)
            self._producers.check(info)
        size = len(batch) + OVERHEAD
        self._make_room(size)
        base_offset = self.log_end
        if info.producer_id >= 0:
            self._producers.appended(info, base_offset)
        self.log_end += info.last_offset - info.base_offset + 1
        data = rebased(batch, base_offset, LEADER_EPOCH)
        self._batches.append(_Batch(base_offset, info.max_timestamp, info.producer_id, data))
        self._last_offsets.append(self.log_end - 1)
        self._count(size)
        return Appended(base_offset)

    def read(self, offset: int, max_bytes: int, at_least_one: bool) -> tuple[tuple[bytes, ...], bool]:
        """Whole batches from the one with that offset on, as many as fit, or the first one nevertheless.

        Also says whether one more was there that did not fit. Errors: Refusal with OFFSET_OUT_OF_RANGE.
        """
        if not self.log_start <= offset <= self.log_end:
            text = f"offset {offset} is not within {self.log_start} to {self.log_end}"
            raise Refusal(ErrorCode.OFFSET_OUT_OF_RANGE, text)
        found: list[bytes] = []
        more = False
        for index in range(bisect_left(self._last_offsets, offset), len(self._batches)):
            data = self._batches[index].data
            max_bytes -= len(data)
            if max_bytes < 0 and not (at_least_one and not found):
                more = True
                break
            found.append(data)
        return tuple(found), more

    def clear(self) -> None:
        """Its topic is deleted: nothing is in it any more, and nothing will be."""
        self._is_gone = True
        self._batches.clear()
        self._last_offsets.clear()
        self._count(-self.held)

    def size_since(self, offset: int) -> int:
        """How many bytes the batches have that were appended at that offset and behind it."""
        first = bisect_left(self._last_offsets, offset)
        return sum(len(batch.data) for batch in self._batches[first:])

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

    def _make_room(self, size: int) -> None:
        """Deletes what is too old once `size` more bytes are in."""
        excess = self.held + size - self._retention_bytes if self._retention_bytes >= 0 else 0
        over = self._memory.held + size - self._memory.capacity
        count = freed = 0
        while freed < excess and count < len(self._batches):
            freed += len(self._batches[count].data) + OVERHEAD
            count += 1
        if over > freed:
            text = f"all topics together may hold {self._memory.capacity} bytes; lower log.retention.bytes"
            raise Refusal(ErrorCode.POLICY_VIOLATION, text)
        for batch, last_offset in zip(self._batches[:count], self._last_offsets[:count], strict=True):
            self.log_start = last_offset + 1
            self._producers.deleted(batch.producer_id, last_offset)
        del self._batches[:count], self._last_offsets[:count]
        self._count(-freed)

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
