"""The records of a group, and what replaying one makes of it: all that a rule changes, it changes so.

Source: upstream GroupMetadataManager#replay, ConsumerGroup#updateMember, #addPartitionEpochs and
#removePartitionEpochs; GroupCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rota.kernel import FrozenMap, frozen, replace
from rota.spec.consumer.group import GONE, AnyGroup, ClassicGroup, ConsumerGroup, Current, Metadata
from rota.spec.consumer.state import Partition
from rota.spec.consumer.vocabulary import RecordKind


class NotLoaded(Exception):
    """Records that cannot follow one another: the partition of the log cannot be loaded."""


@frozen
class Written:
    """A record: its kind and whom it is about are the key. value: None takes it away."""

    kind: RecordKind
    value: Any
    member_id: str = ""

    @property
    def key(self) -> tuple[int, str]:
        """By which a log is compacted."""
        return self.kind.value, self.member_id


def member(member_id: str, metadata: Metadata | None) -> Written:
    """What a member said of itself."""
    return Written(RecordKind.MEMBER, metadata, member_id)


def group_epoch(group: ConsumerGroup) -> Written:
    """The group's epoch and the topics that it knows."""
    return Written(RecordKind.GROUP, (group.epoch, group.metadata_hash))


def target_epoch(epoch: int, computed: bool) -> Written:
    """The assignment epoch."""
    return Written(RecordKind.TARGET, (epoch, computed))


def members_target(member_id: str, target: frozenset[Partition] | None) -> Written:
    """What a member shall have."""
    return Written(RecordKind.MEMBERS_TARGET, target, member_id)


def current(member_id: str, now: Current | None) -> Written:
    """What a member has."""
    return Written(RecordKind.CURRENT, now, member_id)


def removed(kind: RecordKind) -> Written:
    """That a record of the group itself is taken away."""
    return Written(kind, None)


def replay(group: AnyGroup | None, record: Written) -> AnyGroup | None:
    """The group after a record; one that takes away what is not there changes nothing. Errors: NotLoaded."""
    if record.kind is RecordKind.CLASSIC_GROUP:
        return ClassicGroup(bool(record.value)) if record.value is not None else None
    if not isinstance(group, ConsumerGroup):
        if record.value is None:
            return group
        group = ConsumerGroup()
    match record.kind:
        case RecordKind.GROUP:
            return _group(group, record.value)
        case RecordKind.MEMBER:
            return _member(group, record.member_id, record.value)
        case RecordKind.TARGET:
            return _target(group, record.value)
        case RecordKind.MEMBERS_TARGET:
            return replace(group, targets=_with(group.targets, record.member_id, record.value))
        case RecordKind.CURRENT:
            return _current(group, record.member_id, record.value)
    return group


def load(records: Iterable[Written]) -> AnyGroup | None:
    """The group that a log has. Errors: NotLoaded."""
    group: AnyGroup | None = None
    for one in records:
        group = replay(group, one)
    return group


def _group(group: ConsumerGroup, value: Any) -> ConsumerGroup | None:
    if value is None:
        if group.members or group.targets or group.target_epoch != GONE:
            raise NotLoaded("a group is taken away that still has members or targets")
        return None
    epoch, known = value
    return replace(group, epoch=epoch, metadata_hash=known)


def _member(group: ConsumerGroup, member_id: str, value: Metadata | None) -> ConsumerGroup:
    if value is None and (member_id in group.current or member_id in group.targets):
        raise NotLoaded(f"member {member_id} is taken away before what it has")
    return replace(group, members=_with(group.members, member_id, value))


def _target(group: ConsumerGroup, value: Any) -> ConsumerGroup:
    if value is None:
        if group.targets:
            raise NotLoaded("the target's epoch is taken away before the members' targets")
        return replace(group, target_epoch=GONE, computed=False)
    epoch, computed = value
    return replace(group, target_epoch=epoch, computed=computed)


def _current(group: ConsumerGroup, member_id: str, value: Current | None) -> ConsumerGroup:
    owners = dict(group.owners)
    old = group.current.get(member_id, Current())
    for one in old.owned:
        # Another epoch there is another owner's: what is read of a log may have lost what came between.
        if owners.get(one) == old.epoch:
            del owners[one]
    if value is not None:
        for one in value.owned:
            if owners.get(one, GONE) >= value.epoch:
                raise NotLoaded(f"{one.topic}{one.index} is still owned at epoch {owners[one]}")
            owners[one] = value.epoch
    now = _with(group.current, member_id, value)
    return replace(group, current=now, owners=FrozenMap(owners))


def _with(some: FrozenMap[str, Any], key: str, value: Any) -> FrozenMap[str, Any]:
    others = [(one, what) for one, what in some.items() if one != key]
    return FrozenMap(others if value is None else [*others, (key, value)])
