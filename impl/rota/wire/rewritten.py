"""Batches that a broker changes: by the time at which it appends them, and by what compaction leaves of them.

Records are cut out as bytes and put together again, with an object for none of them; all of it is generators
that yield after some work. Source: upstream's DefaultRecordBatch and MemoryRecords#filterTo.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Generator, Iterator
from typing import NamedTuple

from rota.wire.record_scan import READABLE
from rota.wire.records import HEADER_SIZE, BatchInfo, RecordsError, checksum, inflated, signed_number
from rota.wire.runtime import FAILURES, reading_failure
from rota.wire.unpacking import NotUnpacked, unpacked

MAX_EXPANDED = 16 << 20
"""What a batch may expand to for its records to be looked at here."""

_LENGTH_AT, _LENGTH_END, _CRC_AT, _CRC_END = 8, 12, 17, 21
_ATTRIBUTES_AT, _MAX_TIMESTAMP_AT, _COUNT_AT = 21, 35, 57
_LOG_APPEND_TIME, _COMPRESSION_BITS = 0x08, 0x07
_GZIP = 16 + zlib.MAX_WBITS
_AT_ONCE = 200
_PACKED_AT_ONCE = 64 * 1024


class Place(NamedTuple):
    """A record in the unpacked body of a batch, from `begin` to `end`; its time counts from the batch's."""

    begin: int
    end: int
    offset: int
    timestamp: int
    key: bytes | None
    is_tombstone: bool


def stamped(batch: bytes, timestamp: int) -> bytes:
    """The batch with the time at which a broker has appended it (LogAppendTime), which its records then have.

    Errors: RecordsError for a batch that is shorter than its header.
    """
    if len(batch) < HEADER_SIZE:
        raise RecordsError(f"a batch of {len(batch)} bytes is too short for its header of {HEADER_SIZE}")
    changed = bytearray(batch)
    (attributes,) = struct.unpack_from(">h", batch, _ATTRIBUTES_AT)
    struct.pack_into(">h", changed, _ATTRIBUTES_AT, attributes | _LOG_APPEND_TIME)
    struct.pack_into(">q", changed, _MAX_TIMESTAMP_AT, timestamp)
    return _sealed(changed)


def expanded(batch: bytes, info: BatchInfo) -> Generator[None, None, bytes | None]:
    """What a batch has behind its header, unpacked; None for what is too much or cannot be unpacked here."""
    body = batch[HEADER_SIZE:]
    if info.compression == "none":
        return body
    try:
        if info.compression not in READABLE:
            return unpacked(info.compression, body, MAX_EXPANDED)
        pieces, size = [], 0
        for piece in inflated(body):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_EXPANDED:
                return None
            yield
    except (NotUnpacked, RecordsError):
        return None
    return b"".join(pieces)


def places(body: bytes, info: BatchInfo) -> Iterator[Place | None]:
    """Where each record is in the unpacked body of a batch, with None now and then, to pause.

    Errors: RecordsError for records that are damaged.
    """
    pos = 0
    try:
        for index in range(info.count):
            if index % _AT_ONCE == _AT_ONCE - 1:
                yield None
            length, at = signed_number(body, pos)
            end = at + length
            timestamp, at = signed_number(body, at + 1, 64)
            offset, at = signed_number(body, at)
            size, at = signed_number(body, at)
            key = None if size < 0 else body[at : at + size]
            value, _ = signed_number(body, at + max(size, 0))
            yield Place(pos, end, offset, timestamp, key, value < 0)
            pos = end
    except FAILURES as error:
        raise RecordsError(f"records: {reading_failure(error)}") from None


def filtered(batch: bytes, info: BatchInfo, body: bytes, kept: list[Place]) -> Generator[None, None, bytes]:
    """The batch with only these of its records, whose offsets and times stay, as its own first and last do.

    What is packed in a way that cannot be written here (snappy, lz4, zstd) is not packed any more.
    """
    left = b"".join(body[place.begin : place.end] for place in kept)
    compression = int(info.compression == "gzip")
    if compression:
        left = yield from _packed(left)
    changed = bytearray(batch[:HEADER_SIZE]) + left
    newest = max((info.base_timestamp + place.timestamp for place in kept), default=-1)
    if info.timestamp_type:
        newest = info.max_timestamp
    attributes = info.attributes & ~_COMPRESSION_BITS | compression
    struct.pack_into(">i", changed, _LENGTH_AT, len(changed) - _LENGTH_END)
    struct.pack_into(">h", changed, _ATTRIBUTES_AT, attributes)
    struct.pack_into(">q", changed, _MAX_TIMESTAMP_AT, newest)
    struct.pack_into(">i", changed, _COUNT_AT, len(kept))
    return _sealed(changed)


def _packed(data: bytes) -> Generator[None, None, bytes]:
    packer = zlib.compressobj(wbits=_GZIP)
    pieces = []
    for pos in range(0, len(data), _PACKED_AT_ONCE):
        pieces.append(packer.compress(data[pos : pos + _PACKED_AT_ONCE]))
        yield
    return b"".join((*pieces, packer.flush()))


def _sealed(batch: bytearray) -> bytes:
    """The batch with the checksum that it should have."""
    struct.pack_into(">I", batch, _CRC_AT, checksum(bytes(batch[_CRC_END:])))
    return bytes(batch)
