"""The consumer protocol, which consumers embed in JoinGroup's metadata and SyncGroup's assignments.

Opaque to a broker, mostly: a version number, then the fields of a Subscription or an Assignment in that
version, never in flexible encoding. Source: ConsumerProtocolSubscription.json and
ConsumerProtocolAssignment.json of Kafka 4.4.0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rota.wire.decoder import Decode, decoder
from rota.wire.encoder import Encode, encoder
from rota.wire.errors import WireError
from rota.wire.explain import objections
from rota.wire.runtime import FAILURES, reading_failure
from rota.wire.schema import parse_fields

LAST = 3
"""The last version of both."""

SUBSCRIPTION = parse_fields(
    """\
topics            []string
user_data         bytes   null 0+  = null
owned_partitions  []      1+
  topic           string
  partitions      []int32
generation_id     int32   2+  = -1
rack_id           string  3+  null 3+  = null
""".splitlines()
)
ASSIGNMENT = parse_fields(
    """\
assigned_partitions  []
  topic              string
  partitions         []int32
user_data            bytes   null 0+  = null
""".splitlines()
)

_VERSION = struct.Struct(">h")
_MESSAGES = {"Subscription": SUBSCRIPTION, "Assignment": ASSIGNMENT}


@dataclass(frozen=True)
class Embedded:
    """A Subscription or an Assignment as read, with the version number in front of it."""

    version: int
    body: dict[str, Any]


def encode_subscription(body: Mapping[str, Any], version: int = LAST, odd: bool = False) -> bytes:
    """A member's metadata: topics, user_data, owned_partitions [topic, partitions], generation_id, rack_id.

    A version above the last one gets the last one's fields; `odd` as for `encode_request`, with which a
    version below 0 gets the fields of 0. Errors: WireError naming the field.
    """
    return _encode("Subscription", body, version, odd)


def decode_subscription(data: bytes, trailing: bool = False) -> Embedded:
    """The subscription in a member's metadata.

    Above the last version, its fields are read and what follows them is ignored, as Kafka's clients do;
    `trailing` ignores it in the known versions too. Errors: WireError.
    """
    return _decode("Subscription", data, trailing)


def encode_assignment(body: Mapping[str, Any], version: int = LAST, odd: bool = False) -> bytes:
    """A member's assignment: assigned_partitions [topic, partitions], user_data. As `encode_subscription`."""
    return _encode("Assignment", body, version, odd)


def decode_assignment(data: bytes, trailing: bool = False) -> Embedded:
    """The assignment of a member, read as by `decode_subscription`. Errors: WireError, also for no bytes."""
    return _decode("Assignment", data, trailing)


def _encode(name: str, body: Mapping[str, Any], version: int, odd: bool) -> bytes:
    known = _known(name, max(version, 0) if odd else version)
    try:
        out = bytearray(_VERSION.pack(version))
        _encoder(name, known, odd)(body, out)
    except FAILURES as error:
        reason = next(objections(_MESSAGES[name], known, body, odd=odd), str(error))
        raise WireError(f"{name} v{version}: {reason}") from None
    return bytes(out)


def _decode(name: str, data: bytes, trailing: bool) -> Embedded:
    data = bytes(data)
    if len(data) < _VERSION.size:
        raise WireError(f"{name}: {len(data)} bytes are too few for its version")
    (version,) = _VERSION.unpack_from(data)
    known = _known(name, version)
    try:
        body, end = _decoder(name, known)(data, _VERSION.size)
    except FAILURES as error:
        raise WireError(f"{name} v{version}: {reading_failure(error)}") from None
    if end != len(data) and version == known and not trailing:
        raise WireError(f"{name} v{version}: {len(data) - end} bytes are left over")
    return Embedded(version, body)


def _known(name: str, version: int) -> int:
    """The version whose fields stand for this one."""
    if version < 0:
        raise WireError(f"{name}: no version {version}; there are 0 to {LAST}")
    return min(version, LAST)


@cache
def _encoder(name: str, version: int, odd: bool) -> Encode:
    return encoder(_MESSAGES[name], version, False, f"{name} v{version}", odd)


@cache
def _decoder(name: str, version: int) -> Decode:
    return decoder(_MESSAGES[name], version, False, f"{name} v{version}")
