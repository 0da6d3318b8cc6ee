"""The replaced rules. Each is the original but for one mistake; the mistake is its first line.

Every signature is that of the rule it replaces. Many are seen in brokers and test brokers; the registry
says where.
"""

from __future__ import annotations

from dataclasses import replace

from rota.spec import Call, Group, GroupRecord, GroupState, JoinGroupReply, Reply, Spec, Step, Timer
from rota.spec import heartbeat as heartbeat_rules
from rota.spec import join as join_rules
from rota.spec import persistence as log_rules
from rota.spec import rebalance as phase_rules
from rota.spec import sync as sync_rules
from rota.spec import timers as timer_rules
from rota.spec.context import only
from rota.spec.step import Steps, TimerKind
from rota.spec.vocabulary import AppendError, ErrorCode
from rota.spec.voting import Lists


def barrier_ignores_pending(group: Group) -> bool:
    """The barrier does not wait for ids that were handed out."""
    return all(member.awaiting_join is not None for member in group.members.values())


def barrier_counts_one(group: Group) -> bool:
    """One joined member is enough to open the barrier."""
    return not group.pending and (not group.members or bool(group.awaiting_join))


def absent_members_stay(spec: Spec, step: Step) -> Steps:
    """Members that have not rejoined are kept."""
    step = step.cancel(TimerKind.INITIAL_JOIN).cancel(TimerKind.JOIN)
    step = step.to(replace(step.live, initial_join=None))
    if not step.live.members:
        return spec.apply("join.empty", step)
    return spec.then(spec.then(spec.apply("join.leader", step), "join.protocol"), "join.next-generation")


def generation_stands_still(spec: Spec, step: Step) -> Steps:
    """A completed phase does not raise the generation."""
    stale = step.live.generation_id - 1
    return phase_rules.next_generation(spec, step.to(replace(step.live, generation_id=stale)))


def list_for_everybody(spec: Spec, step: Step) -> Steps:
    """Every member gets the member list, not only the leader."""
    (done,) = phase_rules.next_generation(spec, step)
    return only(replace(done, replies=tuple(_with_list(reply, done.live) for reply in done.replies)))


def _with_list(reply: Reply, group: Group) -> Reply:
    if not isinstance(reply.message, JoinGroupReply):
        return reply
    return replace(reply, message=replace(reply.message, members=group.member_list()))


def generation_announced_early(spec: Spec, step: Step) -> Steps:
    """Members are told the generation after the one that begins."""
    (done,) = phase_rules.next_generation(spec, step)
    return only(replace(done, replies=tuple(_one_later(reply) for reply in done.replies)))


def _one_later(reply: Reply) -> Reply:
    if not isinstance(reply.message, JoinGroupReply):
        return reply
    return replace(reply, message=replace(reply.message, generation_id=reply.message.generation_id + 1))


def no_sync_timer(spec: Spec, step: Step) -> Steps:
    """The sync timer is never started."""
    (done,) = phase_rules.next_generation(spec, step)
    return only(done.cancel(TimerKind.SYNC))


def leader_not_replaced(spec: Spec, step: Step, member_id: str) -> Steps:
    """When the leader goes nobody takes its place."""
    steps = phase_rules.remove_member(spec, step, member_id)
    if step.live.leader != member_id:
        return steps
    return only(steps[0].to(replace(steps[0].live, leader=None)))


def parked_join_forgotten(spec: Spec, step: Step, member_id: str) -> Steps:
    """Who is removed while its JoinGroup is parked is not told."""
    member = replace(step.live.members[member_id], awaiting_join=None)
    return phase_rules.remove_member(spec, step.to(step.live.with_member(member_id, member)), member_id)


def vote_by_union(lists: Lists) -> tuple[str, ...]:
    """Candidates are the protocols that any member supports."""
    return tuple(sorted({name for names in lists for name in names}))


def newcomers_unchecked(lists: Lists, names: list[str]) -> bool:
    """Any protocol list is accepted."""
    return True


def unchanged_rejoin_counts(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An unchanged member's repeated JoinGroup moves it to a new generation of its own."""
    (step,) = join_rules.unchanged(spec, group, call)
    grown = replace(step.live, generation_id=step.live.generation_id + 1)
    return only(step.to(grown))


def id_stays_pending(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The id stays pending after its owner was admitted."""
    steps = join_rules.pending_member(spec, group, call)
    member_id = getattr(call.request, "member_id", "")
    return tuple(step.to(replace(step.live, pending=step.live.pending | {member_id})) for step in steps)


def pending_without_timer(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A handed-out id never runs out."""
    steps = join_rules.member_id_required(spec, group, call)
    return tuple(step.cancel(TimerKind.PENDING, call.fresh_id) for step in steps)


def follower_answered_at_once(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A follower does not wait for the leader's assignment."""
    steps = sync_rules.follower_waits(spec, group, call)
    return tuple(phase_rules.answer_syncs(step, ErrorCode.NONE) for step in steps)


def stable_before_stored(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The leader's assignment takes effect without being stored, and the followers are not told."""
    (step,) = sync_rules.leader_assigns(spec, group, call)
    given = dict(step.records[0].assignments)
    members = ((i, replace(m, assignment=given[i])) for i, m in step.live.members.items())
    return only(step.to(replace(step.live.with_each(members), state=GroupState.STABLE)))


def heartbeat_stops_session(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A heartbeat stops the session timer instead of restarting it."""
    steps = heartbeat_rules.alive(spec, group, call)
    member_id = getattr(call.request, "member_id", "")
    return tuple(step.cancel(TimerKind.SESSION, member_id) for step in steps)


def change_without_rebalance(spec: Spec, step: Step) -> Steps:
    """A change in a stable group does not make it rebalance."""
    if step.live.state is GroupState.STABLE:
        return only(step)
    return phase_rules.rebalance_or_complete(spec, step)


def initial_timer_lost(spec: Spec, group: Group, timer: Timer) -> Steps:
    """When the initial delay is over nothing happens."""
    return only(Step(group))


def join_timer_lost(spec: Spec, group: Group, timer: Timer) -> Steps:
    """When the rebalance timeout is over the phase goes on, without a timer."""
    return only(Step(group))


def sync_timeout_forgives(spec: Spec, group: Group, timer: Timer) -> Steps:
    """Members that did not sync in time are forgiven: the group just waits on."""
    return only(Step(group))


def session_takes_parked(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A session that runs out removes its member although a request is parked."""
    return ()


def session_without_rebalance(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A dead member is removed and the others are not told."""
    return spec.apply("leave.remove-member", Step(group), timer.member_id)


def new_member_expires_silently(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A new member that runs out of time is removed, and its parked JoinGroup is never answered."""
    member = replace(group.members[timer.member_id], awaiting_join=None)
    return timer_rules.new_member_expired(spec, group.with_member(timer.member_id, member), timer)


def pending_expiry_unnoticed(spec: Spec, group: Group, timer: Timer) -> Steps:
    """When the last pending id runs out the join phase is not completed."""
    return only(Step(replace(group, pending=group.pending - {timer.member_id})))


def late_answer_believed(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """The log's answer is taken for news, whatever happened since the append."""
    return ()


def failed_append_unanswered(
    spec: Spec, group: Group, record: GroupRecord, error: AppendError | None
) -> Steps:
    """When the assignment cannot be stored the waiting members are not told."""
    if error is None:
        return ()
    members = ((i, replace(m, awaiting_sync=None)) for i, m in group.members.items())
    return spec.apply("join.prepare-rebalance", Step(group.with_each(members)))


def shares_swapped(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """The members' assignments are mixed up."""
    ids = [member_id for member_id, _ in record.assignments]
    parts = [part for _, part in record.assignments]
    mixed = replace(record, assignments=tuple(zip(ids, parts[1:] + parts[:1], strict=True)))
    return log_rules.assignment_stored(spec, group, mixed, error)


def syncs_answered_twice(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """Every waiting member gets its assignment twice."""
    (done,) = log_rules.assignment_stored(spec, group, record, error)
    return only(replace(done, replies=(*done.replies, *done.replies)))
