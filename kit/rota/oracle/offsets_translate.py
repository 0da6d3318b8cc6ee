"""Offsets, transactions of offsets and administration: the core's messages in the spec's words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rota import coordinator as core
from rota.oracle.translate import Fields, plain_fields
from rota.spec.admin_messages import (
    DeleteGroupsReply,
    DeleteGroupsRequest,
    DescribeGroupsReply,
    DescribeGroupsRequest,
    ListGroupsReply,
    ListGroupsRequest,
)
from rota.spec.messages import ReplyMessage, Request
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
    TxnOffsetCommitRequest,
)
from rota.spec.offset_state import (
    Committed,
    InLine,
    OffsetBatch,
    OffsetRecord,
    Offsets,
    TransactionEnd,
)


@dataclass(frozen=True)
class Describe:
    """A DescribeGroups of one group."""

    group_id: str


@dataclass(frozen=True)
class Delete:
    """A DeleteGroups of one group."""

    group_id: str


@dataclass(frozen=True)
class Fetch:
    """An OffsetFetch of one group; topics None asks for all."""

    group_id: str
    topics: tuple[core.OffsetFetchTopic, ...] | None
    require_stable: bool = False


@dataclass(frozen=True)
class Listing:
    """A ListGroups, as far as one group is concerned."""

    group_id: str
    filters: core.ListGroups


Question = core.OffsetCommit | core.TxnOffsetCommit | core.OffsetDelete | Fetch | Describe | Delete | Listing
"""What may be asked beside membership, of one group."""


def to_spec(request: Question) -> Request:
    """The request as the spec words it."""
    if isinstance(request, core.OffsetCommit):
        where = (request.generation_id_or_member_epoch, request.member_id, request.group_instance_id)
        topics = _committed(request.topics)
        return OffsetCommitRequest(request.group_id, topics, *where, request.retention_time_ms)
    if isinstance(request, core.TxnOffsetCommit):
        where = (request.generation_id, request.member_id, request.group_instance_id)
        topics = _committed(request.topics)
        return TxnOffsetCommitRequest(request.group_id, request.producer_id, topics, *where)
    if isinstance(request, Fetch):
        asked = None if request.topics is None else _named(request.topics)
        return OffsetFetchRequest(request.group_id, asked, request.require_stable)
    if isinstance(request, core.OffsetDelete):
        return OffsetDeleteRequest(request.group_id, _named(request.topics))
    if isinstance(request, Describe):
        return DescribeGroupsRequest(request.group_id)
    if isinstance(request, Delete):
        return DeleteGroupsRequest(request.group_id)
    return ListGroupsRequest(request.group_id, request.filters.states_filter, request.filters.types_filter)


def _committed(topics: Iterable[core.OffsetCommitTopic]) -> tuple[OffsetCommitTopic, ...]:
    return tuple(
        OffsetCommitTopic(
            topic.name,
            tuple(
                OffsetCommitPartition(
                    each.partition_index,
                    each.committed_offset,
                    each.committed_leader_epoch,
                    each.committed_metadata,
                )
                for each in topic.partitions
            ),
        )
        for topic in topics
    )


def _named(
    topics: Iterable[core.OffsetFetchTopic | core.OffsetDeleteTopic],
) -> tuple[TopicPartitions, ...]:
    return tuple(TopicPartitions(topic.name, topic.partition_indexes) for topic in topics)


def spec_answer(message: ReplyMessage) -> Fields:
    """An answer of the spec: its kind and what both sides say."""
    kind = type(message).__name__.removesuffix("Reply").removeprefix("Txn")
    return {"kind": kind, "error_code": 0, **plain_fields(message)}


def core_answer(reply: Any, group_id: str) -> Fields:
    """An answer of the core in the spec's form: what it says of one group."""
    if isinstance(reply, core.OffsetFetchReply):
        (part,) = reply.groups
        told = {"error_code": part.error_code, "topics": plain_fields(part)["topics"]}
        return {"kind": "OffsetFetch", **told}
    if isinstance(reply, core.DescribeGroupsReply):
        (group,) = reply.groups
        return _described(group)
    if isinstance(reply, core.ListGroupsReply):
        mine = tuple(each for each in reply.groups if each.group_id == group_id)
        return spec_like(ListGroupsReply, plain_fields(core.ListGroupsReply(mine, reply.error_code)))
    if isinstance(reply, core.DeleteGroupsReply):
        (result,) = reply.results
        return spec_like(DeleteGroupsReply, plain_fields(result))
    return {"kind": type(reply).__name__.removesuffix("Reply"), "error_code": 0, **plain_fields(reply)}


def spec_like(kind: type[ReplyMessage], told: Fields) -> Fields:
    """Fields under the name of the spec's answer."""
    return {"kind": kind.__name__.removesuffix("Reply"), **told}


_NOT_TOLD = ("client_id", "client_host")
"""What the spec does not say of a member."""


def _described(group: core.DescribedGroup) -> Fields:
    members = tuple(
        tuple(sorted((name, value) for name, value in plain_fields(one).items() if name not in _NOT_TOLD))
        for one in group.members
    )
    told = {name: value for name, value in plain_fields(group).items() if name != "error_message"}
    if group.error_code:
        told["protocol_data"] = told["protocol_type"] = ""
    return spec_like(DescribeGroupsReply, {**told, "group_state": str(group.group_state), "members": members})


def core_append(append: core.Append) -> Fields:
    """A record of the core that is no group's state."""
    record = append.record
    if isinstance(record, core.OffsetBatch):
        entries = tuple(_core_entry(one, record.producer_id) for one in record.records)
        return {"kind": "offsets", "records": entries}
    if isinstance(record, core.TransactionMarker):
        return {"kind": "marker", "producer": record.producer_id, "committed": record.is_commit}
    return {"kind": type(record).__name__}


GONE = "gone"


def _text(key: tuple[str, int], *what: object) -> str:
    """An offset as both sides write it: the metadata by their length where they are long."""
    words = (f"{len(one)} characters" if isinstance(one, str) and len(one) > 40 else one for one in what)
    return f"{key[0]}-{key[1]} {' '.join(map(str, words))}"


def _core_entry(record: core.OffsetRecord | core.OffsetTombstone, producer_id: int) -> str:
    key = (record.topic, record.partition_index)
    if isinstance(record, core.OffsetTombstone):
        return _text(key, GONE)
    return _text(key, *_core_value(record), producer_id)


def _core_value(record: core.OffsetRecord) -> tuple[Any, ...]:
    offset = (record.committed_offset, record.committed_leader_epoch, record.metadata)
    expires = None if record.expire_timestamp_ms == -1 else record.expire_timestamp_ms
    return (*offset, record.commit_timestamp_ms, expires)


def spec_append(item: InLine) -> Fields:
    """What goes to the log in the spec, other than a group's state."""
    if isinstance(item, OffsetBatch):
        entries = tuple(
            _text(one.key, *_spec_value(one.value), one.producer_id)
            if isinstance(one, OffsetRecord)
            else _text(one.key, GONE)
            for one in item.records
        )
        return {"kind": "offsets", "records": entries}
    if isinstance(item, TransactionEnd):
        return {"kind": "marker", "producer": item.producer_id, "committed": item.committed}
    return {"kind": core.GroupTombstone.__name__}


def _spec_value(value: Committed) -> tuple[Any, ...]:
    offset = (value.committed_offset, value.committed_leader_epoch, value.metadata)
    return (*offset, value.commit_timestamp_ms, value.expire_timestamp_ms)


def spec_offsets(offsets: Offsets) -> Fields:
    """What the spec has stored, and what is pending."""
    return {
        "committed": tuple(
            sorted(_text(key, *_spec_value(value)) for key, value in offsets.committed.items())
        ),
        "pending": tuple(
            sorted(
                _text(one.record.key, one.record.producer_id, *_spec_value(one.record.value))
                for one in offsets.pending
            )
        ),
    }


def core_offsets(coordinator: core.GroupCoordinator, group_id: str) -> Fields:
    """What the core has stored, and what is pending."""
    store = coordinator._offsets
    committed = store.committed.get(group_id, {})
    return {
        "committed": tuple(
            sorted(
                _text((topic, index), *_core_value(record))
                for topic, partitions in committed.items()
                for index, record in partitions.items()
            )
        ),
        "pending": tuple(
            sorted(
                _text((topic, index), producer_id, *_core_value(record))
                for producer_id, offsets in store.pending.items()
                for (group, topic, index), (_, record) in offsets.items()
                if group == group_id
            )
        ),
    }


def core_loaded(offsets: Offsets) -> tuple[list[core.OffsetRecord], list[tuple[int, core.OffsetRecord]]]:
    """What the log has of offsets as the core loads it: committed, and of open transactions by producer."""
    committed = [_as_record(key, value) for key, value in offsets.committed.items()]
    pending = [
        (one.record.producer_id, _as_record(one.record.key, one.record.value)) for one in offsets.pending
    ]
    return committed, pending


def _as_record(key: tuple[str, int], value: Committed) -> core.OffsetRecord:
    return core.OffsetRecord(
        topic=key[0],
        partition_index=key[1],
        committed_offset=value.committed_offset,
        committed_leader_epoch=value.committed_leader_epoch,
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp_ms,
        expire_timestamp_ms=-1 if value.expire_timestamp_ms is None else value.expire_timestamp_ms,
    )
