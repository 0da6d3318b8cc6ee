"""Heartbeat, and the timer that it restarts.

Every member has one timer: new_member while it is parked for the first time, session from then on. A member
that heartbeats while it is new (it can, with generation 0) has only its session timeout left, as in the
broker.
"""

from functools import cache
from typing import Literal

from rota.coordinator.effects import Step
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.messages import ErrorCode, Heartbeat, HeartbeatReply


def heartbeat(step: Step, group: Group, request: Heartbeat) -> HeartbeatReply:
    """Answer a Heartbeat to an existing group; restarts the session in all states that have members.

    Only in PreparingRebalance is the member told to rejoin: in CompletingRebalance it has done so already.
    """
    if group.state is GroupState.DEAD:
        return reply_of(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    error = group.member_error(request.member_id, request.group_instance_id)
    if error != ErrorCode.NONE:
        return reply_of(error)
    if request.generation_id != group.generation_id:
        return reply_of(ErrorCode.ILLEGAL_GENERATION)
    if group.state is GroupState.EMPTY:
        return reply_of(ErrorCode.UNKNOWN_MEMBER_ID)
    restart_session(step, group, group.members[request.member_id])
    if group.state is GroupState.PREPARING_REBALANCE:
        return reply_of(ErrorCode.REBALANCE_IN_PROGRESS)
    return reply_of(ErrorCode.NONE)


@cache
def reply_of(error_code: int) -> HeartbeatReply:
    """The one reply of this error code: a heartbeat's answer has nothing else to say."""
    return HeartbeatReply(error_code)


def restart_session(step: Step, group: Group, member: Member) -> None:
    """Give the member a full session timeout from now on."""
    kind: Literal["session", "new_member"] = "new_member" if member.is_new else "session"
    if member.timer not in (None, kind):
        stop_timer(step, group, member)
    member.timer = kind
    step.arm(kind, group.group_id, member.session_timeout_ms, member.member_id)


def start_new_member_timer(step: Step, group: Group, member: Member) -> None:
    """Limit how long a new member stays parked: its session does not count yet, since it can't heartbeat."""
    member.timer = "new_member"
    step.arm("new_member", group.group_id, step.config.new_member_join_timeout_ms, member.member_id)


def stop_timer(step: Step, group: Group, member: Member) -> None:
    """Cancel the timer of a member that goes, or that is about to have one of another kind."""
    if member.timer is not None:
        step.cancel(member.timer, group.group_id, member.member_id)
