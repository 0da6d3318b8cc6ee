"""Requests, answers and records in words. Whoever speaks knows whose member ids are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rota.spec import FindCoordinatorRequest, GroupRecord, Hosting, Node, RecordKind
from rota.spec.offset_state import (
    NO_PRODUCER,
    Committed,
    InLine,
    OffsetBatch,
    OffsetRead,
    OffsetRecord,
    OffsetTombstone,
    PendingOffset,
    TransactionEnd,
)

Name = Callable[[str | None], str]
"""Member id → the name of its owner with the id."""


def request_in_words(request: Any, version: int, name: Name) -> str:
    """A request: its kind, who sends it, what it says."""
    kind = type(request).__name__.removesuffix("Request")
    group = getattr(request, "group_id", "g")
    named = [] if group == "g" else [f"group {group!r}"]
    return ", ".join([f"{kind} v{version}", *named, *REQUESTS[kind](request, name)])


def asked_where(request: Any, hosting: Hosting, led_by: Node | None) -> str:
    """Which broker a request reaches, if it is not the group's coordinator; who is asked for knows one."""
    told = "" if hosting is Hosting.ACTIVE else f"; to a broker that is {hosting.value}"
    if led_by is None or not isinstance(request, FindCoordinatorRequest):
        return told
    return f"{told}; broker {led_by.node_id} leads the group"


def _sender(request: Any, name: Name) -> list[str]:
    instance = request.group_instance_id
    sender = name(request.member_id) if request.member_id else "no member id"
    return [sender, *([] if instance is None else [f"instance {instance}"])]


def _join(request: Any, name: Name) -> list[str]:
    times = f"session {request.session_timeout_ms:,}, rebalance {request.rebalance_timeout_ms:,}"
    entries = " ".join(f"{one.name}{quoted(one.metadata)}" for one in request.protocols)
    return [*_sender(request, name), times, f"{request.protocol_type!r}: {entries or 'nothing'}"]


def _sync(request: Any, name: Name) -> list[str]:
    parts = [*_sender(request, name), f"generation {request.generation_id}"]
    if request.protocol_type is not None or request.protocol_name is not None:
        parts.append(f"{request.protocol_type!r}: {request.protocol_name}")
    given = request.assignments
    return parts + [f"{name(one.member_id)} gets{quoted(one.assignment) or ' nothing'}" for one in given]


def _heartbeat(request: Any, name: Name) -> list[str]:
    return [*_sender(request, name), f"generation {request.generation_id}"]


def _leave(request: Any, name: Name) -> list[str]:
    return [with_instance(name(one.member_id), one) for one in request.members]


def _commit(request: Any, name: Name) -> list[str]:
    generation = request.generation_id_or_member_epoch
    return [*_sender(request, name), f"generation {generation}", *_committed(request)]


def _txn_commit(request: Any, name: Name) -> list[str]:
    producer = f"producer {request.producer_id}"
    return [producer, *_sender(request, name), f"generation {request.generation_id}", *_committed(request)]


def _committed(request: Any) -> list[str]:
    return [
        f"{topic.name}-{each.partition_index} at {each.committed_offset}"
        for topic in request.topics
        for each in topic.partitions
    ]


def _fetch(request: Any, name: Name) -> list[str]:
    asked = ["all"] if request.topics is None else _partitions(request.topics)
    return [*asked, *(["stable ones only"] if request.require_stable else [])]


def _offset_delete(request: Any, name: Name) -> list[str]:
    return _partitions(request.topics)


def _partitions(topics: Iterable[Any]) -> list[str]:
    return [f"{topic.name}-{index}" for topic in topics for index in topic.partition_indexes]


def _list(request: Any, name: Name) -> list[str]:
    return [*request.states_filter, *request.types_filter]


def _find(request: Any, name: Name) -> list[str]:
    return [f"group {key}" for key in request.keys]


def _nothing_more(request: Any, name: Name) -> list[str]:
    return []


REQUESTS: Mapping[str, Callable[[Any, Name], list[str]]] = {
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave,
    "OffsetCommit": _commit,
    "TxnOffsetCommit": _txn_commit,
    "OffsetFetch": _fetch,
    "OffsetDelete": _offset_delete,
    "DescribeGroups": _nothing_more,
    "ListGroups": _list,
    "DeleteGroups": _nothing_more,
    "FindCoordinator": _find,
}


IN_PARTS = frozenset({"FindCoordinator", "OffsetCommit", "TxnOffsetCommit"})
"""Answers without an error code for the whole."""


def reply_in_words(reply: Any, version: int, name: Name) -> str:
    """An answer: its error code, if it has one for the whole, and what else it says."""
    kind = type(reply).__name__.removesuffix("Reply")
    whole = [] if kind in IN_PARTS else [f"{reply.error_code.name} ({reply.error_code.value})"]
    return ", ".join([*whole, *(REPLIES[kind](reply, version, name) if kind in REPLIES else [])])


def _joined(reply: Any, version: int, name: Name) -> list[str]:
    parts = [f"member id {name(reply.member_id)}" if reply.member_id else "no member id"]
    if reply.generation_id >= 0:
        named = protocol_of(reply) if version >= 7 else reply.protocol_name
        parts += [f"generation {reply.generation_id}", named, f"leader {name(reply.leader)}"]
    listed = " ".join(f"{name(one.member_id)}{quoted(one.metadata)}" for one in reply.members)
    parts += [f"members {listed}"] if listed else []
    return parts + (["skip the assignment"] if reply.skip_assignment else [])


def _synced(reply: Any, version: int, name: Name) -> list[str]:
    named = [protocol_of(reply)] if reply.protocol_type and version >= 5 else []
    return [*named, f"assignment{quoted(reply.assignment) or ' empty'}"]


def _left(reply: Any, version: int, name: Name) -> list[str]:
    return [f"{with_instance(name(one.member_id), one)} {one.error_code.name}" for one in reply.members]


def _outcomes(reply: Any, version: int, name: Name) -> list[str]:
    return [
        f"{topic.name}-{each.partition_index} {each.error_code.name}"
        for topic in reply.topics
        for each in topic.partitions
    ]


def _fetched(reply: Any, version: int, name: Name) -> list[str]:
    return [
        f"{topic.name}-{each.partition_index} {_offset(each)}"
        for topic in reply.topics
        for each in topic.partitions
    ]


def _offset(each: Any) -> str:
    if each.error_code.name != "NONE":
        return str(each.error_code.name)
    return "without an offset" if each.committed_offset == -1 else f"at {each.committed_offset}"


def _described(reply: Any, version: int, name: Name) -> list[str]:
    listed = [with_instance(name(one.member_id), one) for one in reply.members]
    return [reply.group_state, *(f"member {one}" for one in listed)] if reply.group_state else listed


def _listed(reply: Any, version: int, name: Name) -> list[str]:
    return [f"{one.group_id} {one.group_state}" for one in reply.groups]


def _found(reply: Any, version: int, name: Name) -> list[str]:
    return [
        f"group {one.key}: {one.error_code.name}, broker {one.node.node_id}" for one in reply.coordinators
    ]


REPLIES: Mapping[str, Callable[[Any, int, Name], list[str]]] = {
    "JoinGroup": _joined,
    "SyncGroup": _synced,
    "LeaveGroup": _left,
    "OffsetCommit": _outcomes,
    "TxnOffsetCommit": _outcomes,
    "OffsetFetch": _fetched,
    "OffsetDelete": _outcomes,
    "DescribeGroups": _described,
    "ListGroups": _listed,
    "FindCoordinator": _found,
}

_SUBJECTS = {
    RecordKind.CREATION: "new group",
    RecordKind.ASSIGNMENT: "assignment",
    RecordKind.EMPTIED: "Empty group",
    RecordKind.REPLACEMENT: "replacement",
    RecordKind.DELETION: "end of the group",
}


def subject(record: GroupRecord) -> str:
    """What a record is about."""
    return f"{_SUBJECTS[record.kind]}, generation {record.generation_id}"


def record_in_words(record: GroupRecord, name: Name) -> str:
    """A group record."""
    if record.kind is RecordKind.DELETION:
        return subject(record)
    head = f"{subject(record)}, {protocol_of(record)}, leader {name(record.leader)}"
    told = [
        f"{with_instance(name(one.member_id), one)}{quoted(one.assignment) or ' empty'}"
        for one in record.members
    ]
    return ", ".join([head, *(told or ["no members"])])


def line_in_words(item: InLine) -> str:
    """What about offsets waits for the log."""
    if isinstance(item, TransactionEnd):
        how = "committed" if item.committed else "aborted"
        return f"end of the transaction of producer {item.producer_id}, {how}"
    if isinstance(item, OffsetRead):
        return f"nothing, {item.call.to} waits for what comes before"
    if not isinstance(item, OffsetBatch):
        raise TypeError(f"nothing that waits in the line: {item!r}")
    return ", ".join(_recorded(record) for record in item.records)


def who_waits(item: GroupRecord | InLine) -> str:
    """Whose request is answered when the log has answered."""
    answer = item.answer if isinstance(item, GroupRecord | OffsetBatch) else None
    return "" if answer is None else f", {answer.to} waits for it"


def _recorded(record: OffsetRecord | OffsetTombstone) -> str:
    name = f"{record.topic}-{record.partition_index}"
    if isinstance(record, OffsetTombstone):
        return f"{name} without an offset"
    by = "" if record.producer_id == NO_PRODUCER else f" in the transaction of producer {record.producer_id}"
    return f"{name} at {record.value.committed_offset}{by}"


def offset_in_words(key: tuple[str, int], value: Committed | PendingOffset) -> str:
    """A stored or a pending offset."""
    if isinstance(value, PendingOffset):
        return _recorded(value.record)
    return f"{key[0]}-{key[1]} at {value.committed_offset}"


def protocol_of(one: Any) -> str:
    """Type and name."""
    return f"{one.protocol_type or 'no type'}: {one.protocol_name or 'no protocol'}"


def with_instance(told: str, one: Any) -> str:
    """A member, with its instance id if it is static."""
    return told if one.group_instance_id is None else f"{told} instance {one.group_instance_id}"


def quoted(data: bytes) -> str:
    """Bytes in quotation marks, after a blank; nothing where there are none."""
    return f' "{data.decode(errors="backslashreplace")}"' if data else ""
