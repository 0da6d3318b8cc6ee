"""The core's values of the consumer protocol in the spec's words: requests' answers, records, a group.

Ids of topics are "1", "2" and so on here, as they were given out; hashes are what they were made of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from rota import coordinator as core
from rota.coordinator.consumer import messages as told
from rota.coordinator.consumer import records as written
from rota.coordinator.consumer.group import ConsumerGroup as CoreGroup
from rota.kernel import FrozenMap
from rota.spec.consumer.group import ConsumerGroup, Current, Metadata, MetadataHash
from rota.spec.consumer.messages import (
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeatReply,
    Described,
    ErrorReply,
    LeaveGroupReply,
    Listed,
    ReplyMessage,
)
from rota.spec.consumer.records import Written
from rota.spec.consumer.state import Holding, MemberState, Partition
from rota.spec.consumer.vocabulary import ErrorCode, GroupState, RecordKind

KINDS: dict[str, RecordKind] = {
    "classic": RecordKind.CLASSIC_GROUP,
    "group": RecordKind.GROUP,
    "topics": RecordKind.TOPICS,
    "member": RecordKind.MEMBER,
    "target": RecordKind.TARGET,
    "target of": RecordKind.MEMBERS_TARGET,
    "current of": RecordKind.CURRENT,
}
STATES = {
    written.MemberState.STABLE: MemberState.STABLE,
    written.MemberState.UNREVOKED: MemberState.UNREVOKED_PARTITIONS,
    written.MemberState.UNRELEASED: MemberState.UNRELEASED_PARTITIONS,
}


NOBODY = -1
"""The epoch of an owner that there is not."""


def topic_id(number: int) -> UUID:
    """The id of the topic that was made as this number."""
    return UUID(int=number)


def name_of(given: UUID) -> str:
    """What the spec calls this id."""
    return str(given.int)


def partitions(places: Iterable[written.Place]) -> frozenset[Partition]:
    """Partitions of the core."""
    return frozenset(Partition(name_of(one), index) for one, index in places)


class TwoHashesError(Exception):
    """Different topics have one hash, or the same have two; the message says which."""


@dataclass
class Words:
    """What is translated by what was seen before.

    hashes: numbers of the core, each with the topics that it was first seen for.
    """

    hashes: dict[int, MetadataHash] = field(default_factory=lambda: {0: ()})

    def meet(self, number: int, known: MetadataHash) -> None:
        """A number stands for these topics. Errors: TwoHashesError."""
        if self.hashes.setdefault(number, known) != known:
            raise TwoHashesError(f"the hash of {known} is that of {self.hashes[number]}")
        if sum(one == known for one in self.hashes.values()) > 1:
            raise TwoHashesError(f"{known} have two hashes")

    def hash_of(self, number: int) -> Any:
        """The topics of a number, or the number if it was never seen."""
        return self.hashes.get(number, number)

    def record(self, entry: written.Entry) -> Written:
        """A record of the core."""
        key, value = entry
        return Written(KINDS[key.kind], self._value(value), key.member_id)

    def _value(self, value: written.Value | None) -> Any:
        match value:
            case written.GroupEpoch():
                return value.epoch, self.hash_of(value.metadata_hash)
            case written.TargetEpoch():
                return value.epoch, value.timestamp_ms != 0
            case written.MemberMetadata():
                return metadata(value)
            case written.TargetAssignment():
                return partitions(value.places)
            case written.CurrentAssignment():
                return current(value)
        return None

    def group(self, group: CoreGroup) -> ConsumerGroup:
        """A group of the core."""
        now = {name: current(one) for name, one in group.current.items()}
        owners = {
            Partition(name_of(topic), index): now[name].epoch if name in now else NOBODY
            for (topic, index), name in group.owners.items()
        }
        return ConsumerGroup(
            group.epoch.epoch,
            self.hash_of(group.epoch.metadata_hash),
            group.target_epoch.epoch,
            group.target_epoch.timestamp_ms != 0,
            FrozenMap({name: metadata(one) for name, one in group.members.items()}),
            FrozenMap({name: partitions(one) for name, one in group.targets.items()}),
            FrozenMap(now),
            FrozenMap(owners),
        )


def metadata(value: written.MemberMetadata) -> Metadata:
    """What a member has said."""
    names = frozenset(value.topics)
    return Metadata(names, value.rebalance_timeout_ms, value.rack_id, value.server_assignor)


def current(value: written.CurrentAssignment) -> Current:
    """What a member has."""
    held = [
        frozenset(Holding(Partition(name_of(topic), index), epoch) for (topic, index), epoch in some.items())
        for some in (value.assigned, value.pending_revocation)
    ]
    return Current(STATES[value.state], value.epoch, value.previous_epoch, *held)


def reply(message: Any) -> ReplyMessage:
    """An answer of the core. Errors: TypeError for one that is none of this protocol's."""
    match message:
        case told.ConsumerGroupHeartbeatReply():
            return _heartbeat(message)
        case told.ConsumerGroupDescribeReply():
            return _described(message.groups[0])
        case core.LeaveGroupReply():
            if message.error_code:
                return ErrorReply(ErrorCode(message.error_code))
            return LeaveGroupReply(tuple(ErrorCode(each.error_code) for each in message.members))
        case core.ListGroupsReply():
            if not message.groups:
                return Listed(None)
            return Listed(GroupState(message.groups[0].group_state), message.groups[0].group_type)
    return ErrorReply(ErrorCode(_error(message)))


def _heartbeat(message: told.ConsumerGroupHeartbeatReply) -> ConsumerGroupHeartbeatReply:
    given = message.assignment
    return ConsumerGroupHeartbeatReply(
        ErrorCode(message.error_code),
        message.member_id,
        message.member_epoch,
        message.heartbeat_interval_ms,
        None if given is None else _each(given.topic_partitions),
    )


def _each(some: Iterable[told.TopicPartitions | told.NamedPartitions]) -> frozenset[Partition]:
    return partitions((one.topic_id, index) for one in some for index in one.partitions)


def _described(group: told.DescribedConsumerGroup) -> ReplyMessage:
    if group.error_code:
        return ErrorReply(ErrorCode(group.error_code))
    members = tuple(
        Described(
            one.member_id,
            one.member_epoch,
            frozenset(one.subscribed_topic_names),
            _each(one.assignment.topic_partitions),
            _each(one.target_assignment.topic_partitions),
        )
        for one in group.members
    )
    return ConsumerGroupDescribeReply(
        GroupState(group.group_state),
        group.group_epoch,
        group.assignment_epoch,
        group.assignor_name,
        members,
    )


def _error(message: Any) -> int:
    match message:
        case core.OffsetCommitReply() | core.OffsetDeleteReply() if message.topics:
            return message.topics[0].partitions[0].error_code
        case core.OffsetFetchReply():
            return message.groups[0].error_code
        case core.DescribeGroupsReply():
            return message.groups[0].error_code
        case core.DeleteGroupsReply():
            return message.results[0].error_code
        case core.OffsetDeleteReply() | core.JoinGroupReply() | core.SyncGroupReply() | core.HeartbeatReply():
            return message.error_code
    raise TypeError(f"{type(message).__name__} is no answer to what is asked here")
