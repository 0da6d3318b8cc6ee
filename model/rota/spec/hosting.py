"""Whether a broker is the group's coordinator at all, and who is.

Every request but FindCoordinator has to find a broker whose coordinator runs, leads the group's partition and
has read it (`Call.hosting`). The three rules stand in the handlers of all these requests, before everything
that needs the group. How a request is told such an error is in `REFUSALS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rota.kernel.rules import rule
from rota.spec.admin_messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    refused_admin,
)
from rota.spec.classic.messages import (
    HeartbeatReply,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    LeaveGroupRequest,
    SyncGroupReply,
    SyncGroupRequest,
)
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.context import Spec, only, request_of
from rota.spec.messages import Call, CoordinatorOf, FindCoordinatorReply, FindCoordinatorRequest, ReplyMessage
from rota.spec.offset_messages import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
    refused_offsets,
)
from rota.spec.profiles import Profile
from rota.spec.vocabulary import ErrorCode, Hosting

FIND_HANDLER = ("hosting.find-coordinator",)

GROUP_KEY, TRANSACTION_KEY = 0, 1
"""Types of the keys of FindCoordinator that every broker knows; from version 6 on there are share groups."""

Refusal = Callable[[Any, ErrorCode], ReplyMessage]

REFUSALS: dict[type, Refusal] = {
    JoinGroupRequest: lambda request, error: JoinGroupReply(error, member_id=request.member_id),
    SyncGroupRequest: lambda request, error: SyncGroupReply(error),
    HeartbeatRequest: lambda request, error: HeartbeatReply(error),
    LeaveGroupRequest: lambda request, error: LeaveGroupReply(error),
    OffsetCommitRequest: refused_offsets,
    TxnOffsetCommitRequest: refused_offsets,
    OffsetFetchRequest: refused_offsets,
    OffsetDeleteRequest: refused_offsets,
    DescribeGroupsRequest: refused_admin,
    ListGroupsRequest: refused_admin,
    DeleteGroupsRequest: refused_admin,
}
"""Request kind -> its answer with an error that is not about what the group holds."""

NAMELESS_GROUP: tuple[type, ...] = (
    OffsetCommitRequest,
    OffsetFetchRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    DeleteGroupsRequest,
)
"""The requests that take the empty group id for a group's name like any other."""


def _tell(group: Group | None, call: Call, error: ErrorCode) -> Steps:
    return only(Step(group).answer(call.to, REFUSALS[type(call.request)](call.request, error)))


def _tell_from_within(spec: Spec, group: Group | None, call: Call, error: ErrorCode) -> Steps:
    """As `_tell`, but with the Java coordinator a JoinGroup's answer lacks the member id.

    There the error comes from CoordinatorRuntime, and GroupCoordinatorService makes an answer of the error
    alone.
    """
    if isinstance(call.request, JoinGroupRequest) and not spec.profile.unhosted_join_echoes_id:
        return only(Step(group).answer(call.to, JoinGroupReply(error)))
    return _tell(group, call, error)


def _names_a_group(call: Call) -> bool:
    return isinstance(call.request, NAMELESS_GROUP) or bool(getattr(call.request, "group_id", ""))


def _loading_told(profile: Profile, call: Call) -> ErrorCode:
    if isinstance(call.request, HeartbeatRequest):
        return ErrorCode.NONE
    if isinstance(call.request, SyncGroupRequest):
        return profile.sync_while_loading
    return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@rule("hosting.inactive", source="upstream GroupCoordinatorService#isActive; GroupCoordinator#isActive (3.x)")
def inactive(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A broker whose coordinator does not run (it starts or stops) says so.

    The Java coordinator says it before it looks at the group id, the Scala coordinator after that; so
    this rule comes first, and leaves an empty group id to the next one where the profile wants it.

    Left out: why it does not run, be it start, shutdown or a start that failed. All three answer alike,
    and none of them looks at the group.
    """
    if call.hosting is not Hosting.INACTIVE:
        return ()
    if not spec.profile.inactive_before_group_id and not _names_a_group(call):
        return ()
    return _tell(group, call, ErrorCode.COORDINATOR_NOT_AVAILABLE)


@rule(
    "hosting.loading", source="upstream GroupCoordinatorService; GroupCoordinator#validateGroupStatus (3.x)"
)
def loading(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A coordinator that still reads the group's partition asks for patience, each request in its own way.

    A heartbeat is told that all is well: the sessions begin when the group is there. A SyncGroup is told
    by the Scala coordinator to join again; the Java coordinator tells it an error that Kafka's own client
    does not expect there and fails with.

    Left out: the groups of the partition that have been read before the others. No request to one of them
    is served before the load is over, only ListGroups of the Scala coordinator shows them (`admin.list`).
    """
    if call.hosting is not Hosting.LOADING:
        return ()
    return _tell_from_within(spec, group, call, _loading_told(spec.profile, call))


@rule("hosting.elsewhere", source="upstream CoordinatorRuntime; GroupMetadataManager#isGroupLocal (3.x)")
def elsewhere(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A broker that does not lead the group's partition sends the client to look for the one that does.

    Left out: which partition of __consumer_offsets a group belongs to (the hash of its id). With one
    group there is one partition, and `Call.hosting` says what the broker is to it.
    """
    if call.hosting is not Hosting.ELSEWHERE:
        return ()
    return _tell_from_within(spec, group, call, ErrorCode.NOT_COORDINATOR)


@rule("hosting.find-coordinator", source="upstream KafkaApis#getCoordinator", since="FindCoordinator v0-v6")
def find_coordinator(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Any broker says who leads the partition of each group, as far as it knows; no coordinator is asked.

    The group id is not looked at. Where the topic of the groups is not there yet its creation is begun,
    and the client has to ask again. A broker without a share coordinator refuses the keys of share
    groups.

    Left out: that transactions have a topic of their own, authorisation per key, and the listener whose
    address is told. All that a client of the model needs to be told is which broker it is.
    """
    request = request_of(call, FindCoordinatorRequest)
    lines = tuple(_located(key, request.key_type, call) for key in request.keys)
    return only(Step(group).answer(call.to, FindCoordinatorReply(lines)))


def _located(key: str, key_type: int, call: Call) -> CoordinatorOf:
    if key_type not in (GROUP_KEY, TRANSACTION_KEY):
        return CoordinatorOf(key, ErrorCode.INVALID_REQUEST)
    if call.leader is None:
        return CoordinatorOf(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return CoordinatorOf(key, ErrorCode.NONE, call.leader)
