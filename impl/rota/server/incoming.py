"""What a connection has received and not handled yet. Frames are taken from its front."""

from __future__ import annotations

from rota.server.intake import SHORT, Intake, Sender, frame_limit

AT_ONCE = 4 * 1024
"""Frames up to this many bytes are decoded in one go, others in slices."""


class FrameError(ValueError):
    """A frame that may not be so long; the text says how long it may be."""


class Incoming:
    """The bytes of one connection. `max_frame` bounds every frame, `intake` all long ones together."""

    def __init__(self, sender: Sender, intake: Intake, max_frame: int) -> None:
        self._sender = sender
        self._intake = intake
        self._max_frame = max_frame
        self._received = bytearray()
        self._size: int | None = None
        self._admitted = True

    def __len__(self) -> int:
        return len(self._received)

    def add(self, data: bytes) -> None:
        """Takes in what has been read."""
        self._received += data

    def admit(self) -> None:
        """There is room for the long frame that comes next."""
        self._admitted = True

    def clear(self) -> None:
        """Nothing more is handled."""
        self._received.clear()
        self._intake.give_back(self._sender)

    def is_waiting_for_rest(self) -> bool:
        """Whether a frame has been begun and more of it may be read."""
        return self._admitted and self._size is not None and len(self._received) < 4 + self._size

    def next_frame(self) -> bytes | memoryview | None:
        """The payload of the next complete frame, a view if it is to be decoded in slices.

        Errors: FrameError. One longer than SHORT has taken room, which whoever has handled it gives back.
        """
        size = self._next_size()
        if size is None or not self._admitted or len(self._received) < 4 + size:
            return None
        self._size = None
        if size > SHORT:
            # The frame stays where it is; what is behind it moves.
            whole, self._received = self._received, self._received[4 + size :]
            self._intake.whole(self._sender)
            return memoryview(whole)[4 : 4 + size]
        with memoryview(self._received) as view:
            payload = bytes(view[4 : 4 + size])
        del self._received[: 4 + size]
        return payload if size <= AT_ONCE else memoryview(payload)

    def _next_size(self) -> int | None:
        """The length of the next frame, None if not here; the first look at a long one asks for room."""
        if self._size is not None:
            return self._size
        if len(self._received) < 4:
            return None
        size, most = int.from_bytes(self._received[:4], "big", signed=True), self._max_frame
        has_key = len(self._received) >= 6
        if has_key:
            most = min(most, frame_limit(int.from_bytes(self._received[4:6], "big", signed=True)).bytes)
        if not 0 < size <= most:
            raise FrameError(f"a frame of {size} bytes; it may have {most}")
        if has_key:
            self._size = size
            self._admitted = size <= SHORT or self._intake.ask(self._sender, size)
        return size
