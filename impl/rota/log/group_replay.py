"""What a partition of the offsets topic amounts to when all of its records have been read.

Of each key the last value counts, and a tombstone ends it; what belongs to a transaction waits for its end.
Only what is left is decoded. Source: upstream's GroupCoordinatorShard#replay, GroupMetadataManager#replay and
OffsetMetadataManager#replay and #replayEndTransactionMarker.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rota.log import consumer_records
from rota.log.consumer_records import ConsumerRecord
from rota.log.group_records import (
    GROUP_KEY,
    OFFSET_KEYS,
    EndOfTransaction,
    GroupKey,
    GroupValue,
    OffsetKey,
    OffsetValue,
    UnknownKey,
    UnknownValue,
    decode_key,
    decode_marker,
    decode_value,
    split_offset_key,
)
from rota.log.raw_records import RawRecord, read_batch
from rota.wire import WireError

_OLD_OFFSET_KEY, _OFFSET_KEY = b"\0\0", b"\0\1"
_OF_CONSUMERS = tuple(version.to_bytes(2, "big") for version in consumer_records.KEYS)
_KNOWN = (*(version.to_bytes(2, "big") for version in (*OFFSET_KEYS, GROUP_KEY)), *_OF_CONSUMERS)


@dataclass(slots=True)
class StoredGroup:
    """What the log has of a group: its last value, None if there are only offsets of it; its offsets.

    `pending`: offsets of transactions that have not ended, with their producer's id. `consumer`: the records
    of a group of the consumer protocol.
    """

    group_id: str
    value: GroupValue | None = None
    offsets: list[tuple[OffsetKey, OffsetValue]] = field(default_factory=list)
    pending: list[tuple[int, OffsetKey, OffsetValue]] = field(default_factory=list)
    consumer: list[ConsumerRecord] = field(default_factory=list)


@dataclass(slots=True)
class Replay:
    """Reads the batches of one partition, from its beginning, in order.

    `records` counts all. `unknown` counts records that are not read, by the version of their key (of newer
    kinds of groups; None: no version at all); `unreadable` has a line for each key or value that counts and
    could not be read, after `groups` has been called.
    """

    records: int = 0
    unknown: Counter[int | None] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    _live: dict[bytes, bytes] = field(default_factory=dict)
    _pending: dict[int, dict[bytes, tuple[int, bytes]]] = field(default_factory=dict)
    _overtaken: dict[bytes, int] = field(default_factory=dict)

    def take(self, batch: bytes) -> None:
        """The next batch. Errors: RecordsError for one that is damaged inside although it is whole."""
        found = read_batch(batch)
        self.records += len(found.records)
        if found.is_control:
            for _, key, value in found.records:
                self._end(found.producer_id, decode_marker(key, value))
            return
        for offset, key, value in found.records:
            if key is None or key[:2] not in _KNOWN:
                self.unknown[
                    int.from_bytes(key[:2], "big", signed=True) if key and len(key) > 1 else None
                ] += 1
                continue
            if key[:2] == _OLD_OFFSET_KEY:
                key = _OFFSET_KEY + key[2:]
            if found.is_transactional and value is not None:
                self._pending.setdefault(found.producer_id, {})[key] = offset, value
            else:
                self._put((offset, key, value))

    def groups(self) -> list[StoredGroup]:
        """Every group of which there is something, in order of their first records."""
        found = _Groups(self.unreadable)
        for raw_key, raw_value in self._live.items():
            found.add(raw_key, raw_value)
        for producer_id, pending in self._pending.items():
            for raw_key, (offset, raw_value) in pending.items():
                # What a later record has overtaken changes nothing if its transaction commits.
                is_overtaken = offset < self._overtaken.get(raw_key, -1)
                found.add(raw_key, self._live[raw_key] if is_overtaken else raw_value, producer_id)
        return list(found.groups.values())

    def _put(self, record: RawRecord) -> None:
        """A record that counts at once. A tombstone ends what is pending, too."""
        offset, key, value = record
        assert key is not None
        if value is not None:
            self._live[key] = value
            if self._pending:
                self._overtaken[key] = offset
            return
        self._live.pop(key, None)
        for pending in self._pending.values():
            pending.pop(key, None)

    def _end(self, producer_id: int, marker: EndOfTransaction | None) -> None:
        """What the producer has pending counts from now on, unless a later record does; or is forgotten."""
        if marker is None:
            return
        for key, (offset, value) in self._pending.pop(producer_id, {}).items():
            if marker.is_commit and offset > self._overtaken.get(key, -1):
                self._live[key] = value
                self._overtaken[key] = offset
        if not self._pending:
            self._overtaken.clear()


class _Groups:
    """Groups in the making; a name is decoded when it is met for the first time."""

    def __init__(self, unreadable: list[str]) -> None:
        self.groups: dict[str, StoredGroup] = {}
        self._unreadable = unreadable
        self._by_bytes: dict[bytes, StoredGroup] = {}
        self._topics: dict[bytes, str] = {}

    def add(self, raw_key: bytes, raw_value: bytes, producer_id: int | None = None) -> None:
        """A record that counts, or belongs to the open transaction of a producer."""
        if raw_key[:2] in _OF_CONSUMERS:
            self._add_consumer(raw_key, raw_value)
            return
        try:
            group, key = self._key(raw_key)
        except ValueError as error:
            self._unreadable.append(str(error))
            return
        value = decode_value(key, raw_value)
        if isinstance(value, GroupValue):
            group.value = value
        elif isinstance(value, OffsetValue) and isinstance(key, OffsetKey):
            if producer_id is None:
                group.offsets.append((key, value))
            else:
                group.pending.append((producer_id, key, value))
        elif isinstance(value, UnknownValue):
            self._unreadable.append(f"the value of {key}: {value.reason}")

    def _add_consumer(self, raw_key: bytes, raw_value: bytes) -> None:
        try:
            record = consumer_records.decode(raw_key, raw_value)
        except WireError as error:
            self._unreadable.append(str(error))
            return
        self.groups.setdefault(record.group_id, StoredGroup(record.group_id)).consumer.append(record)

    def _key(self, raw_key: bytes) -> tuple[StoredGroup, OffsetKey | GroupKey]:
        """A key and its group. Errors: ValueError."""
        split = split_offset_key(raw_key)
        if split is not None:
            raw_group, raw_topic, partition = split
            group, topic = self._by_bytes.get(raw_group), self._topics.get(raw_topic)
            if group is not None and topic is not None:
                return group, OffsetKey(group.group_id, topic, partition)
        key = decode_key(raw_key)
        if isinstance(key, UnknownKey):
            raise ValueError(f"a key of version {key.version}: {key.reason}")
        group = self.groups.get(key.group)
        if group is None:
            group = self.groups[key.group] = StoredGroup(key.group)
        if split is not None and isinstance(key, OffsetKey):
            self._by_bytes[split[0]] = group
            self._topics[split[1]] = key.topic
        return group, key
