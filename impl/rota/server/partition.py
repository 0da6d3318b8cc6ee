"""A partition's log in memory: record batches as they came, with offsets. Its end is its high watermark.

There is one replica, so whatever is appended is committed at once. Where transactions are open the last
stable offset is that of the first record of any of them, else it is the high watermark.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from rota.log.group_records import EndOfTransaction, encode_marker
from rota.server.errors import ErrorCode, Refusal
from rota.server.producers import AbortedTransaction, Producers
from rota.server.timers import wall_clock_ms
from rota.server.topic_configs import LogConfig
from rota.wire.record_scan import READABLE, first_since
from rota.wire.records import BatchInfo, Record, encode_batch, rebased, split
from rota.wire.rewritten import stamped

log = logging.getLogger(__name__)

LEADER_EPOCH = 0
"""The epoch of the one leader that a partition ever has."""

OVERHEAD = 512
"""Bytes that a batch is counted for beside its own: what it takes to keep track of it, roughly."""


def check_leader_epoch(current_leader_epoch: int) -> None:
    """Whether a client knows no newer leader; -1 is for one that does not say. Errors: Refusal."""
    if current_leader_epoch > LEADER_EPOCH:
        text = f"leader epoch {current_leader_epoch} is unknown, this is {LEADER_EPOCH}"
        raise Refusal(ErrorCode.UNKNOWN_LEADER_EPOCH, text)


_FREED_AT_ONCE = 64
"""The part of all memory that is freed once it is full: the fullest log is not looked for at each batch."""


@dataclass(slots=True)
class Memory:
    """What all logs of a server may hold together, and do hold, in bytes.

    Once it is full the oldest records of the fullest log go, and so on, with a line in the server's log.
    """

    capacity: int
    held: int = 0
    logs: set[PartitionLog] = field(default_factory=set)

    def make_room(self, size: int) -> None:
        """So many bytes more fit in. Errors: Refusal with POLICY_VIOLATION for more than ever fit in."""
        if size > self.capacity:
            text = f"all topics together may hold {self.capacity} bytes; raise records.max.bytes"
            raise Refusal(ErrorCode.POLICY_VIOLATION, text)
        while self.held + size > self.capacity:
            fullest = max(self.logs, key=_held)
            fullest.free(max(self.held + size - self.capacity, self.capacity // _FREED_AT_ONCE))
            text = "records.max.bytes are reached: the records of %s before offset %d are gone"
            log.warning(text, fullest.name, fullest.log_start)


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
class Batch:
    """A batch of a log. horizon: until when its tombstones are kept (milliseconds), once it is compacted."""

    base_offset: int
    max_timestamp: int
    producer_id: int
    data: bytes
    horizon: int | None = None


class Found(NamedTuple):
    """What a read brings: whole batches, whether one more did not fit, and the offset behind them."""

    batches: tuple[bytes, ...]
    more: bool
    end: int


class PartitionLog:
    """One partition. `log_start` is the first offset that can be read, `log_end` the next one to be given.

    With more than its retention in it the oldest batches are deleted, but never the last one. `config` may be
    exchanged at any time. `clock` tells milliseconds, `name` is what the log is called. `active_start` is
    where its newest segment begins, which is never compacted, `clean_until` where compaction goes on.
    """

    def __init__(
        self,
        config: LogConfig,
        memory: Memory,
        clock: Callable[[], int] = wall_clock_ms,
        name: str = "",
    ) -> None:
        self.config = config
        self.name = name
        self.log_start = 0
        self.log_end = 0
        self.held = 0
        self.active_start = self.clean_until = 0
        self.clock = clock
        self._active_bytes = 0
        self._active_since = 0
        self._memory = memory
        self.producers = Producers()
        self.is_gone = False
        self._batches: list[Batch] = []
        self._last_offsets: list[int] = []

    @property
    def last_stable(self) -> int:
        """The offset before which nothing is part of an open transaction."""
        first = self.producers.first_unstable
        return self.log_end if first is None else max(first, self.log_start)

    def is_open(self, info: BatchInfo) -> bool:
        """Whether a batch goes on with a transaction whose records are here.

        Errors: Refusal with INVALID_PRODUCER_EPOCH if somebody has taken the producer's place.
        """
        self.producers.check_epoch(info)
        return self.producers.is_open(info.producer_id, info.producer_epoch)

    def append(self, info: BatchInfo, batch: bytes) -> Appended:
        """Gives the batch the next offsets. One that its producer has sent before stays where it is.

        Errors: Refusal with INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE, or
        POLICY_VIOLATION if it is more than the server's memory, or UNKNOWN_TOPIC_OR_PARTITION if its topic
        has been deleted.
        """
        if self.is_gone:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic has been deleted")
        if info.producer_id >= 0:
            before = self.producers.duplicate(info)
            if before is not None:
                return Appended(before.base_offset, before.max_timestamp)
            self.producers.check(info)
        self._make_room(len(batch) + OVERHEAD)
        base_offset = self.log_end
        if info.producer_id >= 0:
            self.producers.appended(info, base_offset)
        newest, append_time = info.max_timestamp, -1
        if self.config.is_append_time:
            newest = append_time = self.clock()
            batch = stamped(batch, append_time)
        self._put(info.last_offset - info.base_offset + 1, newest, info.producer_id, batch)
        return Appended(base_offset, append_time)

    def _roll(self, base_offset: int, timestamp: int, size: int) -> None:
        """A new segment begins with the batch that comes, if that is due. Source: UnifiedLog#maybeRoll."""
        lag = self.config.max_compaction_lag_ms if self.config.is_compacted else self.config.segment_ms
        late = timestamp - self._active_since > min(lag, self.config.segment_ms)
        if not self._active_bytes or self._active_bytes + size > self.config.segment_bytes or late:
            self.active_start, self._active_bytes, self._active_since = base_offset, 0, timestamp
        self._active_bytes += size

    def end_transaction(self, producer_id: int, producer_epoch: int, is_commit: bool, now_ms: int) -> None:
        """Appends the marker of a transaction."""
        if self.is_gone:
            return
        key, value = encode_marker(EndOfTransaction(is_commit, 0))
        marker = encode_batch(
            [Record(0, now_ms, key, value)],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=True,
            is_control=True,
        )
        self._make_room(len(marker) + OVERHEAD)
        self.producers.ended(producer_id, producer_epoch, is_commit, self.log_end, now_ms)
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

    def clear(self) -> None:
        """Its topic is deleted: nothing is in it any more, and nothing will be."""
        self.is_gone = True
        self._batches.clear()
        self._last_offsets.clear()
        self._count(-self.held)

    def batches(self, before: int) -> Sequence[Batch]:
        """Those that end before an offset, in order."""
        return self._batches[: bisect_left(self._last_offsets, before)]

    def exchange(self, batch: Batch, by: Batch | None) -> None:
        """Another one is in the place of a batch, or none; nothing happens if it is gone meanwhile."""
        index = bisect_left(self._last_offsets, batch.base_offset)
        if index == len(self._batches) or self._batches[index] is not batch:
            return
        if by is None:
            del self._batches[index], self._last_offsets[index]
            self._count(-len(batch.data) - OVERHEAD)
        else:
            self._batches[index] = by
            self._count(len(by.data) - len(batch.data))

    def delete_before(self, offset: int) -> None:
        """Records before an offset, which is at most the end, cannot be read any more; whole batches go."""
        count = bisect_left(self._last_offsets, offset)
        self._drop(count)
        self.log_start = max(self.log_start, offset)

    def delete_old(self) -> None:
        """Batches whose records are all older than retention.ms go, but none behind a younger one."""
        oldest = self.clock() - self.config.retention_ms
        if self.config.retention_ms < 0 or not self.config.is_deleted:
            return
        young = (index for index, batch in enumerate(self._batches) if batch.max_timestamp >= oldest)
        self._drop(next(young, len(self._batches)))

    def free(self, size: int) -> None:
        """The oldest batches go, until so many bytes are free or none is left."""
        count = freed = 0
        while freed < size and count < len(self._batches):
            freed += len(self._batches[count].data) + OVERHEAD
            count += 1
        self._drop(count)

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

    def _make_room(self, size: int) -> None:
        """Deletes what is too much once `size` more bytes are in."""
        retention = self.config.retention_bytes if self.config.is_deleted else -1
        if retention >= 0 and self.held + size > retention:
            self.free(self.held + size - retention)
        self._memory.make_room(size)

    def _drop(self, count: int) -> None:
        """So many batches go, the oldest."""
        freed = 0
        for batch, last_offset in zip(self._batches[:count], self._last_offsets[:count], strict=True):
            freed += len(batch.data) + OVERHEAD
            self.log_start = last_offset + 1
            self.producers.deleted(batch.producer_id, last_offset)
        del self._batches[:count], self._last_offsets[:count]
        self._count(-freed)
        if count:
            self.producers.begins_at(self.log_start)

    def _put(self, records: int, max_timestamp: int, producer_id: int, batch: bytes) -> None:
        """Gives a batch of so many records the next offsets."""
        data = rebased(batch, self.log_end, LEADER_EPOCH)
        self._roll(self.log_end, max_timestamp, len(data))
        self._batches.append(Batch(self.log_end, max_timestamp, producer_id, data))
        self.log_end += records
        self._last_offsets.append(self.log_end - 1)
        self._count(len(batch) + OVERHEAD)

    def _aborted_since(self, offset: int) -> list[AbortedTransaction]:
        aborted = self.producers.aborted
        return aborted[bisect_left(aborted, offset, key=attrgetter("last_offset")) :]

    def _count(self, size: int) -> None:
        self.held += size
        self._memory.held += size
        (self._memory.logs.add if self.held else self._memory.logs.discard)(self)


_max_timestamp = attrgetter("max_timestamp")
_held = attrgetter("held", "name")


def _first_since(batch: Batch, timestamp: int) -> Looking:
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
