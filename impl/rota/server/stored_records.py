"""The coordinator's records as those of the offsets topic, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rota.coordinator import (
    Append,
    GroupRecord,
    GroupTombstone,
    MemberRecord,
    OffsetBatch,
    OffsetRecord,
    OffsetTombstone,
    TransactionMarker,
)
from rota.coordinator.consumer.records import CLASSIC, ConsumerBatch
from rota.coordinator.consumer.records import Entry as ConsumerEntry
from rota.coordinator.offset_messages import NO_PRODUCER_ID
from rota.log import consumer_records
from rota.log.group_records import (
    GROUP_VALUE,
    OFFSET_VALUE,
    OFFSET_VALUE_WITH_EXPIRY,
    EndOfTransaction,
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
    encode_key,
    encode_marker,
    encode_value,
)
from rota.server.stored_consumers import ENDED, record_of
from rota.wire.records import Record, encode_batch

Entry = tuple[bytes, bytes | None]
"""A record's key and value, None for a tombstone."""


@dataclass(frozen=True, slots=True)
class Entries:
    """What one append writes: records that are all in the log or none, of a producer's transaction or none.

    A control batch, `is_control`, ends a transaction.
    """

    entries: tuple[Entry, ...]
    producer_id: int = NO_PRODUCER_ID
    is_control: bool = False


def entries_of(append: Append) -> Entries:
    """The records of an append. Errors: WireError for what the format cannot carry."""
    group_id, record = append.group_id, append.record
    if isinstance(record, GroupRecord):
        return Entries(((encode_key(GroupKey(group_id)), encode_value(_group_value(record))),))
    if isinstance(record, OffsetBatch):
        return Entries(tuple(_offset_entry(group_id, each) for each in record.records), record.producer_id)
    if isinstance(record, GroupTombstone):
        offsets = (_offset_entry(group_id, each) for each in record.offsets)
        if record.is_consumer:
            return Entries((*offsets, *_consumer_entries(group_id, [(key, None) for key in ENDED])))
        return Entries((*offsets, (encode_key(GroupKey(group_id)), None)))
    if isinstance(record, ConsumerBatch):
        return Entries(tuple(_consumer_entries(group_id, record.entries)))
    return _marker(record)


def batch_of(entries: Entries, now_ms: int, first: int = 0) -> bytes:
    """The batch of records that has them, from an offset on. Errors: RecordsError for what does not fit."""
    offsets = enumerate(entries.entries, first)
    records = [Record(offset, now_ms, key, value) for offset, (key, value) in offsets]
    in_transaction = entries.producer_id != NO_PRODUCER_ID
    return encode_batch(
        records,
        producer_id=entries.producer_id,
        producer_epoch=0 if in_transaction else -1,
        is_transactional=in_transaction,
        is_control=entries.is_control,
    )


def _consumer_entries(group_id: str, entries: Iterable[ConsumerEntry]) -> Iterator[Entry]:
    for key, value in entries:
        if key == CLASSIC:
            yield encode_key(GroupKey(group_id)), None
        else:
            yield consumer_records.encode(record_of(group_id, key, value))


def _marker(record: TransactionMarker) -> Entries:
    return Entries(
        (encode_marker(EndOfTransaction(record.is_commit, 0)),), record.producer_id, is_control=True
    )


def _offset_entry(group_id: str, record: OffsetRecord | OffsetTombstone) -> Entry:
    key = encode_key(OffsetKey(group_id, record.topic, record.partition_index))
    return key, None if isinstance(record, OffsetTombstone) else encode_value(_offset_value(record))


def _offset_value(record: OffsetRecord) -> OffsetValue:
    expires = record.expire_timestamp_ms != -1
    return OffsetValue(
        offset=record.committed_offset,
        metadata=record.metadata,
        commit_timestamp=record.commit_timestamp_ms,
        leader_epoch=record.committed_leader_epoch,
        expire_timestamp=record.expire_timestamp_ms,
        version=OFFSET_VALUE_WITH_EXPIRY if expires else OFFSET_VALUE,
    )


def _group_value(record: GroupRecord) -> GroupValue:
    return GroupValue(
        protocol_type=record.protocol_type or "",
        generation=record.generation_id,
        protocol=record.protocol_name,
        leader=record.leader,
        current_state_timestamp=record.state_timestamp_ms,
        members=tuple(
            MemberValue(
                member_id=member.member_id,
                client_id=member.client_id,
                client_host=member.client_host,
                session_timeout=member.session_timeout_ms,
                subscription=member.subscription,
                assignment=member.assignment,
                group_instance_id=member.group_instance_id,
                rebalance_timeout=member.rebalance_timeout_ms,
            )
            for member in record.members
        ),
        version=GROUP_VALUE,
    )


def group_record(value: GroupValue) -> GroupRecord:
    """A group's value as the coordinator has it: members in order of id, whatever the log's."""
    return GroupRecord(
        generation_id=value.generation,
        protocol_type=value.protocol_type,
        protocol_name=value.protocol,
        leader=value.leader,
        members=tuple(_member_records(value)),
        state_timestamp_ms=value.current_state_timestamp,
    )


def _member_records(value: GroupValue) -> Iterator[MemberRecord]:
    for member in sorted(value.members, key=lambda each: each.member_id):
        yield MemberRecord(
            member_id=member.member_id,
            assignment=member.assignment,
            subscription=member.subscription,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout,
            session_timeout_ms=member.session_timeout,
            group_instance_id=member.group_instance_id,
        )


def offset_record(key: OffsetKey, value: OffsetValue) -> OffsetRecord:
    """An offset's key and value as the coordinator has them, but for the topic's id."""
    return OffsetRecord(
        topic=key.topic,
        partition_index=key.partition,
        committed_offset=value.offset,
        committed_leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp,
        expire_timestamp_ms=value.expire_timestamp,
    )
