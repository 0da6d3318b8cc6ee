"""The records of a batch as raw bytes, without an object for each: how a log of a million records is read.

Whether the batch is whole and its CRC right has been asked before. Compressed batches go through
`rota.wire.records`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rota.wire.records import RecordsError, decode_batch
from rota.wire.runtime import read_varint

_HEADER = struct.Struct(">q13xh20xqh4xi")
"""Of a batch's header: base offset, attributes, producer id and epoch, number of records."""

_COMPRESSION, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20

RawRecord = tuple[int, bytes | None, bytes | None]
"""Offset, key and value."""


@dataclass(frozen=True, slots=True)
class RawBatch:
    """What a reader of the offsets topic needs of a batch."""

    is_transactional: bool
    is_control: bool
    producer_id: int
    producer_epoch: int
    records: list[RawRecord]


def read_batch(batch: bytes) -> RawBatch:
    """A batch of magic 2. Errors: RecordsError for records that do not follow the format."""
    try:
        base, attributes, producer_id, producer_epoch, count = _HEADER.unpack_from(batch)
        if attributes & _COMPRESSION:
            records: list[RawRecord] = [(each.offset, each.key, each.value) for each in decode_batch(batch)]
        else:
            records = _records(batch, base, count)
    except (IndexError, struct.error):
        raise RecordsError("records: a batch ends too early") from None
    is_transactional, is_control = bool(attributes & _TRANSACTIONAL), bool(attributes & _CONTROL)
    return RawBatch(is_transactional, is_control, producer_id, producer_epoch, records)


def _records(batch: bytes, base: int, count: int) -> list[RawRecord]:
    found: list[RawRecord] = []
    pos = _HEADER.size
    for _ in range(count):
        length, pos = _number(batch, pos)
        end = pos + length
        _, pos = _number(batch, pos + 1)
        delta, pos = _number(batch, pos)
        size, pos = _number(batch, pos)
        key = None if size < 0 else batch[pos : pos + size]
        size, pos = _number(batch, pos if size < 0 else pos + size)
        value = None if size < 0 else batch[pos : pos + size]
        if size > 0:
            pos += size
        if not pos < end <= len(batch):
            raise RecordsError(f"records: one of {length} bytes does not hold its key and value")
        found.append((base + delta, key, value))
        pos = end
    if pos != len(batch):
        raise RecordsError(f"records: {len(batch) - pos} bytes are left over after {count}")
    return found


def _number(data: bytes, pos: int) -> tuple[int, int]:
    """The signed number at `pos`, a zigzag varint, and the position after it."""
    number = data[pos]
    if number < 128:
        pos += 1
    elif (more := data[pos + 1]) < 128:
        number, pos = number & 127 | more << 7, pos + 2
    else:
        number, pos = read_varint(data, pos, 64)
    return number >> 1 ^ -(number & 1), pos
