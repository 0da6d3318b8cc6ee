"""One client's connection: frames in, one request at a time, replies out in the order of the requests.

A broker mutes a connection while a request of it is in flight; a parked JoinGroup therefore holds up whatever
was sent behind it. A connection that is lost leaves its parked JoinGroup parked: the reply is dropped.

Responses of one iteration of the event loop leave in one write, and the system sends them at once: with
Nagle's algorithm the second of two small writes would wait for the client's acknowledgement of the first.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol, cast

from rota.wire import (
    Request,
    UnsupportedVersion,
    WireError,
    api,
    decode_request,
    encode_response,
    frame,
)

log = logging.getLogger(__name__)

READ_AHEAD = 64 * 1024
"""Bytes taken in beside what a connection is busy with before it is not read any more."""

REQUESTS_AT_ONCE = 64
"""Requests of one connection that are handled in one iteration of the event loop."""

WRITTEN_TOGETHER = 64 * 1024
"""Bytes of responses that wait for the end of an iteration; whatever makes them more is written with them."""

_API_VERSIONS = api("ApiVersions")


class Broker(Protocol):
    """What a connection needs of its server. `max_idle` is in seconds; negative: no bound."""

    max_frame: int
    max_idle: float
    max_connections: int
    connections: set[Connection]

    def serves(self, key: int, version: int) -> bool:
        """Whether requests of that API and version are answered."""

    def handle(self, body: Mapping[str, Any], context: RequestContext) -> None:
        """Answers the request through its context, now or later."""

    def out_of_range(self) -> Mapping[str, Any]:
        """The body, in version 0, that answers an ApiVersions of an unknown version."""


class RequestContext:
    """What the server knows of a request beside its body, and where its response goes. It is ended once.

    The coordinator has it as the token of a parked request. Hashed by identity.
    """

    def __init__(self, connection: Connection, request: Request) -> None:
        self.api_name = request.api.name
        self.version = request.version
        self.client_id = request.client_id
        self.client_host = connection.client_host
        self.lost: Callable[[], object] = lambda: None
        self._correlation_id = request.correlation_id
        self._connection = connection

    def reply(self, body: Mapping[str, Any]) -> None:
        """Sends the response, if the connection is still there. Never raises."""
        self._connection.answer(self.api_name, self.version, body, self._correlation_id)
        self._connection.ended(self)

    def no_reply(self) -> None:
        """Ends a request whose client waits for nothing."""
        self._connection.ended(self)

    def close_connection(self, reason: str) -> None:
        """Closes the connection: the only answer to a request whose client waits for none."""
        self._connection.close(reason)

    def when_lost(self, callback: Callable[[], object]) -> None:
        """`callback` is called if the connection is lost before the request is ended."""
        self.lost = callback


class Connection(asyncio.Protocol):
    """The protocol object of one accepted socket; `closed` is done when it is gone."""

    def __init__(self, broker: Broker) -> None:
        self.client_host = ""
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._unsent = bytearray()
        self._in_flight: RequestContext | None = None
        self._writable = True
        self._reading = True
        self._advancing = False
        self._will_advance = False
        self._finishing = False
        self._last_active = self._loop.time()
        self._idle: asyncio.TimerHandle | None = None
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.client_host = f"/{transport.get_extra_info('peername')[0]}"
        with suppress(OSError):  # some systems refuse it on a connection that is broken already
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self._broker.connections) >= self._broker.max_connections:
            log.info("closing a connection of %s: there are max.connections already", self.client_host)
            self.abort()
            return
        self._broker.connections.add(self)
        if self._broker.max_idle >= 0:
            self._check_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._received.clear()
        self._unsent.clear()
        self._broker.connections.discard(self)
        if self._idle is not None:
            self._idle.cancel()
        if self._in_flight is not None:
            self._in_flight.lost()
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._last_active = self._loop.time()
        self._received += data
        self._advance()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._last_active = self._loop.time()
        self._writable = True
        self._advance_soon()

    def finish(self) -> None:
        """Handles no further request; the one in flight may still be answered."""
        self._finishing = True

    def close(self, reason: str = "") -> None:
        """Closes the connection after what was answered has left; a reason is logged."""
        if self._transport is None:
            return
        if reason:
            log.info("closing the connection of %s: %s", self.client_host, reason)
        self._received.clear()
        self._write()
        self._transport.close()

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def answer(self, name: str, version: int, body: Mapping[str, Any], correlation_id: int) -> None:
        """A response, written with the others of this iteration of the event loop.

        Never raises: what cannot be encoded closes this connection.
        """
        if self._transport is None or self._transport.is_closing():
            return
        self._last_active = self._loop.time()
        try:
            self._unsent += frame(encode_response(name, version, body, correlation_id))
        except WireError as error:
            log.warning("closing the connection of %s: %s", self.client_host, error)
            self.close()
            return
        if len(self._unsent) > WRITTEN_TOGETHER:
            self._write()
        elif not self._advancing:
            self._advance_soon()

    def _write(self) -> None:
        """Writes the responses that wait for it. What is too much for the client pauses writing at once."""
        if self._unsent and self._transport is not None and not self._transport.is_closing():
            together, self._unsent = self._unsent, bytearray()
            self._transport.write(together)

    def ended(self, context: RequestContext) -> None:
        """A request is not in flight any more: unmutes."""
        if context is not self._in_flight:
            return
        self._in_flight = None
        if not self._advancing:
            # Not at once: the step that answers has to be carried out whole before the next one begins.
            self._advance_soon()

    def _advance_soon(self) -> None:
        """Advances in the next iteration of the event loop, once however often it is asked for."""
        if not self._will_advance:
            self._will_advance = True
            self._loop.call_soon(self._advance)

    def _advance(self) -> None:
        """Handles the next requests, as long as none is in flight, and writes what has been answered."""
        self._will_advance = False
        self._advancing = True
        for _ in range(REQUESTS_AT_ONCE):
            payload = self._next_frame() if self._ready() else None
            if payload is None:
                break
            self._request(payload)
        else:
            self._advance_soon()
        self._advancing = False
        self._write()
        self._update_reading()

    def _ready(self) -> bool:
        """Whether a request can be handled now."""
        if self._transport is None or self._transport.is_closing() or self._finishing:
            return False
        return self._in_flight is None and self._writable

    def _next_frame(self) -> bytes | None:
        """The payload of the next complete frame; an impossible length closes the connection."""
        if len(self._received) < 4:
            return None
        size = int.from_bytes(self._received[:4], "big", signed=True)
        if not 0 <= size <= self._broker.max_frame:
            self.close(f"a frame of {size} bytes")
            return None
        if len(self._received) < 4 + size:
            return None
        with memoryview(self._received) as view:
            payload = bytes(view[4 : 4 + size])
        del self._received[: 4 + size]
        return payload

    def _request(self, payload: bytes) -> None:
        try:
            # A broker does not look behind a request's last field, and librdkafka needs that: its Metadata
            # request for all topics has three bytes too many from version 9 on
            # (confluentinc/librdkafka#5049).
            request = decode_request(payload, trailing=True)
        except UnsupportedVersion as error:
            self._refuse(error.api_key, cast(int, error.correlation_id), str(error))
            return
        except WireError as error:
            self.close(str(error))
            return
        if not self._broker.serves(request.api.key, request.version):
            text = f"{request.api.name} v{request.version} is not served"
            self._refuse(request.api.key, request.correlation_id, text)
            return
        self._in_flight = context = RequestContext(self, request)
        try:
            self._broker.handle(request.body, context)
        except Exception:
            log.exception("closing the connection of %s: %s failed", self.client_host, context.api_name)
            self.close()

    def _refuse(self, key: int, correlation_id: int, reason: str) -> None:
        """ApiVersions of any version has an answer; whatever else is not served closes the connection."""
        if key == _API_VERSIONS.key:
            self.answer(_API_VERSIONS.name, 0, self._broker.out_of_range(), correlation_id)
        else:
            self.close(reason)

    def _update_reading(self) -> None:
        """Stops reading from a client that sends on while it is muted, and goes on when it is not."""
        if self._transport is None or self._transport.is_closing():
            return
        wanted = len(self._received) <= READ_AHEAD or (self._ready() and not self._has_frame())
        if wanted != self._reading:
            self._reading = wanted
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()

    def _has_frame(self) -> bool:
        """Whether what was received begins with a whole frame."""
        return len(self._received) >= 4 + int.from_bytes(self._received[:4], "big")

    def _check_idle(self) -> None:
        """Closes the connection if it has been idle for too long, or looks again when it may have been."""
        now = self._loop.time()
        since = now if self._in_flight is not None else self._last_active
        left = since + self._broker.max_idle - now
        if left > 0:
            self._idle = self._loop.call_later(left, self._check_idle)
        else:
            log.info("closing the connection of %s: idle for %g s", self.client_host, self._broker.max_idle)
            self.abort()
