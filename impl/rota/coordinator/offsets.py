"""OffsetCommit and OffsetFetch: who may commit, what is stored, and when it can be seen.

A commit changes nothing but its sender's session until the log has answered. Source: Kafka's Java
coordinator, OffsetMetadataManager#commitOffset and #fetchOffsets, ClassicGroup#validateOffsetCommit,
GroupCoordinatorService#fetchOffsets.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rota.coordinator.effects import OutstandingOffsets, Parked, Step
from rota.coordinator.group import Group, GroupState
from rota.coordinator.heartbeat import restart_session
from rota.coordinator.messages import ErrorCode
from rota.coordinator.offset_messages import (
    OffsetBatch,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitReply,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchReply,
    OffsetFetchReplyGroup,
    OffsetFetchReplyPartition,
    OffsetFetchReplyTopic,
    OffsetRecord,
)

GROUP_ID_NOT_FOUND_SINCE = 9
"""First OffsetCommit version that is told plainly that its group does not exist."""


@dataclass(frozen=True, slots=True)
class WaitingFetch:
    """An OffsetFetch that asks for stable offsets, and the appends that it still waits for."""

    request: OffsetFetch
    parked: Parked
    appends: set[int]


@dataclass
class OffsetStore:
    """Offsets that the log has acknowledged, and what depends on answers that it still owes.

    committed: by group, topic and partition, each with the id of the append that wrote it. under_way: ids of
    appends without an answer, by group. waiting: fetches that an answer may set free.
    """

    committed: dict[str, dict[str, dict[int, tuple[int, OffsetRecord]]]] = field(default_factory=dict)
    under_way: dict[str, set[int]] = field(default_factory=dict)
    waiting: list[WaitingFetch] = field(default_factory=list)

    def put(self, group_id: str, append_id: int, record: OffsetRecord) -> None:
        """Store an acknowledged record. The log's order counts, not that of its answers."""
        partitions = self.committed.setdefault(group_id, {}).setdefault(record.topic, {})
        if partitions.get(record.partition_index, (0,))[0] <= append_id:
            partitions[record.partition_index] = append_id, record

    def find(self, group_id: str, topic: str, partition_index: int) -> OffsetFetchReplyPartition:
        """A partition's offset, or the answer that says that there is none."""
        _, record = self.committed.get(group_id, {}).get(topic, {}).get(partition_index, (0, None))
        if record is None:
            return OffsetFetchReplyPartition(partition_index)
        return OffsetFetchReplyPartition(
            partition_index, record.committed_offset, record.committed_leader_epoch, record.metadata
        )


def commit_error(group: Group | None, request: OffsetCommit, version: int) -> int:
    """The first check that an OffsetCommit fails, or NONE; `group` is None if there is none of its group id.

    A generation below 0 comes from outside of group management: it may commit while nobody is in the group,
    whatever member id it gives. In PreparingRebalance the generation is still the old one.
    """
    generation_id = request.generation_id_or_member_epoch
    if generation_id < 0 and (group is None or group.state is GroupState.EMPTY):
        return ErrorCode.NONE
    if group is None:
        told = version >= GROUP_ID_NOT_FOUND_SINCE
        return ErrorCode.GROUP_ID_NOT_FOUND if told else ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def offset_commit(
    step: Step, store: OffsetStore, group: Group, request: OffsetCommit, parked: Parked, timestamp_ms: int
) -> None:
    """Carry out an OffsetCommit that passed `commit_error`; `timestamp_ms` is the wall clock's.

    A member has given a sign of life, also where no offset of its can be stored. Partitions with too much
    metadata are left out; if no other is left, the answer does not wait for the log.
    """
    member = group.members.get(request.member_id)
    if member is not None:
        restart_session(step, group, member)
    limit = step.config.offset_metadata_max_bytes
    reply = OffsetCommitReply.to(request, lambda each: metadata_error(each, limit))
    records = tuple(
        _record(request, topic.name, each, timestamp_ms)
        for topic in request.topics
        for each in topic.partitions
        if metadata_error(each, limit) == ErrorCode.NONE
    )
    if records:
        entry = OutstandingOffsets(group.group_id, OffsetBatch(records), parked, reply)
        append_id = step.append_offsets(entry)
        store.under_way.setdefault(group.group_id, set()).add(append_id)
    else:
        step.reply(parked, reply)


def metadata_error(partition: OffsetCommitPartition, limit: int) -> int:
    """OFFSET_METADATA_TOO_LARGE or NONE. The limit is in UTF-16 code units, though its name says bytes."""
    metadata = partition.committed_metadata or ""
    units = len(metadata.encode("utf-16-le", "surrogatepass")) // 2
    return ErrorCode.OFFSET_METADATA_TOO_LARGE if units > limit else ErrorCode.NONE


def appended(
    step: Step, store: OffsetStore, append_id: int, entry: OutstandingOffsets, error_code: int
) -> None:
    """The log has answered an offset append; `error_code` is already what clients are told.

    The state of the group does not matter any more: what was accepted once is stored. After a failure every
    partition of the request gets the error, those with too much metadata too.
    """
    if error_code == ErrorCode.NONE:
        for record in entry.batch.records:
            store.put(entry.group_id, append_id, record)
        step.reply(entry.parked, entry.reply)
    else:
        step.reply(entry.parked, entry.reply.failed(error_code))
    _settle(step, store, append_id, entry.group_id)


def offset_fetch(step: Step, store: OffsetStore, request: OffsetFetch, parked: Parked) -> None:
    """Answer an OffsetFetch; neither the groups' state nor membership matters.

    One that asks for stable offsets waits for the answers to all commits of its groups that are under way.
    The broker, which knows no pending offsets outside of transactions, does the same. (It answers with the
    offsets of the moment of the request; here later ones that were acknowledged meanwhile are seen too.)
    """
    appends: set[int] = set()
    if request.require_stable:
        appends.update(*(store.under_way.get(group.group_id, ()) for group in request.groups))
    if appends:
        store.waiting.append(WaitingFetch(request, parked, appends))
    else:
        step.reply(parked, _fetch_reply(store, request))


def _settle(step: Step, store: OffsetStore, append_id: int, group_id: str) -> None:
    """An append is not under way any more: fetches that waited for it alone are answered."""
    store.under_way[group_id].remove(append_id)
    if not store.under_way[group_id]:
        del store.under_way[group_id]
    for fetch in store.waiting:
        fetch.appends.discard(append_id)
        if not fetch.appends:
            step.reply(fetch.parked, _fetch_reply(store, fetch.request))
    store.waiting = [fetch for fetch in store.waiting if fetch.appends]


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


def _fetch_reply(store: OffsetStore, request: OffsetFetch) -> OffsetFetchReply:
    return OffsetFetchReply(tuple(_group_reply(store, asked) for asked in request.groups))


def _group_reply(store: OffsetStore, asked: OffsetFetchGroup) -> OffsetFetchReplyGroup:
    """The offsets asked for, in the order asked; all there are in order of topic and partition."""
    wanted: Iterable[tuple[str, Iterable[int]]]
    if asked.topics is None:
        stored = store.committed.get(asked.group_id, {})
        wanted = [(name, sorted(stored[name])) for name in sorted(stored)]
    else:
        wanted = [(topic.name, topic.partition_indexes) for topic in asked.topics]
    topics = (
        OffsetFetchReplyTopic(name, tuple(store.find(asked.group_id, name, index) for index in indexes))
        for name, indexes in wanted
    )
    return OffsetFetchReplyGroup(asked.group_id, tuple(topics))
