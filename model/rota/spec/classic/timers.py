"""What happens when a timer is due. The timer is disarmed before its rule runs."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.rebalance import GMM
from rota.spec.classic.state import Group, InitialJoin
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, TimerKind
from rota.spec.context import Spec, only
from rota.spec.effects import Timer

HANDLERS = {
    TimerKind.INITIAL_JOIN.value: ("timers.initial-delay-extended", "timers.initial-delay-over"),
    TimerKind.JOIN.value: ("timers.join-timeout",),
    TimerKind.SYNC.value: ("timers.sync-timeout",),
    TimerKind.SESSION.value: ("timers.session-ignored", "timers.session-expired"),
    TimerKind.NEW_MEMBER.value: ("timers.new-member-expired",),
    TimerKind.PENDING.value: ("timers.pending-expired",),
}


@rule("timers.initial-delay-extended", source=GMM + "tryCompleteInitialRebalanceElseSchedule")
def initial_delay_extended(spec: Spec, group: Group, timer: Timer) -> Steps:
    """Somebody joined during the window and time remains: one more window.

    The next window is min(delay, remaining); what then remains is less by the window that just elapsed.

    Left out: the milliseconds that pass. The model keeps which windows were granted and how much may
    follow, and lets each end at any time, which includes the broker's clock.
    """
    initial = group.initial_join
    if initial is None or not group.new_member_added or initial.remaining_ms == 0:
        return ()
    window = min(spec.config.group_initial_rebalance_delay_ms, initial.remaining_ms)
    following = InitialJoin(window, max(initial.remaining_ms - initial.delay_ms, 0))
    step = Step(replace(group, new_member_added=False, initial_join=following))
    return only(step.arm(TimerKind.INITIAL_JOIN, window))


@rule("timers.initial-delay-over", source=GMM + "tryCompleteInitialRebalanceElseSchedule")
def initial_delay_over(spec: Spec, group: Group, timer: Timer) -> Steps:
    """Nobody joined during the window, or no time remains: the first join phase ends.

    Nothing is left out: the flag that somebody was added is not cleared at the end, as upstream does not
    clear it either, so it may grant one window too many when the group next starts from Empty. Rota clears
    it (`join.complete-phase`).
    """
    return spec.apply("join.complete-phase", Step(group))


@rule("timers.join-timeout", source=GMM + "maybeCompleteJoinElseSchedule")
def join_timeout(spec: Spec, group: Group, timer: Timer) -> Steps:
    """The rebalance timeout is over: the join phase ends with those who came; pending ids stay pending.

    Left out: how long the timeout is. It was computed when the phase began (`join.prepare-rebalance`) and
    members that come with a larger one do not extend it; here it is due at some time after that.
    """
    return spec.apply("join.complete-phase", Step(group))


@rule("timers.sync-timeout", source=GMM + "expirePendingSync; KAFKA-12890")
def sync_timeout(spec: Spec, group: Group, timer: Timer) -> Steps:
    """Members that have not synced within the rebalance timeout are removed, though they heartbeat.

    The rest rebalance; where all are removed the group is Empty at once. Among those who have not synced
    may be the former id of a static member that has been replaced since, which nobody can sync with: then
    the group rebalances though every member has synced.

    Left out: the generation that upstream ties to the timer and compares when it is due. The model stops
    the timer with the generation that armed it, so it never finds another one.
    """
    steps = only(Step(group))
    for member_id in sorted(group.pending_sync.intersection(group.members)):
        steps = spec.then(steps, "leave.remove-member", member_id)
    return spec.then(steps, "join.prepare-rebalance")


@rule("timers.session-ignored", source="upstream ClassicGroupMember#hasSatisfiedHeartbeat")
def session_ignored(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A session that runs out while its member is parked is ignored; it starts anew with the answer.

    Nothing is left out: upstream's member counts as alive while it awaits a join or a sync
    (ClassicGroupMember#hasSatisfiedHeartbeat), and the timer is not armed again before that wait is over.
    """
    member = group.members[timer.member_id]
    if member.awaiting_join is None and member.awaiting_sync is None:
        return ()
    return only(Step(group))


@rule("timers.session-expired", source=GMM + "expireClassicGroupMemberHeartbeat")
def session_expired(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A member that was silent for its session timeout is removed.

    Left out: the order of a timer and a heartbeat that come at the same instant, which brokers do not
    promise. Both orders are runs of the model, and taking a living client's id costs it a fault (`late`).
    """
    return _expire(spec, group, timer.member_id)


@rule("timers.new-member-expired", source="KAFKA-7610; " + GMM + "expireClassicGroupMemberHeartbeat")
def new_member_expired(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A new member whose first join phase lasts too long is removed although its JoinGroup is parked.

    Left out: that upstream has one timer per member id, which is armed for five minutes first and for
    sessions later. Two names of timers, of which only one is armed at a time (`timers.match-state`), say
    the same.
    """
    return _expire(spec, group, timer.member_id)


def _expire(spec: Spec, group: Group, member_id: str) -> Steps:
    steps = spec.apply("leave.remove-member", Step(group), member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        return spec.then(steps, "join.complete-if-all-joined")
    return spec.then(steps, "join.prepare-rebalance")


@rule("timers.pending-expired", source="KIP-394; " + GMM + "removePendingMemberAndUpdateClassicGroup")
def pending_expired(spec: Spec, group: Group, timer: Timer) -> Steps:
    """An id that was handed out and not used in time is forgotten, which may open the barrier.

    Left out: that upstream's timer fires for any id and looks whether it is pending or a member's by now.
    An id that is used or given back has its pending timer stopped, so the model need not ask.
    """
    step = Step(replace(group, pending=group.pending - {timer.member_id}))
    return spec.apply("join.complete-if-all-joined", step)
