"""Frames of offenders: well-formed where that takes the server furthest, and as large as it goes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import google_crc32c
from bench.offenders_client import CLIENT_ID, request

from rota.wire import advertised, api, frame, request_header
from rota.wire.records import Record, encode_batch
from rota.wire.schema import Field

NUMBER = "number@@@@@@"
"""What `numbered` puts another number in place of; always as long as this."""

TOPIC, WIDE, LARGE = "offence", "wide", "big"

_HEADER, _COUNTED_FROM, _LENGTH_AT, _CRC_AT, _CHECKED_FROM = 61, 12, 8, 17, 21
_LAST_DELTA_AT, _COUNT_AT, _GZIP = 23, 57, 1
_LEAST_RECORD = b"\x0c\0\0\0\x01\x01\0"
"""A record without key and value, at the batch's first offset."""


def numbered(data: bytes, number: int) -> bytes:
    """The frame with this number."""
    return data.replace(NUMBER.encode(), b"%012d" % number)


def join(group_id: str, metadata: bytes) -> dict[str, Any]:
    """A JoinGroup of a new member."""
    return {
        "group_id": group_id,
        "session_timeout_ms": 1_800_000,
        "rebalance_timeout_ms": 1_800_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": metadata}],
    }


def commit(group_id: str, partitions: Iterable[int], metadata: int) -> dict[str, Any]:
    """An OffsetCommit of nobody's, with so many bytes of metadata for each partition."""
    entry = {"committed_offset": 1, "committed_metadata": "x" * metadata}
    topic = {"name": TOPIC, "partitions": [{"partition_index": one, **entry} for one in partitions]}
    return {"group_id": group_id, "member_id": "", "topics": [topic]}


def fetch(wait_ms: int, least: int) -> dict[str, Any]:
    """A Fetch of all 20 partitions of `WIDE` from the beginning."""
    whole = {"fetch_offset": 0, "partition_max_bytes": 2**31 - 1}
    partitions = [{"partition": one, **whole} for one in range(20)]
    bounds = {"max_wait_ms": wait_ms, "min_bytes": least, "max_bytes": 2**31 - 1}
    return {**bounds, "topics": [{"topic": WIDE, "partitions": partitions}]}


def produce(records: bytes, topic: str, partition: int) -> bytes:
    """A Produce of one batch."""
    data = [{"name": topic, "partition_data": [{"index": partition, "records": records}]}]
    return request("Produce", 8, {"acks": 1, "timeout_ms": 1000, "topic_data": data})


def plain(size: int, producer_id: int = -1) -> bytes:
    """A batch of one record of so many bytes."""
    sequence = -1 if producer_id < 0 else 0
    one = Record(0, 0, None, bytes(size))
    return encode_batch([one], producer_id=producer_id, producer_epoch=sequence, base_sequence=sequence)


def packed(body: bytes, count: int) -> bytes:
    """A batch with this gzip body, of which it says that so many records are in it."""
    head = bytearray(encode_batch([Record(0, 0, None, b"")])[:_HEADER])
    struct.pack_into(">h", head, _CHECKED_FROM, _GZIP)
    struct.pack_into(">i", head, _LAST_DELTA_AT, count - 1)
    struct.pack_into(">i", head, _COUNT_AT, count)
    struct.pack_into(">i", head, _LENGTH_AT, len(head) - _COUNTED_FROM + len(body))
    rest = bytes(head[_CHECKED_FROM:]) + body
    return bytes(head[:_CRC_AT]) + google_crc32c.value(rest).to_bytes(4, "big") + rest


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def gzip_streams(streams: int) -> bytes:
    """A Produce whose batch expands to almost 64 MiB, in so many streams."""
    body = _gzip(bytes((64 << 20) // streams - 1)) * streams
    return produce(packed(body, 1), TOPIC, 0)


def gzip_bomb() -> bytes:
    """A Produce whose batch expands to as many records as fit in 64 MiB."""
    count = (64 << 20) // len(_LEAST_RECORD)
    return produce(packed(_gzip(_LEAST_RECORD * count), count), TOPIC, 0)


def leave_many(members: int) -> bytes:
    """A LeaveGroup of version 4 with so many members without an id."""
    head = request_header(api("LeaveGroup").key, 4, 1, CLIENT_ID, True)
    one = b"\x01\x00\x00"  # an empty string, null, no tagged fields
    return frame(head + b"\x06group" + _unsigned(members + 1) + one * members + b"\0")


def tagged(fields: int) -> bytes:
    """A Heartbeat of version 4 with so many tagged fields."""
    head = request_header(api("Heartbeat").key, 4, 1, CLIENT_ID, True)
    body = b"\x06group" + bytes(4) + b"\x07member" + b"\0"
    tags = b"".join(_unsigned(tag) + b"\0" for tag in range(fields))
    return frame(head + body + _unsigned(fields) + tags)


def _unsigned(number: int) -> bytes:
    """A varint."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def big_frames(size: int) -> Iterator[bytes]:
    """Complete frames that are this large, each with one large field."""
    yield request("JoinGroup", 9, join("large", bytes(size)))
    share = {"member_id": "m", "assignment": bytes(size)}
    yield request("SyncGroup", 5, {"group_id": "large", "member_id": "m", "assignments": [share]})
    head = request_header(api("Heartbeat").key, 4, 1, CLIENT_ID, True)
    yield frame(head + b"\x06group" + bytes(4) + _unsigned(size + 1) + b"m" * size + b"\0\0")
    yield produce(bytes(size), TOPIC, 0)


def long_arrays(length: int) -> Iterator[bytes]:
    """For each array of each request that a broker advertises a frame where it has so many elements."""
    for name, (_, version) in advertised().items():
        always = {"acks": 1} if name == "Produce" else {}  # without it there is no answer
        for body in _with_long_array(api(name).request, version, length):
            yield request(name, version, {**always, **body})


def _with_long_array(fields: Iterable[Field], version: int, length: int) -> Iterator[Mapping[str, Any]]:
    for one in fields:
        if not one.array or version not in one.versions:
            continue
        empty: Any = {} if one.type == "struct" else "" if one.type == "string" else 0
        yield {one.name: [empty] * length}
        for inner in _with_long_array(one.fields, version, length):
            yield {one.name: [inner]}
