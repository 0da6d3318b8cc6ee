"""Mistakes in what happens when a timer is due."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import lasting
from rota.mutants.mutant import bug
from rota.spec import Group, Spec, Step, Timer
from rota.spec.classic import timers as timer_rules
from rota.spec.classic.step import Steps
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.context import only


@bug("timers.initial-delay-extended", dies_in="extended-delay", by="timers.match-state")
def extension_without_timer(spec: Spec, group: Group, timer: Timer) -> Steps:
    """The initial delay is extended, but its timer is not started again."""
    steps = timer_rules.initial_delay_extended(spec, group, timer)
    return tuple(step.cancel(TimerKind.INITIAL_JOIN) for step in steps)


@bug("timers.initial-delay-extended", dies_in="own-timeouts", by="timers.delay-as-long-as-left")
def extension_as_long_as_the_delay(spec: Spec, group: Group, timer: Timer) -> Steps:
    """An extension of the initial delay is not cut to what is left of the longest rebalance timeout."""
    steps, whole = timer_rules.initial_delay_extended(spec, group, timer), spec.config
    return tuple(
        lasting(one, TimerKind.INITIAL_JOIN, whole.group_initial_rebalance_delay_ms) for one in steps
    )


@bug("timers.initial-delay-over", dies_in="core", by="timers.match-state")
def initial_timer_lost(spec: Spec, group: Group, timer: Timer) -> Steps:
    """When the initial delay is over nothing happens."""
    return only(Step(group))


@bug("timers.join-timeout", dies_in="core", by="timers.match-state", seen_in="redpanda-data/redpanda#25270")
def join_timer_lost(spec: Spec, group: Group, timer: Timer) -> Steps:
    """When the rebalance timeout is over the phase goes on, without a timer."""
    return only(Step(group))


@bug("timers.sync-timeout", dies_in="core", by="timers.match-state")
def sync_timeout_forgives(spec: Spec, group: Group, timer: Timer) -> Steps:
    """Members that did not sync in time are forgiven: the group just waits on."""
    return only(Step(group))


@bug(
    "timers.session-ignored",
    dies_in="fault",
    by="timers.parked-member-stays",
    seen_in="redpanda-data/redpanda#22749",
)
def session_takes_parked(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A session that runs out removes its member although a request is parked."""
    return ()


@bug("timers.session-expired", dies_in="core", by="timers.match-state", seen_in="KAFKA-9752; tansu")
def old_heartbeat_counts(spec: Spec, group: Group, timer: Timer) -> Steps:
    """What is left of an earlier heartbeat satisfies the session timer: the member stays for ever."""
    return only(Step(group))


@bug("timers.session-expired", dies_in="leave", by="join.membership-fixed-in-a-generation")
def session_without_rebalance(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A dead member is removed and the others are not told."""
    return spec.apply("leave.remove-member", Step(group), timer.member_id)


@bug("timers.new-member-expired", dies_in="fault", by="parked.iff-waiting")
def new_member_expires_silently(spec: Spec, group: Group, timer: Timer) -> Steps:
    """A new member that runs out of time is removed, and its parked JoinGroup is never answered."""
    member = replace(group.members[timer.member_id], awaiting_join=None)
    return timer_rules.new_member_expired(spec, group.with_member(timer.member_id, member), timer)


@bug("timers.pending-expired", dies_in="all-leave", by="join.open-barrier-completes")
def pending_expiry_unnoticed(spec: Spec, group: Group, timer: Timer) -> Steps:
    """When the last pending id runs out the join phase is not completed."""
    return only(Step(replace(group, pending=group.pending - {timer.member_id})))
