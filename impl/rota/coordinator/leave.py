"""LeaveGroup, a batch: all are removed first, then the group is looked at once."""

from rota.coordinator import voting
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.messages import (
    ErrorCode,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeaveGroupReplyMember,
    MemberIdentity,
    SyncGroupReply,
)
from rota.coordinator.rebalance import client_reason, prepare_rebalance, try_complete_join
from rota.coordinator.session_timers import stop_timer
from rota.coordinator.step import Step


def leave_group(step: Step, group: Group | None, identities: tuple[MemberIdentity, ...]) -> LeaveGroupReply:
    """Remove members and pending members from a group; `group` is None if there is none of the request's id.

    One removal is enough for what follows: a rebalance from CompletingRebalance and Stable, also when only a
    pending member has left (mended, not then), or the end of a join phase that now has everybody (unless it
    is the initial one).
    """
    if group is None:
        return _results(identities, [ErrorCode.UNKNOWN_MEMBER_ID] * len(identities))
    if group.state is GroupState.DEAD:
        return LeaveGroupReply(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    before = len(group.members)
    errors = [_leave(step, group, identity) for identity in identities]
    voting.elect_leader(group, step.choices)
    if ErrorCode.NONE in errors:
        if group.has_generation:
            if step.config.mends.pending_leave_rebalances or len(group.members) < before:
                gone = ", ".join(identity.member_id for identity in identities)
                prepare_rebalance(step, group, f"explicit LeaveGroup of {gone}")
        else:
            try_complete_join(step, group)
    return _results(identities, errors)


def identities_of(request: LeaveGroup, version: int) -> tuple[MemberIdentity, ...]:
    """Who leaves, as the version has it: a single id below version 3, a batch from there on."""
    return request.members if version >= 3 else (MemberIdentity(request.member_id),)


def _leave(step: Step, group: Group, identity: MemberIdentity) -> int:
    """Remove one: by its instance id alone, by its member id, or by both if they belong together.

    For a pending member the instance id is not looked at, as in the broker.
    """
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if not member_id and instance_id is not None:
        member_id = group.static_members.get(instance_id, "")
    if identity.member_id in group.pending_members:
        group.pending_members.remove(identity.member_id)
        step.cancel("pending", group.group_id, identity.member_id)
        step.note("pending_left", group, member_id, reason=client_reason(identity.reason))
        return ErrorCode.NONE
    error = group.member_error(member_id, instance_id)
    if error == ErrorCode.NONE:
        member = group.members[member_id]
        stop_timer(step, group, member)
        why = client_reason(identity.reason)
        step.note("left", group, member_id, member.group_instance_id, reason=why)
        drop_member(step, group, member)
    return error


def drop_member(step: Step, group: Group, member: Member) -> None:
    """Remove a member; its parked JoinGroup is answered, without an id, so that a live client starts anew.

    A parked SyncGroup of its is dropped with it by a broker; mended, it is answered the same.
    """
    parked = group.parked_joins.take(member.member_id)
    if parked is not None:
        step.reply(parked, JoinGroupReply(ErrorCode.UNKNOWN_MEMBER_ID))
    sync = group.remove(member)
    if sync is not None:
        told = SyncGroupReply(ErrorCode.UNKNOWN_MEMBER_ID) if step.config.mends.answers_removed else None
        step.dismiss(sync, told)


def _results(identities: tuple[MemberIdentity, ...], errors: list[int]) -> LeaveGroupReply:
    told = [
        LeaveGroupReplyMember(identity.member_id, identity.group_instance_id, error)
        for identity, error in zip(identities, errors, strict=True)
    ]
    return LeaveGroupReply(members=tuple(told))
