"""One raw connection to a target: framed requests out, framed answers in, nothing assumed about the peer."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rota.conformance.connections.null_tolerant import read_answer
from rota.wire import WireError, api, encode_request, frame, request_header

LARGEST_ANSWER = 8 * 1024 * 1024
"""Bytes; a longer length prefix is taken for garbage, since no answer of the group protocol comes near it."""


class NotListening(Exception):
    """Nothing accepts connections at the address."""


class Closed(Exception):
    """The target closed or reset the connection."""


class Garbage(Exception):
    """The target sent bytes that are not an answer to what was asked; `data` is the frame, if it was one."""

    def __init__(self, why: str, data: bytes = b"") -> None:
        super().__init__(why)
        self.data = data


@dataclass(frozen=True)
class SentRequest:
    """A request that was sent: what a later `receive` needs to read its answer, and the frame itself."""

    api: str
    version: int
    correlation_id: int
    data: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True)
class Answer:
    """The body of an answer; `nulls` names the fields that were null although their version allows none.

    `data` is the frame that it came in.
    """

    body: dict[str, Any]
    nulls: tuple[str, ...] = ()
    data: bytes = field(default=b"", repr=False, compare=False)


class Connection:
    """A blocking connection on which requests and answers are separate steps.

    Raises `NotListening` if nothing accepts at the address within `timeout` seconds.
    """

    def __init__(self, address: tuple[str, int], client_id: str, timeout: float = 5.0) -> None:
        self._client_id = client_id
        self._next_correlation_id = 1
        self._buffer = bytearray()
        try:
            self._socket = socket.create_connection(address, timeout=timeout)
        except OSError as error:
            raise NotListening(f"{address[0]}:{address[1]}: {error.strerror or error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, name: str, version: int, body: Mapping[str, Any]) -> SentRequest:
        """Send one request; raises `Closed` if the target no longer takes bytes."""
        number = self._next_correlation_id
        self._next_correlation_id += 1
        data = frame(encode_request(name, version, body, number, self._client_id))
        self.send_raw(data)
        return SentRequest(name, version, number, data)

    def send_header(self, name: str, version: int) -> SentRequest:
        """Send a request of a version that no table has: a flexible header and no body.

        Its answer is read as one of version 0, which is how ApiVersions refuses (KIP-511).
        """
        number = self._next_correlation_id
        self._next_correlation_id += 1
        data = frame(request_header(api(name).key, version, number, self._client_id, flexible=True))
        self.send_raw(data)
        return SentRequest(name, 0, number, data)

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are; raises `Closed` if the target no longer takes them."""
        try:
            self._socket.settimeout(5.0)
            self._socket.sendall(data)
        except OSError as error:
            raise Closed(str(error.strerror or error)) from error

    def receive(self, request: SentRequest, within: float) -> Answer | None:
        """The answer, or None if it did not come within so many seconds.

        Raises `Closed`, or `Garbage` for anything that is not the answer to this request.
        """
        data = self._frame(time.monotonic() + within)
        if data is None:
            return None
        payload = data[4:]
        try:
            correlation_id, body, nulls = read_answer(request.api, request.version, payload)
        except WireError as error:
            raise Garbage(f"{error} ({len(payload)} bytes: {_hex(payload)})", data) from error
        if correlation_id != request.correlation_id:
            raise Garbage(f"correlation id {correlation_id} in the answer to {request.correlation_id}", data)
        return Answer(body, nulls, data)

    def close(self) -> None:
        """Close without ceremony; safe to call twice."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _frame(self, deadline: float) -> bytes | None:
        if not self._fill(4, deadline):
            return None
        (length,) = struct.unpack(">i", self._buffer[:4])
        if not 4 <= length <= LARGEST_ANSWER:
            raise Garbage(f"{length} is no length of an answer ({_hex(bytes(self._buffer))})")
        if not self._fill(4 + length, deadline):
            return None
        data = bytes(self._buffer[: 4 + length])
        del self._buffer[: 4 + length]
        return data

    def _fill(self, size: int, deadline: float) -> bool:
        while len(self._buffer) < size:
            try:
                # At least one look at the socket, also where the deadline is already there.
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                data = self._socket.recv(65536)
            except TimeoutError:
                return False
            except OSError as error:
                raise Closed(str(error.strerror or error)) from error
            if not data:
                raise Closed("end of stream")
            self._buffer += data
        return True


def _hex(data: bytes) -> str:
    return data[:24].hex(" ") + ("…" if len(data) > 24 else "")
