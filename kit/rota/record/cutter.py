"""Finds the frames in a stream of bytes, whatever pieces it comes in; holds those that are wanted whole."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from enum import Enum

_LENGTH = struct.Struct(">i")


class NotAFrame(Exception):
    """What should be the length of a frame cannot be one."""


class Spoiled(Enum):
    """What bytes that are missing take with them."""

    NOTHING = "nothing that was wanted"
    FRAME = "a frame that was wanted"
    PLACE = "where the next frame begins"


class Cutter:
    """The frames of one direction of a connection.

    head: so many bytes of a frame, behind its length, are shown to `begins` (fewer of a shorter frame), with
    the frame's length; it says whether the frame is held until it is whole. Of all others nothing is kept.
    """

    def __init__(self, head: int, begins: Callable[[bytes, int], bool]) -> None:
        self._head = head
        self._begins = begins
        self._start = b""  # of a frame, too few bytes to know what to do with it
        self._held: list[bytes] = []
        self._missing = 0  # of the frame that is held
        self._passing = 0  # left of the one that is not

    @property
    def waiting(self) -> int:
        """How many bytes it holds."""
        return len(self._start) + sum(map(len, self._held))

    def feed(self, data: bytes) -> Iterator[tuple[bool, bytes]]:
        """What the bytes complete, in order: (True, a frame with its length) or (False, bytes to pass on).

        Errors: NotAFrame, when everything before was given out; `leftover` then has the rest.
        """
        if self._start:
            data, self._start = self._start + data, b""
        at, size = 0, len(data)
        while at < size:
            if self._passing:
                end = min(size, at + self._passing)
                self._passing -= end - at
                yield False, data[at:end]
            elif self._missing:
                end = min(size, at + self._missing)
                self._missing -= end - at
                self._held.append(data[at:end])
                if not self._missing:
                    whole, self._held = b"".join(self._held), []
                    yield True, whole
            else:
                end = at
                if not self._begin(data, at, size):
                    self._start = data[at:]
                    return
            at = end

    def lost(self, size: int) -> Spoiled:
        """So many bytes do not come. Where the next frame begins may be unknown then: feed it from one on."""
        if self._passing >= size:
            self._passing -= size
            return Spoiled.NOTHING
        if self._missing >= size:
            self._passing, self._missing, self._held = self._missing - size, 0, []
            return Spoiled.FRAME
        self.leftover()
        self._passing = 0
        return Spoiled.PLACE

    def leftover(self) -> bytes:
        """All that is held, which nothing will complete."""
        rest = b"".join([*self._held, self._start])
        self._held, self._start, self._missing = [], b"", 0
        return rest

    def _begin(self, data: bytes, at: int, size: int) -> bool:
        """Decide on the frame that begins there; False where too little of it is there to decide."""
        if size - at < 4:
            return False
        (length,) = _LENGTH.unpack_from(data, at)
        if length < 0:
            self._start = data[at:]
            raise NotAFrame(f"a length of {length}")
        head = min(self._head, length)
        if size - at < 4 + head:
            return False
        if self._begins(data[at + 4 : at + 4 + head], length):
            self._missing = 4 + length
        else:
            self._passing = 4 + length
        return True
