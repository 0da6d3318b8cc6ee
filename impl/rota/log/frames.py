"""Record batches as they lie in a segment, one after the other: found by their lengths, checked by their CRC.

Only the fixed part of a batch's header is read here, since a log opens a million of them; what is in a batch
is for `rota.wire.records`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rota.log.files import OpenFile, Readable
from rota.wire.records import checksum

HEADER_SIZE = 61
"""Bytes of a batch's header; no batch is shorter."""

WINDOW = 1 << 20
"""Bytes read at once, or one batch if that is longer."""

SECTOR = 512
"""What a disk writes as a whole, or not at all."""

_HEAD = struct.Struct(">qiibIhi")
_LENGTH = struct.Struct(">8xi")
_LENGTH_END, _CRC_END = 12, 21
_MAGIC = 2


class Head(NamedTuple):
    """What a log needs of a batch's header; `next_offset` is the one after its last."""

    base_offset: int
    size: int
    next_offset: int


class BadBatch(Exception):
    """Bytes at `position` that are no batch; the text says why."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(why)
        self.position = position
        self.why = why


def head(batch: bytes) -> Head:
    """The header of exactly one whole batch, its CRC checked. Errors: ValueError saying what is wrong."""
    if len(batch) < HEADER_SIZE:
        raise ValueError(f"{len(batch)} bytes are too few for a batch")
    base, length, _, magic, crc, _, last_delta = _HEAD.unpack_from(batch)
    if magic != _MAGIC:
        raise ValueError(f"a batch of magic {magic}, not {_MAGIC}")
    if length != len(batch) - _LENGTH_END:
        raise ValueError(f"a batch that says it is {length + _LENGTH_END} bytes long, not {len(batch)}")
    if checksum(batch[_CRC_END:]) != crc:
        raise ValueError("the CRC of a batch does not match")
    if last_delta < 0:
        raise ValueError(f"a batch whose last offset is {-last_delta} before its first")
    return Head(base, len(batch), base + last_delta + 1)


def spans(batch: bytes) -> int:
    """The offset after a batch's last one, nothing checked."""
    fields = _HEAD.unpack_from(batch)
    return int(fields[0] + fields[6] + 1)


def frames(file: Readable, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Position and bytes of each batch between two positions, cut by their lengths alone.

    Errors: BadBatch where no batch fits.
    """
    position = at = start
    window = b""
    while position < end:
        skip = position - at
        if len(window) - skip < _LENGTH_END:
            window, at, skip = file.read_at(position, min(WINDOW, end - position)), position, 0
        if len(window) < _LENGTH_END:
            raise BadBatch(position, f"{end - position} bytes are too few for a batch")
        size = _LENGTH.unpack_from(window, skip)[0] + _LENGTH_END
        if size < HEADER_SIZE:
            raise BadBatch(position, f"a batch of {size} bytes is shorter than its header")
        if size > end - position:
            raise BadBatch(position, f"a batch of {size} bytes has {end - position} left")
        if size > len(window) - skip:
            window, at, skip = file.read_at(position, min(max(WINDOW, size), end - position)), position, 0
        yield position, window[skip : skip + size]
        position += size


@dataclass(slots=True)
class Scan:
    """How far a segment is sound: up to `position`, where `next_offset` would follow; `crc` is of all before.

    `wrong` says what is there instead of a batch, nothing at the segment's end.
    """

    position: int
    next_offset: int
    crc: int
    wrong: str = ""


def scan(file: OpenFile, since: Scan, end: int, gaps: bool) -> Scan:
    """Goes on from a sound position to the first batch that is bad, or whose offset is not the next one.

    With `gaps` offsets only have to ascend, as compaction leaves them.
    """
    position, expected, crc = since.position, since.next_offset, since.crc
    try:
        for position, batch in frames(file, since.position, end):
            base, size, following = head(batch)
            if base < expected or (base > expected and not gaps):
                return Scan(position, expected, crc, f"a batch of offset {base} where {expected} is due")
            crc = checksum(batch, crc)
            expected = following
            since = Scan(position + size, expected, crc)
    except ValueError as error:
        return Scan(position, expected, crc, str(error))
    except BadBatch as bad:
        return Scan(bad.position, expected, crc, bad.why)
    return since


def content_crc(file: OpenFile, end: int) -> int:
    """The CRC-32C of a file's first `end` bytes."""
    crc = position = 0
    while position < end:
        data = file.read_at(position, min(WINDOW, end - position))
        if not data:
            break
        crc = checksum(data, crc)
        position += len(data)
    return crc


def good_batch_behind(file: Readable, bad: int, end: int, next_offset: int) -> int | None:
    """The position of the first whole batch behind a bad one, None if there is none.

    It is looked for byte by byte: the length of the bad one may be what is wrong with it.
    """
    data = file.read_at(bad, end - bad)
    at = data.find(_MAGIC, 17)
    while at >= 0:
        start = at - 16
        base, length = struct.unpack_from(">qi", data, start)
        stop = start + _LENGTH_END + length
        if base >= next_offset and length >= HEADER_SIZE - _LENGTH_END and stop <= len(data):
            try:
                head(data[start:stop])
            except ValueError:
                pass
            else:
                return bad + start
        at = data.find(_MAGIC, at + 1)
    return None


def lost_a_sector(file: OpenFile, start: int, end: int) -> bool:
    """Whether a write that power cut short explains what is between two positions.

    A sector that was never written reads as zeros up to its end, where the write before it had ended or from
    its beginning on. Bits that flipped later leave no such zeros.
    """
    data = file.read_at(start, end - start)
    for boundary in range(start + SECTOR - start % SECTOR, end + SECTOR, SECTOR):
        last = data[max(0, boundary - SECTOR - start) : boundary - start][-8:]
        if not any(last):
            return True
    return False
