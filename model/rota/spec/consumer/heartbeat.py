"""ConsumerGroupHeartbeat of a member: all that one request does, written as one batch."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.consumer.context import GMM, ConsumerSpec, beat, refused
from rota.spec.consumer.group import AnyGroup, ClassicGroup, ConsumerGroup, Current, Metadata, current_of
from rota.spec.consumer.messages import JOIN_EPOCH, Call, ConsumerGroupHeartbeatReply
from rota.spec.consumer.reconcile import reconcile
from rota.spec.consumer.records import current, group_epoch, member, removed
from rota.spec.consumer.state import Question, Target, partitions
from rota.spec.consumer.step import Step, Steps
from rota.spec.consumer.vocabulary import ErrorCode, RecordKind, TimerKind

SOURCE = GMM + "consumerGroupHeartbeat"


@rule("membership.heartbeat", source=SOURCE)
def heartbeat(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A member is heard: its fields, the group's epoch, the target, one step of its own, the answer.

    Each writes what it changes, in this order. A heartbeat that changes nothing writes nothing. If the
    assignor fails nothing is kept, so that the next heartbeat tries again.
    """
    request = beat(call)
    member_id = request.member_id or call.fresh_id
    before = group if isinstance(group, ConsumerGroup) else ConsumerGroup()
    old = before.members.get(member_id, Metadata())
    new = spec.ask("membership.fields", old, request)
    changed: bool = spec.ask("epochs.subscription-changed", old, new)
    step = Step(before)
    if isinstance(group, ClassicGroup):
        step = replace(step, records=(removed(RecordKind.CLASSIC_GROUP),))
    if new != old or member_id not in before.members:
        step = step.write(member(member_id, new))
    known = spec.ask("topics.hash", step.live, call.topics)
    if spec.ask("epochs.raised", before, step.live, known, changed):
        risen = replace(step.live, epoch=before.epoch + 1, metadata_hash=known)
        step = step.write(group_epoch(risen))
    steps = spec.ask("target.computed", step, call.topics)
    if not steps:
        return refused(group, call, ErrorCode.UNKNOWN_SERVER_ERROR)
    return tuple(spec.ask("membership.led", one, call, member_id, changed) for one in steps)


@rule("membership.led", source=GMM + "maybeReconcile", decides=True)
def led(spec: ConsumerSpec, step: Step, call: Call, member_id: str, changed: bool) -> Step:
    """The member takes its step by the table of reconciliation, and is answered."""
    group, request = step.live, beat(call)
    before = group.current.get(member_id, Current())
    question = Question(
        before.subscribed_to(spec.ask("topics.subscribed", group.members[member_id], call.topics)),
        Target(group.target_epoch, group.targets.get(member_id, frozenset())),
        changed,
        request.topic_partitions,
        frozenset(group.owners),
    )
    after = current_of(reconcile(question))
    if after != before:
        step = step.write(current(member_id, after))
        step = spec.ask("timers.give-up", step, member_id)
    step = step.arm(TimerKind.SESSION, member_id, spec.config.session_timeout_ms)
    told = spec.ask("membership.told", call, before, after)
    assignment = partitions(after.assigned) if told else None
    return step.answer(
        call.to,
        ConsumerGroupHeartbeatReply(
            ErrorCode.NONE, member_id, after.epoch, spec.config.heartbeat_interval_ms, assignment
        ),
    )


@rule("membership.told", source=SOURCE, decides=True)
def told(spec: ConsumerSpec, call: Call, before: Current, after: Current) -> bool:
    """The answer has the assignment when it is asked for, at epoch 0 and when it has changed.

    A request that says everything asks for it.
    """
    request = beat(call)
    return request.member_epoch == JOIN_EPOCH or request.full or before.assigned != after.assigned
