"""Blocks of states as bytes: a header that says what the numbers mean, the states, a checksum over both."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from rota.explore.cache.digest import DIGEST
from rota.explore.compiled.packing import Layout
from rota.explore.spark.protocol import Damaged
from rota.explore.tables.arrays import Words

_MAGIC = b"rota"
_FRAME = struct.Struct("<4sIII")
"""Magic, checksum of all that follows it, bytes of the header, states."""

_HEAD = struct.Struct("<QI4x")
"""Version, columns."""


class BlockDamaged(Damaged):
    """Bytes that are no block, or no longer the one that was written, or that name values nobody numbered."""


@dataclass(frozen=True)
class Header:
    """What the numbers in a block mean. digests: per machine, of its provisional numbers in their order."""

    version: int
    layout: Layout
    digests: tuple[tuple[bytes, ...], ...]

    def to_bytes(self) -> bytes:
        """As bytes, a multiple of eight."""
        word, shift, mask = self.layout.fields()
        counts = np.array([len(each) for each in self.digests], np.int64)
        parts = [_HEAD.pack(self.version, len(word))]
        parts += [array.tobytes() for array in (word, shift, mask, counts)]
        return b"".join([*parts, *(digest for each in self.digests for digest in each)])

    @staticmethod
    def from_bytes(raw: bytes | memoryview) -> Header:
        """What `to_bytes` gave. Errors: BlockDamaged."""
        try:
            version, columns = _HEAD.unpack_from(raw)
            numbers = np.frombuffer(raw, np.int64, 4 * columns, _HEAD.size).reshape(4, columns)
            word, shift, mask, counts = numbers.tolist()
            at = _HEAD.size + numbers.nbytes
            if len(raw) != at + DIGEST * sum(counts):
                raise BlockDamaged("a header has another length than it says")
        except (struct.error, ValueError) as error:
            raise BlockDamaged(f"a header cannot be read: {error}") from error
        content = bytes(raw[at:])
        digests = [content[i : i + DIGEST] for i in range(0, len(content), DIGEST)]
        each = tuple(tuple(digests[a:b]) for a, b in pairwise(accumulate(counts, initial=0)))
        return Header(version, Layout.of_fields(word, shift, mask), each)


def pack(header: bytes, keys: Words) -> bytes:
    """A block of a header and states, shape [n, words]."""
    states = np.ascontiguousarray(keys).reshape(-1).data
    frame = _FRAME.pack(_MAGIC, 0, len(header), len(keys))
    checksum = zlib.crc32(states, zlib.crc32(header, zlib.crc32(frame)))
    return b"".join([_FRAME.pack(_MAGIC, checksum, len(header), len(keys)), header, states])


def unpack(block: bytes | memoryview) -> tuple[Header, Words]:
    """Header and states of a block; these are a view of its bytes. Errors: BlockDamaged."""
    if len(block) < _FRAME.size:
        raise BlockDamaged(f"a block has {len(block)} bytes, fewer than any")
    magic, checksum, size, count = _FRAME.unpack_from(block)
    content = memoryview(block)[_FRAME.size :]
    if magic != _MAGIC:
        raise BlockDamaged("these bytes are no block of states")
    if zlib.crc32(content, zlib.crc32(_FRAME.pack(magic, 0, size, count))) != checksum:
        raise BlockDamaged("a block is not as it was written")
    header = Header.from_bytes(content[:size])
    words = header.layout.words
    if len(content) - size != 8 * words * count:
        raise BlockDamaged("a block has another length than it says")
    return header, np.frombuffer(content[size:], np.uint64).reshape(count, words)
