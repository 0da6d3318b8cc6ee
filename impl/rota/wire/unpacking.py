"""Compressions of record batches that the standard library has nothing for: snappy, lz4 and zstd.

cramjam knows them, an optional package. What something expands to is bounded: snappy says it beforehand, of
lz4 and zstd as much is written as there is room. Source: KIP-110, and upstream's packages snappy-java, whose
frames are blocks with their lengths behind a header, and lz4-java, whose frames are the format's own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from rota.wire.errors import WireError

_XERIAL = b"\x82SNAPPY\0"
_XERIAL_HEADER = len(_XERIAL) + 8
"""Its magic and two numbers of versions, by which no reader goes."""

_LENGTH = struct.Struct(">i")
_LEAST_ROOM = 4096
_USUAL, _MORE = 8, 8
"""Room that is tried first, by the length of what is packed, and how it grows: what is copied stays small."""

_NO_ROOM = "failed to write whole buffer"
"""What cramjam says where the room was too small."""


class NotUnpacked(WireError):
    """Bytes that cannot be unpacked: damaged, too many, or nothing is installed that could."""


def unpacked(compression: str, data: bytes, most: int) -> bytes:
    """What snappy, lz4 or zstd packed, at most so many bytes. Errors: NotUnpacked."""
    try:
        library: Any = import_module("cramjam")
    except ImportError:
        remedy = "pip install 'rota[compression]'"
        raise NotUnpacked(f"a batch is not read that is compressed with {compression}: {remedy}") from None
    try:
        if compression == "snappy":
            return b"".join(_of_snappy(library.snappy, data, most))
        return _into_room(getattr(library, compression).decompress_into, data, most)
    except library.DecompressionError as error:
        if _NO_ROOM in str(error):
            raise _too_much(compression, most) from None
        raise NotUnpacked(f"{compression}: {str(error).removeprefix(f'{compression}: ')}") from None


def _into_room(unpack: Callable[[bytes, bytearray], int], data: bytes, most: int) -> bytes:
    """What is unpacked into room that grows until it is enough. Errors: the library's."""
    room = min(most, max(_LEAST_ROOM, _USUAL * len(data)))
    while True:
        buffer = bytearray(room)
        try:
            size = unpack(data, buffer)
        except Exception:
            if room == most:
                raise
            room = min(most, _MORE * room)
        else:
            return bytes(memoryview(buffer)[:size])


def _of_snappy(library: Any, data: bytes, most: int) -> Iterator[bytes]:
    """What the blocks of a stream expand to, or a block that stands by itself. Errors: NotUnpacked."""
    blocks = _blocks(data) if data.startswith(_XERIAL) else (data,)
    left = most
    for block in blocks:
        left -= library.decompress_raw_len(block)
        if left < 0:
            raise _too_much("snappy", most)
        yield bytes(library.decompress_raw(block))


def _blocks(data: bytes) -> Iterator[bytes]:
    """The blocks behind each header of a stream, of which Java takes several in a row too."""
    pos = 0
    while pos < len(data):
        if data.startswith(_XERIAL, pos):
            pos += _XERIAL_HEADER
            continue
        size = _LENGTH.unpack_from(data, pos)[0] if pos + _LENGTH.size <= len(data) else 0
        pos += _LENGTH.size
        if not 0 < size <= len(data) - pos:
            raise NotUnpacked(f"snappy: a block of {size} bytes announced, {max(len(data) - pos, 0)} left")
        yield data[pos : pos + size]
        pos += size


def _too_much(compression: str, most: int) -> NotUnpacked:
    return NotUnpacked(f"{compression}: more than {most} bytes")
