"""Mistakes in the rules of the consumer protocol that its worlds show."""

from __future__ import annotations

from typing import Any

from rota.kernel import FrozenMap, replace
from rota.mutants.mutant import bug
from rota.spec.consumer import heartbeat as heartbeat_rules
from rota.spec.consumer import leave as leave_rules
from rota.spec.consumer import target as target_rules
from rota.spec.consumer import topics as topic_rules
from rota.spec.consumer.context import Asked, Assignment, ConsumerSpec, beat, refused
from rota.spec.consumer.group import AnyGroup, ConsumerGroup, Current, MetadataHash
from rota.spec.consumer.membership import unknown_member
from rota.spec.consumer.messages import JOIN_EPOCH, Call, ConsumerGroupHeartbeatReply, Topics
from rota.spec.consumer.records import current, group_epoch, members_target, target_epoch
from rota.spec.consumer.state import Holding, MemberState
from rota.spec.consumer.step import Step, Steps, Timer
from rota.spec.consumer.vocabulary import ErrorCode, TimerKind


def _written(step: Step, member_id: str, **changes: Any) -> Step:
    """With what a member has changed once more."""
    now = step.live.current[member_id]
    return step.write(current(member_id, replace(now, **changes)))


def _told(step: Step, **changes: Any) -> Step:
    """With another answer."""
    *_, reply = step.replies
    assert isinstance(reply.message, ConsumerGroupHeartbeatReply)
    return replace(step, replies=(replace(reply, message=replace(reply.message, **changes)),))


@bug("membership.led", dies_in="pair", by="consumer.granted-was-given-up")
def nobody_waits(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """A member takes what its target says, whoever holds it."""
    group = step.live
    free = replace(step, group=replace(group, owners=FrozenMap()))
    led = heartbeat_rules.led(spec, free, call, member_id, changed)
    own = group.current.get(member_id, Current()).owned
    others = {one: epoch for one, epoch in group.owners.items() if one not in own}
    return replace(led, group=replace(led.live, owners=FrozenMap({**others, **led.live.owners})))


@bug("leave.removal", dies_in="leave", by="consumer.map-is-what-is-held")
def what_it_had_is_not_free(
    spec: ConsumerSpec, group: ConsumerGroup, gone: tuple[str, ...], topics: Topics
) -> Step:
    """The map of partitions keeps those of a member that is gone."""
    step = leave_rules.removal(spec, group, gone, topics)
    return replace(step, group=replace(step.live, owners=group.owners))


@bug("target.written", dies_in="pair", by="consumer.target-not-above-group")
def target_runs_ahead(spec: ConsumerSpec, step: Step, given: Assignment) -> Step:
    """A target is written with the epoch after the group's."""
    step = target_rules.written(spec, step, given)
    return step.write(target_epoch(step.live.epoch + 1, computed=True))


@bug("membership.led", dies_in="pair", by="consumer.member-not-above-target")
def member_runs_ahead(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """A member is led to the epoch after the target's."""
    step = heartbeat_rules.led(spec, step, call, member_id, changed)
    return _written(step, member_id, epoch=step.live.target_epoch + 1)


@bug("membership.led", dies_in="pair", by="consumer.previous-not-above-member")
def next_for_previous(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """The epoch after a member's is remembered as its previous one."""
    step = heartbeat_rules.led(spec, step, call, member_id, changed)
    return _written(step, member_id, previous_epoch=step.live.current[member_id].epoch + 1)


@bug("membership.led", dies_in="pair", by="consumer.held-since-its-epochs")
def held_since_tomorrow(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """What a member takes is noted with the epoch after its own."""
    step = heartbeat_rules.led(spec, step, call, member_id, changed)
    now = step.live.current[member_id]
    return _written(
        step, member_id, assigned=frozenset(Holding(one.partition, now.epoch + 1) for one in now.assigned)
    )


@bug("membership.led", dies_in="pair", by="consumer.led-has-its-target")
def stable_while_giving_up(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """Who is told to give up partitions is in state Stable."""
    step = heartbeat_rules.led(spec, step, call, member_id, changed)
    return _written(step, member_id, state=MemberState.STABLE)


@bug("leave.removal", dies_in="leave", by="consumer.targets-of-members")
def target_outlives_its_member(
    spec: ConsumerSpec, group: ConsumerGroup, gone: tuple[str, ...], topics: Topics
) -> Step:
    """The target of a member that is gone is written once more."""
    step = leave_rules.removal(spec, group, gone, topics)
    return step.write(*(members_target(one, group.targets.get(one, frozenset())) for one in gone))


@bug("leave.removal", dies_in="leave", by="consumer.members-have-assignments")
def assignment_outlives_its_member(
    spec: ConsumerSpec, group: ConsumerGroup, gone: tuple[str, ...], topics: Topics
) -> Step:
    """The current assignment of a member that is gone is written once more."""
    step = leave_rules.removal(spec, group, gone, topics)
    return step.write(*(current(one, group.current[one]) for one in gone))


@bug("membership.led", dies_in="pair", by="consumer.used-is-held", seen_in="robot-head/crabka#521")
def told_the_target(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """A member is answered its target, whether it is free or not."""
    step = heartbeat_rules.led(spec, step, call, member_id, changed)
    return _told(step, assignment=step.live.targets.get(member_id, frozenset()))


@bug("membership.led", dies_in="pair", by="consumer.led-has-its-target")
def nothing_is_given_up(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """A member that has something to give up keeps it, and goes on to the target's epoch."""
    before = step.live.current.get(member_id, Current())
    step = heartbeat_rules.led(spec, step, call, member_id, changed)
    if step.live.current[member_id].state is not MemberState.UNREVOKED_PARTITIONS:
        return step
    kept = Current(MemberState.STABLE, step.live.target_epoch, before.epoch, before.assigned)
    step = step.write(current(member_id, kept))
    assignment = frozenset(one.partition for one in kept.assigned)
    return _told(step, assignment=assignment, member_epoch=kept.epoch)


@bug("membership.led", dies_in="late", by="consumer.held-since-its-epochs")
def epochs_stand_still(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """Every member is at epoch 1 for ever."""
    step = heartbeat_rules.led(spec, step, call, member_id, changed)
    return _told(_written(step, member_id, epoch=1, previous_epoch=1), member_epoch=1)


@bug("membership.unknown-member", dies_in="late", by="consumer.answers-expected")
def unknown_as_a_group(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Who is not in the group is told that there is no such group."""
    if not unknown_member(spec, group, call):
        return ()
    return refused(group, call, ErrorCode.GROUP_ID_NOT_FOUND)


@bug("target.asked", dies_in="pair", by="consumer.stable-is-total")
def last_partition_is_not_seen(spec: ConsumerSpec, group: ConsumerGroup, topics: Topics) -> Asked:
    """The assignor does not hear of the last partition of a topic."""
    asked = target_rules.asked(spec, group, topics)
    fewer = FrozenMap((topic, size - 1) for topic, size in asked.partitions.items())
    return replace(asked, partitions=fewer)


@bug("epochs.raised", dies_in="pair", by="consumer.epochs-have-causes")
def every_heartbeat_raises(
    spec: ConsumerSpec, before: ConsumerGroup, after: ConsumerGroup, known: MetadataHash, changed: bool
) -> bool:
    """Every heartbeat raises the group's epoch."""
    return True


@bug("leave.removal", dies_in="leave", by="consumer.epochs-never-fall")
def empty_group_begins_anew(
    spec: ConsumerSpec, group: ConsumerGroup, gone: tuple[str, ...], topics: Topics
) -> Step:
    """A group that its last member has left begins again with epoch 1."""
    step = leave_rules.removal(spec, group, gone, topics)
    if step.live.members:
        return step
    anew = replace(step.live, epoch=1)
    return step.write(group_epoch(anew), target_epoch(1, computed=False))


@bug("membership.led", dies_in="pair", by="consumer.client-epoch-never-falls")
def told_an_epoch_too_low(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """Who is told to give up partitions is answered the epoch before its own."""
    step = heartbeat_rules.led(spec, step, call, member_id, changed)
    now = step.live.current[member_id]
    if now.state is not MemberState.UNREVOKED_PARTITIONS:
        return step
    return _told(step, member_epoch=now.epoch - 1)


@bug("membership.told", dies_in="pair", by="deadlock")
def losses_are_not_told(spec: ConsumerSpec, call: Call, before: Current, after: Current) -> bool:
    """An answer has the assignment only where there is something new in it."""
    return beat(call).member_epoch == JOIN_EPOCH or bool(after.assigned - before.assigned)


@bug("topics.hash", dies_in="grows", by="deadlock")
def first_size_for_ever(spec: ConsumerSpec, group: ConsumerGroup, topics: Topics) -> MetadataHash:
    """A topic that grows is not noticed."""
    return group.metadata_hash or topic_rules.known(spec, group, topics)


@bug("timers.session", dies_in="crash", by="deadlock")
def the_dead_stay(spec: ConsumerSpec, group: AnyGroup | None, timer: Timer, topics: Topics) -> Steps:
    """Who is not heard for the session's timeout has the time once more."""
    again = Step(group).arm(TimerKind.SESSION, timer.member_id, spec.config.session_timeout_ms)
    return (again,)


@bug("offsets.commit-stale", dies_in="commits", by="consumer.late-commit-is-of-its-own")
def older_epochs_commit_all(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """At an older epoch a member commits whatever it names."""
    return ()
