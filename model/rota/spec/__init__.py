"""The protocol as pure transition rules: members (JoinGroup, SyncGroup, Heartbeat, LeaveGroup) in `classic`,
beside it what every kind of group shares: offsets, hosting, administration, the log's errors, settings.

A file per part. Every rule is a pure function of the spec's constants, a group and an input; it returns the
steps that are allowed (several where Kafka leaves a choice, none where its guard fails). `Spec` in
`rota.spec.context` tries the rules of a handler in order, `rota.spec.handlers` has the table.
"""

from rota.spec.classic.messages import (
    HeartbeatReply,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    MemberMetadata,
    MemberOutcome,
    ProtocolMetadata,
    SyncGroupReply,
    SyncGroupRequest,
)
from rota.spec.classic.records import GroupRecord, MemberRecord
from rota.spec.classic.state import Group, InitialJoin, Member
from rota.spec.classic.step import Step
from rota.spec.classic.vocabulary import GroupState, RecordKind, TimerKind
from rota.spec.effects import Arm, Cancel, Reply, Timer
from rota.spec.handlers import RULES, Spec, classic
from rota.spec.mends import MENDS, PROFILES, ROTA
from rota.spec.messages import Call, CoordinatorOf, FindCoordinatorReply, FindCoordinatorRequest, Node
from rota.spec.profiles import KAFKA_4, BrokerConfig, Profile
from rota.spec.vocabulary import ErrorCode, Hosting

__all__ = [
    "KAFKA_4",
    "MENDS",
    "PROFILES",
    "ROTA",
    "RULES",
    "Arm",
    "BrokerConfig",
    "Call",
    "Cancel",
    "CoordinatorOf",
    "ErrorCode",
    "FindCoordinatorReply",
    "FindCoordinatorRequest",
    "Group",
    "GroupRecord",
    "GroupState",
    "HeartbeatReply",
    "HeartbeatRequest",
    "Hosting",
    "InitialJoin",
    "JoinGroupReply",
    "JoinGroupRequest",
    "LeaveGroupReply",
    "LeaveGroupRequest",
    "LeavingMember",
    "Member",
    "MemberAssignment",
    "MemberMetadata",
    "MemberOutcome",
    "MemberRecord",
    "Node",
    "Profile",
    "ProtocolMetadata",
    "RecordKind",
    "Reply",
    "Spec",
    "Step",
    "SyncGroupReply",
    "SyncGroupRequest",
    "Timer",
    "TimerKind",
    "classic",
]
