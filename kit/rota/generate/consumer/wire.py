"""Requests by the consumer protocol as bodies on the wire, and answers in the spec's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from rota.linearise.consumer.requests import (
    CREATED,
    GROWN,
    Changed,
    ChangeTopic,
    Commit,
    Committed,
    DeleteOffsets,
    Fetch,
    Fetched,
    Offset,
)
from rota.spec.consumer import messages as spec
from rota.spec.consumer.state import Partition
from rota.spec.consumer.vocabulary import ErrorCode, GroupState

Body = Mapping[str, Any]

SEVERAL_LEAVE, SEVERAL_FETCHED, LEADER_EPOCHS_SINCE = 3, 8, 5
"""First versions: of LeaveGroup that names several members, of OffsetFetch that names several groups, and of
its answers with leader epochs.
"""

TIMEOUT_MS = 5000
"""How long a topic may take to be changed."""


class NoSuchAnswer(Exception):
    """An answer that no rule can give; the message says what is in it."""


def api_of(request: Any) -> str:
    """The name of a request's API."""
    if isinstance(request, spec.ClassicRequest | ChangeTopic):
        return request.api
    return _APIS.get(type(request), type(request).__name__.removesuffix("Request"))


def body_of(request: Any, version: int) -> dict[str, Any]:
    """The body of a request; the codec leaves out what the version does not have."""
    return _WRITES[type(request)](request, version)


def reply_of(request: Any, body: Body) -> Any:
    """What an answer says. Errors: NoSuchAnswer."""
    try:
        return _READS[type(request)](request, body)
    except (IndexError, KeyError):
        raise NoSuchAnswer("it says nothing of what was asked") from None


def error_of(code: int) -> ErrorCode:
    """An error by its code. Errors: NoSuchAnswer."""
    try:
        return ErrorCode(code)
    except ValueError:
        raise NoSuchAnswer(f"the error {code}") from None


def by_topic(places: Iterable[Partition]) -> list[dict[str, Any]]:
    """Partitions as a heartbeat has them."""
    found: dict[str, list[int]] = {}
    for one in sorted(places):
        found.setdefault(one.topic, []).append(one.index)
    return [{"topic_id": UUID(topic), "partitions": indexes} for topic, indexes in found.items()]


def _places(told: Body) -> frozenset[Partition]:
    topics = told["topic_partitions"]
    return frozenset(Partition(str(one["topic_id"]), index) for one in topics for index in one["partitions"])


def _beat(request: Any, version: int) -> dict[str, Any]:
    names, owned = request.subscribed_topic_names, request.topic_partitions
    return {
        "group_id": request.group_id,
        "member_id": request.member_id,
        "member_epoch": request.member_epoch,
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "rebalance_timeout_ms": request.rebalance_timeout_ms,
        "subscribed_topic_names": None if names is None else sorted(names),
        "subscribed_topic_regex": request.subscribed_topic_regex,
        "server_assignor": request.server_assignor,
        "topic_partitions": None if owned is None else by_topic(owned),
    }


def _commit(request: Commit, version: int) -> dict[str, Any]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for one in request.offsets:
        named = {"committed_offset": one.offset, "committed_leader_epoch": -1}
        entry = {"partition_index": one.index, **named, "committed_metadata": one.metadata}
        topics.setdefault(one.topic, []).append(entry)
    return {
        "group_id": request.group_id,
        "generation_id_or_member_epoch": request.member_epoch,
        "member_id": request.member_id,
        "group_instance_id": None,
        "retention_time_ms": -1,
        "topics": [{"name": name, "partitions": some} for name, some in topics.items()],
    }


def _fetch(request: Fetch, version: int) -> dict[str, Any]:
    topics: dict[str, list[int]] = {}
    for topic, index in request.partitions:
        topics.setdefault(topic, []).append(index)
    named = [{"name": name, "partition_indexes": some} for name, some in topics.items()]
    asked = {"group_id": request.group_id, "topics": named}
    if version < SEVERAL_FETCHED:
        return {**asked, "require_stable": False}
    who = {"member_id": request.member_id, "member_epoch": request.member_epoch}
    return {"groups": [{**asked, **who}], "require_stable": False}


def _delete_offsets(request: DeleteOffsets, version: int) -> dict[str, Any]:
    partitions = [{"partition_index": index} for index in request.indexes]
    return {"group_id": request.group_id, "topics": [{"name": request.topic, "partitions": partitions}]}


def _leave(request: spec.LeaveGroupRequest, version: int) -> dict[str, Any]:
    if version < SEVERAL_LEAVE:
        return {"group_id": request.group_id, "member_id": request.member_ids[0]}
    members = [{"member_id": one, "group_instance_id": None} for one in request.member_ids]
    return {"group_id": request.group_id, "members": members}


def _classic(request: spec.ClassicRequest, version: int) -> dict[str, Any]:
    who = {"group_id": request.group_id, "member_id": "nobody-of-old", "group_instance_id": None}
    if request.api == "JoinGroup":
        timeouts = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
        protocols = [{"name": "range", "metadata": b"\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff"}]
        return {**who, **timeouts, "protocol_type": "consumer", "protocols": protocols}
    named = {"protocol_type": "consumer", "protocol_name": "range", "assignments": []}
    return {**who, "generation_id": 1, **(named if request.api == "SyncGroup" else {})}


def _list(request: spec.ListGroupsRequest, version: int) -> dict[str, Any]:
    return {"states_filter": sorted(request.states_filter), "types_filter": sorted(request.types_filter)}


def _change(request: ChangeTopic, version: int) -> dict[str, Any]:
    if request.api == CREATED:
        made = {"name": request.name, "num_partitions": request.partitions, "replication_factor": 1}
        topics = [{**made, "assignments": [], "configs": []}]
        return {"topics": topics, "timeout_ms": TIMEOUT_MS, "validate_only": False}
    if request.api == GROWN:
        grown = [{"name": request.name, "count": request.partitions, "assignments": None}]
        return {"topics": grown, "timeout_ms": TIMEOUT_MS, "validate_only": False}
    if version >= 6:
        gone = [{"name": request.name, "topic_id": UUID(int=0)}]
        return {"topics": gone, "timeout_ms": TIMEOUT_MS}
    return {"topic_names": [request.name], "timeout_ms": TIMEOUT_MS}


_WRITES: Mapping[type, Callable[[Any, int], dict[str, Any]]] = {
    spec.ConsumerGroupHeartbeatRequest: _beat,
    spec.ConsumerGroupDescribeRequest: lambda request, version: {
        "group_ids": [request.group_id],
        "include_authorized_operations": False,
    },
    spec.DescribeGroupsRequest: lambda request, version: {"groups": [request.group_id]},
    spec.DeleteGroupsRequest: lambda request, version: {"groups_names": [request.group_id]},
    spec.ListGroupsRequest: _list,
    spec.LeaveGroupRequest: _leave,
    spec.ClassicRequest: _classic,
    Commit: _commit,
    Fetch: _fetch,
    DeleteOffsets: _delete_offsets,
    ChangeTopic: _change,
}
_APIS = {Commit: "OffsetCommit", Fetch: "OffsetFetch", DeleteOffsets: "OffsetDelete"}
SAID = tuple(_WRITES)
"""The requests of this protocol."""


def _read_beat(request: Any, body: Body) -> spec.ConsumerGroupHeartbeatReply:
    given = body["assignment"]
    return spec.ConsumerGroupHeartbeatReply(
        error_of(body["error_code"]),
        body["member_id"],
        body["member_epoch"],
        body["heartbeat_interval_ms"],
        None if given is None else _places(given),
    )


def _read_described(request: Any, body: Body) -> Any:
    group = body["groups"][0]
    if group["error_code"]:
        return spec.ErrorReply(error_of(group["error_code"]))
    members = tuple(
        spec.Described(
            one["member_id"],
            one["member_epoch"],
            frozenset(one["subscribed_topic_names"]),
            _places(one["assignment"]),
            _places(one["target_assignment"]),
        )
        for one in group["members"]
    )
    epochs = group["group_epoch"], group["assignment_epoch"]
    return spec.ConsumerGroupDescribeReply(
        _state(group["group_state"]), *epochs, group["assignor_name"], members
    )


def _state(name: str) -> GroupState:
    try:
        return GroupState(name)
    except ValueError:
        raise NoSuchAnswer(f"a group that is {name!r}") from None


def _read_listed(request: spec.ListGroupsRequest, body: Body) -> Any:
    if body.get("error_code", 0):
        return spec.ErrorReply(error_of(body["error_code"]))
    mine = [one for one in body["groups"] if one["group_id"] == request.group_id]
    if not mine:
        return spec.Listed(None)
    state = mine[0].get("group_state")
    return spec.Listed(_state(state) if state else GroupState.EMPTY, mine[0].get("group_type", ""))


def _read_left(request: spec.LeaveGroupRequest, body: Body) -> Any:
    if body["error_code"] or "members" not in body:
        told = error_of(body["error_code"])
        # Below version 3 what is said of the one member is said of the whole.
        return spec.LeaveGroupReply((told,)) if len(request.member_ids) == 1 else spec.ErrorReply(told)
    return spec.LeaveGroupReply(tuple(error_of(one["error_code"]) for one in body["members"]))


def _outcomes(body: Body) -> tuple[tuple[str, int, int], ...]:
    return tuple(
        (topic["name"], each["partition_index"], each["error_code"])
        for topic in body["topics"]
        for each in topic["partitions"]
    )


def _read_committed(request: Any, body: Body) -> Committed:
    return Committed(error_of(body.get("error_code", 0)), _outcomes(body))


def _read_fetched(request: Fetch, body: Body) -> Fetched:
    told = body["groups"][0] if "groups" in body else body
    code = told.get("error_code", 0)
    each = {
        (topic["name"], one["partition_index"]): one
        for topic in told["topics"]
        for one in topic["partitions"]
    }
    code = code or next((one["error_code"] for one in each.values() if one["error_code"]), 0)
    if code:
        return Fetched(error_of(code))
    found = (each[one] for one in request.partitions)
    return Fetched(
        ErrorCode.NONE,
        tuple(
            Offset(*place, one["committed_offset"], one["metadata"] or "")
            for place, one in zip(request.partitions, found, strict=True)
        ),
    )


def _read_changed(request: ChangeTopic, body: Body) -> Changed:
    each = body.get("topics") or body.get("results") or body.get("responses")
    if not each:
        raise NoSuchAnswer("it says nothing of what was asked")
    return Changed(each[0]["error_code"])


def _first(name: str) -> Callable[[Any, Body], Any]:
    return lambda request, body: spec.ErrorReply(error_of(body[name][0]["error_code"]))


def _whole(request: Any, body: Body) -> Any:
    return spec.ErrorReply(error_of(body["error_code"]))


_READS: Mapping[type, Callable[[Any, Body], Any]] = {
    spec.ConsumerGroupHeartbeatRequest: _read_beat,
    spec.ConsumerGroupDescribeRequest: _read_described,
    spec.DescribeGroupsRequest: _first("groups"),
    spec.DeleteGroupsRequest: _first("results"),
    spec.ListGroupsRequest: _read_listed,
    spec.LeaveGroupRequest: _read_left,
    spec.ClassicRequest: _whole,
    Commit: _read_committed,
    Fetch: _read_fetched,
    DeleteOffsets: _read_committed,
    ChangeTopic: _read_changed,
}
