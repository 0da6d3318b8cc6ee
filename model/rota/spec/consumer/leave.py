"""Leaving: by a heartbeat of epoch -1, by LeaveGroup, or removed by a timer; what a removal writes."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.consumer.context import GMM, ConsumerSpec, beat, refused, request_of
from rota.spec.consumer.group import AnyGroup, ConsumerGroup
from rota.spec.consumer.messages import (
    LEAVE_EPOCH,
    Call,
    ConsumerGroupHeartbeatReply,
    LeaveGroupReply,
    LeaveGroupRequest,
    Topics,
)
from rota.spec.consumer.records import current, group_epoch, member, members_target, target_epoch
from rota.spec.consumer.step import Step, Steps
from rota.spec.consumer.vocabulary import ErrorCode, TimerKind

BATCH_HANDLER = ("leave.batch-unknown-group", "leave.batch")
SOURCE = GMM + "consumerGroupLeave"


def _leaves(call: Call) -> bool:
    return beat(call).member_epoch == LEAVE_EPOCH


@rule("leave.unknown-member", source=SOURCE)
def unknown_member(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Who is not in the group cannot leave it."""
    if not _leaves(call) or not isinstance(group, ConsumerGroup) or beat(call).member_id in group.members:
        return ()
    return refused(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


@rule("leave.member", source=SOURCE)
def leaves(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A member leaves, at whatever epoch it is; what it had is free from then on."""
    if not _leaves(call) or not isinstance(group, ConsumerGroup):
        return ()
    member_id = beat(call).member_id
    step: Step = spec.ask("leave.removal", group, (member_id,), call.topics)
    return (step.answer(call.to, ConsumerGroupHeartbeatReply(ErrorCode.NONE, member_id, LEAVE_EPOCH)),)


@rule("leave.batch-unknown-group", source="upstream GroupCoordinatorService#leaveGroup")
def batch_unknown_group(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Of a group that is not there all members are unknown.

    Left out: LeaveGroup to a classic group, which is that protocol's own.
    """
    if isinstance(group, ConsumerGroup):
        return ()
    asked = request_of(call, LeaveGroupRequest)
    unknown = tuple(ErrorCode.UNKNOWN_MEMBER_ID for _ in asked.member_ids)
    return (Step(group, at_once=True).answer(call.to, LeaveGroupReply(unknown)),)


@rule("leave.batch", source=GMM + "classicGroupLeaveToConsumerGroup")
def batch(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """LeaveGroup removes members of this protocol too, as an administrator does: all with one new epoch.

    Who is named twice is told NONE twice.
    """
    if not isinstance(group, ConsumerGroup):
        return ()
    asked = request_of(call, LeaveGroupRequest).member_ids
    gone = tuple(dict.fromkeys(one for one in asked if one in group.members))
    step = spec.ask("leave.removal", group, gone, call.topics) if gone else Step(group)
    told = tuple(ErrorCode.NONE if one in gone else ErrorCode.UNKNOWN_MEMBER_ID for one in asked)
    return (step.answer(call.to, LeaveGroupReply(told)),)


@rule("leave.removal", source=GMM + "consumerGroupFenceMembers, removeMember", decides=True)
def removal(spec: ConsumerSpec, group: ConsumerGroup, gone: tuple[str, ...], topics: Topics) -> Step:
    """Members are taken away from the inside out, and the group's epoch rises by one for all of them.

    A group that becomes empty has its target at that epoch and forgets when it was computed.
    """
    step = Step(group)
    for one in gone:
        step = step.write(current(one, None), members_target(one, None), member(one, None))
        step = step.cancel(TimerKind.SESSION, one).cancel(TimerKind.REBALANCE, one)
    known = spec.ask("topics.hash", step.live, topics)
    risen = replace(step.live, epoch=group.epoch + 1, metadata_hash=known)
    step = step.write(group_epoch(risen))
    return step if risen.members else step.write(target_epoch(risen.epoch, computed=False))
