"""One client's connection: frames in, one request at a time, replies out in the order of the requests.

A broker mutes a connection while a request of it is under way; a parked JoinGroup therefore holds up whatever
was sent behind it. A connection that is lost leaves its parked request parked: the reply is dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Protocol, cast

from rota.wire import (
    Request,
    UnsupportedVersion,
    WireError,
    api,
    decode_request,
    encode_response,
    frame,
    membership_apis,
)

log = logging.getLogger(__name__)

READ_AHEAD = 64 * 1024
"""Bytes taken in from a muted connection before it is not read any more."""


class Broker(Protocol):
    """What a connection needs of its server."""

    max_frame: int
    connections: set[Connection]

    def handle(self, body: Mapping[str, Any], call: Call) -> None:
        """Answers the request through the call, now or later."""

    def out_of_range(self) -> Mapping[str, Any]:
        """The body, in version 0, that answers an ApiVersions of an unknown version."""


class Call:
    """A request under way, known to the coordinator as the address of its reply."""

    def __init__(self, connection: Connection, request: Request) -> None:
        self.api_name = request.api.name
        self.version = request.version
        self.client_id = request.client_id
        self.client_host = connection.client_host
        self._correlation_id = request.correlation_id
        self._connection = connection

    def reply(self, body: Mapping[str, Any]) -> None:
        """Sends the response, if the connection is still there."""
        self._connection.answer(self, self.api_name, self.version, body, self._correlation_id)


class Connection(asyncio.Protocol):
    """The protocol object of one accepted socket; `closed` is done when it is gone."""

    def __init__(self, broker: Broker) -> None:
        self.client_host = ""
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._under_way: Call | None = None
        self._writable = True
        self._reading = True
        self._advancing = False
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.client_host = f"/{transport.get_extra_info('peername')[0]}"
        self._broker.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._received.clear()
        self._broker.connections.discard(self)
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._advance()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._loop.call_soon(self._advance)

    def close(self) -> None:
        """Closes the connection after what was written has left."""
        if self._transport is not None:
            self._received.clear()
            self._transport.close()

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def answer(
        self, call: Call | None, name: str, version: int, body: Mapping[str, Any], correlation_id: int
    ) -> None:
        """Writes a response and unmutes. Never raises: what cannot be encoded closes this connection."""
        if self._transport is None or self._transport.is_closing():
            return
        try:
            self._transport.write(frame(encode_response(name, version, body, correlation_id)))
        except WireError as error:
            log.warning("closing the connection of %s: %s", self.client_host, error)
            self.close()
            return
        if call is self._under_way:
            self._under_way = None
            if not self._advancing:
                # Not at once: the step that answers has to be carried out whole before the next one begins.
                self._loop.call_soon(self._advance)

    def _advance(self) -> None:
        """Takes up the next request, if there is one and none is under way."""
        self._advancing = True
        while self._transport is not None and self._under_way is None and self._writable:
            payload = self._next_frame()
            if payload is None:
                break
            self._request(payload)
        self._advancing = False
        self._mind_reading()

    def _next_frame(self) -> bytes | None:
        """The payload of the next complete frame; an impossible length closes the connection."""
        if len(self._received) < 4:
            return None
        size = int.from_bytes(self._received[:4], "big", signed=True)
        if not 0 <= size <= self._broker.max_frame:
            log.info("closing the connection of %s: a frame of %d bytes", self.client_host, size)
            self.close()
            return None
        if len(self._received) < 4 + size:
            return None
        payload = bytes(self._received[4 : 4 + size])
        del self._received[: 4 + size]
        return payload

    def _request(self, payload: bytes) -> None:
        try:
            # A broker does not look behind a request's last field, and librdkafka needs that: its Metadata
            # request for all topics has three bytes too many from version 9 on
            # (confluentinc/librdkafka#5049).
            request = decode_request(payload, trailing=True)
            if request.api not in membership_apis():
                raise WireError(f"{request.api.name} is not served")
        except WireError as error:
            self._refuse(error)
            return
        self._under_way = call = Call(self, request)
        try:
            self._broker.handle(request.body, call)
        except Exception:
            log.exception("closing the connection of %s: %s failed", self.client_host, call.api_name)
            self.close()

    def _refuse(self, error: WireError) -> None:
        """ApiVersions of any version has an answer; whatever else cannot be read closes the connection."""
        name = "ApiVersions"
        if isinstance(error, UnsupportedVersion) and error.api_key == api(name).key:
            correlation_id = cast(int, error.correlation_id)
            self.answer(self._under_way, name, 0, self._broker.out_of_range(), correlation_id)
            return
        log.info("closing the connection of %s: %s", self.client_host, error)
        self.close()

    def _mind_reading(self) -> None:
        """Stops reading from a client that sends on while it is muted, and goes on when it is not."""
        if self._transport is None or self._transport.is_closing():
            return
        muted = self._under_way is not None or not self._writable
        wanted = not (muted and len(self._received) > READ_AHEAD)
        if wanted != self._reading:
            self._reading = wanted
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()
