"""Mistakes in the admission of members, and in what becomes of a member that joins again."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import lasting
from rota.mutants.mutant import bug
from rota.spec import Call, ErrorCode, Group, GroupState, JoinGroupRequest, Spec, Step
from rota.spec.classic import admission as admission_rules
from rota.spec.classic import join as join_rules
from rota.spec.classic.rebalance import joined_reply
from rota.spec.classic.step import Steps
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.context import only, request_of


def _request(call: Call) -> JoinGroupRequest:
    return request_of(call, JoinGroupRequest)


def _parked(group: Group, call: Call) -> Step:
    """The member's protocols hold and its request is parked; nothing else happens."""
    request = _request(call)
    member = replace(group.members[request.member_id], protocols=request.protocols, awaiting_join=call.to)
    return Step(group.with_member(request.member_id, member))


@bug("join.inconsistent-protocol", dies_in="no-common-protocol", by="voting.common-protocol")
def protocols_checked_once(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Protocols are checked when an id is handed out, and not again when it is used."""
    if group is not None and _request(call).member_id in group.pending:
        return ()
    return join_rules.inconsistent_protocol(spec, group, call)


@bug(
    "join.member-id-required",
    dies_in="core",
    by="timers.match-state",
    seen_in="redpanda-data/redpanda#3761",
)
def pending_without_timer(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A handed-out id never runs out."""
    steps = admission_rules.member_id_required(spec, group, call)
    return tuple(step.cancel(TimerKind.PENDING, call.fresh_id) for step in steps)


@bug("join.new-member", dies_in="no-handshake", by="timers.match-state", seen_in="KAFKA-7610")
def newcomer_without_timer(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An old client's newcomer has no time limit: each repeated JoinGroup leaves one more behind."""
    steps = admission_rules.new_member(spec, group, call)
    return tuple(step.cancel(TimerKind.NEW_MEMBER, call.fresh_id) for step in steps)


@bug("join.pending-member", dies_in="core", by="join.pending-are-no-members")
def id_stays_pending(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The id stays pending after its owner was admitted."""
    steps = admission_rules.pending_member(spec, group, call)
    member_id = _request(call).member_id
    return tuple(step.to(replace(step.live, pending=step.live.pending | {member_id})) for step in steps)


@bug("join.fenced-instance-id", dies_in="static", by="answers.fenced-holds-no-place")
def own_place_is_anothers(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A static member that joins again under the id that holds its place is told that another has it."""
    request = _request(call)
    holds = group is not None and bool(request.member_id) and group.holder(request.group_instance_id)
    if holds == request.member_id:
        return join_rules.refuse(group, call, ErrorCode.FENCED_INSTANCE_ID)
    return join_rules.fenced_instance_id(spec, group, call)


@bug("join.unknown-member", dies_in="fault", by="parked.iff-waiting")
def unknown_join_dropped(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A JoinGroup with an id that is no member's any more is dropped without an answer."""
    steps = join_rules.unknown_member(spec, group, call)
    return tuple(replace(step, replies=()) for step in steps)


@bug("join.while-preparing", dies_in="core", by="join.open-barrier-completes")
def last_join_unnoticed(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The JoinGroup that opens the barrier is parked like the others: only the timer ends the phase."""
    if group is None or group.state is not GroupState.PREPARING_REBALANCE:
        return ()
    return only(_parked(group, call))


@bug("join.leader-rejoins", dies_in="rejoin", by="generation.grows-by-completed-joins")
def leader_rejoins_its_generation(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The leader that joins again is answered at once: it assigns anew in the same generation."""
    member_id = _request(call).member_id
    if group is None or group.state is not GroupState.STABLE or member_id != group.leader:
        return ()
    again = replace(group, state=GroupState.COMPLETING_REBALANCE, pending_sync=frozenset(group.members))
    step = Step(again).arm(TimerKind.SYNC, group.rebalance_timeout_ms)
    return only(step.answer(call.to, joined_reply(again, member_id)))


@bug("join.changed-protocols", dies_in="change", by="parked.fits-state")
def change_begins_nothing(spec: Spec, group: Group | None, call: Call) -> Steps:
    """New protocols are noted and the JoinGroup is parked, but no rebalance begins."""
    request = _request(call)
    if group is None or group.members[request.member_id].protocols == request.protocols:
        return ()
    return only(_parked(group, call))


@bug("join.unchanged", dies_in="rejoin", by="generation.grows-by-completed-joins")
def unchanged_rejoin_counts(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An unchanged member's repeated JoinGroup moves it to a new generation of its own."""
    (step,) = join_rules.unchanged(spec, group, call)
    return only(step.to(replace(step.live, generation_id=step.live.generation_id + 1)))


@bug("join.group-max-size-reached", dies_in="full", by="join.size-within-limit", seen_in="KAFKA-7610")
def size_unchecked(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A full group takes one more."""
    return ()


@bug("join.member-id-required", dies_in="core", by="timers.id-kept-as-asked")
def ids_kept_for_minutes(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An id that was handed out is kept for as long as the broker waits for a new member."""
    steps = admission_rules.member_id_required(spec, group, call)
    return tuple(lasting(step, TimerKind.PENDING, spec.config.new_member_join_timeout_ms) for step in steps)


@bug("join.pending-member", dies_in="core", by="timers.new-member-as-long")
def patience_of_a_session(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A new member is waited for as long as its session, though its first join phase may last longer."""
    steps, session_ms = admission_rules.pending_member(spec, group, call), _request(call).session_timeout_ms
    return tuple(lasting(step, TimerKind.NEW_MEMBER, session_ms) for step in steps)
