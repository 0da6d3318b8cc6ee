"""Requests and replies of the classic protocol, with the field names of Kafka's message schemas in
snake_case.
"""

from __future__ import annotations

from dataclasses import field

from rota.kernel import frozen
from rota.spec.messages import ReplyMessage, Request
from rota.spec.vocabulary import ErrorCode


@frozen
class ProtocolMetadata:
    """An assignment protocol (assignor) that a member offers. metadata: opaque to the coordinator."""

    name: str
    metadata: bytes = b""


@frozen
class JoinGroupRequest(Request):
    """JoinGroup. Milliseconds; protocols in order of preference; member_id is empty for a new member."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    protocol_type: str
    protocols: tuple[ProtocolMetadata, ...]
    group_instance_id: str | None = None


@frozen
class MemberMetadata:
    """A line of the member list that the leader gets: metadata for the chosen protocol."""

    member_id: str
    metadata: bytes
    group_instance_id: str | None = None


@frozen
class JoinGroupReply(ReplyMessage):
    """The answer to JoinGroup; the defaults are those of every error answer."""

    error_code: ErrorCode
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: tuple[MemberMetadata, ...] = ()


@frozen
class MemberAssignment:
    """What the leader wants a member to get. assignment: opaque to the coordinator."""

    member_id: str
    assignment: bytes


@frozen
class SyncGroupRequest(Request):
    """SyncGroup. protocol_type and protocol_name are None below version 5."""

    group_id: str
    generation_id: int
    member_id: str
    assignments: tuple[MemberAssignment, ...] = ()
    protocol_type: str | None = None
    protocol_name: str | None = None
    group_instance_id: str | None = None


@frozen
class SyncGroupReply(ReplyMessage):
    """The answer to SyncGroup."""

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@frozen
class HeartbeatRequest(Request):
    """Heartbeat."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@frozen
class HeartbeatReply(ReplyMessage):
    """The answer to Heartbeat."""

    error_code: ErrorCode


@frozen
class LeavingMember:
    """One identity of a LeaveGroup batch."""

    member_id: str
    group_instance_id: str | None = None


@frozen
class LeaveGroupRequest(Request):
    """LeaveGroup; versions 0-2 carry exactly one identity."""

    group_id: str
    members: tuple[LeavingMember, ...]


@frozen
class MemberOutcome:
    """The answer for one identity, in the order of the request."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode


@frozen
class LeaveGroupReply(ReplyMessage):
    """The answer to LeaveGroup; versions 0-2 put the only member's error at the top level."""

    error_code: ErrorCode
    members: tuple[MemberOutcome, ...] = field(default=())


MemberRequest = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest
MemberReply = JoinGroupReply | SyncGroupReply | HeartbeatReply | LeaveGroupReply
