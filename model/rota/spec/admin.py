"""The administration: DescribeGroups, ListGroups and DeleteGroups.

What happens when the log has answered a deletion stands in `rota.spec.admin_deletion`.
"""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.admin_messages import (
    CLASSIC,
    DeleteGroupsReply,
    DeleteGroupsRequest,
    DescribedMember,
    DescribeGroupsReply,
    DescribeGroupsRequest,
    ListedGroup,
    ListGroupsReply,
    ListGroupsRequest,
)
from rota.spec.classic.records import GroupRecord
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, RecordKind, TimerKind
from rota.spec.context import Spec, only, request_of
from rota.spec.effects import Reply
from rota.spec.messages import Call
from rota.spec.offset_state import GroupForgotten
from rota.spec.vocabulary import ErrorCode, Hosting

HOSTED = ("hosting.inactive", "hosting.loading", "hosting.elsewhere")
DESCRIBE_HANDLER = (*HOSTED, "admin.describe-unknown-group", "admin.describe")
LIST_HANDLER = ("hosting.inactive", "hosting.loading", "admin.list")
DELETE_HANDLER = (*HOSTED, "admin.delete-unknown-group", "admin.delete-non-empty-group", "admin.delete")

NOT_FOUND_SINCE = 6
"""The first DescribeGroups version with an error for a group that does not exist (KIP-1043)."""


def _describe(call: Call) -> DescribeGroupsRequest:
    return request_of(call, DescribeGroupsRequest)


@rule("admin.describe-unknown-group", source="KIP-1043; upstream GroupMetadataManager#describeGroups")
def describe_unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A group that does not exist is Dead, and no error below version 6.

    Left out: the text of the error, which version 6 has a field for. Only people read it.
    """
    if group is not None:
        return ()
    error = ErrorCode.GROUP_ID_NOT_FOUND if call.version >= NOT_FOUND_SINCE else ErrorCode.NONE
    reply = DescribeGroupsReply(error, _describe(call).group_id, group_state=GroupState.DEAD.value)
    return only(Step(None).answer(call.to, reply))


@rule("admin.describe", source="upstream ClassicGroup#describe; GroupMetadata#summary (3.x)")
def describe(spec: Spec, group: Group | None, call: Call) -> Steps:
    """State, type and members; protocol and metadata only in Stable.

    Outside of Stable the Java coordinator still shows the assignments that the members had last, the
    Scala coordinator shows none. Ids that were handed out and not used are not members.

    Left out: client ids, hosts and authorised operations, which no rule reads, and that for readers of
    the Java coordinator a group is there when the log has acknowledged its first record, and gone when it
    has the tombstone. A client cannot know whether its question was taken before the group was made or
    removed.
    """
    if group is None:
        return ()
    stable = group.state is GroupState.STABLE
    assigned = stable or not spec.profile.describe_forgets_assignments
    members = tuple(
        DescribedMember(
            member_id=member_id,
            group_instance_id=member.group_instance_id,
            member_metadata=member.metadata(group.protocol_name) if stable else b"",
            member_assignment=member.assignment if assigned else b"",
        )
        for member_id, member in group.members.items()
    )
    reply = DescribeGroupsReply(
        ErrorCode.NONE,
        _describe(call).group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=members,
    )
    return only(Step(group).answer(call.to, reply))


@rule("admin.list", source="KIP-518, KIP-848; upstream GroupMetadataManager#listGroups")
def list_groups(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A group is listed if it is in one of the states asked for, and of one of the types.

    Upper and lower case are the same (not before 3.5), and the Java coordinator does not count blanks
    around a state; a name that is none matches nothing. There is no check of the group id, and a broker
    lists what it coordinates.

    Left out: while anything is loading the Scala coordinator lists what is there, with the error, the
    Java coordinator nothing. The model has one group, and while that is loading both lists are without
    it.
    """
    request = request_of(call, ListGroupsRequest)
    states = {name.strip() if spec.profile.state_filter_trimmed else name for name in request.states_filter}
    types = {name.lower() for name in request.types_filter}
    none = only(Step(group).answer(call.to, ListGroupsReply(ErrorCode.NONE)))
    if group is None or call.hosting is not Hosting.ACTIVE or (types and CLASSIC not in types):
        return none
    if states and group.state.value.lower() not in {name.lower() for name in states}:
        return none
    line = ListedGroup(request.group_id, group.protocol_type or "", group.state.value)
    return only(Step(group).answer(call.to, ListGroupsReply(ErrorCode.NONE, (line,))))


def _refuse_delete(group: Group | None, call: Call, error: ErrorCode) -> Steps:
    request = request_of(call, DeleteGroupsRequest)
    return only(Step(group).answer(call.to, DeleteGroupsReply(request.group_id, error)))


@rule("admin.delete-unknown-group", source="upstream GroupMetadataManager#validateDeleteGroup")
def delete_unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """DeleteGroups of a group that does not exist is told GROUP_ID_NOT_FOUND.

    Left out: authorisation to delete, which KafkaApis asks for first. Who lacks it learns nothing of the
    group and changes nothing.
    """
    return () if group is not None else _refuse_delete(group, call, ErrorCode.GROUP_ID_NOT_FOUND)


@rule("admin.delete-non-empty-group", source="upstream ClassicGroup#validateDeleteGroup")
def delete_non_empty_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A group with members, or one that prepares for some, is not deleted.

    Nothing is left out: ids that were handed out do not count as members, so an Empty group that waits
    for one can be deleted by the next rule.
    """
    if group is None or group.state is GroupState.EMPTY:
        return ()
    return _refuse_delete(group, call, ErrorCode.NON_EMPTY_GROUP)


@rule("admin.delete", source="upstream GroupCoordinatorShard#deleteGroups")
def delete(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An Empty group goes, with its offsets and with the ids that it has handed out.

    The Java coordinator answers when the log has the tombstones, the Scala coordinator at once.

    Left out: that one request may name many groups, which the Java coordinator deletes in one batch per
    partition. Each group has its own line in the answer and its own tombstone.
    """
    if group is None:
        return ()
    reply = DeleteGroupsReply(request_of(call, DeleteGroupsRequest).group_id, ErrorCode.NONE)
    if spec.profile.deletion_waits_for_record:
        return only(removed(group, GroupForgotten(), Reply(call.to, reply)))
    return only(removed(group, GroupForgotten()).answer(call.to, reply))


def removed(group: Group, forgotten: GroupForgotten, answer: Reply | None = None) -> Step:
    """An Empty group goes: its tombstone, what becomes of its offsets, and the answer that waits for it."""
    step = Step(None).append(
        GroupRecord(
            group.generation_id, group.protocol_type, None, None, kind=RecordKind.DELETION, answer=answer
        )
    )
    for member_id in sorted(group.pending):
        step = step.cancel(TimerKind.PENDING, member_id)
    return step.tell_offsets(forgotten)
