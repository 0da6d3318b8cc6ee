"""Responses on their way out of a connection: those of one iteration of the event loop leave in one write."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from rota.wire import WireError, encode_response, encode_response_in_slices

WRITTEN_TOGETHER = 64 * 1024
"""Bytes of responses that wait for the end of an iteration; whatever makes them more is written with them."""

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


class Outgoing:
    """The responses of one connection; `write` sends bytes, `fail` ends it because one cannot be sent."""

    def __init__(self, write: Callable[[bytes | bytearray], None], fail: Callable[[str], None]) -> None:
        self._write = write
        self._fail = fail
        self._unsent = bytearray()
        self._encoding: Iterator[None] | None = None

    @property
    def is_encoding(self) -> bool:
        """Whether a long response is being encoded, which nothing may overtake."""
        return self._encoding is not None

    def add(self, name: str, version: int, body: Mapping[str, Any], correlation_id: int) -> bool:
        """Takes a response in. Whether something is left to do: `flush`, or `step` before it."""
        if is_long(body):
            self._encoding = self._encoded(encode_response_in_slices(name, version, body, correlation_id))
            return True
        try:
            return self.add_encoded(encode_response(name, version, body, correlation_id))
        except WireError as error:
            self._fail(str(error))
            return False

    def add_encoded(self, payload: bytes | bytearray) -> bool:
        """Takes an encoded response in. Whether it waits for `flush`; else all have been written."""
        if len(payload) > MAX_RESPONSE:
            self._fail(f"{len(payload)} bytes of response")
            return False
        self._unsent += len(payload).to_bytes(4, "big")
        if len(payload) > WRITTEN_TOGETHER:
            self.flush()
            self._write(payload)  # as it is: to add it to the others is to copy it
            return False
        self._unsent += payload
        if len(self._unsent) <= WRITTEN_TOGETHER:
            return True
        self.flush()
        return False

    def step(self) -> bool:
        """Goes on with a long response. Whether there is one."""
        if self._encoding is None:
            return False
        if next(self._encoding, self) is self:
            self._encoding = None
        return True

    def flush(self) -> None:
        """Writes the responses that wait for it. What is too much for the client pauses writing at once."""
        if self._unsent:
            together, self._unsent = self._unsent, bytearray()
            self._write(together)

    def clear(self) -> None:
        """Nothing more is sent."""
        self._unsent.clear()
        self._encoding = None

    def _encoded(self, steps: Generator[None, None, bytearray]) -> Iterator[None]:
        try:
            self.add_encoded((yield from steps))
        except WireError as error:
            self._fail(str(error))
