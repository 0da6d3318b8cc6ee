"""Requests and replies of the classic protocol, with the field names of Kafka's message schemas in
snake_case.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rota.spec.messages import ReplyMessage, Request
from rota.spec.vocabulary import ErrorCode


@dataclass(frozen=True)
class ProtocolMetadata:
    """An assignment protocol (assignor) that a member offers. metadata: opaque to the coordinator."""

    name: str
    metadata: bytes = b""


@dataclass(frozen=True)
class JoinGroupRequest(Request):
    """JoinGroup. Milliseconds; protocols in order of preference; member_id is empty for a new member."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    protocol_type: str
    protocols: tuple[ProtocolMetadata, ...]
    group_instance_id: str | None = None


@dataclass(frozen=True)
class MemberMetadata:
    """A line of the member list that the leader gets: metadata for the chosen protocol."""

    member_id: str
    metadata: bytes
    group_instance_id: str | None = None


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class MemberAssignment:
    """What the leader wants a member to get. assignment: opaque to the coordinator."""

    member_id: str
    assignment: bytes


@dataclass(frozen=True)
class SyncGroupRequest(Request):
    """SyncGroup. protocol_type and protocol_name are None below version 5."""

    group_id: str
    generation_id: int
    member_id: str
    assignments: tuple[MemberAssignment, ...] = ()
    protocol_type: str | None = None
    protocol_name: str | None = None
    group_instance_id: str | None = None


@dataclass(frozen=True)
class SyncGroupReply(ReplyMessage):
    """The answer to SyncGroup."""

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True)
class HeartbeatRequest(Request):
    """Heartbeat."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True)
class HeartbeatReply(ReplyMessage):
    """The answer to Heartbeat."""

    error_code: ErrorCode


@dataclass(frozen=True)
class LeavingMember:
    """One identity of a LeaveGroup batch."""

    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True)
class LeaveGroupRequest(Request):
    """LeaveGroup; versions 0-2 carry exactly one identity."""

    group_id: str
    members: tuple[LeavingMember, ...]


@dataclass(frozen=True)
class MemberOutcome:
    """The answer for one identity, in the order of the request."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode


@dataclass(frozen=True)
class LeaveGroupReply(ReplyMessage):
    """The answer to LeaveGroup; versions 0-2 put the only member's error at the top level."""

    error_code: ErrorCode
    members: tuple[MemberOutcome, ...] = field(default=())


MemberRequest = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest
MemberReply = JoinGroupReply | SyncGroupReply | HeartbeatReply | LeaveGroupReply
