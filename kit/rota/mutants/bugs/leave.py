"""Mistakes in LeaveGroup, and in what happens whenever a member goes."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.mutant import bug
from rota.spec import Call, ErrorCode, Group, GroupState, LeaveGroupRequest, LeavingMember, Spec, Step
from rota.spec.classic import leave as leave_rules
from rota.spec.classic.step import Steps
from rota.spec.context import only, request_of


@bug("leave.batch", dies_in="leave", by="join.membership-fixed-in-a-generation")
def only_the_leader_is_missed(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A stable group rebalances only if its leader leaves."""
    leaving = {identity.member_id for identity in request_of(call, LeaveGroupRequest).members}
    if group is None or group.state is not GroupState.STABLE or group.leader in leaving:
        return leave_rules.batch(spec, group, call)
    asleep = replace(group, state=GroupState.EMPTY)
    steps = leave_rules.batch(spec, asleep, call)
    return tuple(step.to(replace(step.live, state=group.state)) for step in steps)


@bug("leave.pending-member", dies_in="leave", by="timers.match-state")
def returned_id_still_expires(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """The timer of a handed-out id goes on when the id leaves."""
    steps = leave_rules.pending_member(spec, step, identity)
    return tuple(replace(after, timers=step.timers) for after in steps)


@bug("leave.unknown-member", dies_in="leave", by="join.membership-fixed-in-a-generation")
def looked_up_when_gone(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """A member is looked up after it was removed: it is unknown then, and the group does not react."""
    if identity.member_id not in step.live.members:
        return only(step)
    return spec.apply("leave.remove-member", step, identity.member_id)


@bug("leave.member", dies_in="leave", by="timers.match-state")
def session_outlives_member(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """The session timer of a member that leaves goes on."""
    steps = leave_rules.member(spec, step, identity)
    return tuple(replace(after, timers=step.timers) for after in steps)


@bug("leave.remove-member", dies_in="leave", by="join.leader-is-a-member", seen_in="a test broker")
def leader_not_replaced(spec: Spec, step: Step, member_id: str) -> Steps:
    """When the leader goes nobody takes its place."""
    steps = leave_rules.remove_member(spec, step, member_id)
    if step.live.leader != member_id:
        return steps
    return only(steps[0].to(replace(steps[0].live, leader=None)))


@bug("leave.remove-member", dies_in="fault", by="parked.iff-waiting")
def parked_join_forgotten(spec: Spec, step: Step, member_id: str) -> Steps:
    """Who is removed while its JoinGroup is parked is not told."""
    member = replace(step.live.members[member_id], awaiting_join=None)
    return leave_rules.remove_member(spec, step.to(step.live.with_member(member_id, member)), member_id)


@bug("leave.fenced-instance-id", dies_in="raw-static", by="join.membership-fixed-in-a-generation")
def fenced_member_takes_the_other_along(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """Whose place another process has taken may leave, as if nothing were."""
    refused = spec.ask("static.validate", step.live, identity.member_id, identity.group_instance_id)
    return (
        ()
        if refused is not ErrorCode.FENCED_INSTANCE_ID
        else spec.apply("leave.by-instance-id", step, replace(identity, member_id=""))
    )
