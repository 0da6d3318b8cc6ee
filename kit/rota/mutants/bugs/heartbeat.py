"""Mistakes in Heartbeat."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import lasting, retold, unknown
from rota.mutants.mutant import bug
from rota.spec import Call, ErrorCode, Group, HeartbeatReply, HeartbeatRequest, Reply, Spec
from rota.spec.classic import heartbeat as heartbeat_rules
from rota.spec.classic.step import Steps
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.context import request_of


@bug("heartbeat.unknown-member", dies_in="fault", by="deadlock")
def expired_member_is_well(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A member that has expired is told that all is well."""
    steps = heartbeat_rules.unknown_member(spec, group, call)
    return tuple(replace(step, replies=(Reply(call.to, HeartbeatReply(ErrorCode.NONE)),)) for step in steps)


@bug("heartbeat.illegal-generation", dies_in="fault", by="deadlock")
def any_generation_is_well(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The generation is not looked at: who has missed a rebalance never learns of it."""
    return ()


@bug("heartbeat.rebalance-in-progress", dies_in="core", by="deadlock")
def rebalance_kept_secret(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A heartbeat is not told that a rebalance is prepared."""
    return ()


@bug("heartbeat.rebalance-in-progress", dies_in="rejoin", by="answers.unknown-is-no-member")
def follower_is_unknown(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A follower that should join again is told that it is unknown, and comes back as somebody else."""
    steps = heartbeat_rules.rebalance_in_progress(spec, group, call)
    leads = group is not None and group.leader == request_of(call, HeartbeatRequest).member_id
    return steps if leads else retold(steps, unknown)


@bug("heartbeat.alive", dies_in="core", by="timers.match-state")
def heartbeat_stops_session(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A heartbeat stops the session timer instead of restarting it."""
    steps = heartbeat_rules.alive(spec, group, call)
    member_id = request_of(call, HeartbeatRequest).member_id
    return tuple(step.cancel(TimerKind.SESSION, member_id) for step in steps)


@bug("heartbeat.alive", dies_in="core", by="timers.session-as-asked")
def session_as_long_as_a_phase(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A heartbeat starts a session as long as the member's rebalance timeout."""
    steps = heartbeat_rules.alive(spec, group, call)
    member_id = request_of(call, HeartbeatRequest).member_id
    member = None if group is None else group.members.get(member_id)
    phase_ms = 0 if member is None else member.rebalance_timeout_ms
    return tuple(lasting(step, TimerKind.SESSION, phase_ms) for step in steps)


@bug("heartbeat.fenced-instance-id", dies_in="same-instance", by="static.replaced-is-fenced")
def fenced_heartbeat_is_unknown(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Whose place another process has taken is told that it is unknown, and comes back as that."""
    return retold(heartbeat_rules.fenced_instance_id(spec, group, call), unknown)
