"""Heartbeat: a member says that it lives and learns of a rebalance."""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.classic.messages import HeartbeatReply, HeartbeatRequest
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, TimerKind
from rota.spec.context import Spec, only, request_of
from rota.spec.messages import Call
from rota.spec.vocabulary import ErrorCode

HANDLER = (
    "hosting.inactive",
    "heartbeat.invalid-group-id",
    "hosting.loading",
    "hosting.elsewhere",
    "heartbeat.fenced-instance-id",
    "heartbeat.unknown-member",
    "heartbeat.illegal-generation",
    "heartbeat.rebalance-in-progress",
    "heartbeat.alive",
)

SOURCE = "upstream GroupMetadataManager#classicGroupHeartbeatToClassicGroup"


def _request(call: Call) -> HeartbeatRequest:
    return request_of(call, HeartbeatRequest)


def _refuse(group: Group | None, call: Call, error: ErrorCode) -> Steps:
    return only(Step(group).answer(call.to, HeartbeatReply(error)))


@rule("heartbeat.invalid-group-id", source="upstream GroupCoordinatorService#heartbeat")
def invalid_group_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An empty group id is refused."""
    if _request(call).group_id:
        return ()
    return _refuse(group, call, ErrorCode.INVALID_GROUP_ID)


def _invalid(spec: Spec, group: Group | None, call: Call, error: ErrorCode) -> bool:
    request = _request(call)
    return spec.ask("static.validate", group, request.member_id, request.group_instance_id) is error


@rule(
    "heartbeat.fenced-instance-id",
    source="KIP-345; " + SOURCE + ", #validateClassicGroupHeartbeat",
    since="Heartbeat v3",
)
def fenced_instance_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An instance id that another member holds: somebody else runs under this name; no timer is touched."""
    if not _invalid(spec, group, call, ErrorCode.FENCED_INSTANCE_ID):
        return ()
    return _refuse(group, call, ErrorCode.FENCED_INSTANCE_ID)


@rule("heartbeat.unknown-member", source=SOURCE + ", #validateClassicGroupHeartbeat")
def unknown_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """No group, a pending id or a foreign one: the member is unknown; no timer is touched."""
    if not _invalid(spec, group, call, ErrorCode.UNKNOWN_MEMBER_ID):
        return ()
    return _refuse(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


@rule("heartbeat.illegal-generation", source=SOURCE + ", #validateClassicGroupHeartbeat")
def illegal_generation(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Another generation than the group's is refused, before the state is looked at; no timer is touched.

    Brokers before 2.6.1 do not look at it in CompletingRebalance.
    """
    if group is None or _too_early(spec, group) or _request(call).generation_id == group.generation_id:
        return ()
    return _refuse(group, call, ErrorCode.ILLEGAL_GENERATION)


def _too_early(spec: Spec, group: Group) -> bool:
    """Whether heartbeats count only when the generation has its assignment."""
    completing = group.state is GroupState.COMPLETING_REBALANCE
    return completing and not spec.profile.heartbeats_while_completing


def _alive(group: Group, call: Call, error: ErrorCode) -> Steps:
    """The member's session starts anew and it is told how things stand.

    Upstream has one timer per member id: a heartbeat of a member that is still new (parked in its first
    join phase) replaces its five minutes by its session timeout.
    """
    member_id = _request(call).member_id
    member = group.members[member_id]
    kind = TimerKind.NEW_MEMBER if member.is_new else TimerKind.SESSION
    step = Step(group).arm(kind, member.session_timeout_ms, member_id)
    return only(step.answer(call.to, HeartbeatReply(error)))


@rule("heartbeat.rebalance-in-progress", source=SOURCE + "; KAFKA-10134")
def rebalance_in_progress(spec: Spec, group: Group | None, call: Call) -> Steps:
    """While a rebalance is prepared the member is told so, and its session goes on.

    Brokers before 2.6.1 say so in CompletingRebalance too, without a new session.
    """
    if group is None:
        return ()
    if _too_early(spec, group):
        return _refuse(group, call, ErrorCode.REBALANCE_IN_PROGRESS)
    if group.state is not GroupState.PREPARING_REBALANCE:
        return ()
    return _alive(group, call, ErrorCode.REBALANCE_IN_PROGRESS)


@rule("heartbeat.alive", source=SOURCE)
def alive(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In CompletingRebalance and Stable all is well."""
    if group is None:
        return ()
    return _alive(group, call, ErrorCode.NONE)
