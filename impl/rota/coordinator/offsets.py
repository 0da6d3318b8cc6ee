"""OffsetCommit, OffsetFetch and OffsetDelete: who may, what is stored, and when it can be seen.

A commit changes nothing but its sender's session until the log has answered. Source: Kafka's Java
coordinator, OffsetMetadataManager#commitOffset, #fetchOffsets and #deleteOffsets,
ClassicGroup#validateOffsetCommit and #isSubscribedToTopic, GroupCoordinatorService#fetchOffsets.
"""

from collections.abc import Callable, Collection, Iterable

from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.group import CONSUMER, Group, GroupState
from rota.coordinator.ledger import DeferredEvent, ReplyTo
from rota.coordinator.memory import GROUP_BYTES, Memory
from rota.coordinator.messages import ErrorCode
from rota.coordinator.offset_messages import (
    NO_PRODUCER_ID,
    OffsetBatch,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetDeleteReplyPartition,
    OffsetDeleteReplyTopic,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchReply,
    OffsetFetchReplyGroup,
    OffsetFetchReplyPartition,
    OffsetFetchReplyTopic,
    OffsetRecord,
    OffsetTombstone,
    TxnOffsetCommit,
)
from rota.coordinator.offset_store import OffsetStore
from rota.coordinator.purgatory import ParkedRequest
from rota.coordinator.session_timers import restart_session
from rota.coordinator.step import Step

TopicsOf = Callable[[bytes], Collection[str] | None]
"""The topics in a consumer's metadata, None if they cannot be read."""

Unwritten = Callable[[Callable[[ReplyTo, int], None]], None]
"""Takes the answer to a request that writes nothing, to give it when that is due."""

GROUP_ID_NOT_FOUND_SINCE = 9
"""First OffsetCommit version that has an error code for a group that does not exist."""


def commit_error(group: Group | None, request: OffsetCommit, version: int) -> int:
    """The first check that an OffsetCommit fails, or NONE; `group` is None if there is none of its group id.

    A generation below 0 comes from outside of group management: it may commit while nobody is in the group,
    whatever member id it gives. In PreparingRebalance the generation is still the old one.
    """
    generation_id = request.generation_id_or_member_epoch
    if generation_id < 0 and (group is None or group.state is GroupState.EMPTY):
        return ErrorCode.NONE
    if group is None:
        has_code = version >= GROUP_ID_NOT_FOUND_SINCE
        return ErrorCode.GROUP_ID_NOT_FOUND if has_code else ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = group.member_error(request.member_id, request.group_instance_id)
    if error != ErrorCode.NONE:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def room_error(
    config: CoordinatorConfig,
    memory: Memory,
    store: OffsetStore,
    request: OffsetCommit | TxnOffsetCommit,
    is_new: bool,
) -> int:
    """Whether there is no memory for what a commit brings, or NONE; `is_new`: its group is to be created.

    INVALID_COMMIT_OFFSET_SIZE if the group's offsets would be too large, COORDINATOR_NOT_AVAILABLE if those
    of all groups would be, or if they are too many. What takes the place of as much is always stored.
    """
    group_id = request.group_id
    if is_new:
        limits = config.group_members_max_bytes, config.members_max_bytes
        error = memory.error(
            group_id, GROUP_BYTES + len(group_id), *limits, ErrorCode.INVALID_COMMIT_OFFSET_SIZE
        )
        if error != ErrorCode.NONE:
            return error
    grows = sum(
        store.growth(group_id, topic.name, each.partition_index, each.committed_metadata or "")
        for topic in request.topics
        for each in topic.partitions
        if metadata_error(each, config.offset_metadata_max_bytes) == ErrorCode.NONE
    )
    limits = config.group_offsets_max_bytes, config.offsets_max_bytes
    return store.memory.error(group_id, grows, *limits, ErrorCode.INVALID_COMMIT_OFFSET_SIZE)


def offset_commit(
    step: Step,
    store: OffsetStore,
    group: Group,
    request: OffsetCommit,
    parked: ParkedRequest,
    timestamp_ms: int,
) -> None:
    """Carry out an OffsetCommit that passed `commit_error`; `timestamp_ms` is the wall clock's.

    A member has given a sign of life, also where no offset of its can be stored. Partitions with too much
    metadata are left out; if no other is left, the answer does not wait for the log.
    """
    member = group.members.get(request.member_id)
    if member is not None:
        restart_session(step, group, member)
    reply, records = checked(step, request, timestamp_ms)
    write(step, store, group.group_id, records, parked, reply)


def checked(
    step: Step, request: OffsetCommit, timestamp_ms: int
) -> tuple[OffsetCommitReply, tuple[OffsetRecord, ...]]:
    """What of a commit is to be stored, and the reply if that is."""
    limit = step.config.offset_metadata_max_bytes
    records = (
        _record(request, topic.name, each, timestamp_ms)
        for topic in request.topics
        for each in topic.partitions
        if metadata_error(each, limit) == ErrorCode.NONE
    )
    return OffsetCommitReply.to(request, lambda each: metadata_error(each, limit)), tuple(records)


def metadata_error(partition: OffsetCommitPartition, limit: int) -> int:
    """OFFSET_METADATA_TOO_LARGE or NONE. The limit is in UTF-16 code units, though its name says bytes."""
    metadata = partition.committed_metadata or ""
    units = len(metadata.encode("utf-16-le", "surrogatepass")) // 2
    return ErrorCode.OFFSET_METADATA_TOO_LARGE if units > limit else ErrorCode.NONE


def complete_deferred(step: Step, store: OffsetStore) -> None:
    """Complete what the log has answered, in each partition up to the first append without an answer.

    A broker's appends are committed in the order of their partition; here, too, nothing overtakes.
    """
    while (entry := store.deferred.next_answered()) is not None:
        entry.complete(step.reply, entry.error_code or ErrorCode.NONE)


def fail_deferred(step: Step, store: OffsetStore, error_code: int) -> None:
    """Complete all deferred events with an error."""
    while (entry := store.deferred.next_event()) is not None:
        entry.complete(step.reply, error_code)


def offset_fetch(
    step: Step,
    store: OffsetStore,
    request: OffsetFetch,
    parked: ParkedRequest,
    error_of: Callable[[OffsetFetchGroup], int] = lambda asked: ErrorCode.NONE,
) -> None:
    """Answer an OffsetFetch; what is asked of a group fails as a whole if `error_of` says so.

    The state of a classic group does not matter, nor does membership in it.

    One that asks for stable offsets is deferred behind all appends without an answer that are in a partition
    of its groups, as in the broker, in which only offsets of transactions are pending: their partitions get
    UNSTABLE_OFFSET_COMMIT.
    """

    def answer(reply_to: ReplyTo, error_code: int) -> None:
        reply_to(parked, _fetch_reply(store, request, error_code, error_of))

    partitions = frozenset(step.config.partition_of(group_id) for group_id in _asked(request))
    if request.require_stable and store.deferred.waits(partitions):
        store.deferred.add(DeferredEvent(answer, ErrorCode.NONE, partitions=partitions))
    else:
        answer(step.reply, ErrorCode.NONE)


def delete_error(group: Group | None, request: OffsetDelete) -> int:
    """The first check that an OffsetDelete fails as a whole, or NONE; `group` None if there is no such."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None or group.state is GroupState.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def offset_delete(
    step: Step,
    store: OffsetStore,
    group: Group,
    request: OffsetDelete,
    parked: ParkedRequest,
    topics_of: TopicsOf,
) -> None:
    """Carry out an OffsetDelete that passed `delete_error`; topics that are subscribed to keep theirs."""
    delete(step, store, request, parked, is_subscribed(group, topics_of))


def delete(
    step: Step,
    store: OffsetStore,
    request: OffsetDelete,
    parked: ParkedRequest,
    subscribed: Callable[[str], bool],
    unwritten: Unwritten | None = None,
) -> None:
    """Delete the offsets that a request names, but for those of topics that are subscribed to."""
    reply = OffsetDeleteReply(
        topics=tuple(
            OffsetDeleteReplyTopic(
                topic.name,
                tuple(
                    OffsetDeleteReplyPartition(
                        index,
                        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed(topic.name) else ErrorCode.NONE,
                    )
                    for index in topic.partition_indexes
                ),
            )
            for topic in request.topics
        )
    )
    waits = store.deferred.waits((step.config.partition_of(request.group_id),))
    tombstones = tuple(
        OffsetTombstone(topic.name, index)
        for topic in request.topics
        if not subscribed(topic.name)
        for index in topic.partition_indexes
        # Where a commit may not be answered yet, a tombstone that nothing needs does no harm.
        if waits
        or store.get(request.group_id, topic.name, index) is not None
        or store.is_pending(request.group_id, topic.name, index)
    )
    write(step, store, request.group_id, tombstones, parked, reply, unwritten=unwritten)


def topic_gone(step: Step, store: OffsetStore, topic: str) -> None:
    """A topic is deleted, and with it what any group has committed of it."""
    for group_id, topics in tuple(store.committed.items()):
        if topic in topics:
            tombstones = tuple(OffsetTombstone(topic, index) for index in sorted(topics[topic]))
            remove(step, store, group_id, tombstones)


def remove(step: Step, store: OffsetStore, group_id: str, tombstones: tuple[OffsetTombstone, ...]) -> None:
    """Offsets are to go that nobody asked about; they are there until the log has answered."""
    _append(step, store, group_id, tombstones, lambda reply_to, error_code: None)


def is_subscribed(group: Group, topics_of: TopicsOf) -> Callable[[str], bool]:
    """Whether the group's current generation subscribes to a topic.

    Only consumers subscribe. Where their subscriptions are not known, they may be to any topic: before the
    first generation, or if a single member's cannot be read.
    """
    if group.protocol_type != CONSUMER:
        return lambda topic: False
    found = [topics_of(data) for data in group.subscriptions or ()]
    if group.subscriptions is None or None in found:
        return lambda topic: True
    topics = {topic for each in found for topic in each or ()}
    return lambda topic: topic in topics


def write(
    step: Step,
    store: OffsetStore,
    group_id: str,
    records: tuple[OffsetRecord | OffsetTombstone, ...],
    parked: ParkedRequest,
    reply: OffsetCommitReply | OffsetDeleteReply,
    producer_id: int = NO_PRODUCER_ID,
    unwritten: Unwritten | None = None,
) -> None:
    """Append records, if there are any; apply them and reply when the log has answered.

    The state of the group does not matter then: what was accepted once is stored. After a failure the whole
    request has failed, also what was not to be written. `unwritten`: what becomes of a request that writes
    nothing; without it that is answered at once.
    """

    def answered(reply_to: ReplyTo, error_code: int) -> None:
        reply_to(parked, reply if error_code == ErrorCode.NONE else reply.failed(error_code))

    if records:
        _append(step, store, group_id, records, answered, producer_id)
    elif unwritten is not None:
        unwritten(answered)
    else:
        step.reply(parked, reply)


def _append(
    step: Step,
    store: OffsetStore,
    group_id: str,
    records: tuple[OffsetRecord | OffsetTombstone, ...],
    answered: Callable[[ReplyTo, int], None],
    producer_id: int = NO_PRODUCER_ID,
) -> None:
    position = store.next_position()

    def effect(reply_to: ReplyTo, error_code: int) -> None:
        store.answered(group_id)
        if error_code == ErrorCode.NONE:
            for record in records:
                store.apply(group_id, record, position, producer_id)
        answered(reply_to, error_code)

    entry = DeferredEvent(effect, partitions=frozenset((step.config.partition_of(group_id),)))
    store.deferred.add(entry)
    store.begin(group_id, records)
    step.append_deferred(group_id, OffsetBatch(records, producer_id), entry)


def _record(
    request: OffsetCommit, topic: str, partition: OffsetCommitPartition, timestamp_ms: int
) -> OffsetRecord:
    retention = request.retention_time_ms
    return OffsetRecord(
        topic=topic,
        partition_index=partition.partition_index,
        committed_offset=partition.committed_offset,
        committed_leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=timestamp_ms,
        expire_timestamp_ms=-1 if retention == -1 else timestamp_ms + retention,
    )


def _asked(request: OffsetFetch) -> Iterable[str]:
    """The groups in whose line a fetch is; one of no group is in some line too."""
    return (asked.group_id for asked in request.groups) if request.groups else ("",)


def _fetch_reply(
    store: OffsetStore, request: OffsetFetch, error_code: int, error_of: Callable[[OffsetFetchGroup], int]
) -> OffsetFetchReply:
    def reply(asked: OffsetFetchGroup) -> OffsetFetchReplyGroup:
        error = error_code or error_of(asked)
        if error != ErrorCode.NONE:
            return OffsetFetchReplyGroup(asked.group_id, (), error)
        return _group_reply(store, asked, request.require_stable)

    return OffsetFetchReply(tuple(reply(asked) for asked in request.groups))


def _group_reply(store: OffsetStore, asked: OffsetFetchGroup, stable: bool) -> OffsetFetchReplyGroup:
    """The offsets asked for, in the order asked; all there are in order of topic and partition."""
    wanted: Iterable[tuple[str, Iterable[int]]]
    if asked.topics is None:
        stored = store.committed.get(asked.group_id, {})
        wanted = [(name, sorted(stored[name])) for name in sorted(stored) if stored[name]]
    else:
        wanted = [(topic.name, topic.partition_indexes) for topic in asked.topics]

    def reply(topic: str, index: int) -> OffsetFetchReplyPartition:
        key = (asked.group_id, topic, index)
        if stable and store.is_pending(*key):
            return OffsetFetchReplyPartition(index, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        return _fetched(index, store.get(*key))

    topics = (
        OffsetFetchReplyTopic(name, tuple(reply(name, index) for index in indexes))
        for name, indexes in wanted
    )
    return OffsetFetchReplyGroup(asked.group_id, tuple(topics))


def _fetched(partition_index: int, record: OffsetRecord | None) -> OffsetFetchReplyPartition:
    if record is None:
        return OffsetFetchReplyPartition(partition_index)
    return OffsetFetchReplyPartition(
        partition_index, record.committed_offset, record.committed_leader_epoch, record.metadata
    )
