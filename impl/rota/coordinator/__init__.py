"""A group coordinator without sockets, clocks or randomness: membership and committed offsets.

Every request, every timer that is due and every answer of the log is one call; what comes back are effects:
replies by token, timers to arm or cancel, records to append. Written from Kafka's public sources and
documents, with no code in common with the executable spec that it is compared with.
"""

from rota.coordinator.config import ConfigError, CoordinatorConfig
from rota.coordinator.core import GroupCoordinator
from rota.coordinator.effects import (
    Append,
    Arm,
    Cancel,
    Choices,
    Effects,
    GroupRecord,
    MemberRecord,
    Reply,
    TimerId,
    TimerKind,
    Token,
)
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.messages import (
    ErrorCode,
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupProtocol,
    JoinGroupReply,
    JoinGroupReplyMember,
    LeaveGroup,
    LeaveGroupReply,
    LeaveGroupReplyMember,
    MemberIdentity,
    SyncGroup,
    SyncGroupAssignment,
    SyncGroupReply,
)
from rota.coordinator.offset_messages import (
    OffsetBatch,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitReply,
    OffsetCommitReplyPartition,
    OffsetCommitReplyTopic,
    OffsetCommitTopic,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchReply,
    OffsetFetchReplyGroup,
    OffsetFetchReplyPartition,
    OffsetFetchReplyTopic,
    OffsetFetchTopic,
    OffsetRecord,
)
from rota.coordinator.persistence import UnknownAppendError
from rota.coordinator.purgatory import Purgatory
from rota.coordinator.wheel import TimingWheel

__all__ = [
    "Append",
    "Arm",
    "Cancel",
    "Choices",
    "ConfigError",
    "CoordinatorConfig",
    "Effects",
    "ErrorCode",
    "Group",
    "GroupCoordinator",
    "GroupRecord",
    "GroupState",
    "Heartbeat",
    "HeartbeatReply",
    "JoinGroup",
    "JoinGroupProtocol",
    "JoinGroupReply",
    "JoinGroupReplyMember",
    "LeaveGroup",
    "LeaveGroupReply",
    "LeaveGroupReplyMember",
    "Member",
    "MemberIdentity",
    "MemberRecord",
    "OffsetBatch",
    "OffsetCommit",
    "OffsetCommitPartition",
    "OffsetCommitReply",
    "OffsetCommitReplyPartition",
    "OffsetCommitReplyTopic",
    "OffsetCommitTopic",
    "OffsetFetch",
    "OffsetFetchGroup",
    "OffsetFetchReply",
    "OffsetFetchReplyGroup",
    "OffsetFetchReplyPartition",
    "OffsetFetchReplyTopic",
    "OffsetFetchTopic",
    "OffsetRecord",
    "Purgatory",
    "Reply",
    "SyncGroup",
    "SyncGroupAssignment",
    "SyncGroupReply",
    "TimerId",
    "TimerKind",
    "TimingWheel",
    "Token",
    "UnknownAppendError",
]
