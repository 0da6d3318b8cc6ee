"""Batches packed as clients and brokers pack them, by the library that unpacks them in rota."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import cramjam

from rota.wire.records import HEADER_SIZE, checksum

NUMBERS = {"snappy": 2, "lz4": 3, "zstd": 4}
"""Compression → its number in a batch's attributes and in `offsets.topic.compression.codec`."""

HOWS = ("snappy", "snappy in blocks", "lz4", "zstd")

_ATTRIBUTES_AT, _LENGTH = 22, struct.Struct(">i")
_XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def packed(body: bytes, how: str) -> bytes:
    """The records of a batch, packed. how: one of HOWS; Java packs with snappy in blocks."""
    if how == "snappy":
        return bytes(cramjam.snappy.compress_raw(body))
    if how == "snappy in blocks":
        return in_blocks(body[start : start + 40] for start in range(0, len(body), 40))
    return bytes(getattr(cramjam, how).compress(body))


def in_blocks(pieces: Iterable[bytes]) -> bytes:
    """A stream of snappy-java with a block of each piece."""
    blocks = [bytes(cramjam.snappy.compress_raw(piece)) for piece in pieces]
    return _XERIAL + b"".join(_LENGTH.pack(len(block)) + block for block in blocks)


def with_body(batch: bytes, body: bytes, how: str) -> bytes:
    """A batch with other bytes behind its header, said to be packed so. Its CRC is right."""
    attributes = batch[_ATTRIBUTES_AT] & ~7 | NUMBERS[how.partition(" ")[0]]
    head = bytearray(batch[:HEADER_SIZE])
    head[_ATTRIBUTES_AT] = attributes
    head[8:12] = _LENGTH.pack(HEADER_SIZE - 12 + len(body))
    rest = bytes(head[21:]) + body
    return bytes(head[:17]) + checksum(rest).to_bytes(4, "big") + rest


def repacked(batch: bytes, how: str) -> bytes:
    """A batch that was not packed, packed."""
    return with_body(batch, packed(batch[HEADER_SIZE:], how), how)
