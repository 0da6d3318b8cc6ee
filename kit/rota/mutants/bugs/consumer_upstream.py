"""Bugs that coordinators of the consumer protocol had, planted as the code was before it was mended."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from rota.kernel import FrozenMap, replace
from rota.mutants.mutant import bug
from rota.spec.consumer import epochs as epoch_rules
from rota.spec.consumer import heartbeat as heartbeat_rules
from rota.spec.consumer import leave as leave_rules
from rota.spec.consumer import offsets as offset_rules
from rota.spec.consumer.context import ConsumerSpec, beat, refused, request_of
from rota.spec.consumer.group import AnyGroup, ConsumerGroup, Current, Metadata
from rota.spec.consumer.messages import (
    JOIN_EPOCH,
    Call,
    ConsumerGroupHeartbeatReply,
    ErrorReply,
    OffsetCommitRequest,
    Topics,
)
from rota.spec.consumer.records import NotLoaded, Written, current, replay
from rota.spec.consumer.state import Holding, MemberState, partitions
from rota.spec.consumer.step import Step, Steps
from rota.spec.consumer.vocabulary import ErrorCode, RecordKind


def _found(step: Step, member_id: str) -> Current:
    return step.live.current.get(member_id, Current())


@bug("membership.led", dies_in="change", by="consumer.map-is-what-is-held", seen_in="KAFKA-16147")
def given_back_and_forgotten(
    spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool
) -> Step:
    """What a member was to give up and is given again is struck from the map of partitions."""
    before = _found(step, member_id)
    led = heartbeat_rules.led(spec, step, call, member_id, changed)
    again = partitions(before.pending) & partitions(_found(led, member_id).assigned)
    owners = FrozenMap((one, epoch) for one, epoch in led.live.owners.items() if one not in again)
    return replace(led, group=replace(led.live, owners=owners))


@bug("membership.led", dies_in="grows", by="deadlock", seen_in="KAFKA-16249")
def newer_target_ends_the_waiting(
    spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool
) -> Step:
    """A newer target has what is to be given up worked out anew; what the member says is not looked at.

    For which target a member has to give up a partition is kept in the epoch of what is pending.
    """
    group, before = step.live, _found(step, member_id)
    asked_for = {one.epoch for one in before.pending}
    if before.state is not MemberState.UNREVOKED_PARTITIONS or asked_for == {group.target_epoch}:
        led = heartbeat_rules.led(spec, step, call, member_id, changed)
        now = _found(led, member_id)
        return _asked_for(led, member_id, now, group.target_epoch) if now != before and now.pending else led
    target = group.targets.get(member_id, frozenset())
    kept = frozenset(Holding(one, before.epoch) for one in before.owned & target)
    pending = frozenset(Holding(one, group.target_epoch) for one in before.owned - target)
    if not pending:
        nothing = replace(call, request=replace(beat(call), topic_partitions=frozenset()))
        return heartbeat_rules.led(spec, step, nothing, member_id, changed)
    anew = replace(before, assigned=kept, pending=pending)
    step = step.write(current(member_id, anew))
    told = None if anew.assigned == before.assigned else partitions(anew.assigned)
    return step.answer(call.to, ConsumerGroupHeartbeatReply(ErrorCode.NONE, member_id, anew.epoch, 0, told))


def _asked_for(step: Step, member_id: str, now: Current, epoch: int) -> Step:
    pending = frozenset(Holding(one.partition, epoch) for one in now.pending)
    return step.write(current(member_id, replace(now, pending=pending)))


@bug("membership.led", dies_in="change", by="consumer.waits-for-others", seen_in="KAFKA-19449")
def waits_for_itself(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """What a member itself has not given up counts as owned by another."""
    group, before = step.live, _found(step, member_id)
    led = heartbeat_rules.led(spec, step, call, member_id, changed)
    now = _found(led, member_id)
    again = partitions(before.pending) & partitions(now.assigned)
    if not again:
        return led
    fewer = frozenset(one for one in now.assigned if one.partition not in again)
    waits = Current(MemberState.UNRELEASED_PARTITIONS, group.target_epoch, before.epoch, fewer)
    told = ConsumerGroupHeartbeatReply(ErrorCode.NONE, member_id, waits.epoch, 0, partitions(fewer))
    return replace(led.write(current(member_id, waits)), replies=()).answer(call.to, told)


@bug("membership.led", dies_in="late", by="consumer.told-to-give-up-keeps-its-epoch", seen_in="KAFKA-19974")
def led_on_to_give_up_more(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """Who has given up what it had to and has to give up more goes on to the next epoch."""
    before = _found(step, member_id)
    led = heartbeat_rules.led(spec, step, call, member_id, changed)
    now, waited = _found(led, member_id), MemberState.UNREVOKED_PARTITIONS
    if before == now or not before.state is now.state is waited or changed:
        return led
    *_, reply = led.replies
    assert isinstance(reply.message, ConsumerGroupHeartbeatReply)
    told = replace(reply.message, member_epoch=now.epoch + 1)
    led = led.write(current(member_id, replace(now, epoch=now.epoch + 1)))
    return replace(led, replies=(replace(reply, message=told),))


@bug("membership.led", dies_in="change", by="consumer.assigned-is-subscribed", seen_in="KAFKA-19431")
def subscriptions_are_not_looked_at(
    spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool
) -> Step:
    """A member is led to its target whatever it subscribes to, and waited for as if nothing had changed."""

    def every(spec: ConsumerSpec, member: Metadata, topics: Topics) -> frozenset[str]:
        return frozenset(one.topic_id for one in topics.values())

    blind = dataclasses.replace(spec, rules=spec.rules.replaced("topics.subscribed", every))
    return heartbeat_rules.led(blind, step, call, member_id, False)


@bug("leave.removal", dies_in="leave", by="consumer.empty-at-its-target", seen_in="KAFKA-20442")
def target_stays_behind(
    spec: ConsumerSpec, group: ConsumerGroup, gone: tuple[str, ...], topics: Topics
) -> Step:
    """The target of a group that becomes empty stays at its epoch."""
    step = leave_rules.removal(spec, group, gone, topics)
    records = tuple(one for one in step.records if one.kind is not RecordKind.TARGET)
    return Step(group, timers=step.timers).write(*records)


@bug("epochs.behind", dies_in="alone", by="consumer.settles", seen_in="KAFKA-19233")
def fenced_for_ever(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Who joins again under its id is fenced, unless its previous epoch is none."""
    member_id = beat(call).member_id
    now = group.current.get(member_id, Current()) if isinstance(group, ConsumerGroup) else Current()
    if beat(call).member_epoch == JOIN_EPOCH and now.epoch and now.previous_epoch:
        return refused(group, call, ErrorCode.FENCED_MEMBER_EPOCH)
    return epoch_rules.behind(spec, group, call)


@bug("offsets.commit-stale", dies_in="commits", by="consumer.commit-of-its-own", seen_in="KAFKA-20066")
def only_the_newest_epoch_commits(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A commit at any older epoch than the member's is stale, whatever the member has had since."""
    asked = request_of(call, OffsetCommitRequest)
    assert isinstance(group, ConsumerGroup)
    if offset_rules.commit_stale(spec, group, call) or asked.member_epoch == _epoch(group, asked.member_id):
        return offset_rules.commit_stale(spec, group, call)
    return (Step(group, at_once=True).answer(call.to, ErrorReply(ErrorCode.STALE_MEMBER_EPOCH)),)


def _epoch(group: ConsumerGroup, member_id: str) -> int:
    return group.current[member_id].epoch


@bug("log.load", dies_in="log", by="consumer.log-loads", seen_in="KAFKA-17306")
def nothing_to_take_away(records: Iterable[Written]) -> AnyGroup | None:
    """A group whose first record is not a member's, or takes away what is not there, cannot be loaded."""
    group: AnyGroup | None = None
    for one in records:
        begins = one.kind is RecordKind.MEMBER and one.value is not None
        if group is None and not begins:
            raise NotLoaded(f"there is no group for a record of kind {one.kind.name}")
        group = replay(group, one)
    return group


@bug("log.load", dies_in="log", by="consumer.log-loads", seen_in="KAFKA-19862")
def somebody_else_owns_it(records: Iterable[Written]) -> AnyGroup | None:
    """Where the map of partitions has another epoch than a member has had them at, nothing is loaded."""
    group: AnyGroup | None = None
    for one in records:
        if one.kind is RecordKind.CURRENT and isinstance(group, ConsumerGroup):
            old = group.current.get(one.member_id, Current())
            for place in old.owned:
                if group.owners.get(place) != old.epoch:
                    raise NotLoaded(f"{place.topic}-{place.index} is not owned at epoch {old.epoch}")
        group = replay(group, one)
    return group
