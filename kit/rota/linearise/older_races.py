"""What is seen in the Scala coordinator where two requests meet, of Apache Kafka 3.9 and before.

- ListGroups does not take a group's lock, and reads its state twice where it asks for some states, for the
  filter and for the answer (upstream `GroupCoordinator#handleListGroups`, `GroupMetadata#overview`). A
  group may be listed in a state that it was led to between, and as Empty with the protocol type of its first
  member, which it has before its first join phase (`GroupMetadata#add`).
- A JoinGroup, or a commit of nobody's, first makes a group and then takes its lock (upstream
  `GroupCoordinator#getOrMaybeCreateGroup`): a commit of a member, or whoever describes or lists groups, that
  comes between finds an Empty group that knows nobody, where before there was none and afterwards there are
  members. OffsetDelete or DeleteGroups that has found none, and then one, takes the partition for another
  broker's (upstream `GroupCoordinator#handleDeleteOffsets`, `#handleDeleteGroups`).
- OffsetDelete looks at a group, and deletes under its lock anew: the group that was Empty then may have
  members now, and stays, though it has no offset any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from rota.kernel import replace
from rota.linearise.states import Dead, Owed, State
from rota.spec import (
    Call,
    Group,
    GroupState,
    HeartbeatRequest,
    Hosting,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from rota.spec.admin_messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsReply,
    ListGroupsRequest,
)
from rota.spec.offset_messages import OffsetCommitRequest, OffsetDeleteRequest, TxnOffsetCommitRequest
from rota.spec.offset_state import GroupForgotten

OF_MEMBERS = (
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    TxnOffsetCommitRequest,
)
"""Requests that the older coordinator tells COORDINATOR_NOT_AVAILABLE where the group that they have found is
removed before they have its lock (upstream GroupCoordinator#doJoinGroup, #validateOffsetCommit and the like,
case Dead).
"""


def listed_later(before: State, after: State) -> Iterator[State]:
    """The state after a step, where a list of groups that is owed says how the step has left the group."""
    was, group = before.group, after.group
    if was is None or group is None or was.state is group.state:
        return
    for number, owed in after.owed.items():
        if isinstance(owed.message, ListGroupsReply) and owed.message.groups:
            yield replace(after, owed=after.owed.set(number, _with_state(owed, group)))


def just_made(state: State, call: Call, since: float) -> Iterator[Group]:
    """The group as it may be found that was made so late as since then."""
    request, group = call.request, state.group
    if group is None or since > state.veiled:
        return
    of_member = isinstance(request, OffsetCommitRequest) and request.generation_id_or_member_epoch >= 0
    if of_member or isinstance(request, DescribeGroupsRequest | ListGroupsRequest):
        yield Group(GroupState.EMPTY)
    if isinstance(request, ListGroupsRequest):
        yield Group(GroupState.EMPTY, protocol_type=group.protocol_type)


def taken_for_anothers(state: State, call: Call, since: float) -> Call | None:
    """A request that finds no group, and then one that was made so late as since then; else None."""
    deletes = isinstance(call.request, OffsetDeleteRequest | DeleteGroupsRequest)
    made = state.group is not None and since <= state.veiled
    return replace(call, hosting=Hosting.ELSEWHERE) if deletes and made else None


def empty_before(state: State, call: Call, since: float) -> Group | None:
    """The group as OffsetDelete has seen it, where somebody has joined so late as since then; else None."""
    group, asks = state.group, isinstance(call.request, OffsetDeleteRequest)
    if group is None or not (asks and group.members and since <= state.veiled):
        return None
    return Group(GroupState.EMPTY, group.generation_id, group.protocol_type)


def offsets_alone(before: State, deleted: State) -> State:
    """The state after such a deletion: offsets are gone, and the group is as it was."""
    line = tuple(one for one in deleted.line if not isinstance(one.item, GroupForgotten))
    deleted = replace(deleted, line=line, dead=before.dead, look=before.look)
    return replace(deleted, group=before.group, armed=before.armed)


def made_or_removed(before: Group | None, state: State, until: float) -> State:
    """A state in which is known until when others may find the group as it was removed, or just made, or
    before anybody was in it.
    """
    group = state.group
    if before is not None and group is None:
        was = Group(GroupState.DEAD, before.generation_id, before.protocol_type)
        return replace(state, dead=Dead(was, until))
    empty = before is None or before.state is GroupState.EMPTY
    news = group is not None and (before is None or group.state is not GroupState.EMPTY)
    return replace(state, veiled=until) if empty and news else state


def _with_state(owed: Owed, group: Group) -> Owed:
    assert isinstance(owed.message, ListGroupsReply)
    kind = group.protocol_type or ""
    groups = tuple(
        replace(one, group_state=group.state.value, protocol_type=kind) for one in owed.message.groups
    )
    return replace(owed, message=replace(owed.message, groups=groups))
