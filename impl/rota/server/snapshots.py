"""What somebody who holds a server in hand sees of its groups: values that stay as they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rota.coordinator import (
    Append,
    Group,
    GroupRecord,
    GroupTombstone,
    OffsetBatch,
    OffsetRecord,
    OffsetTombstone,
)
from rota.wire import WireError
from rota.wire.consumer import decode_assignment

Partition = tuple[str, int]


@dataclass(frozen=True)
class MemberSnapshot:
    """A member of a group; `assignment` is what its leader has given it, as it travels."""

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
    """A group: state and protocol in Kafka's words, members in order of id, committed offsets."""

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


@dataclass
class Stored:
    """What the log of a server in memory has acknowledged or is about to, group by group."""

    groups: dict[str, GroupRecord | None] = field(default_factory=dict)
    offsets: dict[str, dict[Partition, OffsetRecord]] = field(default_factory=dict)

    def take(self, append: Append) -> None:
        """A record more. Transactions, which this server does not have, leave none."""
        group_id, record = append.group_id, append.record
        if isinstance(record, GroupRecord):
            self.groups[group_id] = record
        elif isinstance(record, GroupTombstone):
            self.groups.pop(group_id, None)
            self.offsets.pop(group_id, None)
        elif isinstance(record, OffsetBatch):
            self.groups.setdefault(group_id, None)
            for each in record.records:
                self._take_offset(self.offsets.setdefault(group_id, {}), each)

    @staticmethod
    def _take_offset(offsets: dict[Partition, OffsetRecord], record: OffsetRecord | OffsetTombstone) -> None:
        key = record.topic, record.partition_index
        if isinstance(record, OffsetRecord):
            offsets[key] = record
        else:
            offsets.pop(key, None)

    def all(self) -> list[tuple[str, GroupRecord | None, Iterable[OffsetRecord]]]:
        """Each group as a coordinator that takes over finds it."""
        return [
            (group_id, record, tuple(self.offsets.get(group_id, {}).values()))
            for group_id, record in self.groups.items()
        ]

    def seen(self, group: Group) -> GroupSnapshot:
        """A group as it is now."""
        offsets = self.offsets.get(group.group_id, {})
        return GroupSnapshot(
            group_id=group.group_id,
            state=group.state.value,
            generation=group.generation_id,
            protocol=group.protocol_name,
            leader=group.leader,
            members=tuple(
                MemberSnapshot(each.member_id, each.group_instance_id, each.client_id, each.assignment)
                for each in group.members_by_id()
            ),
            offsets={key: record.committed_offset for key, record in sorted(offsets.items())},
        )
