"""Answers on the wire in the spec's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.generate.consumer import wire
from rota.generate.requests import Body, api_of
from rota.spec.admin_messages import (
    CLASSIC,
    DeleteGroupsReply,
    DescribedMember,
    DescribeGroupsReply,
    ListedGroup,
    ListGroupsReply,
)
from rota.spec.classic.messages import (
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroupReply,
    MemberMetadata,
    MemberOutcome,
    SyncGroupReply,
)
from rota.spec.messages import CoordinatorOf, FindCoordinatorReply, Node, ReplyMessage
from rota.spec.offset_messages import (
    FetchedPartition,
    FetchedTopic,
    OffsetCommitReply,
    OffsetDeleteReply,
    OffsetFetchReply,
    PartitionOutcome,
    TopicOutcome,
    TxnOffsetCommitReply,
)
from rota.spec.vocabulary import ErrorCode


class NotInTheSpec(Exception):
    """An answer that no rule of the spec can give, whatever was asked; the message says what is in it."""


def reply_of(request: Any, version: int, body: Body) -> ReplyMessage:
    """What an answer to a request says. Errors: NotInTheSpec.

    What the version does not have is as where there is none. What people alone read is left out.
    """
    if isinstance(request, wire.SAID):
        try:
            found: ReplyMessage = wire.reply_of(request, body)
        except wire.NoSuchAnswer as error:
            raise NotInTheSpec(str(error)) from None
        return found
    try:
        return _READS[api_of(request)](request, body)
    except IndexError:
        raise NotInTheSpec("it says nothing of what was asked") from None


_ERRORS = {one.value: one for one in ErrorCode}
"""By number: to ask the enumeration takes longer than to look."""


def _error(body: Body) -> ErrorCode:
    code = body.get("error_code", 0)
    try:
        return _ERRORS[code]
    except KeyError:
        raise NotInTheSpec(f"the error {error_name(code)}") from None


def _join(request: Any, body: Body) -> JoinGroupReply:
    members = tuple(
        MemberMetadata(each["member_id"], each["metadata"], each.get("group_instance_id"))
        for each in body["members"]
    )
    return JoinGroupReply(
        _error(body),
        body["generation_id"],
        body.get("protocol_type"),
        body["protocol_name"],
        body["leader"],
        body.get("skip_assignment", False),
        body["member_id"],
        members,
    )


def _sync(request: Any, body: Body) -> SyncGroupReply:
    return SyncGroupReply(
        _error(body), body.get("protocol_type"), body.get("protocol_name"), body["assignment"]
    )


def _leave(request: Any, body: Body) -> LeaveGroupReply:
    members = tuple(
        MemberOutcome(each["member_id"], each["group_instance_id"], _error(each))
        for each in body.get("members", ())
    )
    return LeaveGroupReply(_error(body), members)


def _outcomes(body: Body) -> tuple[TopicOutcome, ...]:
    return tuple(
        TopicOutcome(
            topic["name"],
            tuple(PartitionOutcome(each["partition_index"], _error(each)) for each in topic["partitions"]),
        )
        for topic in body["topics"]
    )


def _fetch(request: Any, body: Body) -> OffsetFetchReply:
    told = body["groups"][0] if "groups" in body else body
    topics = tuple(
        FetchedTopic(
            topic["name"],
            tuple(
                FetchedPartition(
                    each["partition_index"],
                    each["committed_offset"],
                    each.get("committed_leader_epoch", -1),
                    each["metadata"],
                    _error(each),
                )
                for each in topic["partitions"]
            ),
        )
        for topic in told["topics"]
    )
    return OffsetFetchReply(_error(told), topics)


def _described(request: Any, body: Body) -> DescribeGroupsReply:
    group = body["groups"][0]
    members = tuple(
        DescribedMember(
            each["member_id"],
            each.get("group_instance_id"),
            each["member_metadata"],
            each["member_assignment"],
        )
        for each in group["members"]
    )
    told = (group["group_id"], group["group_state"], group["protocol_type"], group["protocol_data"])
    return DescribeGroupsReply(_error(group), *told, members)


def _listed(request: Any, body: Body) -> ListGroupsReply:
    groups = tuple(
        ListedGroup(
            each["group_id"],
            each["protocol_type"],
            each.get("group_state", ""),
            each.get("group_type", CLASSIC),
        )
        for each in body["groups"]
        if each["group_id"] == request.group_id
    )
    return ListGroupsReply(_error(body), groups)


def _deleted(request: Any, body: Body) -> DeleteGroupsReply:
    result = body["results"][0]
    return DeleteGroupsReply(result["group_id"], _error(result))


def _found(request: Any, body: Body) -> FindCoordinatorReply:
    told = body["coordinators"] if "coordinators" in body else [{**body, "key": request.keys[0]}]
    return FindCoordinatorReply(
        tuple(
            CoordinatorOf(each["key"], _error(each), Node(each["node_id"], each["host"], each["port"]))
            for each in told
        )
    )


_READS: Mapping[str, Callable[[Any, Body], ReplyMessage]] = {
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": lambda request, body: HeartbeatReply(_error(body)),
    "LeaveGroup": _leave,
    "OffsetCommit": lambda request, body: OffsetCommitReply(_outcomes(body)),
    "TxnOffsetCommit": lambda request, body: TxnOffsetCommitReply(_outcomes(body)),
    "OffsetFetch": _fetch,
    "OffsetDelete": lambda request, body: OffsetDeleteReply(_error(body), _outcomes(body)),
    "DescribeGroups": _described,
    "ListGroups": _listed,
    "DeleteGroups": _deleted,
    "FindCoordinator": _found,
}
