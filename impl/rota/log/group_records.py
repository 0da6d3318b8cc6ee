"""Records of the offsets topic, `__consumer_offsets`: what a group coordinator writes, and reads again.

Key and value each begin with a version of two bytes. The key's says what kind of record it is: 0 and 1 an
offset, 2 a group of the classic protocol; from 3 on groups of the newer protocols, which are kept as bytes.
A record without a value is a tombstone. `schemas/offsets_topic.txt` has the fields, in the notation of
`rota.wire.schema`. Source: upstream's OffsetCommitKey.json, OffsetCommitValue.json, GroupMetadataKey.json and
GroupMetadataValue.json (module group-coordinator), GroupCoordinatorRecordSerde and EndTransactionMarker.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from uuid import UUID

from rota.wire import WireError
from rota.wire.decoder import Decode, decoder
from rota.wire.encoder import Encode, encoder
from rota.wire.runtime import FAILURES, reading_failure
from rota.wire.schema import Field, parse_fields

OFFSET_KEYS = (0, 1)
"""Versions of an offset's key; both mean the same, 1 is written."""

GROUP_KEY = 2
"""The version of a classic group's key."""

OFFSET_VALUE, OFFSET_VALUE_WITH_EXPIRY, GROUP_VALUE = 3, 1, 3
"""The versions of values that a broker writes; that with an expiry only where a commit asked for one."""

LAST_VALUE = 4
"""The last version of either kind of value, and the first flexible one."""

_NO_TOPIC_ID = UUID(int=0)
_VERSION = struct.Struct(">h")
_LENGTH, _PARTITION, _TIME = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
_OFFSET_VALUE_HEAD = struct.Struct(">hqih")
_MARKER_KEY, _MARKER_VALUE = struct.Struct(">hh"), struct.Struct(">hi")
_ABORT, _COMMIT = 0, 1

Tags = tuple[tuple[int, bytes], ...]
"""Tagged fields that the tables do not have, by tag."""


class OffsetKey(NamedTuple):
    """Whose offset it is, and of which partition. (A named tuple, as the value is: there are many.)"""

    group: str
    topic: str
    partition: int
    version: int = 1


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A group of the classic protocol."""

    group: str


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key of another kind of group, or one that cannot be read; `version` is None where there is none."""

    version: int | None
    data: bytes
    reason: str


Key = OffsetKey | GroupKey | UnknownKey


class OffsetValue(NamedTuple):
    """A committed offset; -1 stands for no leader epoch and no expiry, the zero id for no topic id."""

    offset: int
    metadata: str
    commit_timestamp: int
    leader_epoch: int = -1
    expire_timestamp: int = -1
    topic_id: UUID = _NO_TOPIC_ID
    version: int = OFFSET_VALUE
    tags: Tags = ()


@dataclass(frozen=True, slots=True)
class MemberValue:
    """A member in a group's value; a rebalance timeout of -1 stands for none (version 0)."""

    member_id: str
    client_id: str
    client_host: str
    session_timeout: int
    subscription: bytes
    assignment: bytes
    group_instance_id: str | None = None
    rebalance_timeout: int = -1
    tags: Tags = ()


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A generation of a group; `current_state_timestamp` is when it entered its state, -1 where not known."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[MemberValue, ...] = ()
    current_state_timestamp: int = -1
    version: int = GROUP_VALUE
    tags: Tags = ()


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """A value in a version that is not known, of an unknown key, or one that cannot be read."""

    version: int | None
    data: bytes
    reason: str


Value = OffsetValue | GroupValue | UnknownValue


@dataclass(frozen=True, slots=True)
class EndOfTransaction:
    """A control record: the transaction of its batch's producer is committed or aborted."""

    is_commit: bool
    coordinator_epoch: int


def decode_key(data: bytes | None) -> Key:
    """A record's key. Never raises: what is not known is kept as it is."""
    if data is None or len(data) < _VERSION.size:
        return UnknownKey(None, data or b"", "it has no version")
    (version,) = _VERSION.unpack_from(data)
    if version not in (*OFFSET_KEYS, GROUP_KEY):
        return UnknownKey(version, data, f"a key of version {version}")
    try:
        body, _ = _reading(f"key {version}", 0)(data, _VERSION.size)
    except FAILURES as error:
        return UnknownKey(version, data, reading_failure(error))
    return GroupKey(body["group"]) if version == GROUP_KEY else OffsetKey(**body, version=version)


def decode_value(key: Key, data: bytes | None) -> Value | None:
    """The value of a record with that key, None for a tombstone. Never raises.

    Bytes behind it do not count, as in the broker.
    """
    if data is None:
        return None
    if isinstance(key, OffsetKey) and (usual := _usual_offset_value(data)) is not None:
        return usual
    version = _VERSION.unpack_from(data)[0] if len(data) >= _VERSION.size else None
    if isinstance(key, UnknownKey):
        return UnknownValue(version, data, key.reason)
    if version is None or not 0 <= version <= LAST_VALUE:
        return UnknownValue(version, data, f"a value of version {version}")
    kind = "group" if isinstance(key, GroupKey) else "offset"
    try:
        body, _ = _reading(f"value {kind}", version)(data, _VERSION.size)
    except FAILURES as error:
        return UnknownValue(version, data, reading_failure(error))
    if kind == "offset":
        return OffsetValue(**_with_tags(body), version=version)
    body["members"] = tuple(MemberValue(**_with_tags(member)) for member in body["members"])
    return GroupValue(**_with_tags(body), version=version)


def split_offset_key(data: bytes) -> tuple[bytes, bytes, int] | None:
    """Group, topic and partition in an offset's key, None where `decode_key` has to say what it is.

    Where there are a million, most names are those of the key before, and need not be decoded.
    """
    try:
        end = 4 + _LENGTH.unpack_from(data, 2)[0]
        last = end + 2 + _LENGTH.unpack_from(data, end)[0]
        (partition,) = _PARTITION.unpack_from(data, last)
    except struct.error:
        return None
    if not (data[0] == 0 and data[1] in OFFSET_KEYS and 4 <= end <= last - 2):
        return None
    return data[4:end], data[end + 2 : last], partition


def _usual_offset_value(data: bytes) -> OffsetValue | None:
    """The value in the version that is usual, read by hand; None where it is another or cannot be read."""
    try:
        version, offset, leader_epoch, size = _OFFSET_VALUE_HEAD.unpack_from(data)
        end = _OFFSET_VALUE_HEAD.size + size
        if version != OFFSET_VALUE or size < 0:
            return None
        (commit_timestamp,) = _TIME.unpack_from(data, end)
        metadata = data[_OFFSET_VALUE_HEAD.size : end].decode() if size else ""
    except (struct.error, UnicodeDecodeError):
        return None
    return OffsetValue(offset, metadata, commit_timestamp, leader_epoch)


def encode_key(key: Key) -> bytes:
    """A record's key. Errors: WireError for what the format cannot carry."""
    if isinstance(key, UnknownKey):
        return key.data
    version = GROUP_KEY if isinstance(key, GroupKey) else key.version
    return _written(f"key {version}", version, 0, _body(key))


def encode_value(value: Value | None) -> bytes | None:
    """A record's value, in its version; None for a tombstone. Errors: WireError, as for `encode_key`.

    Fields that the version does not have are left out.
    """
    if value is None:
        return None
    if isinstance(value, UnknownValue):
        return value.data
    kind = "group" if isinstance(value, GroupValue) else "offset"
    return _written(f"value {kind}", value.version, value.version, _body(value))


def decode_marker(key: bytes | None, value: bytes | None) -> EndOfTransaction | None:
    """What a record of a control batch says, None for one that ends no transaction. Never raises."""
    if key is None or len(key) < _MARKER_KEY.size:
        return None
    _, kind = _MARKER_KEY.unpack_from(key)
    if kind not in (_ABORT, _COMMIT):
        return None
    whole = value is not None and len(value) >= _MARKER_VALUE.size
    epoch = _MARKER_VALUE.unpack_from(value)[1] if whole else -1  # type: ignore[arg-type]
    return EndOfTransaction(kind == _COMMIT, epoch)


def encode_marker(marker: EndOfTransaction) -> tuple[bytes, bytes]:
    """Key and value of a control record."""
    kind = _COMMIT if marker.is_commit else _ABORT
    return _MARKER_KEY.pack(0, kind), _MARKER_VALUE.pack(0, marker.coordinator_epoch)


def _with_tags(body: dict[str, Any]) -> dict[str, Any]:
    if "_tags" in body:
        body["tags"] = tuple(sorted(body.pop("_tags").items()))
    return body


def _body(record: OffsetKey | GroupKey | OffsetValue | GroupValue | MemberValue) -> dict[str, Any]:
    """The fields as the encoder takes them."""
    kind: Any = type(record)
    body = {name: getattr(record, name) for name in _names(kind)}
    if "members" in body:
        body["members"] = [_body(member) for member in body["members"]]
    body.pop("version", None)
    if tags := dict(body.pop("tags", ())):
        body["_tags"] = tags
    return body


def _written(kind: str, version: int, field_version: int, body: Mapping[str, Any]) -> bytes:
    out = bytearray(_VERSION.pack(version))
    try:
        _writing(kind, field_version)(body, out)
    except FAILURES as error:
        raise WireError(f"{kind}: {error}") from None
    return bytes(out)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return kind._fields if issubclass(kind, tuple) else tuple(field.name for field in fields(kind))


@cache
def _reading(kind: str, version: int) -> Decode:
    return decoder(tables()[kind], version, _is_flexible(kind, version), kind)


@cache
def _writing(kind: str, version: int) -> Encode:
    return encoder(tables()[kind], version, _is_flexible(kind, version), kind)


def _is_flexible(kind: str, version: int) -> bool:
    return kind.startswith("value") and version >= LAST_VALUE


@cache
def tables() -> Mapping[str, Sequence[Field]]:
    """The fields of each key ("key 0", "key 1", "key 2") and value ("value offset", "value group")."""
    text = (files(__package__) / "schemas" / "offsets_topic.txt").read_text(encoding="utf-8")
    found: dict[str, Sequence[Field]] = {}
    for section in text.split("\n\n"):
        title, *lines = section.strip().split("\n")
        what, name, *_ = title.split()
        first, _, last = name.partition("-")
        names = range(int(first), int(last or first) + 1) if what == "key" else [name]
        found |= {f"{what} {each}": parse_fields(lines) for each in names}
    return found
