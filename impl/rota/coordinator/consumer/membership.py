"""ConsumerGroupHeartbeat: who is a member, and the one way in which anything happens to one.

Source: upstream's GroupMetadataManager#consumerGroupHeartbeat, #consumerGroupLeave and
#consumerGroupFenceMembers; KIP-848.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from rota.coordinator import loading
from rota.coordinator.consumer import epochs, notes, persistence, target, timers
from rota.coordinator.consumer.group import ConsumerGroup, metadata_bytes
from rota.coordinator.consumer.hosting import Hosted
from rota.coordinator.consumer.messages import (
    LEAVING,
    Assignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
    TopicPartitions,
)
from rota.coordinator.consumer.reconcile import Goal, Owned, reconciled
from rota.coordinator.consumer.records import (
    CLASSIC,
    TARGET,
    CurrentAssignment,
    MemberMetadata,
    TargetEpoch,
    by_topic,
    current_key,
    member_key,
)
from rota.coordinator.consumer.topics import ids_of
from rota.coordinator.consumer.writing import Writing
from rota.coordinator.effects import TimerId
from rota.coordinator.group import GroupState
from rota.coordinator.ledger import ReplyTo
from rota.coordinator.memory import GROUP_BYTES
from rota.coordinator.messages import (
    ErrorCode,
    LeaveGroupReply,
    LeaveGroupReplyMember,
    MemberIdentity,
)
from rota.coordinator.purgatory import ParkedRequest
from rota.coordinator.step import Step


class Caller(NamedTuple):
    """Where a heartbeat comes from."""

    parked: ParkedRequest
    client_id: str
    client_host: str


def heartbeat(step: Step, hosted: Hosted, request: ConsumerGroupHeartbeat, caller: Caller) -> None:
    """Answer a heartbeat that says what it has to."""
    if request.member_epoch == LEAVING:
        _leave(step, hosted, request, caller)
        return
    group = hosted.by_id.get(request.group_id)
    error = _group_error(hosted, group, request) or _member_error(
        step, group or ConsumerGroup(request.group_id), request
    )
    if error == ErrorCode.NONE:
        error = _memory_error(step, group, request, caller)
    if error == ErrorCode.GROUP_MAX_SIZE_REACHED:
        met = group or ConsumerGroup(request.group_id)
        name = request.member_id or notes.UNNAMED
        notes.note(step, "member_refused", met, name, client_id=caller.client_id)
    if error != ErrorCode.NONE:
        _refuse(step, caller, error)
        return
    writing = _begun(step, hosted, group, request.group_id)
    if not request.member_id:
        request = replace(request, member_id=step.choices.new_member_id(caller.client_id))
    _carry_out(step, hosted, writing, request, caller)


def _carry_out(
    step: Step, hosted: Hosted, writing: Writing, request: ConsumerGroupHeartbeat, caller: Caller
) -> None:
    """What the member tells, a new epoch and a new target if that asks for them, and the member's step."""
    group = writing.group
    before = group.members.get(request.member_id)
    told = _told(before, request, caller)
    assignor = target.assignor_of(step.config, group)
    if told != before:
        writing.put(member_key(request.member_id), told)
    if before is None:
        notes.note(step, "member_joins", group, request.member_id)
    wanted = target.assignor_of(step.config, group)
    subscribes = epochs.subscription_changed(before, told)
    if subscribes or wanted != assignor or epochs.topics_changed(group, hosted.topics):
        epochs.raise_epoch(writing, hosted.topics)
    now_ms = step.choices.now_ms()
    if target.is_due(step.config, group, now_ms):
        target.update_target(writing, hosted.topics, wanted, now_ms)
        notes.note(step, "target", group, reason=wanted)
    had = group.current_of(request.member_id)
    has = _reconciled(hosted, group, request, had, subscribes)
    if has != had:
        writing.put(current_key(request.member_id), has)
        timers.watch_revocation(step, group, request.member_id, has)
    timers.watch(step, group, request.member_id)
    tells = request.member_epoch == 0 or request.is_full or has.assigned != had.assigned
    reply = ConsumerGroupHeartbeatReply(
        member_id=request.member_id,
        member_epoch=has.epoch,
        heartbeat_interval_ms=step.config.group_consumer_heartbeat_interval_ms,
        assignment=_assignment(has) if tells else None,
    )
    persistence.write(step, hosted, writing, partial(_answer, caller.parked, reply))


def _reconciled(
    hosted: Hosted,
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeat,
    had: CurrentAssignment,
    subscribes: bool,
) -> CurrentAssignment:
    goal = Goal(
        epoch=group.target_epoch.epoch,
        places=group.targets.get(request.member_id, frozenset()),
        subscribed=ids_of(hosted.topics, group.members[request.member_id].topics),
        changed=subscribes,
        is_free=group.is_free,
    )
    return reconciled(had, goal, _owned(request))


def _owned(request: ConsumerGroupHeartbeat) -> Owned:
    if request.topic_partitions is None:
        return None
    return {(each.topic_id, index) for each in request.topic_partitions for index in each.partitions}


def _assignment(current: CurrentAssignment) -> Assignment:
    return Assignment(tuple(TopicPartitions(*each) for each in by_topic(current.assigned)))


def _told(before: MemberMetadata | None, request: ConsumerGroupHeartbeat, caller: Caller) -> MemberMetadata:
    """What a member has told by now: what a request leaves out stays as it was."""
    told = replace(before or MemberMetadata(), client_id=caller.client_id, client_host=caller.client_host)
    if request.subscribed_topic_names is not None:
        told = replace(told, topics=tuple(sorted(set(request.subscribed_topic_names))))
    if request.rebalance_timeout_ms != -1:
        told = replace(told, rebalance_timeout_ms=request.rebalance_timeout_ms)
    if request.rack_id is not None:
        told = replace(told, rack_id=request.rack_id)
    if request.server_assignor is not None:
        told = replace(told, server_assignor=request.server_assignor)
    return told


def _group_error(hosted: Hosted, group: ConsumerGroup | None, request: ConsumerGroupHeartbeat) -> int:
    """A group is made by who joins, also in place of a classic one without members."""
    if group is not None:
        return ErrorCode.NONE
    classic = hosted.classic.get(request.group_id)
    occupied = classic is not None and classic.state is not GroupState.EMPTY
    return ErrorCode.GROUP_ID_NOT_FOUND if occupied or request.member_epoch != 0 else ErrorCode.NONE


def _member_error(step: Step, group: ConsumerGroup, request: ConsumerGroupHeartbeat) -> int:
    """Whether the group has room comes before whether the member is known."""
    if request.member_id in group.members:
        return epochs.epoch_error(group.current_of(request.member_id), request)
    if len(group.members) >= step.config.group_consumer_max_size:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    return ErrorCode.NONE if request.member_epoch == 0 else ErrorCode.UNKNOWN_MEMBER_ID


def _memory_error(
    step: Step, group: ConsumerGroup | None, request: ConsumerGroupHeartbeat, caller: Caller
) -> int:
    """Whether there is memory for what a heartbeat tells, which a broker does not ask."""
    before = None if group is None else group.members.get(request.member_id)
    grows = metadata_bytes(request.member_id, _told(before, request, caller))
    if before is not None:
        grows -= metadata_bytes(request.member_id, before)
    if group is None:
        grows += GROUP_BYTES + len(request.group_id)
    limits = step.config.group_members_max_bytes, step.config.members_max_bytes
    return step.memory.error(request.group_id, grows, *limits, ErrorCode.GROUP_MAX_SIZE_REACHED)


def _begun(step: Step, hosted: Hosted, group: ConsumerGroup | None, group_id: str) -> Writing:
    """A batch of a group, which is made if need be; the classic group that it replaces ends with it."""
    if group is not None:
        return Writing(group)
    group = hosted.by_id[group_id] = ConsumerGroup(group_id)
    writing = Writing(group)
    classic = hosted.classic.pop(group_id, None)
    if classic is not None:
        loading.close(step, classic, ErrorCode.UNKNOWN_MEMBER_ID, with_ids=False)
        classic.pending_members.clear()
        step.forget(group_id)
        group.replaced = classic
        writing.put(CLASSIC, None)
    return writing


def _answer(
    parked: ParkedRequest, reply: ConsumerGroupHeartbeatReply, reply_to: ReplyTo, error_code: int
) -> None:
    reply_to(parked, reply if error_code == ErrorCode.NONE else ConsumerGroupHeartbeatReply(error_code))


def _refuse(step: Step, caller: Caller, error_code: int) -> None:
    """Nothing changes. It is said at once, even if what it rests on is not in the log yet.

    (A broker throws it out of the write, and what is thrown waits for no batch.)
    """
    step.reply(caller.parked, ConsumerGroupHeartbeatReply(error_code, MESSAGES.get(error_code)))


MESSAGES = {
    ErrorCode.GROUP_ID_NOT_FOUND: "there is no such group of the consumer protocol",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has no such member; it may have been removed",
    ErrorCode.FENCED_MEMBER_EPOCH: "the member is at another epoch; it has to give up all and join with 0",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "the group has as many members as it may (group.consumer.max.size)",
}


def _leave(step: Step, hosted: Hosted, request: ConsumerGroupHeartbeat, caller: Caller) -> None:
    """A member leaves, whatever its epoch is."""
    group = hosted.by_id.get(request.group_id)
    if group is None:
        _refuse(step, caller, ErrorCode.GROUP_ID_NOT_FOUND)
    elif request.member_id not in group.members:
        _refuse(step, caller, ErrorCode.UNKNOWN_MEMBER_ID)
    else:
        reply = ConsumerGroupHeartbeatReply(member_id=request.member_id, member_epoch=LEAVING)
        remove(step, hosted, group, [request.member_id], partial(_answer, caller.parked, reply))
        notes.note(step, "member_left", group, request.member_id)


def remove(
    step: Step,
    hosted: Hosted,
    group: ConsumerGroup,
    member_ids: Sequence[str],
    answered: persistence.Answered = persistence.unanswered,
) -> None:
    """Take out members, at one new epoch of the group; of one that is empty then the target goes along."""
    writing = Writing(group)
    for member_id in member_ids:
        timers.stop(step, group, member_id)
        for key in group.keys_of(member_id):
            writing.put(key, None)
    epochs.raise_epoch(writing, hosted.topics)
    if not group.members:
        writing.put(TARGET, TargetEpoch(group.epoch.epoch))

    def told(reply_to: ReplyTo, error_code: int) -> None:
        if error_code != ErrorCode.NONE:
            hosted.to_watch.update((group.group_id, member_id) for member_id in member_ids)
        answered(reply_to, error_code)

    persistence.write(step, hosted, writing, told)


def leave_group(
    step: Step,
    hosted: Hosted,
    group: ConsumerGroup,
    identities: tuple[MemberIdentity, ...],
    parked: ParkedRequest,
) -> None:
    """LeaveGroup: whoever asks removes members, all at once; one that is named twice is no error."""
    known = [each for each in identities if each.member_id in group.members]
    results = tuple(
        LeaveGroupReplyMember(
            each.member_id,
            each.group_instance_id,
            ErrorCode.NONE if each in known else ErrorCode.UNKNOWN_MEMBER_ID,
        )
        for each in identities
    )

    def answer(reply_to: ReplyTo, error_code: int) -> None:
        failed = error_code != ErrorCode.NONE
        reply_to(parked, LeaveGroupReply(error_code) if failed else LeaveGroupReply(members=results))

    if known:
        gone = tuple(dict.fromkeys(each.member_id for each in known))
        remove(step, hosted, group, gone, answer)
        notes.note(step, "members_removed", group, removed=gone)
    else:
        persistence.write(step, hosted, Writing(group), answer)


def fire(step: Step, hosted: Hosted, group: ConsumerGroup, timer_id: TimerId) -> None:
    """A timer of a member is due."""
    if timer_id.kind == "consumer_session":
        session_ended(step, hosted, group, timer_id.member_id)
    elif timer_id.kind == "consumer_rebalance":
        revocation_ended(step, hosted, group, timer_id.member_id)


def session_ended(step: Step, hosted: Hosted, group: ConsumerGroup, member_id: str) -> None:
    """A member was not heard from for too long."""
    if member_id in group.members:
        remove(step, hosted, group, [member_id])
        notes.note(step, "member_fenced", group, member_id, reason=notes.SESSION_ENDED)


def revocation_ended(step: Step, hosted: Hosted, group: ConsumerGroup, member_id: str) -> None:
    """A member has not given up in time what it was told to."""
    if timers.is_late(group, member_id):
        remove(step, hosted, group, [member_id])
        notes.note(step, "member_fenced", group, member_id, reason=notes.TOO_LATE)
