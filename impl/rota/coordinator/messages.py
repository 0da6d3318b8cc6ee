"""Requests, replies and error codes of the four membership requests, as frozen values.

Field names are Kafka's schema names in snake_case; the throttle time is the server's business and is left
out.
"""

from dataclasses import replace
from typing import Final, NamedTuple

from rota.coordinator.values import value


class ErrorCode:
    """Kafka's error codes as plain integers: those that the core answers, and those that a log may report."""

    UNKNOWN_SERVER_ERROR: Final = -1
    NONE: Final = 0
    UNKNOWN_TOPIC_OR_PARTITION: Final = 3
    INVALID_FETCH_SIZE: Final = 4
    NOT_LEADER_OR_FOLLOWER: Final = 6
    REQUEST_TIMED_OUT: Final = 7
    MESSAGE_TOO_LARGE: Final = 10
    OFFSET_METADATA_TOO_LARGE: Final = 12
    COORDINATOR_LOAD_IN_PROGRESS: Final = 14
    COORDINATOR_NOT_AVAILABLE: Final = 15
    NOT_COORDINATOR: Final = 16
    RECORD_LIST_TOO_LARGE: Final = 18
    NOT_ENOUGH_REPLICAS: Final = 19
    ILLEGAL_GENERATION: Final = 22
    INCONSISTENT_GROUP_PROTOCOL: Final = 23
    INVALID_GROUP_ID: Final = 24
    UNKNOWN_MEMBER_ID: Final = 25
    INVALID_SESSION_TIMEOUT: Final = 26
    REBALANCE_IN_PROGRESS: Final = 27
    INVALID_COMMIT_OFFSET_SIZE: Final = 28
    UNSUPPORTED_VERSION: Final = 35
    INVALID_REQUEST: Final = 42
    KAFKA_STORAGE_ERROR: Final = 56
    NON_EMPTY_GROUP: Final = 68
    GROUP_ID_NOT_FOUND: Final = 69
    MEMBER_ID_REQUIRED: Final = 79
    GROUP_MAX_SIZE_REACHED: Final = 81
    FENCED_INSTANCE_ID: Final = 82
    GROUP_SUBSCRIBED_TO_TOPIC: Final = 86
    UNSTABLE_OFFSET_COMMIT: Final = 88
    FENCED_MEMBER_EPOCH: Final = 110
    UNSUPPORTED_ASSIGNOR: Final = 112
    STALE_MEMBER_EPOCH: Final = 113


class JoinGroupProtocol(NamedTuple):
    """One entry of a member's list: a protocol's name and the member's metadata for it."""

    name: str
    metadata: bytes = b""


@value
class JoinGroup:
    """JoinGroup request; `protocols` in the member's order of preference, times in milliseconds.

    Version 0 has no rebalance timeout: the session timeout stands in, whatever is given here.
    """

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = ""
    protocols: tuple[JoinGroupProtocol, ...] = ()
    reason: str | None = None


class SyncGroupAssignment(NamedTuple):
    """What the leader assigns to one member: opaque bytes."""

    member_id: str
    assignment: bytes = b""


@value
class SyncGroup:
    """SyncGroup request; `protocol_type` and `protocol_name` are None below version 5."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[SyncGroupAssignment, ...] = ()


@value
class Heartbeat:
    """Heartbeat request."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@value
class MemberIdentity:
    """Who leaves: one entry of a LeaveGroup's batch."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


@value
class LeaveGroup:
    """LeaveGroup request; `member_id` is the leaver of versions 0-2, `members` the batch of later ones."""

    group_id: str
    members: tuple[MemberIdentity, ...] = ()
    member_id: str = ""


@value
class JoinGroupReplyMember:
    """One member as its leader sees it: the metadata is the one for the chosen protocol."""

    member_id: str
    group_instance_id: str | None = None
    metadata: bytes = b""


@value
class JoinGroupReply:
    """JoinGroup response; the defaults are what an error answer carries. Only the leader gets `members`."""

    error_code: int = ErrorCode.NONE
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: tuple[JoinGroupReplyMember, ...] = ()

    def for_version(self, version: int) -> "JoinGroupReply":
        """This reply as a version can say it: no protocol name is "" below version 7, null from there on."""
        name = self.protocol_name or ("" if version < 7 else None)
        return self if name == self.protocol_name else replace(self, protocol_name=name)


@value
class SyncGroupReply:
    """SyncGroup response; the defaults are what an error answer carries."""

    error_code: int = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""

    def for_version(self, version: int) -> "SyncGroupReply":
        """This reply: its meaning is the same in every version."""
        return self


@value
class HeartbeatReply:
    """Heartbeat response."""

    error_code: int = ErrorCode.NONE

    def for_version(self, version: int) -> "HeartbeatReply":
        """This reply: its meaning is the same in every version."""
        return self


@value
class LeaveGroupReplyMember:
    """What became of one identity of the batch; the ids are echoed as they were sent."""

    member_id: str
    group_instance_id: str | None = None
    error_code: int = ErrorCode.NONE


@value
class LeaveGroupReply:
    """LeaveGroup response: an error for the whole request, or a result for each identity, in order."""

    error_code: int = ErrorCode.NONE
    members: tuple[LeaveGroupReplyMember, ...] = ()

    def for_version(self, version: int) -> "LeaveGroupReply":
        """This reply as a version can say it: below version 3 the one member's error is the request's."""
        if version >= 3:
            return self
        errors = (self.error_code, *(member.error_code for member in self.members))
        return LeaveGroupReply(next((error for error in errors if error != ErrorCode.NONE), ErrorCode.NONE))


MembershipReply = JoinGroupReply | SyncGroupReply | HeartbeatReply | LeaveGroupReply
