"""Recorded requests and answers in the spec's words, each about one group."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from typing import Any

from rota.generate.replies import NotInTheSpec, reply_of
from rota.generate.requests import BY_TOPIC_ID, SEVERAL_FETCHED, Body, request_of
from rota.kernel import replace
from rota.spec import ErrorCode
from rota.spec.messages import ReplyMessage, Request
from rota.spec.offset_messages import (
    OffsetCommitRequest,
    OffsetFetchReply,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from rota.validate import reasons

OF_GROUPS = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "TxnOffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "DescribeGroups",
    "DeleteGroups",
)
"""The APIs that are judged."""

WITHOUT_BYTES = frozenset(OF_GROUPS) - {"JoinGroup", "SyncGroup", "DescribeGroups"}
"""Those of them in whose bodies no field is bytes, so that they are as lines have them."""

MOVED = frozenset({14, 15, 16})
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: the group is read anew."""

BESIDE = frozenset({3, 17, 29, 30, 31, 100})
"""Errors that are told before a coordinator is asked: topics that are not there, rights that are missing."""

OF_PRODUCERS = frozenset({47, 48, 49, 51, 53, 59, 90, 120})
"""Errors by which a TxnOffsetCommit is refused for its transaction: that is none, or another producer's, or
not over yet. No group's state is asked for them."""

BY_TOPIC_ID_IN = {"OffsetCommit": BY_TOPIC_ID, "OffsetFetch": BY_TOPIC_ID, "TxnOffsetCommit": 6}
"""API → the first version that has ids of topics and no names."""


def beside(request: Request) -> frozenset[int]:
    """Errors of a request that are told before a coordinator is asked."""
    return BESIDE | OF_PRODUCERS if isinstance(request, TxnOffsetCommitRequest) else BESIDE


@dataclass(frozen=True)
class Piece:
    """What a request asks about one group."""

    group: str
    request: Request


MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What reading a frame raises that is none."""


class Unreadable(Exception):
    """A frame is none."""


_NESTED = frozenset({dict, list})
"""Of what a body consists that was read from JSON; the rest are values."""


def values_of(fields: Any) -> Any:
    """A body as the codec has it, of one as lines have it: bytes stand there as base64."""
    if type(fields) is dict:
        if len(fields) == 1 and isinstance(text := fields.get("base64"), str):
            return b64decode(text)
        return {name: values_of(value) if type(value) in _NESTED else value for name, value in fields.items()}
    if type(fields) is list:
        return [values_of(one) if type(one) in _NESTED else one for one in fields]
    return fields


def body_of(api: str, fields: Any) -> Any:
    """The body of a request or an answer as the codec has it, of one as lines have it."""
    return fields if api in WITHOUT_BYTES else values_of(fields)


def pieces_of(api: str, version: int, body: Body) -> list[Piece]:
    """A request as one for each group that it names. Errors: KeyError, TypeError: no such body."""
    found = []
    for named in _by_group(api, version, body):
        request: Any = request_of(api, version, named)
        found.append(Piece(str(request.group_id), request))
    return found


def answer_for(api: str, version: int, body: Body, group: str) -> Body | None:
    """What an answer says of one group; None where it says nothing of it."""
    if api == "DescribeGroups":
        return _only(body, "groups", group)
    if api == "DeleteGroups":
        return _only(body, "results", group)
    if api == "OffsetFetch" and version >= SEVERAL_FETCHED:
        only = _only(body, "groups", group)
        return only and {**only, "groups": [_with_names(only["groups"][0], api, version)]}
    return _with_names(body, api, version)


def reply_from(request: Request, version: int, body: Body) -> ReplyMessage:
    """An answer in the spec's words. Errors: Unreadable; NotInTheSpec."""
    try:
        return reply_of(request, version, body)
    except NotInTheSpec:
        raise
    except MALFORMED as odd:
        raise Unreadable(repr(odd)) from odd


def reply_heard(
    request: Request, version: int, body: Body, codes: frozenset[int], left_out: str | None
) -> ReplyMessage | None:
    """An answer in the spec's words; None where it came before a coordinator was asked.

    codes: the error codes in it; left_out: why it is not judged; of offsets that are not, it still may
    not tell what is never told.
    Errors: Unreadable; NotInTheSpec.
    """
    reply = None if codes & beside(request) else reply_from(request, version, body)
    refuse_in_any_state(reply if left_out == reasons.OFFSETS else None)
    return reply


def codes_of(body: Any) -> frozenset[int]:
    """All error codes in a body."""
    found: set[int] = set()
    todo = [body] if type(body) in _NESTED else []
    while todo:
        one = todo.pop()
        if type(one) is list:
            todo += (each for each in one if type(each) in _NESTED)
            continue
        for name, value in one.items():
            if type(value) in _NESTED:
                todo.append(value)
            elif name == "error_code" and isinstance(value, int):
                found.add(value)
    return frozenset(found)


def refuse_in_any_state(reply: ReplyMessage | None) -> None:
    """Whatever offsets there are, those of a group that does not exist are told to be none, without an error.

    Errors: NotInTheSpec.
    """
    if isinstance(reply, OffsetFetchReply) and reply.error_code is ErrorCode.GROUP_ID_NOT_FOUND:
        raise NotInTheSpec(reply.error_code.name)


def without_refused(request: Any, body: Body) -> tuple[Any, Body] | None:
    """A commit, its deletion or an OffsetFetch and its answer, without those partitions that were refused
    before a coordinator was asked; None where nothing is left."""
    if not isinstance(body.get("topics"), list) or not isinstance(
        request, OffsetCommitRequest | TxnOffsetCommitRequest | OffsetFetchRequest
    ):
        return None
    refused = {
        (topic["name"], one["partition_index"])
        for topic in body["topics"]
        for one in topic["partitions"]
        if one["error_code"] in beside(request)
    }
    if isinstance(request, OffsetFetchRequest) or not refused:
        return None
    topics = []
    for topic in request.topics:
        left = tuple(one for one in topic.partitions if (topic.name, one.partition_index) not in refused)
        topics += [replace(topic, partitions=left)] if left else []
    if not topics:
        return None
    return replace(request, topics=tuple(topics)), {**body, "topics": _unrefused(body["topics"], refused)}


def _unrefused(topics: list[Any], refused: set[tuple[str, int]]) -> list[Any]:
    left = [
        {
            **topic,
            "partitions": [
                one for one in topic["partitions"] if (topic["name"], one["partition_index"]) not in refused
            ],
        }
        for topic in topics
    ]
    return [topic for topic in left if topic["partitions"]]


def _by_group(api: str, version: int, body: Body) -> list[Body]:
    if api == "DescribeGroups":
        return [{**body, "groups": [one]} for one in body["groups"]]
    if api == "DeleteGroups":
        return [{**body, "groups_names": [one]} for one in body["groups_names"]]
    if api == "OffsetFetch" and version >= SEVERAL_FETCHED:
        return [{**body, "groups": [_with_names(one, api, version)]} for one in body["groups"]]
    return [_with_names(body, api, version)]


def _only(body: Body, several: str, group: str) -> dict[str, Any] | None:
    found = [one for one in body[several] if one["group_id"] == group]
    return {**body, several: found[:1]} if found else None


def _with_names(body: Body, api: str, version: int) -> Body:
    """A body with topics by name: where they have ids these are their names here."""
    since = BY_TOPIC_ID_IN.get(api)
    if since is None or version < since or not body.get("topics"):
        return body
    return {
        **body,
        "topics": [
            {**topic, "name": topic.get("name") or str(topic.get("topic_id"))} for topic in body["topics"]
        ],
    }


def ids_in(reply: ReplyMessage | Request) -> frozenset[str]:
    """The member ids that a message names."""
    message: Any = reply
    own = {getattr(message, "member_id", ""), getattr(message, "leader", "")}
    own |= {getattr(one, "member_id", "") for one in getattr(message, "members", ())}
    return frozenset(one for one in own if isinstance(one, str) and one)
