"""Mistakes in the join phase: how a rebalance begins, when its barrier opens, what its completion does."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import lasting
from rota.mutants.mutant import bug
from rota.spec import Group, GroupState, JoinGroupReply, Reply, Spec, Step
from rota.spec.classic import rebalance as phase_rules
from rota.spec.classic.step import Steps
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.context import only


@bug("join.barrier", dies_in="rejoin", by="join.barrier-waits-for-pending", seen_in="a test broker")
def barrier_ignores_pending(group: Group) -> bool:
    """The barrier does not wait for ids that were handed out."""
    return all(member.awaiting_join is not None for member in group.members.values())


@bug("join.barrier", dies_in="core", by="timers.parked-member-stays")
def barrier_counts_one(group: Group) -> bool:
    """One joined member is enough to open the barrier."""
    return not group.pending and (not group.members or bool(group.awaiting_join))


@bug("join.rebalance-or-complete", dies_in="core", by="join.membership-fixed-in-a-generation")
def change_without_rebalance(spec: Spec, step: Step) -> Steps:
    """A change in a stable group does not make it rebalance."""
    if step.live.state is GroupState.STABLE:
        return only(step)
    return phase_rules.rebalance_or_complete(spec, step)


@bug("join.complete-if-all-joined", dies_in="all-leave", by="join.open-barrier-completes")
def last_expiry_unnoticed(spec: Spec, step: Step) -> Steps:
    """When the last member expires while a rebalance is prepared the group does not become Empty."""
    if not step.live.members:
        return only(step)
    return phase_rules.complete_if_all_joined(spec, step)


def _mistaken_for_stable(spec: Spec, step: Step, state: GroupState) -> Steps:
    if step.live.state is state:
        step = step.to(replace(step.live, state=GroupState.STABLE))
    return phase_rules.prepare_rebalance(spec, step)


@bug("join.prepare-rebalance", dies_in="core", by="parked.fits-state")
def syncs_stay_parked(spec: Spec, step: Step) -> Steps:
    """SyncGroups that are parked when a rebalance begins are not sent back."""
    return _mistaken_for_stable(spec, step, GroupState.COMPLETING_REBALANCE)


@bug("join.prepare-rebalance", dies_in="core", by="state.legal-transition", seen_in="test brokers")
def no_initial_delay(spec: Spec, step: Step) -> Steps:
    """An Empty group has no initial delay: who comes first gets a generation of its own."""
    return _mistaken_for_stable(spec, step, GroupState.EMPTY)


@bug(
    "join.prepare-rebalance",
    dies_in="core",
    by="timers.parked-member-stays",
    seen_in="kafka4beam/brod#465",
)
def no_rebalance_timeout(spec: Spec, step: Step) -> Steps:
    """The rebalance timeout is taken for nothing: a phase ends as it begins, and who is not there is out."""
    steps = phase_rules.prepare_rebalance(spec, step)
    return tuple(ended for begun in steps for ended in _ended(spec, begun))


def _ended(spec: Spec, step: Step) -> Steps:
    if step.live.state is not GroupState.PREPARING_REBALANCE or step.live.initial_join is not None:
        return only(step)
    return spec.apply("join.complete-phase", step)


@bug("join.complete-phase", dies_in="fault", by="join.no-bystander")
def absent_members_stay(spec: Spec, step: Step) -> Steps:
    """Members that have not rejoined are kept."""
    if not step.live.awaiting_join:
        return phase_rules.complete_phase(spec, step)
    step = step.cancel(TimerKind.INITIAL_JOIN).cancel(TimerKind.JOIN)
    step = step.to(replace(step.live, initial_join=None))
    return spec.then(spec.then(spec.apply("join.leader", step), "join.protocol"), "join.next-generation")


@bug(
    "join.complete-phase",
    dies_in="static-poll-timeout",
    by="static.absent-members-stay",
    seen_in="KAFKA-8220; kfake",
)
def absent_static_members_dropped(spec: Spec, step: Step) -> Steps:
    """At the end of a join phase static members that have not rejoined are dropped like the others."""
    group = step.live
    for member_id in group.members.keys() - set(group.awaiting_join):
        step = step.cancel(TimerKind.SESSION, member_id).cancel(TimerKind.NEW_MEMBER, member_id)
    present = ((i, m) for i, m in group.members.items() if m.awaiting_join is not None)
    return phase_rules.complete_phase(spec, step.to(group.with_each(present)))


@bug("join.empty", dies_in="leave", by="generation.grows-by-completed-joins")
def emptiness_is_no_generation(spec: Spec, step: Step) -> Steps:
    """A group that loses its last member keeps its generation."""
    (done,) = phase_rules.empty(spec, step)
    return only(done.to(replace(done.live, generation_id=step.live.generation_id)))


@bug("join.leader", dies_in="leave", by="join.leader-is-a-member", seen_in="KAFKA-8220")
def absent_leader_leads(spec: Spec, step: Step) -> Steps:
    """The leader stays the leader though it has not rejoined and is out."""
    return only(step)


@bug(
    "join.protocol",
    dies_in="overlap",
    by="voting.chosen-supported-by-all",
    seen_in="librdkafka's mock cluster",
)
def leaders_first_protocol(spec: Spec, step: Step) -> Steps:
    """The leader's first protocol is taken, whoever supports it."""
    leader = step.live.members[step.live.leader or ""]
    return only(step.to(replace(step.live, protocol_name=leader.names[0])))


@bug(
    "join.next-generation",
    dies_in="core",
    by="generation.grows-by-completed-joins",
    seen_in="SaaSy-Solutions/mockforge#186",
)
def generation_stands_still(spec: Spec, step: Step) -> Steps:
    """A completed phase does not raise the generation."""
    stale = step.live.generation_id - 1
    return phase_rules.next_generation(spec, step.to(replace(step.live, generation_id=stale)))


@bug("join.next-generation", dies_in="core", by="join.members-for-leader-only")
def list_for_everybody(spec: Spec, step: Step) -> Steps:
    """Every member gets the member list, not only the leader."""
    (done,) = phase_rules.next_generation(spec, step)
    return only(replace(done, replies=tuple(_with_list(reply, done.live) for reply in done.replies)))


def _with_list(reply: Reply, group: Group) -> Reply:
    if not isinstance(reply.message, JoinGroupReply):
        return reply
    return replace(reply, message=replace(reply.message, members=group.member_list()))


@bug("join.next-generation", dies_in="core", by="generation.client-not-ahead")
def generation_announced_early(spec: Spec, step: Step) -> Steps:
    """Members are told the generation after the one that begins."""
    (done,) = phase_rules.next_generation(spec, step)
    return only(replace(done, replies=tuple(_one_later(reply) for reply in done.replies)))


def _one_later(reply: Reply) -> Reply:
    if not isinstance(reply.message, JoinGroupReply):
        return reply
    return replace(reply, message=replace(reply.message, generation_id=reply.message.generation_id + 1))


@bug("join.next-generation", dies_in="core", by="timers.match-state", seen_in="KAFKA-12890")
def no_sync_timer(spec: Spec, step: Step) -> Steps:
    """The sync timer is never started."""
    (done,) = phase_rules.next_generation(spec, step)
    return only(done.cancel(TimerKind.SYNC))


@bug("join.prepare-rebalance", dies_in="own-timeouts", by="timers.phase-as-longest")
def phase_of_the_shortest(spec: Spec, step: Step) -> Steps:
    """A join phase lasts as long as the shortest rebalance timeout of its members."""
    least = min((member.rebalance_timeout_ms for member in step.live.members.values()), default=0)
    return tuple(lasting(one, TimerKind.JOIN, least) for one in phase_rules.prepare_rebalance(spec, step))


@bug(
    "join.next-generation",
    dies_in="own-timeouts",
    by="join.timeouts-by-own-request",
    seen_in="a mock broker",
)
def one_session_for_all(spec: Spec, step: Step) -> Steps:
    """The group has one session timeout, that of whoever joined last."""
    last = list(step.live.members.values())[-1].session_timeout_ms
    each = ((i, replace(m, session_timeout_ms=last)) for i, m in step.live.members.items())
    return phase_rules.next_generation(spec, step.to(step.live.with_each(each)))
