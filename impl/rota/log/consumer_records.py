"""Records of the offsets topic about groups of the consumer protocol, as bytes and back.

The version of the key says what a record is about: 3 the group, 5 a member, 6 the target, 7 a member's part
of it, 8 what a member has; 4 (topics) is only ever ended here. `schemas/consumer_groups.txt` has the fields.
Source: upstream's ConsumerGroup…Key.json and ConsumerGroup…Value.json (module group-coordinator).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from rota.wire import WireError
from rota.wire.decoder import Decode, decoder
from rota.wire.encoder import Encode, encoder
from rota.wire.runtime import FAILURES, reading_failure
from rota.wire.schema import Field, parse_fields

GROUP, TOPICS, MEMBER, TARGET, TARGET_OF, CURRENT_OF = range(3, 9)
"""Versions of keys."""

KEYS = range(GROUP, CURRENT_OF + 1)

_OF_MEMBERS = (MEMBER, TARGET_OF, CURRENT_OF)
_VERSION = struct.Struct(">h")
_NOT_CLASSIC: Mapping[int, bytes] = {0: b"\x00"}
"""The tagged field of a member that has no data of the classic protocol: null, which is not its default."""

Body = Mapping[str, Any]


class ConsumerRecord(NamedTuple):
    """One record; `member_id` is "" where it is about the group as a whole, `value` None for a tombstone."""

    version: int
    group_id: str
    member_id: str
    value: Body | None


def encode(record: ConsumerRecord) -> tuple[bytes, bytes | None]:
    """Key and value. Errors: WireError for what the format cannot carry."""
    version, group_id, member_id, value = record
    key = {"group": group_id, **({"member": member_id} if version in _OF_MEMBERS else {})}
    if value is not None and version == MEMBER:
        value = {**value, "_tags": _NOT_CLASSIC}
    return (
        _written(f"key {version}", version, key),
        None if value is None else _written(f"value {version}", 0, value),
    )


def decode(key: bytes, value: bytes) -> ConsumerRecord:
    """A record that is no tombstone; of a topics' one the value is not read. Errors: WireError."""
    (version,) = _VERSION.unpack_from(key)
    named = _read(f"key {version}", key)
    body: Body = {} if version == TOPICS else _read(f"value {version}", value)
    return ConsumerRecord(version, named["group"], named.get("member", ""), body)


def _read(kind: str, data: bytes) -> dict[str, Any]:
    try:
        (version,) = _VERSION.unpack_from(data)
        if kind.startswith("value") and version != 0:
            raise WireError(f"{kind} of a consumer group: version {version}; there is 0")
        body, _ = _reading(kind)(data, _VERSION.size)
    except FAILURES as error:
        raise WireError(f"{kind} of a consumer group: {reading_failure(error)}") from None
    return body


def _written(kind: str, version: int, body: Body) -> bytes:
    out = bytearray(_VERSION.pack(version))
    try:
        _writing(kind)(body, out)
    except FAILURES as error:
        raise WireError(f"{kind} of a consumer group: {error}") from None
    return bytes(out)


@cache
def _reading(kind: str) -> Decode:
    return decoder(tables()[kind], 0, kind.startswith("value"), kind)


@cache
def _writing(kind: str) -> Encode:
    return encoder(tables()[kind], 0, kind.startswith("value"), kind)


@cache
def tables() -> Mapping[str, Sequence[Field]]:
    """The fields of each key ("key 3" to "key 8") and value ("value 3" and so on; there is none of 4)."""
    text = (files(__package__) / "schemas" / "consumer_groups.txt").read_text(encoding="utf-8")
    found: dict[str, Sequence[Field]] = {}
    for section in text.split("\n\n"):
        title, *lines = section.strip().split("\n")
        what, versions, *_ = title.split()
        first, _, last = versions.partition("-")
        for version in range(int(first), int(last or first) + 1):
            found[f"{what} {version}"] = parse_fields(lines)
    return found
