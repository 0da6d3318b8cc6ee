"""What somebody who holds a server in hand sees of its groups: values that stay as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from rota.coordinator import (
    Append,
    Group,
    GroupRecord,
    GroupTombstone,
    OffsetRecord,
    OffsetTombstone,
    TransactionMarker,
)
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import (
    CLASSIC,
    ConsumerBatch,
    Entry,
    GroupEpoch,
    Key,
    Value,
    by_topic,
)
from rota.coordinator.offset_messages import NO_PRODUCER_ID
from rota.coordinator.offset_store import OffsetStore
from rota.wire import WireError
from rota.wire.consumer import decode_assignment, encode_assignment

Partition = tuple[str, int]


@dataclass(frozen=True)
class MemberSnapshot:
    """A member of a group; `assignment` is what its leader has given it, as it travels.

    That of a member of the consumer protocol is what it has, in the same form.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    assignment: bytes

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Its partitions, in order; none if the assignment is not a consumer's."""
        try:
            assigned = decode_assignment(self.assignment).body["assigned_partitions"]
        except WireError:
            return ()
        return tuple(sorted((each["topic"], index) for each in assigned for index in each["partitions"]))

    @property
    def names(self) -> frozenset[str]:
        """How it may be called: by its id, its group instance id, or its client's."""
        return frozenset({self.member_id, self.group_instance_id or self.member_id, self.client_id})


@dataclass(frozen=True)
class GroupSnapshot:
    """A group: state and protocol in Kafka's words, members in order of id, committed offsets.

    Of a group of the consumer protocol the epoch is its generation, an assignor its protocol (None where none
    is asked for), and nobody leads.
    """

    group_id: str
    state: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[MemberSnapshot, ...]
    offsets: Mapping[Partition, int]

    @property
    def assignments(self) -> dict[str, tuple[Partition, ...]]:
        """Member id -> its partitions."""
        return {member.member_id: member.partitions for member in self.members}


class LoadedGroup(NamedTuple):
    """A group as `GroupCoordinator.load` takes it; pending and entries as there."""

    group_id: str
    record: GroupRecord | None
    offsets: tuple[OffsetRecord, ...]
    pending: tuple[tuple[int, OffsetRecord], ...] = ()
    entries: tuple[Entry, ...] | None = None


@dataclass
class Counts:
    """What was stored since the start: offsets, generations with an assignment, epochs of consumer groups."""

    offset_commits: int = 0
    completed_rebalances: int = 0
    consumer_rebalances: int = 0


@dataclass
class Stored:
    """What the log of a server in memory has acknowledged or is about to, group by group.

    groups: the last record of each group of the classic protocol; entries: those of groups of the consumer
    protocol; offsets: those that count, and those of transactions that have not ended.
    """

    groups: dict[str, GroupRecord] = field(default_factory=dict)
    entries: dict[str, dict[Key, Value]] = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    counts: Counts = field(default_factory=Counts)

    def take(self, append: Append) -> None:
        """A record more."""
        group_id, record = append.group_id, append.record
        if isinstance(record, GroupRecord):
            before = self.groups.get(group_id)
            is_next = before is None or record.generation_id > before.generation_id
            self.counts.completed_rebalances += bool(record.members) and is_next
            self.groups[group_id] = record
        elif isinstance(record, GroupTombstone):
            (self.entries if record.is_consumer else self.groups).pop(group_id, None)
            self._take_offsets(group_id, record.offsets)
        elif isinstance(record, ConsumerBatch):
            self._take_entries(group_id, record)
        elif isinstance(record, TransactionMarker):
            self.offsets.end_transaction(record.producer_id, record.is_commit)
        else:
            self._take_offsets(group_id, record.records, record.producer_id)

    def _take_entries(self, group_id: str, batch: ConsumerBatch) -> None:
        entries = self.entries.setdefault(group_id, {})
        for key, value in batch.entries:
            if value is not None:
                self.counts.consumer_rebalances += isinstance(value, GroupEpoch) and entries.get(key) != value
                entries[key] = value
            else:
                entries.pop(key, None)
                if key == CLASSIC:
                    self.groups.pop(group_id, None)
        if not entries:
            del self.entries[group_id]

    def _take_offsets(
        self,
        group_id: str,
        records: Iterable[OffsetRecord | OffsetTombstone],
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        position = self.offsets.next_position()
        for record in records:
            self.counts.offset_commits += isinstance(record, OffsetRecord)
            self.offsets.apply(group_id, record, position, producer_id)

    def all(self) -> list[LoadedGroup]:
        """Each group as a coordinator that takes over finds it."""
        pending = {key[0] for offsets in self.offsets.pending.values() for key in offsets}
        ids = dict.fromkeys((*self.groups, *self.entries, *self.offsets.committed, *sorted(pending)))
        return [self._loaded(group_id) for group_id in ids]

    def _loaded(self, group_id: str) -> LoadedGroup:
        entries = self.entries.get(group_id)
        return LoadedGroup(
            group_id,
            self.groups.get(group_id),
            tuple(self.committed(group_id)),
            tuple(self.pending(group_id)),
            None if entries is None else tuple(entries.items()),
        )

    def committed(self, group_id: str) -> Iterator[OffsetRecord]:
        """A group's offsets that count, in order of topic and partition."""
        for _, partitions in sorted(self.offsets.committed.get(group_id, {}).items()):
            yield from (record for _, record in sorted(partitions.items()))

    def pending(self, group_id: str) -> Iterator[tuple[int, OffsetRecord]]:
        """Those of open transactions, each with its producer's id, in the order of the log."""
        found = [
            (position, producer_id, record)
            for producer_id, offsets in self.offsets.pending.items()
            for (group, _, _), (position, record) in offsets.items()
            if group == group_id
        ]
        for _, producer_id, record in sorted(found, key=lambda one: one[0]):
            yield producer_id, record

    def seen(self, group: Group) -> GroupSnapshot:
        """A group of the classic protocol as it is now."""
        members = (
            MemberSnapshot(each.member_id, each.group_instance_id, each.client_id, each.assignment)
            for each in group.members_by_id()
        )
        return GroupSnapshot(
            group_id=group.group_id,
            state=group.state.value,
            generation=group.generation_id,
            protocol=group.protocol_name,
            leader=group.leader,
            members=tuple(members),
            offsets=self._by_partition(group.group_id),
        )

    def seen_of_consumers(self, group: ConsumerGroup, names: Callable[[UUID], str]) -> GroupSnapshot:
        """A group of the consumer protocol as it is now; names: of topics by id."""
        members = (
            MemberSnapshot(member_id, told.instance_id, told.client_id, _assigned(group, member_id, names))
            for member_id, told in sorted(group.members.items())
        )
        return GroupSnapshot(
            group_id=group.group_id,
            state=group.state.value,
            generation=group.epoch.epoch,
            protocol=group.wished_assignor,
            leader=None,
            members=tuple(members),
            offsets=self._by_partition(group.group_id),
        )

    def _by_partition(self, group_id: str) -> dict[Partition, int]:
        return {
            (record.topic, record.partition_index): record.committed_offset
            for record in self.committed(group_id)
        }


def _assigned(group: ConsumerGroup, member_id: str, names: Callable[[UUID], str]) -> bytes:
    """What a member has, in the words of a leader's assignment."""
    places = by_topic(group.current_of(member_id).assigned)
    topics = [{"topic": names(topic_id), "partitions": list(indexes)} for topic_id, indexes in places]
    return encode_assignment({"assigned_partitions": topics})
