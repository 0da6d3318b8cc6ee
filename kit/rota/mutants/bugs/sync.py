"""Mistakes in SyncGroup."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import retold, unknown
from rota.mutants.mutant import bug
from rota.spec import Call, ErrorCode, Group, GroupState, Member, Spec, Step, SyncGroupReply, SyncGroupRequest
from rota.spec.classic import rebalance as phase_rules
from rota.spec.classic import sync as sync_rules
from rota.spec.classic.step import Steps
from rota.spec.context import only, request_of


def _request(call: Call) -> SyncGroupRequest:
    return request_of(call, SyncGroupRequest)


@bug("sync.unknown-member", dies_in="fault", by="shape.fields-match-state")
def lookup_makes_members(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A member that is not there is made by looking it up, and gets its assignment: nothing."""
    member_id = _request(call).member_id
    if group is None or member_id in group.members:
        return sync_rules.unknown_member(spec, group, call)
    made = Member(rebalance_timeout_ms=0, session_timeout_ms=0, protocols=())
    reply = SyncGroupReply(ErrorCode.NONE, group.protocol_type, group.protocol_name)
    return only(Step(group.with_member(member_id, made)).answer(call.to, reply))


@bug("sync.illegal-generation", dies_in="fault", by="join.no-bystander")
def older_generations_pass(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Only later generations are refused: who has missed a rebalance is given a share in the new one."""
    if group is None or _request(call).generation_id <= group.generation_id:
        return ()
    return sync_rules.illegal_generation(spec, group, call)


@bug("sync.rebalance-in-progress", dies_in="core", by="parked.fits-state")
def sync_parked_while_preparing(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A SyncGroup that comes while a rebalance is prepared is parked."""
    return ()


@bug("sync.stable", dies_in="core", by="sync.assignment-fixed-in-a-generation")
def late_sync_overwrites(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In Stable a member's assignment is replaced by what its SyncGroup brings: nothing, from a follower."""
    request = _request(call)
    brought = {entry.member_id: entry.assignment for entry in request.assignments}
    out = []
    for step in sync_rules.stable(spec, group, call):
        member = replace(step.live.members[request.member_id], assignment=brought.get(request.member_id, b""))
        out.append(step.to(step.live.with_member(request.member_id, member)))
    return tuple(out)


@bug("sync.follower-waits", dies_in="core", by="sync.as-stored")
def follower_answered_at_once(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A follower does not wait for the leader's assignment."""
    steps = sync_rules.follower_waits(spec, group, call)
    return tuple(phase_rules.answer_syncs(step, ErrorCode.NONE) for step in steps)


@bug("sync.leader-assigns", dies_in="core", by="parked.fits-state")
def stable_before_stored(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The leader's assignment takes effect without being stored, and the followers are not told."""
    (step,) = sync_rules.leader_assigns(spec, group, call)
    given = step.records[0].assignments
    members = ((i, replace(m, assignment=given[i])) for i, m in step.live.members.items())
    return only(step.to(replace(step.live.with_each(members), state=GroupState.STABLE)))


@bug("sync.fenced-instance-id", dies_in="same-instance", by="static.replaced-is-fenced")
def fenced_sync_is_unknown(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Whose place another process has taken is told that it is unknown, and comes back as that."""
    return retold(sync_rules.fenced_instance_id(spec, group, call), unknown)
