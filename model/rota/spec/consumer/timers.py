"""The timers of a member: its session, and the time to give up what it was told to."""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.consumer.context import GMM, ConsumerSpec
from rota.spec.consumer.group import AnyGroup, ConsumerGroup
from rota.spec.consumer.messages import Topics
from rota.spec.consumer.state import MemberState
from rota.spec.consumer.step import Step, Steps, Timer
from rota.spec.consumer.vocabulary import TimerKind

HANDLERS = {
    TimerKind.SESSION.value: ("timers.nobody", "timers.session"),
    TimerKind.REBALANCE.value: ("timers.nobody", "timers.given-up", "timers.rebalance"),
}


def _removed(spec: ConsumerSpec, group: AnyGroup | None, timer: Timer, topics: Topics) -> Steps:
    return (spec.ask("leave.removal", group, (timer.member_id,), topics),)


@rule("timers.nobody", source=GMM + "scheduleConsumerGroupSessionTimeout")
def nobody(spec: ConsumerSpec, group: AnyGroup | None, timer: Timer, topics: Topics) -> Steps:
    """A timer of who is not in the group any more does nothing."""
    if isinstance(group, ConsumerGroup) and timer.member_id in group.members:
        return ()
    return (Step(group),)


@rule("timers.session", source=GMM + "scheduleConsumerGroupSessionTimeout")
def session(spec: ConsumerSpec, group: AnyGroup | None, timer: Timer, topics: Topics) -> Steps:
    """Who was not heard for the session's timeout is removed."""
    return _removed(spec, group, timer, topics)


@rule("timers.given-up", source=GMM + "scheduleConsumerGroupRebalanceTimeout")
def given_up(spec: ConsumerSpec, group: AnyGroup | None, timer: Timer, topics: Topics) -> Steps:
    """A member that has gone on to another epoch since it was told has given up what it had to."""
    if isinstance(group, ConsumerGroup) and group.current[timer.member_id].epoch == timer.epoch:
        return ()
    return (Step(group),)


@rule("timers.rebalance", source=GMM + "scheduleConsumerGroupRebalanceTimeout")
def rebalance(spec: ConsumerSpec, group: AnyGroup | None, timer: Timer, topics: Topics) -> Steps:
    """Who has not given up in its own rebalance timeout what it was told to is removed.

    It may have heartbeated all the while.
    """
    return _removed(spec, group, timer, topics)


@rule("timers.give-up", source=GMM + "maybeReconcile", decides=True)
def give_up(spec: ConsumerSpec, step: Step, member_id: str) -> Step:
    """The time to give up begins when a member is told to, and ends when it is led on.

    Told to give up more, it has the whole time again.
    """
    group = step.live
    now = group.current[member_id]
    if now.state is MemberState.UNREVOKED_PARTITIONS:
        timeout = group.members[member_id].rebalance_timeout_ms
        return step.arm(TimerKind.REBALANCE, member_id, timeout, now.epoch)
    return step.cancel(TimerKind.REBALANCE, member_id)


@rule("timers.loaded", source=GMM + "onLoaded", decides=True)
def loaded(spec: ConsumerSpec, group: AnyGroup | None) -> Step:
    """A coordinator that has read the log gives everybody its whole time anew."""
    step = Step(group)
    if not isinstance(group, ConsumerGroup):
        return step
    for member_id, now in group.current.items():
        step = step.arm(TimerKind.SESSION, member_id, spec.config.session_timeout_ms)
        if now.state is MemberState.UNREVOKED_PARTITIONS:
            step = spec.ask("timers.give-up", step, member_id)
    return step
