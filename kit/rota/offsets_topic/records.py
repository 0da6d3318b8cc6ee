"""A record of the offsets topic as an event: what it stores, removes, or that it is of another kind."""

from __future__ import annotations

import struct
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from rota.history import Event, Kind, Source
from rota.log.group_records import (
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
    UnknownKey,
    UnknownValue,
    decode_key,
    decode_value,
)
from rota.wire.records import Record

NEWER_KINDS = {
    3: "ConsumerGroupMetadata",
    4: "ConsumerGroupPartitionMetadata",
    5: "ConsumerGroupMemberMetadata",
    6: "ConsumerGroupTargetAssignmentMetadata",
    7: "ConsumerGroupTargetAssignmentMember",
    8: "ConsumerGroupCurrentMemberAssignment",
    9: "ShareGroupPartitionMetadata",
    10: "ShareGroupMemberMetadata",
    11: "ShareGroupMetadata",
    12: "ShareGroupTargetAssignmentMetadata",
    13: "ShareGroupTargetAssignmentMember",
    14: "ShareGroupCurrentMemberAssignment",
    15: "ShareGroupStatePartitionMetadata",
    16: "ConsumerGroupRegularExpression",
    17: "StreamsGroupMetadata",
    18: "StreamsGroupPartitionMetadata",
    19: "StreamsGroupMemberMetadata",
    20: "StreamsGroupTargetAssignmentMetadata",
    21: "StreamsGroupTargetAssignmentMember",
    22: "StreamsGroupCurrentMemberAssignment",
    23: "StreamsGroupTopology",
}
"""Version of a key -> upstream's name of the record (CoordinatorRecordType). Each begins with its group."""

_LENGTH = struct.Struct(">h")
_NAME_AT = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where records stand: `name` as people know the partition or file; the partition's number if told."""

    name: str
    partition: int | None = None

    def origin(self, offset: int) -> str:
        """Of a record or batch."""
        return f"{self.name}@{offset}"

    def data(self, offset: int) -> dict[str, Any]:
        """What every event of the offsets topic tells."""
        return {"partition": self.partition, "offset": offset}


def event_of(record: Record, place: Place, producer_id: int = -1) -> Event:
    """What a record says, as if it counted at once."""
    base = bare(record, place, producer_id)
    key = decode_key(record.key)
    if isinstance(key, UnknownKey):
        return _of_another_kind(base, key)
    base = replace(base, group=key.group)
    value = decode_value(key, record.value)
    if isinstance(value, UnknownValue):
        what = "an offset" if isinstance(key, OffsetKey) else "a group"
        return _told(base, f"the value of {what}", value.reason)
    if isinstance(key, OffsetKey):
        return _of_offset(base, key, value)
    return _of_group(base, key, value)


def bare(record: Record, place: Place, producer_id: int = -1) -> Event:
    """When and where a record stands, nothing yet of what it says."""
    at = record.timestamp / 1000 if record.timestamp >= 0 else None
    data = place.data(record.offset)
    if producer_id >= 0:
        data["producer_id"] = producer_id
    return Event(at, Source.OFFSETS, place.origin(record.offset), Kind.UNREAD, data=data)


def damaged(place: Place, offset: int, what: str, reason: str) -> Event:
    """Bytes that are no records; `offset` is the one that is due there."""
    return _told(
        Event(None, Source.OFFSETS, place.origin(offset), Kind.UNREAD, data=place.data(offset)), what, reason
    )


def other(event: Event, name: str, **more: Any) -> Event:
    """The event of a record that counts for nothing, for the reason that is the name of its type."""
    return replace(
        event, kind=Kind.OTHER_RECORD, generation=None, state="", data={**event.data, "type": name, **more}
    )


def _told(base: Event, what: str, reason: str) -> Event:
    return replace(base, reason=reason, data={**base.data, "text": what})


def _of_another_kind(base: Event, key: UnknownKey) -> Event:
    if key.version is None:
        return _told(base, "the key of a record", key.reason)
    if 0 <= key.version < min(NEWER_KINDS):
        return _told(base, f"a key of version {key.version}", key.reason)
    name = NEWER_KINDS.get(key.version, f"version {key.version}")
    group = _first_text(key.data) if key.version in NEWER_KINDS else ""
    return other(replace(base, group=group), name)


def _first_text(key: bytes) -> str:
    """The group in a key of a newer kind; empty where none can be read."""
    try:
        (size,) = _LENGTH.unpack_from(key, _LENGTH.size)
        text = key[_NAME_AT : _NAME_AT + size]
        return text.decode() if 0 <= size == len(text) else ""
    except (struct.error, UnicodeDecodeError):
        return ""


def _of_offset(base: Event, key: OffsetKey, value: Any) -> Event:
    data = {**base.data, "topic": key.topic, "topic_partition": key.partition}
    if not isinstance(value, OffsetValue):
        return replace(base, kind=Kind.OFFSET_REMOVED, data=data)
    data |= {
        "committed": value.offset,
        "metadata": value.metadata,
        "leader_epoch": value.leader_epoch if value.leader_epoch >= 0 else None,
        "commit_at": _seconds(value.commit_timestamp),
        "expire_at": _seconds(value.expire_timestamp),
    }
    return replace(base, kind=Kind.OFFSET_STORED, data=data)


def _of_group(base: Event, key: GroupKey, value: Any) -> Event:
    if not isinstance(value, GroupValue):
        return replace(base, kind=Kind.GROUP_REMOVED)
    data = {
        **base.data,
        "protocol_type": value.protocol_type,
        "protocol": value.protocol,
        "state_at": _seconds(value.current_state_timestamp),
        "members": [_member(member) for member in value.members],
    }
    return replace(
        base,
        kind=Kind.GROUP_STORED,
        generation=value.generation,
        member=value.leader or "",
        state="Stable" if value.members else "Empty",
        data=data,
    )


def _member(member: MemberValue) -> dict[str, Any]:
    return {
        "member": member.member_id,
        "instance": member.group_instance_id or "",
        "client": member.client_id,
        "host": member.client_host,
        "session_ms": member.session_timeout,
        "rebalance_ms": member.rebalance_timeout if member.rebalance_timeout >= 0 else None,
        "subscription": b64encode(member.subscription).decode(),
        "assignment": b64encode(member.assignment).decode(),
    }


def _seconds(milliseconds: int) -> float | None:
    return milliseconds / 1000 if milliseconds >= 0 else None
