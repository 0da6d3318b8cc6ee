"""Responses on their way out of a connection: those of one iteration of the event loop leave in one write.

A long one leaves as fast as its client takes it, and is not copied before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from rota.wire import Bytes, WireError, encode_response, encode_response_in_slices, frame_reply

WRITTEN_TOGETHER = 64 * 1024
"""Bytes of short responses that wait for the end of an iteration, and of a longer one in one write."""

MAX_RESPONSE = 2**31 - 1
"""Bytes of a response that the length in front of it can say."""

ENCODED_AT_ONCE = 500
"""Elements of a response that is encoded in one go, a longer one in slices."""


def is_long(body: Mapping[str, Any]) -> bool:
    """Whether a response has so many elements that it should be encoded in slices; two levels count."""
    count = 0
    for value in body.values():
        if type(value) is not list:
            continue
        count += len(value)
        if count > ENCODED_AT_ONCE:
            return True
        if value and isinstance(value[0], Mapping):
            count += sum(len(inner) for each in value for inner in each.values() if type(inner) is list)
    return count > ENCODED_AT_ONCE


def _gone(what: object) -> None:
    """In place of what was told a connection that is gone."""


def _never() -> bool:
    """A connection that is gone takes nothing."""
    return False


class Outgoing:
    """The responses of one connection.

    write: sends bytes; fail: ends the connection because a response cannot be sent; may_write: whether its
    client takes what is sent; holds: is told how many bytes of a long response there are, at each progress.
    is_busy: whether a long response is being encoded or sent, which nothing may overtake.
    """

    __slots__ = (
        "_begun",
        "_encoding",
        "_fail",
        "_held",
        "_holds",
        "_may_write",
        "_rest",
        "_unsent",
        "_write",
        "is_busy",
    )

    def __init__(
        self,
        write: Callable[[Bytes], None],
        fail: Callable[[str], None],
        may_write: Callable[[], bool],
        holds: Callable[[int], None],
    ) -> None:
        self._write = write
        self._fail = fail
        self._may_write = may_write
        self._holds = holds
        self._unsent = bytearray()
        self._encoding: Iterator[None] | None = None
        self._rest: deque[Bytes] = deque()
        self._begun = 0
        self._held = 0
        self.is_busy = False

    def add(self, name: str, version: int, body: Mapping[str, Any], correlation_id: int) -> None:
        """Takes a response in, for `flush`, or for `step` if it is long."""
        if is_long(body):
            self._encoding = self._encoded(encode_response_in_slices(name, version, body, correlation_id))
            self.is_busy = True
            return
        try:
            self.add_encoded(encode_response(name, version, body, correlation_id))
        except WireError as error:
            self._fail(str(error))

    def add_reply(self, name: str, version: int, reply: object, correlation_id: int) -> None:
        """Takes in a response whose fields are an object's, of few elements."""
        unsent = self._unsent
        begin = len(unsent)
        try:
            frame_reply(unsent, name, version, reply, correlation_id)
        except WireError as error:
            self._fail(str(error))
            return
        if len(unsent) > WRITTEN_TOGETHER:
            payload = unsent[begin + 4 :]
            del unsent[begin:]
            self.add_encoded(payload)

    def add_encoded(self, payload: Bytes) -> None:
        """Takes an encoded response in."""
        if len(payload) > WRITTEN_TOGETHER:
            self.add_pieces((payload,), len(payload))
            return
        self._unsent += len(payload).to_bytes(4, "big")
        self._unsent += payload
        if len(self._unsent) > WRITTEN_TOGETHER:
            self.flush()

    def add_pieces(self, pieces: Sequence[Bytes], held: int) -> None:
        """Takes in an encoded response in pieces, for `step`. held: the bytes that nobody else keeps."""
        size = sum(map(len, pieces))
        if size > MAX_RESPONSE:
            self._fail(f"{size} bytes of response")
            return
        self._unsent += size.to_bytes(4, "big")
        self._rest.extend(pieces)
        self._update()
        self._held = held
        self._holds(held)

    def step(self) -> bool:
        """Goes on with a long response, as far as it is taken. Whether anything was done."""
        if self._encoding is not None:
            if next(self._encoding, self) is self:
                self._encoding = None
                self._update()
            return True
        if not self._rest or not self._may_write():
            return False
        self.flush()
        self._write(self._next())
        self._update()
        self._holds(self._held if self._rest else 0)
        return True

    def _update(self) -> None:
        self.is_busy = self._encoding is not None or bool(self._rest)

    def _next(self) -> bytearray:
        """What goes out in one write."""
        out = bytearray()
        while self._rest and len(out) < WRITTEN_TOGETHER:
            piece = self._rest[0]
            end = min(self._begun + WRITTEN_TOGETHER - len(out), len(piece))
            out += memoryview(piece)[self._begun : end]
            self._begun = end
            if end == len(piece):
                self._rest.popleft()
                self._begun = 0
        return out

    def flush(self) -> None:
        """Writes the short responses. What is too much for the client pauses writing at once."""
        if self._unsent:
            together, self._unsent = self._unsent, bytearray()
            self._write(together)

    def flush_all(self) -> None:
        """Writes all that is encoded, whether it is taken or not."""
        self.flush()
        while self._rest:
            self._write(self._next())
        self._update()
        self._holds(0)

    def clear(self) -> None:
        """Nothing more is sent, and whoever sent it is let go of."""
        self._unsent.clear()
        self._rest.clear()
        self._encoding = None
        self._update()
        self._holds(0)
        self._write = self._fail = self._holds = _gone
        self._may_write = _never

    def _encoded(self, steps: Generator[None, None, bytearray]) -> Iterator[None]:
        try:
            self.add_encoded((yield from steps))
        except WireError as error:
            self._fail(str(error))
