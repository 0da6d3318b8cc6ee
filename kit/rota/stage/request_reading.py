"""Requests out of words: the inverse of `request_in_words`, for whoever edits a dialogue."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from rota.spec import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from rota.spec.messages import Request
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
    TxnOffsetCommitRequest,
)

GROUP = "g"
"""The group of a dialogue; requests name it only if it is another one."""

STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
"""What ListGroups filters by, beside the types of groups."""


class NoRequest(ValueError):
    """Words that are no request; the message says what stands there."""


class _Words:
    """What is left of a request's words."""

    def __init__(self, words: str) -> None:
        self.left = words

    def take(self, pattern: str, what: str) -> re.Match[str]:
        """The next words, which must be so. Errors: NoRequest."""
        found = self.maybe(pattern)
        if found is None:
            there = f"{self.left[:40]!r} is there" if self.left else "the line ends"
            raise NoRequest(f"{what} is due, and {there}")
        return found

    def maybe(self, pattern: str) -> re.Match[str] | None:
        """The next words if they are so."""
        found = re.match(pattern, self.left)
        if found is not None:
            self.left = self.left[found.end() :]
        return found

    def number(self, name: str) -> int:
        """A number behind its name."""
        pattern = rf", {name} (-?\d{{1,3}}(?:,\d{{3}})+|-?\d+)"
        return int(self.take(pattern, f"{name} and a number")[1].replace(",", ""))


MEMBER = r"(?:nobody|[^,()\s]*\((?P<id>[^)]*)\))"
"""A member as it is named: who was given the id, and the id."""

BYTES = r'"(?P<bytes>[^"]*)"'


def read_request(words: str) -> tuple[Request, int]:
    """A request and its version. Errors: NoRequest."""
    left = _Words(words)
    kind = left.take(r"(\w+) v(\d+)", "a request and its version, such as Heartbeat v4,")
    if kind[1] not in READERS:
        raise NoRequest(f"there is no request {kind[1]}; there are {', '.join(READERS)}")
    named = left.maybe(r", group ('[^']*')")
    group = GROUP if named is None else str(ast.literal_eval(named[1]))
    request = READERS[kind[1]](left, group)
    if left.left:
        raise NoRequest(f"nothing more is due, and {left.left[:40]!r} is there")
    return request, int(kind[2])


def read_bytes(text: str) -> bytes:
    """What `quoted` shows, without its quotation marks."""
    parts = re.split(r"\\x([0-9a-f]{2})", text)
    return b"".join(bytes.fromhex(one) if at % 2 else one.encode() for at, one in enumerate(parts))


def _sender(left: _Words) -> dict[str, Any]:
    found = left.take(rf", (?:no member id|{MEMBER})", "a member, such as A(m1), or `no member id`,")
    instance = left.maybe(r", instance ([^,]+)")
    return {"member_id": found["id"] or "", "group_instance_id": instance and instance[1]}


def _join(left: _Words, group: str) -> Request:
    sender = _sender(left)
    session, rebalance = left.number("session"), left.number("rebalance")
    kind = left.take(r", ('[^']*'): ", "a protocol type in quotation marks, a colon")
    protocols = []
    if not left.maybe("nothing$"):
        while left.left:
            entry = left.take(rf"(?P<name>[^\s\"]*)(?: {BYTES})?(?: |$)", "a protocol")
            protocols.append(ProtocolMetadata(entry["name"], read_bytes(entry["bytes"] or "")))
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session,
        rebalance_timeout_ms=rebalance,
        protocol_type=str(ast.literal_eval(kind[1])),
        protocols=tuple(protocols),
        **sender,
    )


def _sync(left: _Words, group: str) -> Request:
    sender, generation = _sender(left), left.number("generation")
    named = left.maybe(r", ('[^']*'|None): ([^,]+)")
    given = []
    while left.left:
        gets = left.take(rf", {MEMBER} gets (?:nothing|{BYTES})", "a member and what it gets")
        given.append(MemberAssignment(gets["id"] or "", read_bytes(gets["bytes"] or "")))
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        assignments=tuple(given),
        protocol_type=named and ast.literal_eval(named[1]),
        protocol_name=named[2] if named and named[2] != "None" else None,
        **sender,
    )


def _heartbeat(left: _Words, group: str) -> Request:
    return HeartbeatRequest(group_id=group, **_sender(left), generation_id=left.number("generation"))


def _leave(left: _Words, group: str) -> Request:
    members = []
    while left.left:
        found = left.take(rf", {MEMBER}(?: instance (?P<instance>[^,]+))?", "a member that leaves")
        members.append(LeavingMember(found["id"] or "", found["instance"]))
    return LeaveGroupRequest(group, tuple(members))


def _commit(left: _Words, group: str) -> Request:
    sender, generation = _sender(left), left.number("generation")
    return OffsetCommitRequest(group, _committed(left), generation, **sender)


def _txn_commit(left: _Words, group: str) -> Request:
    producer, sender = left.number("producer"), _sender(left)
    generation = left.number("generation")
    return TxnOffsetCommitRequest(group, producer, _committed(left), generation, **sender)


def _committed(left: _Words) -> tuple[OffsetCommitTopic, ...]:
    topics = []
    while left.left:
        found = left.take(r", ([^,]*)-(\d+) at (-?\d+)", "a partition and its offset, such as t-0 at 5,")
        topics.append(OffsetCommitTopic(found[1], (OffsetCommitPartition(int(found[2]), int(found[3])),)))
    return tuple(topics)


def _fetch(left: _Words, group: str) -> Request:
    if left.maybe(", all(?=,|$)"):
        return OffsetFetchRequest(group, None, _stable(left))
    return OffsetFetchRequest(group, _partitions(left), _stable(left))


def _stable(left: _Words) -> bool:
    return left.maybe(", stable ones only$") is not None


def _partitions(left: _Words) -> tuple[TopicPartitions, ...]:
    topics = []
    while found := left.maybe(r", ([^,]*)-(\d+)(?=,|$)"):
        topics.append(TopicPartitions(found[1], (int(found[2]),)))
    return tuple(topics)


def _offset_delete(left: _Words, group: str) -> Request:
    return OffsetDeleteRequest(group, _partitions(left))


def _list(left: _Words, group: str) -> Request:
    filters = []
    while left.left:
        filters.append(left.take(", ([^,]+)", "a state or a type of groups")[1])
    states = tuple(one for one in filters if one in STATES)
    return ListGroupsRequest(group, states, tuple(one for one in filters if one not in STATES))


def _find(left: _Words, group: str) -> Request:
    keys = []
    while left.left:
        keys.append(left.take(", group ([^,]*)", "a group")[1])
    return FindCoordinatorRequest(tuple(keys))


READERS: Mapping[str, Callable[[_Words, str], Request]] = {
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave,
    "OffsetCommit": _commit,
    "TxnOffsetCommit": _txn_commit,
    "OffsetFetch": _fetch,
    "OffsetDelete": _offset_delete,
    "DescribeGroups": lambda left, group: DescribeGroupsRequest(group),
    "ListGroups": _list,
    "DeleteGroups": lambda left, group: DeleteGroupsRequest(group),
    "FindCoordinator": _find,
}
"""Name of a request -> what reads the rest of its words."""
