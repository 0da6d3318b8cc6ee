"""DescribeGroups, ListGroups and DeleteGroups.

Source: Kafka's Java coordinator, GroupMetadataManager#describeGroups and #listGroups, ClassicGroup#describe
and #validateDeleteGroup, GroupCoordinatorShard#deleteGroups.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rota.coordinator.admin_messages import (
    DeletableGroupResult,
    DeleteGroupsReply,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsReply,
    GroupTombstone,
    ListedGroup,
    ListGroups,
    ListGroupsReply,
)
from rota.coordinator.group import Group, GroupState
from rota.coordinator.ledger import DeferredEvent, ReplyTo
from rota.coordinator.messages import ErrorCode
from rota.coordinator.offset_store import OffsetStore
from rota.coordinator.purgatory import ParkedRequest
from rota.coordinator.step import Step

QUOTED_MAX = 1_000
"""Characters of an id that an error message quotes: with a longest one it could not be sent."""


def describe_groups(groups: Mapping[str, Group], group_ids: Iterable[str]) -> DescribeGroupsReply:
    """What there is to know of these groups.

    Only a Stable group's protocol and metadata are in it. Assignments are those that the members have now, or
    had when the last rebalance began.
    """
    return DescribeGroupsReply(tuple(_described(group_id, groups.get(group_id)) for group_id in group_ids))


def _described(group_id: str, group: Group | None) -> DescribedGroup:
    if group is None or group.state is GroupState.DEAD:
        shown = group_id if len(group_id) <= QUOTED_MAX else f"{group_id[:QUOTED_MAX]}..."
        return DescribedGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {shown} not found.")
    name = group.protocol_name if group.state is GroupState.STABLE else None
    members = (
        DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=b"" if name is None else member.metadata(name),
            member_assignment=member.assignment,
        )
        for member in group.members_by_id()
    )
    return DescribedGroup(
        group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=name or "",
        members=tuple(members),
    )


def list_groups(groups: Mapping[str, Group], request: ListGroups) -> ListGroupsReply:
    """All groups in one of the states, if any is given, and of one of the types.

    Upper and lower case are the same; around a state, blanks do not count. A name that is none matches none.
    """
    states = {name.strip().lower() for name in request.states_filter}
    types = {name.lower() for name in request.types_filter}
    listed = (
        ListedGroup(group.group_id, group.protocol_type or "", group.state)
        for group in groups.values()
        if not states or group.state.lower() in states
    )
    return ListGroupsReply(tuple(each for each in listed if not types or each.group_type in types))


@dataclass(eq=False, slots=True)
class Deletion:
    """A DeleteGroups that waits for answers of the log, so many as `unanswered`; `errors` by group."""

    parked: ParkedRequest
    errors: dict[str, int]
    unanswered: int = 0

    def answered(self, group_id: str, reply_to: ReplyTo, error_code: int) -> None:
        """The log has answered for a group, which may be one that stays, for an error of its own."""
        self.errors[group_id] = error_code or self.errors[group_id]
        self.unanswered -= 1
        self.reply_if_done(reply_to)

    def reply_if_done(self, reply_to: ReplyTo) -> None:
        """Reply if the log has answered for every group."""
        if not self.unanswered:
            results = tuple(DeletableGroupResult(*item) for item in self.errors.items())
            reply_to(self.parked, DeleteGroupsReply(results))


def deletion_error(group: Group | None) -> int:
    """Why a group cannot be deleted, or NONE; `group` is None if there is none of its id."""
    if group is None or group.state is GroupState.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NONE if group.state is GroupState.EMPTY else ErrorCode.NON_EMPTY_GROUP


def remove_group(
    step: Step,
    store: OffsetStore,
    groups: dict[str, Group],
    group_id: str,
    answered: Callable[[ReplyTo, int], None],
) -> None:
    """Remove an Empty group with its offsets and pending members; `answered` is called with the log's answer.

    It is gone at once, and comes back, but for its pending members, if the log refuses; not after a time-out,
    since the tombstone may be there. What transactions have pending goes, too.
    """
    group = groups.pop(group_id)
    for member_id in sorted(group.pending_members):
        step.cancel("pending", group_id, member_id)
    group.pending_members.clear()
    step.forget(group_id)
    memory = step.memory
    memory.put(group_id, 0)

    def effect(reply_to: ReplyTo, error_code: int) -> None:
        if error_code == ErrorCode.NONE or entry.in_doubt:
            store.forget(group_id)
        else:
            groups.setdefault(group_id, group)
            memory.put(group_id, groups[group_id].held)
        answered(reply_to, error_code)

    entry = DeferredEvent(effect, partitions=frozenset((step.config.partition_of(group_id),)))
    store.deferred.add(entry)
    step.append_deferred(group_id, GroupTombstone(store.tombstones(group_id)), entry)
