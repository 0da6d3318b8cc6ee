"""Bytes that stay in pieces: a long response holds what is stored already, instead of a copy of it."""

from __future__ import annotations

from collections.abc import Sequence

Bytes = bytes | bytearray | memoryview


class Pieces:
    """The value of a `bytes` field in several pieces; only `encode_response_in_pieces` takes it."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: Sequence[bytes]) -> None:
        self.parts = parts
        self.size = sum(map(len, parts))

    def __len__(self) -> int:
        return self.size


class Cut(bytearray):
    """What a message is written to that holds `Pieces`; `taken` gives everything in order."""

    def __init__(self, head: bytearray) -> None:
        super().__init__(head)
        self._done: list[Bytes] = []

    def __iadd__(self, data: Bytes | Pieces) -> Cut:  # type: ignore[misc, override]
        if isinstance(data, Pieces):
            self._done.append(bytes(self))
            self.clear()
            self._done += data.parts
        else:
            self.extend(data)
        return self

    def taken(self) -> list[Bytes]:
        """The message in pieces; this is empty afterwards."""
        pieces, self._done = [*self._done, bytes(self)], []
        self.clear()
        return pieces
