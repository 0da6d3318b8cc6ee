"""Connections of walks: to an address, by the running loop, or in memory to a server in virtual time."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, Protocol, cast

from rota.conformance.connections.null_tolerant import read_answer
from rota.conformance.connections.security import Refused, security_of
from rota.virtual import Transport, VirtualLoop, arrive
from rota.wire import WireError, encode_request
from rota.wire import frame as framed

LATENCY = 0.001
"""Seconds that bytes take in virtual time, so that nothing is answered in the moment in which it is asked."""

ADMITTED_WITHIN = 10.0
"""Seconds that one answer of a SASL exchange may take."""

_LARGEST = 64 * 1024 * 1024
"""Bytes of an answer, at most: ListGroups names every group of the target."""

_NO_LINGER = struct.pack("ii", 1, 0)


class Listening(Protocol):
    """Who hears what comes on a connection."""

    def heard(self, frame: bytes) -> None:
        """A whole frame has come, with its length in front."""

    def ended(self) -> None:
        """The other side has ended the connection."""


class Line(Protocol):
    """A connection."""

    def send(self, data: bytes) -> None:
        """Bytes leave; nothing happens if the connection has ended."""

    def cut(self) -> None:
        """End the connection without ceremony; nobody is told."""


Open = Callable[[Listening], Any]
"""Opens a connection: a coroutine function from who listens to a `Line`. Errors: OSError."""


class _Frames(asyncio.Protocol):
    """Cuts what comes into frames."""

    def __init__(self, listening: Listening) -> None:
        self.listening: Listening | None = listening
        self._buffer = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        found = transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 4 and self.listening is not None:
            (size,) = struct.unpack_from(">i", self._buffer)
            if not 4 <= size <= _LARGEST:
                self.connection_lost(None)
                return
            if len(self._buffer) < 4 + size:
                return
            frame = bytes(self._buffer[: 4 + size])
            del self._buffer[: 4 + size]
            self.listening.heard(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        listening, self.listening = self.listening, None
        if listening is not None:
            listening.ended()

    def send(self, data: bytes) -> None:
        if self.transport is not None and self.listening is not None:
            self.transport.write(data)

    def cut(self) -> None:
        self.listening = None
        if self.transport is None:
            return
        found = self.transport.get_extra_info("socket")
        if found is not None and found.fileno() >= 0:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()


class _Asking:
    """Who asks one thing after the other on a connection, before anybody else does."""

    def __init__(self) -> None:
        self.frames = _Frames(self)
        self._awaited: asyncio.Future[bytes] | None = None

    def heard(self, frame: bytes) -> None:
        """As of `Listening`."""
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(frame)

    def ended(self) -> None:
        """As of `Listening`."""
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_exception(ConnectionResetError("the SASL exchange is cut off"))

    async def ask(self, name: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        """The body of the answer. Errors: OSError; WireError."""
        self._awaited = asyncio.get_running_loop().create_future()
        self.frames.send(framed(encode_request(name, version, body, 0, "rota-walks")))
        return read_answer(name, version, (await self._awaited)[4:])[1]


def to_address(address: tuple[str, int]) -> Open:
    """Connections to a listener, by the running loop, in TLS and authenticated where the address says so."""
    security = security_of(address)

    async def opened(listening: Listening) -> Line:
        loop, asking = asyncio.get_running_loop(), _Asking()
        name = None if security.tls is None else address[0]

        def ask(api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
            asked = asking.ask(api, version, body)
            return asyncio.run_coroutine_threadsafe(asked, loop).result(ADMITTED_WITHIN)

        await loop.create_connection(lambda: asking.frames, *address, ssl=security.tls, server_hostname=name)
        if security.sasl is not None:
            try:
                await asyncio.to_thread(security.authenticate, ask)
            except (Refused, WireError, TimeoutError) as error:
                asking.frames.cut()
                raise OSError(str(error)) from error
        asking.frames.listening = listening
        return asking.frames

    return opened


class _Memory(Transport):
    """A server's end of a connection in memory, whose other end is a client in the same loop."""

    def __init__(self, loop: VirtualLoop, number: int, listening: Listening) -> None:
        self._frames = _Frames(listening)
        super().__init__(loop, loop.accepted(), number)

    def write(self, data: Any) -> None:
        self._loop.call_later(LATENCY, self._frames.data_received, bytes(data))

    def send(self, data: bytes) -> None:
        """Bytes of the client leave."""
        self._loop.call_later(LATENCY, self._arrived, data)

    def _arrived(self, data: bytes) -> None:
        if not self.is_closing():
            arrive(self.protocol, data)

    def cut(self) -> None:
        """The client ends the connection."""
        self._frames.cut()
        self._loop.call_later(LATENCY, self._broken)

    def _broken(self) -> None:
        self._closing = True
        self._lose(ConnectionResetError())

    def _lose(self, why: Exception | None) -> None:
        super()._lose(why)
        self._loop.call_later(LATENCY, self._frames.connection_lost, None)


def in_memory(loop: VirtualLoop) -> Open:
    """Connections to the server that has been started in a loop in virtual time."""
    numbers = iter(range(1, 2**31))

    async def opened(listening: Listening) -> Line:
        return _Memory(loop, next(numbers), listening)

    return opened
