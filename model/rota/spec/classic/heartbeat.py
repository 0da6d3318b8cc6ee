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
    """A heartbeat without a group id is refused.

    Left out: a null id, which upstream's check takes for an empty one. The field is not nullable on the
    wire, so no request can carry it.
    """
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
    """A heartbeat with an instance id that another member id holds is fenced; no timer is touched.

    Left out: the operation's name ("heartbeat") in the broker's log line. The error is the same for every
    request, and what the sender does about it is the client's part (`client.fence-is-final`).
    """
    if not _invalid(spec, group, call, ErrorCode.FENCED_INSTANCE_ID):
        return ()
    return _refuse(group, call, ErrorCode.FENCED_INSTANCE_ID)


@rule("heartbeat.unknown-member", source=SOURCE + ", #validateClassicGroupHeartbeat")
def unknown_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """No group, a pending id or a foreign one: the member is unknown; no timer is touched.

    Left out: upstream's further check for an Empty group. It has no members, so whoever heartbeats to it
    has been found unknown before.
    """
    if not _invalid(spec, group, call, ErrorCode.UNKNOWN_MEMBER_ID):
        return ()
    return _refuse(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


@rule("heartbeat.illegal-generation", source=SOURCE + ", #validateClassicGroupHeartbeat")
def illegal_generation(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Another generation than the group's is refused, before the state is looked at; no timer is touched.

    Brokers before 2.6.1 do not look at it in CompletingRebalance.

    Nothing is left out: a member that was too late for a generation keeps its session only as long as the
    timer from before runs, as upstream restarts it after this check alone.
    """
    if group is None or _too_early(spec, group) or _request(call).generation_id == group.generation_id:
        return ()
    return _refuse(group, call, ErrorCode.ILLEGAL_GENERATION)


def _too_early(spec: Spec, group: Group) -> bool:
    """Whether the group is completing a rebalance and its broker does not count heartbeats meanwhile."""
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

    Left out: how late the member hears of it, up to heartbeat.interval.ms. A heartbeat can be sent at any
    time in the model, so every delay is among its runs.
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
    """In CompletingRebalance and Stable all is well.

    Left out: the Java coordinator holds the answer back until earlier writes of the same partition are
    acknowledged (group.coordinator.append.linger.ms and the time of the replication). The session has
    begun anew by then, and to a client a late answer of NONE is like a slow network.
    """
    if group is None:
        return ()
    return _alive(group, call, ErrorCode.NONE)
