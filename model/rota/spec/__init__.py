"""The protocol: Kafka's classic consumer groups (JoinGroup/SyncGroup) as pure transition rules.

A file per part. Every rule is a pure function of the spec's constants, a group and an input; it returns the
steps that are allowed (several where Kafka leaves a choice, none where its guard fails). `Spec` in
`rota.spec.handlers` tries the rules of a handler in order.
"""

from rota.spec.handlers import RULES, Spec, classic
from rota.spec.messages import (
    Call,
    CoordinatorOf,
    FindCoordinatorReply,
    FindCoordinatorRequest,
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
    Node,
    ProtocolMetadata,
    SyncGroupReply,
    SyncGroupRequest,
)
from rota.spec.profiles import KAFKA_4, PROFILES, BrokerConfig, Profile
from rota.spec.state import Group, InitialJoin, Member
from rota.spec.step import Arm, Cancel, GroupRecord, MemberRecord, RecordKind, Reply, Step, Timer, TimerKind
from rota.spec.vocabulary import ErrorCode, GroupState, Hosting

__all__ = [
    "KAFKA_4",
    "PROFILES",
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
