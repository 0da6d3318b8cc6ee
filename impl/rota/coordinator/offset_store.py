"""Committed offsets, those that are pending until a transaction ends, and events that wait for the log."""

from collections import deque
from dataclasses import dataclass, field
from typing import TypeVar

from rota.coordinator.deferred import Deferred
from rota.coordinator.memory import Memory, offset_bytes
from rota.coordinator.offset_messages import NO_PRODUCER_ID, OffsetRecord, OffsetTombstone

T = TypeVar("T")

GroupTopicPartition = tuple[str, str, int]
"""The key of an offset: group, topic, partition."""

Appended = tuple[OffsetRecord | OffsetTombstone, ...]
"""What one append writes of a group's offsets."""


@dataclass
class OffsetStore:
    """Offsets that the log has acknowledged, and what waits for its answers.

    committed: by group, topic and partition. pending: offsets of open transactions, each with its position in
    the log, by producer id and key. positions: of committed offsets that are not the log's oldest, by group,
    topic and partition. deferred: appends without an answer, and fetches behind them. appended: what of them
    is offsets, by group. memory: what committed offsets take.
    """

    committed: dict[str, dict[str, dict[int, OffsetRecord]]] = field(default_factory=dict)
    pending: dict[int, dict[GroupTopicPartition, tuple[int, OffsetRecord]]] = field(default_factory=dict)
    positions: dict[str, dict[str, dict[int, int]]] = field(default_factory=dict)
    deferred: Deferred = field(default_factory=Deferred)
    memory: Memory = field(default_factory=Memory)
    appended: dict[str, deque[Appended]] = field(default_factory=dict)
    last_position: int = 0

    def next_position(self) -> int:
        """The position of an append that is made now: later in the log is greater."""
        self.last_position += 1
        return self.last_position

    def begin(self, group_id: str, records: Appended) -> None:
        """These are being appended."""
        self.appended.setdefault(group_id, deque()).append(records)

    def answered(self, group_id: str) -> None:
        """The log has answered for the group's oldest append of offsets."""
        appended = self.appended[group_id]
        appended.popleft()
        if not appended:
            del self.appended[group_id]

    def tombstones(self, group_id: str) -> tuple[OffsetTombstone, ...]:
        """One for each offset that the log may have of a group, in order of topic and partition; for those
        too that only transactions have pending.
        """
        committed = self.committed.get(group_id, {})
        found = {(topic, index) for topic, partitions in committed.items() for index in partitions}
        found |= {key[1:] for offsets in self.pending.values() for key in offsets if key[0] == group_id}
        for records in self.appended.get(group_id, ()):
            found |= {(record.topic, record.partition_index) for record in records}
        return tuple(OffsetTombstone(*key) for key in sorted(found))

    def apply(
        self,
        group_id: str,
        record: OffsetRecord | OffsetTombstone,
        position: int = 0,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """Take over an acknowledged record; one of a transaction waits for its end.

        A tombstone ends what is pending, too.
        """
        key = (group_id, record.topic, record.partition_index)
        if isinstance(record, OffsetTombstone):
            self._remove(key)
        elif producer_id != NO_PRODUCER_ID:
            self.pending.setdefault(producer_id, {})[key] = position, record
        else:
            self._commit(key, position, record)

    def get(self, group_id: str, topic: str, partition_index: int) -> OffsetRecord | None:
        """A partition's offset, None if there is none."""
        return self.committed.get(group_id, {}).get(topic, {}).get(partition_index)

    def growth(self, group_id: str, topic: str, partition_index: int, metadata: str) -> int:
        """How many bytes more a group's offsets take with this metadata in place of what is there."""
        before = self.get(group_id, topic, partition_index)
        return offset_bytes(metadata) - (0 if before is None else offset_bytes(before.metadata))

    def is_pending(self, group_id: str, topic: str, partition_index: int) -> bool:
        """Whether a transaction that has not ended yet has committed an offset of the partition."""
        return any((group_id, topic, partition_index) in offsets for offsets in self.pending.values())

    def has_pending(self, group_id: str) -> bool:
        """Whether a transaction that has not ended yet has committed an offset of the group."""
        return any(key[0] == group_id for offsets in self.pending.values() for key in offsets)

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """What a producer has pending counts from now on, unless a later record does; or is forgotten."""
        for key, (position, record) in self.pending.pop(producer_id, {}).items():
            if is_commit and (self.get(*key) is None or position > self._position(key)):
                self._commit(key, position, record)

    def forget(self, group_id: str) -> None:
        """The group is gone with all that it has here, also what open transactions have."""
        self.committed.pop(group_id, None)
        self.positions.pop(group_id, None)
        self.memory.put(group_id, 0)
        for offsets in self.pending.values():
            for key in [key for key in offsets if key[0] == group_id]:
                del offsets[key]

    def _commit(self, key: GroupTopicPartition, position: int, record: OffsetRecord) -> None:
        group_id, topic, index = key
        self._weigh(group_id, self.growth(*key, record.metadata))
        self.committed.setdefault(group_id, {}).setdefault(topic, {})[index] = record
        if position:
            self.positions.setdefault(group_id, {}).setdefault(topic, {})[index] = position

    def _position(self, key: GroupTopicPartition) -> int:
        group_id, topic, index = key
        return self.positions.get(group_id, {}).get(topic, {}).get(index, 0)

    def _weigh(self, group_id: str, grows: int) -> None:
        self.memory.put(group_id, self.memory.of(group_id) + grows)

    def _remove(self, key: GroupTopicPartition) -> None:
        group_id, topic, index = key
        before = self.get(*key)
        if before is not None:
            self._weigh(group_id, -offset_bytes(before.metadata))
        _take(self.committed, group_id, topic, index)
        _take(self.positions, group_id, topic, index)
        for offsets in self.pending.values():
            offsets.pop(key, None)


def _take(kept: dict[str, dict[str, dict[int, T]]], group_id: str, topic: str, index: int) -> None:
    """Take out what is there, and what is empty then."""
    topics = kept.get(group_id, {})
    partitions = topics.get(topic, {})
    partitions.pop(index, None)
    if not partitions:
        topics.pop(topic, None)
    if not topics:
        kept.pop(group_id, None)
