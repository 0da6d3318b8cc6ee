"""Heartbeat: a member is there, and learns whether it has to join again."""

from functools import cache

from rota.coordinator.group import Group, GroupState
from rota.coordinator.messages import ErrorCode, Heartbeat, HeartbeatReply
from rota.coordinator.session_timers import restart_session
from rota.coordinator.step import Step


def heartbeat(step: Step, group: Group, request: Heartbeat) -> HeartbeatReply:
    """Answer a Heartbeat to an existing group; restarts the session in all states that have members.

    Only in PreparingRebalance the member has to rejoin: in CompletingRebalance it has done so already.
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
