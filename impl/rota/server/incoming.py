"""What a connection has received and not handled yet. Frames are taken from its front."""

from __future__ import annotations

import struct

from rota.server.intake import SHORT, Intake, Sender, frame_limit

_HEAD = struct.Struct(">ih")
"""A frame's length and its API's number."""

AT_ONCE = 4 * 1024
"""Frames up to this many bytes are decoded in one go, others in slices."""


class FrameError(ValueError):
    """A frame that may not be so long; the text says how long it may be."""


class _Gone:
    """In place of a connection that is gone: neither admitted nor closed."""

    def admitted(self) -> None: ...

    def close(self, reason: str = "") -> None: ...


_GONE = _Gone()


class Incoming:
    """The bytes of one connection. `max_frame` bounds every frame, `intake` all long ones together.

    received: what has not been taken from the front yet; to be read only.
    """

    __slots__ = ("_admitted", "_intake", "_max_frame", "_sender", "_size", "_unasked", "received")

    def __init__(self, sender: Sender, intake: Intake, max_frame: int) -> None:
        self._sender = sender
        self._intake = intake
        self._max_frame = max_frame
        self._unasked = min(SHORT, max_frame)
        self.received = bytearray()
        self._size = 0
        self._admitted = True

    def allow(self, max_frame: int) -> None:
        """From the next frame on they may be so long."""
        self._max_frame = max_frame
        self._unasked = min(SHORT, max_frame)

    def add(self, data: bytes | memoryview) -> None:
        """Takes in what has been read."""
        self.received += data

    def admit(self) -> None:
        """There is room for the long frame that comes next."""
        self._admitted = True

    def clear(self) -> None:
        """Nothing more is handled."""
        self.received.clear()
        self._intake.give_back(self._sender)

    def end(self) -> None:
        """As `clear`, for good: whose bytes they were is let go of."""
        self.clear()
        self._sender = _GONE

    def is_waiting_for_rest(self) -> bool:
        """Whether a frame has been begun and more of it may be read."""
        return self._admitted and self._size > 0 and len(self.received) < 4 + self._size

    def next_frame(self) -> bytes | memoryview | None:
        """The payload of the next complete frame, a view if it is to be decoded in slices.

        Errors: FrameError. One longer than SHORT has taken room, which whoever has handled it gives back.
        """
        received = self.received
        size = self._size or self._next_size()
        end = 4 + size
        if not size or not self._admitted or len(received) < end:
            return None
        self._size = 0
        if size > SHORT:
            # The frame stays where it is; what is behind it moves.
            self.received = received[end:]
            self._intake.whole(self._sender)
            return memoryview(received)[4:end]
        payload = bytes(received[4:end])
        del received[:end]
        return payload if size <= AT_ONCE else memoryview(payload)

    def _next_size(self) -> int:
        """The length of the next frame, 0 if not here; the first look at a long one asks for room."""
        received, most = self.received, self._max_frame
        if len(received) < 4:
            return 0
        if len(received) < _HEAD.size:
            return self._allowed(int.from_bytes(received[:4], "big", signed=True), most)
        size: int
        size, key = _HEAD.unpack_from(received)
        if 0 < size <= self._unasked:
            self._admitted = True
            self._size = size
            return size
        self._size = self._allowed(size, most if 0 < size <= SHORT else min(most, frame_limit(key).bytes))
        self._admitted = size <= SHORT or self._intake.ask(self._sender, size)
        return size

    def _allowed(self, size: int, most: int) -> int:
        if not 0 < size <= most:
            raise FrameError(f"a frame of {size} bytes; it may have {most}")
        return size
