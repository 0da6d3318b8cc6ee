"""Values that an earlier run has numbered: their encodings, read when somebody asks for a value."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, SupportsIndex, overload

import numpy as np

from rota.explore.tables.arrays import Longs, Words
from rota.kernel.decoding import DecodeError, Decoder
from rota.kernel.encoding import Encoding

_UNREAD = object()


class KeptError(ValueError):
    """What an earlier run has learned is not what the system says, or cannot be read."""


class KeptValues(list[Any]):
    """The values that a table began with, and those that came after them; a list that reads as it is asked.

    Parameters: packed, the encodings end to end, compressed; ends, where each ends; codes, 64 bits of a hash
    of each, by which one is found (encodings are compared); decoder; encoding, of the system. What cannot be
    read is a KeptError where it is asked for.
    """

    def __init__(
        self, packed: bytes, ends: Longs, codes: Words, decoder: Decoder, encoding: Encoding
    ) -> None:
        super().__init__([_UNREAD] * len(ends))
        self._encoding = encoding
        self._packed, self._ends, self._codes, self._decoder = packed, ends, codes, decoder
        self._unpacked: bytes | None = None

    def raw(self, number: int) -> bytes:
        """The encoding of a value that the table began with."""
        if self._unpacked is None:
            self._unpacked = zlib.decompress(self._packed)
        start = int(self._ends[number - 1]) if number else 0
        return self._unpacked[start : int(self._ends[number])]

    def find(self, value: Any) -> int:
        """The number of a value that the table began with, -1 if it is none of these."""
        try:
            raw = self._encoding.encode(value)
        except Exception:  # it is told of where it is numbered
            return -1
        for number in np.flatnonzero(self._codes == code_of(raw)).tolist():
            if self.raw(number) == raw:
                if super().__getitem__(number) is _UNREAD:
                    super().__setitem__(number, value)
                return int(number)
        return -1

    def unread(self, number: int) -> bool:
        """Whether nobody has asked for a value yet."""
        return super().__getitem__(number) is _UNREAD

    @overload
    def __getitem__(self, which: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, which: slice) -> list[Any]: ...
    def __getitem__(self, which: SupportsIndex | slice) -> Any:
        if isinstance(which, slice):
            return [self[number] for number in range(*which.indices(len(self)))]
        value = super().__getitem__(which)
        if value is _UNREAD:
            number = range(len(self))[which]
            try:
                value = self._decoder.decode(self.raw(number))
            except (zlib.error, DecodeError) as error:
                raise KeptError(f"a value that was kept {error}") from error
            super().__setitem__(number, value)
        return value

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))


def code_of(raw: bytes) -> np.uint64:
    """64 bits of a hash of an encoding."""
    return np.uint64(int.from_bytes(blake2b(raw, digest_size=8).digest(), "big"))
