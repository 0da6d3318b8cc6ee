"""ConsumerGroupDescribe; and lists, deletion and cleaning of groups of both protocols.

Source: upstream's ConsumerGroup#asDescribedGroup, ConsumerGroupMember#asConsumerGroupDescribeMember,
GroupMetadataManager#consumerGroupDescribe and #createGroupTombstoneRecords, ModernGroup,
OffsetMetadataManager#cleanupExpiredOffsets.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from rota.coordinator import admin, offsets
from rota.coordinator.admin_messages import GroupTombstone, ListedGroup, ListGroups, ListGroupsReply
from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.consumer import persistence
from rota.coordinator.consumer.group import ConsumerGroup, ConsumerGroupState
from rota.coordinator.consumer.hosting import Hosted
from rota.coordinator.consumer.messages import (
    DescribedConsumer,
    DescribedConsumerGroup,
    NamedAssignment,
    NamedPartitions,
)
from rota.coordinator.consumer.records import GROUP, TARGET, TOPICS, ConsumerBatch, Place, by_topic
from rota.coordinator.consumer.target import assignor_of
from rota.coordinator.consumer.topics import TopicImage
from rota.coordinator.consumer.writing import Writing
from rota.coordinator.expiry import MINUTE_MS
from rota.coordinator.ledger import DeferredEvent, ReplyTo
from rota.coordinator.messages import ErrorCode
from rota.coordinator.offset_messages import OffsetRecord, OffsetTombstone
from rota.coordinator.purgatory import ParkedRequest
from rota.coordinator.step import Step

PROTOCOL = "consumer"
"""The type and the protocol type of these groups, in ListGroups."""


def describe(config: CoordinatorConfig, hosted: Hosted, group_id: str) -> DescribedConsumerGroup:
    """What there is to know of a group. What a member is to give up is still shown as its own.

    (A broker tells what the log has acknowledged; here it is what there is now.)
    """
    if not group_id:
        return DescribedConsumerGroup("", ErrorCode.INVALID_GROUP_ID, "the group id is empty")
    group = hosted.by_id.get(group_id)
    if group is None:
        shown = group_id if len(group_id) <= admin.QUOTED_MAX else f"{group_id[: admin.QUOTED_MAX]}..."
        text = f"there is no group {shown} of the consumer protocol"
        return DescribedConsumerGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, text)
    return DescribedConsumerGroup(
        group_id,
        group_state=group.state,
        group_epoch=group.epoch.epoch,
        assignment_epoch=group.target_epoch.epoch,
        assignor_name=assignor_of(config, group),
        members=tuple(_described(hosted.topics, group, member_id) for member_id in sorted(group.members)),
    )


def _described(topics: TopicImage, group: ConsumerGroup, member_id: str) -> DescribedConsumer:
    told, current = group.members[member_id], group.current_of(member_id)
    return DescribedConsumer(
        member_id=member_id,
        instance_id=told.instance_id,
        rack_id=told.rack_id,
        member_epoch=current.epoch,
        client_id=told.client_id,
        client_host=told.client_host,
        subscribed_topic_names=told.topics,
        subscribed_topic_regex=told.regex,
        assignment=_named(topics, current.owned),
        target_assignment=_named(topics, group.targets.get(member_id, ())),
    )


def _named(topics: TopicImage, places: Iterable[Place]) -> NamedAssignment:
    """Partitions with the names of their topics; of a topic that is gone they are left out."""
    return NamedAssignment(
        tuple(
            NamedPartitions(topic_id, name, indexes)
            for topic_id, indexes in by_topic(places)
            if (name := topics.name_of(topic_id)) is not None
        )
    )


def list_groups(hosted: Hosted, request: ListGroups, group_ids: Iterable[str] | None) -> ListGroupsReply:
    """Groups of both protocols, classic ones first; of these ids, if any are given."""
    wanted = None if group_ids is None else tuple(group_ids)
    classic, consumer = hosted.classic, hosted.by_id
    if wanted is not None:
        classic = {each: classic[each] for each in wanted if each in classic}
        consumer = {each: consumer[each] for each in wanted if each in consumer}
    states = {name.strip().lower() for name in request.states_filter}
    types = {name.lower() for name in request.types_filter}
    listed = (
        ListedGroup(group.group_id, PROTOCOL, group.state, PROTOCOL)
        for group in consumer.values()
        if (not types or PROTOCOL in types) and (not states or group.state.lower() in states)
    )
    return ListGroupsReply((*admin.list_groups(classic, request).groups, *listed))


def delete_groups(step: Step, hosted: Hosted, group_ids: Iterable[str], parked: ParkedRequest) -> None:
    """Delete groups that are Empty, of whichever protocol, each one once.

    That a group has members is said when the log has them. (A broker answers all groups of the request with
    the log's error; here only those that the log refused.)
    """
    deletion = admin.Deletion(parked, {each: _deletion_error(hosted, each) for each in group_ids})
    waiting = [
        each for each, error in deletion.errors.items() if error == ErrorCode.NONE or each in hosted.by_id
    ]
    deletion.unanswered = 1 + len(waiting)
    for group_id in waiting:
        answered = partial(deletion.answered, group_id)
        if group_id not in hosted.by_id:
            admin.remove_group(step, hosted.store, hosted.classic, group_id, answered)
        elif hosted.by_id[group_id].members:
            persistence.write(step, hosted, Writing(hosted.by_id[group_id]), answered)
        else:
            remove_group(step, hosted, group_id, answered)
    deletion.unanswered -= 1
    deletion.reply_if_done(step.reply)


def _deletion_error(hosted: Hosted, group_id: str) -> int:
    group = hosted.by_id.get(group_id)
    if group is None:
        return admin.deletion_error(hosted.classic.get(group_id))
    return ErrorCode.NON_EMPTY_GROUP if group.members else ErrorCode.NONE


def remove_group(
    step: Step,
    hosted: Hosted,
    group_id: str,
    answered: Callable[[ReplyTo, int], None],
) -> None:
    """Remove an Empty group with its offsets. If the log refuses it is back, and what was made since goes."""
    group = hosted.by_id.pop(group_id)
    store, memory = hosted.store, step.memory
    memory.put(group_id, 0)
    hosted.leaving[group_id] = group

    def effect(reply_to: ReplyTo, error_code: int) -> None:
        hosted.leaving.pop(group_id, None)
        if error_code == ErrorCode.NONE or entry.in_doubt:
            store.forget(group_id)
        elif group_id not in hosted.classic:
            if (later := hosted.by_id.pop(group_id, None)) is not None:
                persistence.take_back(hosted, later, deque(later.writes), error_code)
            hosted.by_id[group_id] = group
            memory.put(group_id, group.held)
        answered(reply_to, error_code)

    entry = DeferredEvent(effect, partitions=frozenset((step.config.partition_of(group_id),)))
    store.deferred.add(entry)
    step.append_deferred(group_id, GroupTombstone(store.tombstones(group_id), is_consumer=True), entry)


def give_way(step: Step, hosted: Hosted, group_id: str) -> None:
    """An Empty group ends since one of the classic protocol begins; its offsets stay.

    If the log refuses, the next start finds records of both, of which those of the classic one count.
    """
    del hosted.by_id[group_id]
    step.memory.put(group_id, 0)
    partitions = frozenset((step.config.partition_of(group_id),))
    entry = DeferredEvent(lambda reply_to, error_code: None, partitions=partitions)
    hosted.store.deferred.add(entry)
    step.append_deferred(group_id, ConsumerBatch(((TARGET, None), (TOPICS, None), (GROUP, None))), entry)


def clean(step: Step, hosted: Hosted, group: ConsumerGroup, now_ms: int) -> None:
    """Expire offsets of topics that nobody subscribes to, and remove an Empty group that has none left.

    The time counts from the commit, in every state of the group. While anything of it waits for the log,
    nothing is done to it.
    """
    store, group_id = hosted.store, group.group_id
    if group_id in store.appended or group.writes:
        return
    kept, expired = False, []
    for partitions in store.committed.get(group_id, {}).values():
        for record in partitions.values():
            pending = store.is_pending(group_id, record.topic, record.partition_index)
            if pending or record.topic in group.subscribers or not _is_old(step.config, record, now_ms):
                kept = True
            else:
                expired.append(OffsetTombstone(record.topic, record.partition_index))
    if expired:
        offsets.remove(step, store, group_id, tuple(expired))
    if not kept and group.state is ConsumerGroupState.EMPTY and not store.has_pending(group_id):
        remove_group(step, hosted, group_id, lambda reply_to, error_code: None)


def _is_old(config: CoordinatorConfig, record: OffsetRecord, now_ms: int) -> bool:
    if record.expire_timestamp_ms != -1:
        return now_ms >= record.expire_timestamp_ms
    return now_ms - record.commit_timestamp_ms >= config.offsets_retention_minutes * MINUTE_MS
