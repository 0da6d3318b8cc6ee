"""One raw connection to a target: framed requests out, framed answers in, nothing assumed about the peer."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rota.conformance.connections.null_tolerant import read_answer
from rota.conformance.connections.security import PLAINTEXT, Refused, Security, security_of
from rota.wire import WireError, api, encode_request, frame

LARGEST_ANSWER = 8 * 1024 * 1024
"""Bytes; a longer length prefix is taken for garbage, since no answer of the group protocol comes near it."""


class NotListening(Exception):
    """Nothing accepts connections at the address."""


class NotAdmitted(NotListening):
    """Something listens, but does not let us in: the TLS handshake or the SASL exchange fails."""


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

    It speaks TLS and has said who it is where the address says so. Raises `NotListening` if nothing accepts
    at the address within `timeout` seconds, `NotAdmitted` if we are not let in.
    """

    def __init__(self, address: tuple[str, int], client_id: str, timeout: float = 5.0) -> None:
        self.address = address
        self._client_id = client_id
        self._next_correlation_id = 1
        self._buffer = bytearray()
        try:
            self._socket = socket.create_connection(address, timeout=timeout)
        except OSError as error:
            raise NotListening(f"{address[0]}:{address[1]}: {error.strerror or error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if (security := security_of(address)) is not PLAINTEXT:
            self._enter(security, address, timeout)

    def send(self, name: str, version: int, body: Mapping[str, Any]) -> SentRequest:
        """Send one request; raises `Closed` if the target no longer takes bytes."""
        return self.send_together([(name, version, body)])[0]

    def send_together(self, requests: Iterable[tuple[str, int, Mapping[str, Any]]]) -> list[SentRequest]:
        """Send requests in one write, each given by API, version and body; raises `Closed` as `send` does."""
        sent = []
        for name, version, body in requests:
            number = self._next_correlation_id
            self._next_correlation_id += 1
            data = frame(encode_request(name, version, body, number, self._client_id))
            sent.append(SentRequest(name, version, number, data))
        self.send_raw(b"".join(one.data for one in sent))
        return sent

    def send_too_new(self, name: str, version: int, body: Mapping[str, Any]) -> SentRequest:
        """Send a request of a version that no table has, with what the newest one that is known has in it.

        Its answer is read as one of version 0, which is how ApiVersions refuses (KIP-511).
        """
        number = self._next_correlation_id
        self._next_correlation_id += 1
        newest = encode_request(name, api(name).max_version, body, number, self._client_id)
        data = frame(newest[:2] + struct.pack(">h", version) + newest[4:])
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

    def abort(self) -> None:
        """Close by a reset, which leaves nothing of the connection: whoever listened can do so again."""
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def _enter(self, security: Security, address: tuple[str, int], within: float) -> None:
        """TLS and SASL; what is not let in is closed. Errors: NotAdmitted."""

        def ask(name: str, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
            answer = self.receive(self.send(name, version, body), within)
            if answer is None:
                raise Refused(f"no answer to {name} in {within:g} s")
            return answer.body

        try:
            self._socket = security.wrapped(self._socket, address[0])
            security.authenticate(ask)
        except (Refused, Closed, Garbage) as error:
            self.close()
            closed = "the SASL exchange is cut off, as some do for a wrong password: "
            why = f"{closed if isinstance(error, Closed) else ''}{error}"
            raise NotAdmitted(f"{address[0]}:{address[1]}: {why}") from error

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
