"""The spec's requests as bodies on the wire, of any version, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rota.generate.consumer import wire
from rota.generate.consumer.planned import Planned
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from rota.spec.classic.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.messages import FindCoordinatorRequest, Request
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
    TxnOffsetCommitRequest,
)

Body = Mapping[str, Any]
"""A message as the codec has it: fields by name."""

SEVERAL_LEAVE = 3
"""The first version of LeaveGroup that names several members."""

SEVERAL_FETCHED = 8
"""The first version of OffsetFetch that names several groups."""

BY_TOPIC_ID = 10
"""The first version of OffsetCommit and OffsetFetch in which topics have ids, which walks do not speak."""

SEVERAL_FOUND = 4
"""The first version of FindCoordinator that names several groups."""


def api_of(request: Request) -> str:
    """The name of a request's API."""
    if isinstance(request, Planned):
        return request.api
    if isinstance(request, wire.SAID):
        return wire.api_of(request)
    return type(request).__name__.removesuffix("Request")


def body_of(request: Any, version: int) -> dict[str, Any]:
    """The body of a request; the codec leaves out what the version does not have."""
    if isinstance(request, Planned):
        return request.body(version)
    if isinstance(request, wire.SAID):
        return wire.body_of(request, version)
    return _WRITES[type(request)](request, version)


def request_of(api: str, version: int, body: Body) -> Request:
    """What a body says. What the version does not have has the spec's word for nothing."""
    return _READS[api](body, version)


def carried(request: Request, version: int) -> Request:
    """The request as its version can say it."""
    if isinstance(request, Planned):
        return request
    api, body = api_of(request), body_of(request, version)
    return request_of(api, version, {key: value for key, value in body.items() if _has(api, key, version)})


_SINCE = {
    ("JoinGroup", "rebalance_timeout_ms"): 1,
    ("JoinGroup", "group_instance_id"): 5,
    ("SyncGroup", "group_instance_id"): 3,
    ("SyncGroup", "protocol_type"): 5,
    ("SyncGroup", "protocol_name"): 5,
    ("Heartbeat", "group_instance_id"): 3,
    ("OffsetCommit", "group_instance_id"): 7,
    ("OffsetFetch", "require_stable"): 7,
    ("TxnOffsetCommit", "generation_id_or_member_epoch"): 3,
    ("TxnOffsetCommit", "member_id"): 3,
    ("TxnOffsetCommit", "group_instance_id"): 3,
    ("ListGroups", "states_filter"): 4,
    ("ListGroups", "types_filter"): 5,
    ("FindCoordinator", "key_type"): 1,
}
"""API and field -> the first version that has it."""

RETENTION_VERSIONS = range(2, 5)
"""Versions of OffsetCommit that say how long offsets are to be kept."""


def _has(api: str, name: str, version: int) -> bool:
    if (api, name) == ("OffsetCommit", "retention_time_ms"):
        return version in RETENTION_VERSIONS
    return version >= _SINCE.get((api, name), 0)


def _join(request: JoinGroupRequest, version: int) -> dict[str, Any]:
    return {
        "group_id": request.group_id,
        "session_timeout_ms": request.session_timeout_ms,
        "rebalance_timeout_ms": request.rebalance_timeout_ms,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "protocol_type": request.protocol_type,
        "protocols": [{"name": each.name, "metadata": each.metadata} for each in request.protocols],
    }


def _read_join(body: Body, version: int) -> JoinGroupRequest:
    return JoinGroupRequest(
        body["group_id"],
        body["session_timeout_ms"],
        body.get("rebalance_timeout_ms", -1),
        body["member_id"],
        body["protocol_type"],
        tuple(ProtocolMetadata(each["name"], each["metadata"]) for each in body["protocols"]),
        body.get("group_instance_id"),
    )


def _sync(request: SyncGroupRequest, version: int) -> dict[str, Any]:
    given = [{"member_id": each.member_id, "assignment": each.assignment} for each in request.assignments]
    return {
        "group_id": request.group_id,
        "generation_id": request.generation_id,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "protocol_type": request.protocol_type,
        "protocol_name": request.protocol_name,
        "assignments": given,
    }


def _read_sync(body: Body, version: int) -> SyncGroupRequest:
    return SyncGroupRequest(
        body["group_id"],
        body["generation_id"],
        body["member_id"],
        tuple(MemberAssignment(each["member_id"], each["assignment"]) for each in body["assignments"]),
        body.get("protocol_type"),
        body.get("protocol_name"),
        body.get("group_instance_id"),
    )


def _heartbeat(request: HeartbeatRequest, version: int) -> dict[str, Any]:
    return {
        "group_id": request.group_id,
        "generation_id": request.generation_id,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
    }


def _read_heartbeat(body: Body, version: int) -> HeartbeatRequest:
    return HeartbeatRequest(
        body["group_id"], body["generation_id"], body["member_id"], body.get("group_instance_id")
    )


def _leave(request: LeaveGroupRequest, version: int) -> dict[str, Any]:
    if version < SEVERAL_LEAVE:
        return {"group_id": request.group_id, "member_id": request.members[0].member_id}
    members = [
        {"member_id": each.member_id, "group_instance_id": each.group_instance_id} for each in request.members
    ]
    return {"group_id": request.group_id, "members": members}


def _read_leave(body: Body, version: int) -> LeaveGroupRequest:
    if version < SEVERAL_LEAVE:
        return LeaveGroupRequest(body["group_id"], (LeavingMember(body["member_id"]),))
    members = (LeavingMember(each["member_id"], each["group_instance_id"]) for each in body["members"])
    return LeaveGroupRequest(body["group_id"], tuple(members))


def _commit(request: OffsetCommitRequest, version: int) -> dict[str, Any]:
    return {
        "group_id": request.group_id,
        "generation_id_or_member_epoch": request.generation_id_or_member_epoch,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "retention_time_ms": request.retention_time_ms,
        "topics": _committed(request),
    }


def _committed(request: OffsetCommitRequest | TxnOffsetCommitRequest) -> list[dict[str, Any]]:
    return [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": each.partition_index,
                    "committed_offset": each.committed_offset,
                    "committed_leader_epoch": each.committed_leader_epoch,
                    "committed_metadata": each.committed_metadata,
                }
                for each in topic.partitions
            ],
        }
        for topic in request.topics
    ]


EPOCH_SINCE = 6
"""The first version of OffsetCommit with leader epochs."""


def _read_commit(body: Body, version: int) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        body["group_id"],
        _read_committed(body, version >= EPOCH_SINCE),
        body["generation_id_or_member_epoch"],
        body["member_id"],
        body.get("group_instance_id"),
        body.get("retention_time_ms", -1),
    )


def _read_committed(body: Body, epochs: bool) -> tuple[OffsetCommitTopic, ...]:
    """epochs: whether the version has those of leaders."""
    return tuple(
        OffsetCommitTopic(
            topic["name"],
            tuple(
                OffsetCommitPartition(
                    each["partition_index"],
                    each["committed_offset"],
                    each.get("committed_leader_epoch", -1) if epochs else -1,
                    each["committed_metadata"],
                )
                for each in topic["partitions"]
            ),
        )
        for topic in body["topics"]
    )


TXN_EPOCH_SINCE = 2
"""The first version of TxnOffsetCommit with leader epochs."""


def _txn_commit(request: TxnOffsetCommitRequest, version: int) -> dict[str, Any]:
    return {
        "transactional_id": "",
        "group_id": request.group_id,
        "producer_id": request.producer_id,
        "producer_epoch": 0,
        "generation_id_or_member_epoch": request.generation_id,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "topics": _committed(request),
    }


def _read_txn_commit(body: Body, version: int) -> TxnOffsetCommitRequest:
    return TxnOffsetCommitRequest(
        body["group_id"],
        body["producer_id"],
        _read_committed(body, version >= TXN_EPOCH_SINCE),
        body.get("generation_id_or_member_epoch", -1),
        body.get("member_id", ""),
        body.get("group_instance_id"),
    )


def _fetch(request: OffsetFetchRequest, version: int) -> dict[str, Any]:
    topics = request.topics and [
        {"name": each.name, "partition_indexes": [*each.partition_indexes]} for each in request.topics
    ]
    asked = {"group_id": request.group_id, "topics": None if topics is None else [*topics]}
    if version >= SEVERAL_FETCHED:
        return {"groups": [asked], "require_stable": request.require_stable}
    return {**asked, "require_stable": request.require_stable}


def _read_fetch(body: Body, version: int) -> OffsetFetchRequest:
    asked = body["groups"][0] if version >= SEVERAL_FETCHED else body
    topics = asked["topics"]
    named = topics and (TopicPartitions(one["name"], tuple(one["partition_indexes"])) for one in topics)
    return OffsetFetchRequest(
        asked["group_id"], None if named is None else tuple(named), body.get("require_stable", False)
    )


def _offset_delete(request: OffsetDeleteRequest, version: int) -> dict[str, Any]:
    topics = [
        {"name": one.name, "partitions": [{"partition_index": index} for index in one.partition_indexes]}
        for one in request.topics
    ]
    return {"group_id": request.group_id, "topics": topics}


def _read_offset_delete(body: Body, version: int) -> OffsetDeleteRequest:
    topics = (
        TopicPartitions(one["name"], tuple(each["partition_index"] for each in one["partitions"]))
        for one in body["topics"]
    )
    return OffsetDeleteRequest(body["group_id"], tuple(topics))


def _list(request: ListGroupsRequest, version: int) -> dict[str, Any]:
    return {
        "states_filter": [*request.states_filter],
        "types_filter": [*request.types_filter],
        "about": request.group_id,
    }


def _read_list(body: Body, version: int) -> ListGroupsRequest:
    return ListGroupsRequest(
        body["about"], tuple(body.get("states_filter", ())), tuple(body.get("types_filter", ()))
    )


def _find(request: FindCoordinatorRequest, version: int) -> dict[str, Any]:
    if version >= SEVERAL_FOUND:
        return {"coordinator_keys": [*request.keys], "key_type": request.key_type}
    return {"key": request.keys[0], "key_type": request.key_type}


def _read_find(body: Body, version: int) -> FindCoordinatorRequest:
    keys = body["coordinator_keys"] if version >= SEVERAL_FOUND else [body["key"]]
    return FindCoordinatorRequest(tuple(keys), body.get("key_type", 0))


_WRITES: Mapping[type, Callable[[Any, int], dict[str, Any]]] = {
    JoinGroupRequest: _join,
    SyncGroupRequest: _sync,
    HeartbeatRequest: _heartbeat,
    LeaveGroupRequest: _leave,
    OffsetCommitRequest: _commit,
    TxnOffsetCommitRequest: _txn_commit,
    OffsetFetchRequest: _fetch,
    OffsetDeleteRequest: _offset_delete,
    DescribeGroupsRequest: lambda request, version: {"groups": [request.group_id]},
    ListGroupsRequest: _list,
    DeleteGroupsRequest: lambda request, version: {"groups_names": [request.group_id]},
    FindCoordinatorRequest: _find,
}
_READS: Mapping[str, Callable[[Body, int], Request]] = {
    "JoinGroup": _read_join,
    "SyncGroup": _read_sync,
    "Heartbeat": _read_heartbeat,
    "LeaveGroup": _read_leave,
    "OffsetCommit": _read_commit,
    "TxnOffsetCommit": _read_txn_commit,
    "OffsetFetch": _read_fetch,
    "OffsetDelete": _read_offset_delete,
    "DescribeGroups": lambda body, version: DescribeGroupsRequest(body["groups"][0]),
    "ListGroups": _read_list,
    "DeleteGroups": lambda body, version: DeleteGroupsRequest(body["groups_names"][0]),
    "FindCoordinator": _read_find,
}
"""ListGroups names no group on the wire: "about" says in plans which one the question is about. The producer
of a TxnOffsetCommit is a transaction's number in the plan; who plays it knows its transactional id and epoch.
"""

SPOKEN = tuple(_READS)
"""The APIs that walks speak."""
