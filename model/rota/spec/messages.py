"""Requests and replies, with the field names of Kafka's message schemas in snake_case.

Frozen dataclasses, never named tuples: replies of different kinds must not compare equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rota.spec.admin_messages import AdminReply, AdminRequest
from rota.spec.offset_messages import OffsetReply, OffsetRequest
from rota.spec.vocabulary import ErrorCode, Hosting


@dataclass(frozen=True)
class ProtocolMetadata:
    """An assignment protocol (assignor) that a member offers. metadata: opaque to the coordinator."""

    name: str
    metadata: bytes = b""


@dataclass(frozen=True)
class JoinGroupRequest:
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
class JoinGroupReply:
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
class SyncGroupRequest:
    """SyncGroup. protocol_type and protocol_name are None below version 5."""

    group_id: str
    generation_id: int
    member_id: str
    assignments: tuple[MemberAssignment, ...] = ()
    protocol_type: str | None = None
    protocol_name: str | None = None
    group_instance_id: str | None = None


@dataclass(frozen=True)
class SyncGroupReply:
    """The answer to SyncGroup."""

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True)
class HeartbeatRequest:
    """Heartbeat."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True)
class HeartbeatReply:
    """The answer to Heartbeat."""

    error_code: ErrorCode


@dataclass(frozen=True)
class LeavingMember:
    """One identity of a LeaveGroup batch."""

    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True)
class LeaveGroupRequest:
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
class LeaveGroupReply:
    """The answer to LeaveGroup; versions 0-2 put the only member's error at the top level."""

    error_code: ErrorCode
    members: tuple[MemberOutcome, ...] = field(default=())


@dataclass(frozen=True)
class FindCoordinatorRequest:
    """FindCoordinator.

    keys: group ids, exactly one below version 4; key_type: 0 a group, 1 a transaction, 2 a share group.
    """

    keys: tuple[str, ...]
    key_type: int = 0


@dataclass(frozen=True)
class Node:
    """A broker as metadata name it; the defaults are those of nobody."""

    node_id: int = -1
    host: str = ""
    port: int = -1


@dataclass(frozen=True)
class CoordinatorOf:
    """The answer for one key."""

    key: str
    error_code: ErrorCode
    node: Node = Node()


@dataclass(frozen=True)
class FindCoordinatorReply:
    """The answer to FindCoordinator, one for each key in the order of the request."""

    coordinators: tuple[CoordinatorOf, ...]

    @property
    def error_code(self) -> ErrorCode:
        """The first key's error, all that an answer below version 4 says."""
        return self.coordinators[0].error_code


MemberRequest = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest
Request = MemberRequest | FindCoordinatorRequest | OffsetRequest | AdminRequest
MemberReply = JoinGroupReply | SyncGroupReply | HeartbeatReply | LeaveGroupReply
ReplyMessage = MemberReply | FindCoordinatorReply | OffsetReply | AdminReply


@dataclass(frozen=True)
class Call:
    """A request as the coordinator gets it.

    Parameters: request; to, the opaque address of the answer; version, of the request;
    fresh_id, the member id that will be handed out if this request needs one (ids are inputs: the spec
    draws none); hosting, what the broker that takes it is to the group; leader, who leads the group's
    partition as far as that broker knows, None where it knows of no such topic, or of no leader alive;
    now_ms, the broker's clock, which only commits of offsets look at.
    """

    request: Request
    to: str
    version: int
    fresh_id: str = ""
    hosting: Hosting = Hosting.ACTIVE
    leader: Node | None = None
    now_ms: int = 0
