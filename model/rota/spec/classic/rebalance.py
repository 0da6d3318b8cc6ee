"""The join phase: how a rebalance begins, when its barrier opens, what its completion does.

Used by every handler that changes the membership; each function takes a step and continues it.
"""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.messages import JoinGroupReply, SyncGroupReply
from rota.spec.classic.records import record_of
from rota.spec.classic.state import Group, InitialJoin
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, RecordKind, TimerKind
from rota.spec.context import Spec, only
from rota.spec.vocabulary import ErrorCode

GMM = "upstream GroupMetadataManager#"
CONSUMER = "consumer"
"""The protocol type whose metadata the broker reads."""


@rule("join.barrier", source="upstream ClassicGroup#hasAllMembersJoined", decides=True)
def barrier(group: Group) -> bool:
    """The barrier is open when every member has a parked JoinGroup and no handed-out id is unused.

    True without members and pending ids, so the last leave completes the phase.

    Left out: the counter of members that wait for a JoinGroup answer, which upstream keeps beside the
    members. The model counts parked requests, which is what the counter should say.
    """
    return not group.pending and all(m.awaiting_join is not None for m in group.members.values())


@rule(
    "join.rebalance-or-complete", source=GMM + "maybePrepareRebalanceOrCompleteJoin, maybeCompleteJoinPhase"
)
def rebalance_or_complete(spec: Spec, step: Step) -> Steps:
    """After a change: begin a rebalance, or complete the one being prepared if its barrier is open now.

    A phase that began in Empty is not completed here: its initial delay runs to the end.

    Left out: the Scala coordinator's purgatory, in which DelayedJoin is watched under the group's key and
    any thread may complete it. It does so under the group's lock, so what it does is a part of the same
    step as the change that made it possible.
    """
    group = step.live
    if group.can_rebalance:
        return spec.apply("join.prepare-rebalance", step)
    if group.initial_join is None and spec.ask("join.barrier", group):
        return spec.apply("join.complete-phase", step)
    return only(step)


@rule("join.complete-if-all-joined", source=GMM + "removeMemberAndUpdateClassicGroup")
def complete_if_all_joined(spec: Spec, step: Step) -> Steps:
    """After an expiry in PreparingRebalance: complete if the barrier is open, the initial delay or not.

    Unlike `join.rebalance-or-complete`: the Java coordinator's expiry path does not look at the previous
    state. With the Scala coordinator nothing ends the initial delay early
    (InitialDelayedJoin#tryComplete).

    Left out: the thread on which an expiry runs (Scala: the purgatory's reaper, Java: the event loop of
    the partition). Both work on one group one change at a time, which is what a transition is.
    """
    group = step.live
    runs_on = group.initial_join is not None and not spec.profile.expiry_ends_initial_delay
    if group.state is GroupState.PREPARING_REBALANCE and not runs_on and spec.ask("join.barrier", group):
        return spec.apply("join.complete-phase", step)
    return only(step)


@rule("join.prepare-rebalance", source=GMM + "prepareRebalance, maybeCompleteJoinElseSchedule")
def prepare_rebalance(spec: Spec, step: Step) -> Steps:
    """A rebalance begins: parked syncs are sent back, the join timer starts.

    From Empty the timer is the initial delay; otherwise it is the largest rebalance timeout of the
    members at this instant, and where all have joined already the phase completes at once.

    Left out: the reason of the rebalance, which upstream passes along for its log. A trace of the model
    names the rules that led here, and no answer tells a client the reason.
    """
    group = step.live
    if group.state is GroupState.COMPLETING_REBALANCE:
        step = answer_syncs(step, ErrorCode.REBALANCE_IN_PROGRESS)
    step = step.to(replace(step.live, pending_sync=frozenset())).cancel(TimerKind.SYNC)
    if group.state is GroupState.EMPTY:
        delay = spec.config.group_initial_rebalance_delay_ms
        initial = InitialJoin(delay, max(group.rebalance_timeout_ms - delay, 0))
        return only(step.to(_preparing(step.live, initial)).arm(TimerKind.INITIAL_JOIN, delay))
    step = step.to(_preparing(step.live, None))
    if spec.ask("join.barrier", step.live):
        return spec.apply("join.complete-phase", step)
    return only(step.arm(TimerKind.JOIN, group.rebalance_timeout_ms))


def _preparing(group: Group, initial: InitialJoin | None) -> Group:
    return replace(group, state=GroupState.PREPARING_REBALANCE, initial_join=initial)


def answer_syncs(step: Step, error: ErrorCode, assignments: dict[str, bytes] | None = None) -> Step:
    """Set every member's assignment (empty without `assignments`) and answer the parked SyncGroups.

    Those answered get a new session: theirs may have run out while they were parked. Members that are not
    parked keep their timers. Source: upstream GroupMetadataManager#propagateAssignment.
    """
    group = step.live
    named = (group.protocol_type, group.protocol_name) if error is ErrorCode.NONE else (None, None)
    for member_id, member in group.members.items():
        given = (assignments or {}).get(member_id, b"")
        group = group.with_member(member_id, replace(member, assignment=given, awaiting_sync=None))
        if member.awaiting_sync is not None:
            step = step.answer(member.awaiting_sync, SyncGroupReply(error, *named, given))
            step = step.arm(TimerKind.SESSION, member.session_timeout_ms, member_id)
    return step.to(group)


@rule(
    "join.complete-phase", source=GMM + "completeClassicGroupJoin; upstream ClassicGroup#initNextGeneration"
)
def complete_phase(spec: Spec, step: Step) -> Steps:
    """The join phase ends: who has not rejoined is out, the generation grows, all parked joins are answered.

    Static members stay, rejoined or not. Without members the group becomes Empty, which counts as a
    generation and is written to the log.

    Left out: a timer that finds its group Dead, upon which upstream skips the completion. A group that is
    gone has no timers in the model, so none is due.
    """
    step = step.cancel(TimerKind.INITIAL_JOIN).cancel(TimerKind.JOIN)
    group = step.live
    stay = {}
    for member_id, member in group.members.items():
        if member.awaiting_join is not None or member.group_instance_id is not None:
            stay[member_id] = member
        else:
            step = step.cancel(TimerKind.SESSION, member_id).cancel(TimerKind.NEW_MEMBER, member_id)
    marked = group.new_member_added and spec.profile.newcomer_mark_stays
    step = step.to(replace(group.with_each(stay.items()), initial_join=None, new_member_added=marked))
    if not stay:
        return spec.apply("join.empty", step)
    absent_only = spec.apply("static.nobody-joined", step)
    if absent_only:
        return absent_only
    return spec.then(spec.then(spec.apply("join.leader", step), "join.protocol"), "join.next-generation")


@rule("join.empty", source="upstream ClassicGroup#initNextGeneration; GroupCoordinatorRecordHelpers")
def empty(spec: Spec, step: Step) -> Steps:
    """A phase that ends without members leaves the group Empty, one generation on, and says so in the log.

    Nobody but a LeaveGroup that emptied it waits for the log (see `persistence.emptied-stored`).

    Left out: the time of the change, which the record carries as currentStateTimestamp. Only the
    retention of offsets reads it, and there it is an input (`RetentionCheck.since_ms`).
    """
    group = replace(
        step.live,
        state=GroupState.EMPTY,
        generation_id=step.live.generation_id + 1,
        protocol_name=None,
        leader=None,
        subscriptions=subscriptions(step.live),
    )
    return only(step.to(group).append(record_of(group, {}, RecordKind.EMPTIED)))


@rule("join.leader", source="upstream ClassicGroup#maybeElectNewJoinedLeader, #remove")
def elect_leader(spec: Spec, step: Step) -> Steps:
    """The leader stays if it has rejoined; otherwise any member that has rejoined takes its place.

    Left out: which one upstream takes, the first in the hash order of ids that contain random UUIDs. Each
    candidate is a step of its own, so what holds here holds whatever the order is.
    """
    group = step.live
    if group.leader in group.awaiting_join:
        return only(step)
    return tuple(step.to(replace(group, leader=member_id)) for member_id in group.awaiting_join)


@rule("join.protocol", source="upstream ClassicGroup#selectProtocol")
def choose_protocol(spec: Spec, step: Step) -> Steps:
    """The vote decides the protocol of the new generation; among tied ones any may win.

    Left out: that a broker decides a tie the same way each time, by the hash order of the names. With
    every tied name as a step the model has all that any broker does, and more.
    """
    group = step.live
    lists = [member.names for member in group.members.values()]
    tied: tuple[str, ...] = spec.ask("voting.tally", lists, spec.ask("voting.candidates", lists))
    # Without a candidate (which `voting.supports` rules out) there is no protocol, and a property says so.
    return tuple(step.to(replace(group, protocol_name=name)) for name in tied or (None,))


@rule("join.next-generation", source=GMM + "completeClassicGroupJoin, schedulePendingSync")
def next_generation(spec: Spec, step: Step) -> Steps:
    """Every member learns the new generation; only the leader learns who the members are.

    All sessions start anew, nobody is new any longer, and each must sync before the sync timer is due:
    also a static member that has not joined, and may not even know of the generation. Brokers before 2.8
    wait for SyncGroups without a limit of time.

    Left out: the order of the leader's member list, which is that of a hash map. Assignors sort members
    themselves, and `join.list-is-the-membership` compares the list as a set.
    """
    timed = spec.profile.sync_timer
    group = replace(
        step.live,
        state=GroupState.COMPLETING_REBALANCE,
        generation_id=step.live.generation_id + 1,
        pending_sync=frozenset(step.live.members if timed else ()),
        subscriptions=subscriptions(step.live),
    )
    joined = group.with_each(
        (i, replace(m, awaiting_join=None, is_new=False)) for i, m in group.members.items()
    )
    step = step.to(joined)
    for member_id, member in group.members.items():
        step = step.cancel(TimerKind.NEW_MEMBER, member_id)
        step = step.arm(TimerKind.SESSION, member.session_timeout_ms, member_id)
        step = step.answer(member.awaiting_join, joined_reply(group, member_id))
    return only(step.arm(TimerKind.SYNC, group.rebalance_timeout_ms) if timed else step)


def subscriptions(group: Group) -> tuple[bytes, ...] | None:
    """What a group of consumers has subscribed to: its members' metadata for the protocol, without repeats.

    None where the protocol type is another. Not computed anew when a static member is replaced.
    Source: upstream ClassicGroup#computeSubscribedTopics.
    """
    if group.protocol_type != CONSUMER:
        return None
    return tuple(sorted({member.metadata(group.protocol_name) for member in group.members.values()}))


def joined_reply(group: Group, member_id: str) -> JoinGroupReply:
    """The successful answer to a JoinGroup: the member list goes to the leader only."""
    return JoinGroupReply(
        error_code=ErrorCode.NONE,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
        member_id=member_id,
        members=group.member_list() if member_id == group.leader else (),
    )
