"""Record batches, magic 2: what Produce and Fetch carry in `records`, and what a log holds.

A batch is a header of 61 bytes and records with deltas in zigzag varints. The CRC (Castagnoli) covers
everything from the attributes on, so that a broker sets base offset and leader epoch without touching it.
Source: KIP-98 and upstream's classes DefaultRecordBatch and DefaultRecord.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import google_crc32c

from rota.wire.errors import WireError
from rota.wire.runtime import FAILURES, read_varint, reading_failure, varint
from rota.wire.unpacking import NotUnpacked, unpacked

_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = _HEADER.size
_LENGTH_AT, _LENGTH_END, _CRC_AT, _CRC_END = 8, 12, 17, 21
_BASE_OFFSET_AND_EPOCH = struct.Struct(">q4xi")
_MAGIC = 2
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_COMPRESSION_BITS, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_LEAST_RECORD = 7
_GZIP = 16 + zlib.MAX_WBITS

DELETE_HORIZON = 0x40
"""The attribute of a batch whose base timestamp says from when on its tombstones may go (KIP-534)."""

MAX_INFLATED = 64 << 20
"""Most bytes that a compressed batch may expand to."""

MAX_RECORDS = 1_000_000
"""Most records of a batch, their headers counted as well. A megabyte that is not compressed has 150,000."""

SLICE = 16 * 1024
"""Bytes of records that are read through in one go, a millisecond's work or two at most."""

_PACKED = 4 * 1024


@dataclass(frozen=True, slots=True)
class Record:
    """One record: absolute offset, timestamp in milliseconds, and headers in order (keys may repeat)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class BatchInfo:
    """The header of a batch.

    Offsets are absolute; `last_offset` is what the batch spans and stays when compaction takes records out of
    it, so that `count` may be less. `timestamp_type` is 0 for create time, 1 for log append time (then
    `max_timestamp` is that of every record). `size` counts the bytes on the wire.
    """

    base_offset: int
    last_offset: int
    partition_leader_epoch: int
    attributes: int
    compression: str
    is_control: bool
    is_transactional: bool
    timestamp_type: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    size: int


class RecordsError(WireError):
    """Bytes that are no batch or records that fit in none; the text names the cause in one line."""


class CrcError(RecordsError):
    """A batch that is whole but not as it was sent."""


def checksum(data: bytes, before: int = 0) -> int:
    """CRC-32C of `data`, or of what had the checksum `before` and `data` behind it."""
    return int(google_crc32c.extend(before, data))


def split(data: bytes) -> Iterator[tuple[BatchInfo, bytes]]:
    """Each batch of a records field with its header; lengths, magic and CRC are checked, records not read.

    Errors: RecordsError at the first batch that is damaged or cut short, after those in front of it. A Fetch
    response may end with part of a batch; Kafka's consumers ignore it.
    """
    data = bytes(data)
    pos = 0
    while pos < len(data):
        info = _info(data, pos)
        yield info, data[pos : pos + info.size]
        pos += info.size


def rebased(batch: bytes, base_offset: int, partition_leader_epoch: int = 0) -> bytes:
    """The batch with this base offset and leader epoch, which are what a broker sets. The CRC stays.

    Errors: RecordsError for a batch that is shorter than its header or a number that does not fit.
    """
    if len(batch) < HEADER_SIZE:
        raise RecordsError(f"a batch of {len(batch)} bytes is too short for its header of {HEADER_SIZE}")
    try:
        fields = _BASE_OFFSET_AND_EPOCH.pack(base_offset, partition_leader_epoch)
    except struct.error as error:
        raise RecordsError(f"base offset and leader epoch: {error}") from None
    return b"".join((fields[:_LENGTH_AT], batch[_LENGTH_AT:_LENGTH_END], fields[_LENGTH_END:], batch[16:]))


def encode_batch(
    records: Sequence[Record],
    *,
    base_offset: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    compression: str = "none",
    is_transactional: bool = False,
    is_control: bool = False,
    last_offset: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """One batch with these records, whose offsets ascend from `base_offset` (without: the first one's).

    Gaps between offsets are kept, as compaction leaves them; it also keeps the `last_offset` of records
    that are gone, and says from when on tombstones may go (`delete_horizon_ms`, in place of the base
    timestamp). The leader epoch is -1 as producers send it (see `rebased`), the timestamp type create time,
    `compression` "none" or "gzip". No records at all need a `base_offset`; such batches are left by
    compaction too.

    Errors: RecordsError naming what does not fit.
    """
    if compression not in _COMPRESSIONS[:2]:
        raise RecordsError(f"cannot write compression {compression!r}; there are: none, gzip")
    if base_offset is None:
        if not records:
            raise RecordsError("no records and no base_offset")
        base_offset = records[0].offset
    attributes = _COMPRESSIONS.index(compression)
    attributes |= _TRANSACTIONAL * is_transactional | _CONTROL * is_control
    times = [record.timestamp for record in records] or [-1]
    last = records[-1].offset if records else base_offset
    base_timestamp = times[0]
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON
        base_timestamp = delete_horizon_ms
    try:
        body = _body(records, base_offset, base_timestamp)
        if compression == "gzip":
            packer = zlib.compressobj(wbits=_GZIP)
            body = bytearray(packer.compress(body) + packer.flush())
        length = HEADER_SIZE - _LENGTH_END + len(body)
        deltas = ((last if last_offset is None else last_offset) - base_offset, base_timestamp, max(times))
        producer = (producer_id, producer_epoch, base_sequence)
        head = _HEADER.pack(base_offset, length, -1, _MAGIC, 0, attributes, *deltas, *producer, len(records))
    except RecordsError:
        raise
    except FAILURES as error:
        raise RecordsError(f"records: {error}") from None
    rest = head[_CRC_END:] + body
    return b"".join((head[:_CRC_AT], google_crc32c.value(rest).to_bytes(4, "big"), rest))


def decode_batch(batch: bytes) -> tuple[Record, ...]:
    """The records of exactly one batch, however it is compressed.

    Errors: RecordsError as for `split`; for a compression that needs a package that is not there, naming it;
    for records that are damaged although the CRC matches, not as many as announced, or more than MAX_RECORDS.
    """
    batch = bytes(batch)
    info = _info(batch, 0)
    if info.size != len(batch):
        raise RecordsError(f"{len(batch) - info.size} bytes are left over after the batch")
    try:
        return _records(_expanded(batch[HEADER_SIZE:], info.compression), info)
    except RecordsError:
        raise
    except FAILURES as error:
        raise RecordsError(f"records: {reading_failure(error)}") from None


def _info(data: bytes, pos: int) -> BatchInfo:
    """The header of the batch at `pos`, checked."""
    left = len(data) - pos
    if left < HEADER_SIZE:
        raise RecordsError(f"a batch of {left} bytes is too short for its header of {HEADER_SIZE}")
    base, length, epoch, magic, crc, attributes, *rest = _HEADER.unpack_from(data, pos)
    last_delta, base_timestamp, max_timestamp, producer_id, producer_epoch, sequence, count = rest
    size = _LENGTH_END + length
    if magic != _MAGIC:
        raise RecordsError(f"magic {magic}, not {_MAGIC}")
    if size < HEADER_SIZE:
        raise RecordsError(f"bad length {length}, less than the header's {HEADER_SIZE - _LENGTH_END}")
    if size > left:
        raise RecordsError(f"a batch of {size} bytes announced, {left} left")
    found = google_crc32c.value(data[pos + _CRC_END : pos + size])
    if found != crc:
        raise CrcError(f"CRC does not match: {crc:#010x} announced, {found:#010x} found")
    if attributes & _COMPRESSION_BITS >= len(_COMPRESSIONS):
        raise RecordsError(f"no compression has the number {attributes & _COMPRESSION_BITS}")
    if count < 0 or last_delta < 0:
        raise RecordsError(f"negative record count {count} or last offset delta {last_delta}")
    return BatchInfo(
        base_offset=base,
        last_offset=base + last_delta,
        partition_leader_epoch=epoch,
        attributes=attributes,
        compression=_COMPRESSIONS[attributes & _COMPRESSION_BITS],
        is_control=bool(attributes & _CONTROL),
        is_transactional=bool(attributes & _TRANSACTIONAL),
        timestamp_type=int(bool(attributes & _LOG_APPEND_TIME)),
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        count=count,
        size=size,
    )


def _body(records: Sequence[Record], base_offset: int, base_timestamp: int) -> bytearray:
    out = bytearray()
    last = base_offset - 1
    for record in records:
        if record.offset <= last:
            raise RecordsError(f"offset {record.offset} does not ascend")
        last = record.offset
        item = bytearray(1)
        _push(item, record.timestamp - base_timestamp, 64)
        _push(item, last - base_offset)
        _push_bytes(item, record.key)
        _push_bytes(item, record.value)
        _push(item, len(record.headers))
        for name, value in record.headers:
            _push_bytes(item, name.encode())
            _push_bytes(item, value)
        _push(out, len(item))
        out += item
    return out


def _push_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        out.append(1)
    else:
        _push(out, len(value))
        out += value


def _push(out: bytearray, number: int, bits: int = 32) -> None:
    """Appends a signed number as a varint, its sign in the lowest bit."""
    if 0 <= number < 64:
        out.append(number << 1)
    elif -1 << bits - 1 <= number < 1 << bits - 1:
        out += varint(number << 1 ^ number >> bits - 1)
    else:
        raise RecordsError(f"a delta or length of {number} does not fit in {bits} bits")


def _expanded(data: bytes, compression: str) -> bytes:
    """What a batch has behind its header, unpacked. Errors: RecordsError."""
    if compression == "none":
        return data
    if compression == "gzip":
        return b"".join(inflated(data))
    try:
        return unpacked(compression, data, MAX_INFLATED)
    except NotUnpacked as error:
        raise RecordsError(str(error)) from None


def inflated(data: bytes) -> Iterator[bytes]:
    """What gzip packed, in one stream or several (Java's reader takes both), piece by piece.

    No piece is longer than SLICE; some are empty. Errors: RecordsError.
    """
    view = memoryview(data)
    pos = total = 0
    while pos < len(view):
        stream = zlib.decompressobj(wbits=_GZIP)
        while not stream.eof:
            # Little at a time: what zlib leaves over is a copy.
            packed = view[pos : pos + _PACKED]
            try:
                piece = stream.decompress(packed, SLICE)
            except zlib.error as error:
                raise RecordsError(f"gzip: {error}") from None
            pos += len(packed) - len(stream.unused_data if stream.eof else stream.unconsumed_tail)
            total += len(piece)
            if total > MAX_INFLATED:
                raise RecordsError(f"gzip: more than {MAX_INFLATED} bytes")
            if not (packed or piece or stream.eof):
                raise RecordsError("gzip: it ends too early")
            yield piece


def _records(data: bytes, info: BatchInfo) -> tuple[Record, ...]:
    if info.count * _LEAST_RECORD > len(data):
        raise RecordsError(f"{info.count} records announced, {len(data)} bytes left")
    found: list[Record] = []
    pos, counted = 0, info.count
    _check_count(counted)
    for _ in range(info.count):
        length, pos = signed_number(data, pos)
        end = pos + length
        if length < 0 or end > len(data):
            raise RecordsError(f"a record of {length} bytes announced, {len(data) - pos} left")
        record, pos = _record(data, pos + 1, end, info)
        if pos != end:
            raise RecordsError(f"a record of {length} bytes ends {pos - end} bytes off")
        found.append(record)
        counted += len(record.headers)
        _check_count(counted)
    if pos != len(data):
        raise RecordsError(f"{len(data) - pos} bytes are left over after {info.count} records")
    return tuple(found)


def _check_count(counted: int) -> None:
    """What is packed well may be far more than its bytes let expect. Errors: RecordsError."""
    if counted > MAX_RECORDS:
        raise RecordsError(f"{counted} records and headers, of which a batch may have {MAX_RECORDS}")


def _record(data: bytes, pos: int, end: int, info: BatchInfo) -> tuple[Record, int]:
    """The record whose attributes, which mean nothing, are just before `pos`."""
    timestamp, pos = signed_number(data, pos, 64)
    delta, pos = signed_number(data, pos)
    key, pos = _bytes(data, pos, end)
    value, pos = _bytes(data, pos, end)
    headers, pos = _headers(data, pos, end) if data[pos] else ((), pos + 1)
    at = info.max_timestamp if info.timestamp_type else info.base_timestamp + timestamp
    return Record(info.base_offset + delta, at, key, value, headers), pos


def _headers(data: bytes, pos: int, end: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, pos = signed_number(data, pos)
    if count < 0 or 2 * count > end - pos:
        raise RecordsError(f"{count} headers announced, {end - pos} bytes left")
    _check_count(count)
    headers = []
    for _ in range(count):
        name, pos = _bytes(data, pos, end)
        if name is None:
            raise RecordsError("the key of a header is null")
        value, pos = _bytes(data, pos, end)
        headers.append((name.decode(), value))
    return tuple(headers), pos


def _bytes(data: bytes, pos: int, end: int) -> tuple[bytes | None, int]:
    length = data[pos]
    if length < 128 and not length & 1:
        length >>= 1
        pos += 1
    else:
        length, pos = signed_number(data, pos)
        if length < 0:
            return None, pos
    last = pos + length
    if last > end:
        raise RecordsError(f"{length} bytes announced in a record, {end - pos} left")
    return data[pos:last], last


def signed_number(data: bytes, pos: int, bits: int = 32) -> tuple[int, int]:
    """The signed number of at most so many bits at `pos`, and the position after it."""
    number = data[pos]
    if number < 128:
        return number >> 1 ^ -(number & 1), pos + 1
    number, pos = read_varint(data, pos, bits)
    return number >> 1 ^ -(number & 1), pos
