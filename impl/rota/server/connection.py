"""One client's connection: frames in, one request at a time, replies out in the order of the requests.

A broker mutes a connection while a request of it is in flight; a parked JoinGroup therefore holds up whatever
was sent behind it. A connection that is lost leaves its parked JoinGroup parked: the reply is dropped.

Responses of one turn leave in one write, and the system sends them at once (no Nagle's algorithm).
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, cast

from rota.server.context import RequestContext
from rota.server.endpoints import Endpoint
from rota.server.gate import MOST_UNKNOWN, Gate, Versions
from rota.server.idle import Idle
from rota.server.incoming import FrameError, Incoming
from rota.server.intake import Intake, frame_limit
from rota.server.outgoing import Outgoing
from rota.server.turns import Turns
from rota.server.unsent import Unsent
from rota.wire import (
    Bytes,
    Request,
    UnsupportedVersion,
    WireError,
    api,
    decode_request,
    decode_request_in_slices,
)

log = logging.getLogger(__name__)

READ_AHEAD = 64 * 1024
"""Bytes taken in beside what a connection is busy with before it is not read any more."""

_API_VERSIONS = api("ApiVersions")


class Broker(Versions, Protocol):
    """What a connection needs of its server. `max_idle` is in seconds; negative: no bound.

    landing: where the bytes of whichever connection is being read arrive, to be taken from there at once.
    """

    max_frame: int
    max_idle: float
    max_connections: int
    connections: set[Connection]
    turns: Turns
    intake: Intake
    landing: memoryview
    unsent: Unsent

    def handle(self, body: Mapping[str, Any], context: RequestContext) -> Iterator[None] | None:
        """Answers the request through its context, now or later, or in steps, to be gone through."""


class Connection(asyncio.BufferedProtocol):
    """The protocol object of one accepted socket; `closed` is done when it is gone.

    It says where its bytes are to go: otherwise asyncio allocates 256 KiB for each read, and gives them back.
    Without a dict of its own: of a thousand, each is a few lines of the processor's cache less.
    """

    __slots__ = (
        "__weakref__", "_broker", "_ended", "_finishing", "_gate", "_idle", "_in_flight", "_incoming",
        "_is_dropped", "_loop", "_outgoing", "_reading", "_steps", "_transport", "_will_go_on", "_working",
        "_writable", "client_host", "client_port", "closed", "endpoint",
    )  # fmt: skip

    def __init__(self, broker: Broker, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.client_host = ""
        self.client_port = 0
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        sasl, most = endpoint.sasl, broker.max_frame
        self._gate = None if sasl is None else Gate(sasl, broker, self._loop.call_later, self._loop.time)
        self._incoming = Incoming(self, broker.intake, most if sasl is None else min(most, MOST_UNKNOWN))
        self._outgoing = Outgoing(self._write, self._unanswerable, lambda: self._writable, self._holds)
        self._steps: Iterator[None] | None = None
        self._in_flight: RequestContext | None = None
        self._is_dropped = False
        self._writable = True
        self._reading = True
        self._working = False
        self._will_go_on = False
        self._finishing = False
        self._ended = False
        self._idle = Idle(self._loop, broker.max_idle, self._is_busy, self._idle_too_long)
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        host, self.client_port = transport.get_extra_info("peername")[:2]
        self.client_host = f"/{host}"
        if (accepted := transport.get_extra_info("socket")) is not None:
            with suppress(OSError):  # some refuse it where the connection is broken already
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self._broker.connections) >= self._broker.max_connections:
            log.info("closing a connection of %s: there are max.connections already", self.client_host)
            self.abort()
            return
        self._broker.connections.add(self)
        self._idle.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        # No cycle is left: what it takes is given back now, and not when the collector finds it.
        self._incoming.end()
        self._outgoing.clear()
        self._broker.connections.discard(self)
        self._idle.stop()
        in_flight, self._in_flight = self._in_flight, None
        if in_flight is not None:
            in_flight.lost()
        self.closed.set_result(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._broker.landing

    def buffer_updated(self, nbytes: int) -> None:
        self._incoming.add(self._broker.landing[:nbytes])
        self._broker.turns.go_on(self)
        if len(self._incoming.received) > READ_AHEAD:
            self._update_reading()

    def eof_received(self) -> bool:
        """What was sent before the end is handled, if it is only waiting for its turn."""
        self._ended = True
        return self in self._broker.turns

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._idle.since = self._loop.time()
        self._writable = True
        self._go_on_soon()

    def admitted(self) -> None:
        """There is room for a long frame, which may even be here already."""
        self._incoming.admit()
        self._go_on_soon()

    def known(self) -> None:
        """The gate is open: its client may send what clients send."""
        self._incoming.allow(self._broker.max_frame)

    def finish(self) -> None:
        """Handles no further request; the one in flight may still be answered."""
        self._finishing = True

    def close(self, reason: str = "") -> None:
        """Closes the connection after what was answered has left; a reason is logged."""
        if self._transport is not None:
            if reason:
                log.info("closing the connection of %s: %s", self.client_host, reason)
            self._incoming.clear()
            self._outgoing.flush_all()
            self._transport.close()

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def answer(self, name: str, version: int, body: Mapping[str, Any], correlation_id: int) -> None:
        """A response, written at the end of the turn. Never raises: what cannot be encoded closes it."""
        if self.is_there:
            self._idle.since = self._loop.time()
            self._outgoing.add(name, version, body, correlation_id)

    def answer_with(self, name: str, version: int, reply: object, correlation_id: int) -> None:
        """As `answer`, of an object in place of a body, of few elements."""
        if self._transport is not None:
            if not self._working:
                self._idle.since = self._loop.time()
            self._outgoing.add_reply(name, version, reply, correlation_id)

    def answer_in_pieces(self, pieces: Sequence[Bytes], held: int) -> None:
        """An encoded response. Never raises: what no frame can hold closes this connection."""
        if self.is_there:
            self._idle.since = self._loop.time()
            self._outgoing.add_pieces(pieces, held)

    def break_off(self, frame: Bytes) -> None:
        """The first half of a frame leaves, behind what was answered before, and the connection is closed."""
        if self.is_there:
            self._outgoing.flush_all()
            self._write(frame[: len(frame) // 2])
            self.close()

    def _unanswerable(self, why: str) -> None:
        log.warning("closing the connection of %s: %s", self.client_host, why)
        self.close()

    @property
    def is_there(self) -> bool:
        """Whether there is somebody at the other end."""
        return self._transport is not None and not self._transport.is_closing()

    def close_as_slow(self) -> None:
        """Its long answer is not taken, and others need the room."""
        log.info("closing the connection of %s: it does not take its long answer", self.client_host)
        self.abort()

    def _holds(self, size: int) -> None:
        self._broker.unsent.put(self, size)

    def _write(self, data: Bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def dropped(self, context: RequestContext) -> None:
        """A request is in flight that will not be answered: from now on the connection counts as idle.

        What follows cannot be answered before it, since clients take answers in the order of their requests.
        """
        if context is self._in_flight:
            log.info("a request of %s will not be answered: %s", self.client_host, context.api_name)
            self._is_dropped = True

    def ended(self, context: RequestContext) -> None:
        """A request is not in flight any more: unmutes, and writes what answers it if nothing follows."""
        if context is self._in_flight:
            self._in_flight = None
        if self._working:
            return
        if self._has_work():
            # Not at once: the step that answers has to be carried out whole before the next one begins.
            self._go_on_soon()
        else:
            self._outgoing.flush()

    def _go_on_soon(self) -> None:
        """Goes on in the next iteration of the event loop, once however often it is asked for."""
        if not self._will_go_on:
            self._will_go_on = True
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Handles requests, in turn with those of others; what has been answered does not wait for that."""
        self._will_go_on = False
        if self._has_work() or self._ended:
            self._broker.turns.go_on(self)
        self._outgoing.flush()

    def _has_work(self) -> bool:
        """Whether there is anything here to go on with, though perhaps not now."""
        return bool(self._incoming.received) or self._steps is not None or self._outgoing.is_busy

    def work(self, until: float) -> bool:
        """Handles the next requests, as long as none is in flight, and writes what has been answered.

        Whether there is more to do.
        """
        # As good as now, which need not be asked for: a turn is short.
        self._idle.since = until
        self._working = True
        while (more := self._work()) and self._loop.time() < until:
            pass
        self._working = False
        self._outgoing.flush()
        if self._ended and not more and self._transport is not None:
            self._transport.close()
        if not self._reading or len(self._incoming.received) > READ_AHEAD:
            self._update_reading()
        return more

    def _work(self) -> bool:
        """Goes on by one request, or one step of it. Whether there may be more to do."""
        if self._outgoing.is_busy and self._outgoing.step():
            return True
        if self._steps is not None:
            self._step(self._steps)
            return True
        payload = self._next_frame() if self._ready() else None
        if payload is None:
            return False
        if self._gate is not None and not self._gate.admits(payload, self):
            self._broker.intake.give_back(self)
        elif isinstance(payload, bytes):
            self._request(payload)
        else:
            self._steps = self._long_request(payload)
        return self._has_work()

    def _step(self, steps: Iterator[None]) -> None:
        """Goes on with a request that takes several steps; to its end, be its client there or not."""
        try:
            next(steps)
        except StopIteration:
            self._done()
        except Exception:
            self._done()
            self._failed()

    def _done(self) -> None:
        self._steps = None
        self._broker.intake.give_back(self)

    def _ready(self) -> bool:
        """Whether a request can be handled now."""
        if self._transport is None or self._transport.is_closing() or self._finishing:
            return False
        busy = self._in_flight is not None or self._steps is not None or self._outgoing.is_busy
        return self._writable and not busy

    def _next_frame(self) -> bytes | memoryview | None:
        """The payload of the next complete frame; an impossible length closes the connection."""
        try:
            return self._incoming.next_frame()
        except FrameError as error:
            self.close(str(error))
            return None

    def _request(self, payload: bytes) -> None:
        try:
            # A broker does not look behind a request's last field, and librdkafka needs that: its Metadata
            # request for all topics has three bytes too many from version 9 on
            # (confluentinc/librdkafka#5049).
            request = decode_request(payload, trailing=True)
        except WireError as error:
            self._unreadable(error)
            return
        self._steps = self._handled(request)

    def _long_request(self, payload: memoryview) -> Generator[None, None, None]:
        """As `_request`, in steps; when it has been decoded the frame is not needed any more."""
        most = frame_limit(int.from_bytes(payload[:2], "big", signed=True)).elements
        try:
            request = yield from decode_request_in_slices(payload, most)
        except WireError as error:
            self._unreadable(error)
            return
        yield
        del payload
        steps = self._handled(request)
        del request
        if steps is not None:
            yield from steps

    def _unreadable(self, error: WireError) -> None:
        if isinstance(error, UnsupportedVersion):
            self._refuse(error.api_key, cast(int, error.correlation_id), str(error))
        else:
            self.close(str(error))

    def _handled(self, request: Request) -> Iterator[None] | None:
        """What is left to do of the request."""
        if not self._broker.serves(request.api.key, request.version):
            text = f"{request.api.name} v{request.version} is not served"
            self._refuse(request.api.key, request.correlation_id, text)
            return None
        self._in_flight = RequestContext(self, request)
        try:
            return self._broker.handle(request.body, self._in_flight)
        except Exception:
            self._failed()
            return None

    def _failed(self) -> None:
        name = self._in_flight.api_name if self._in_flight else "a request"
        log.exception("closing the connection of %s: %s failed", self.client_host, name)
        self.close()

    def _refuse(self, key: int, correlation_id: int, reason: str) -> None:
        """ApiVersions of any version has an answer; whatever else is not served closes the connection."""
        if key == _API_VERSIONS.key:
            self.answer(_API_VERSIONS.name, 0, self._broker.out_of_range(), correlation_id)
        else:
            self.close(reason)

    def _update_reading(self) -> None:
        """Stops reading from a client that sends on while it is muted, and goes on when it is not."""
        wanted = len(self._incoming.received) <= READ_AHEAD
        if (wanted and self._reading) or self._transport is None or self._transport.is_closing():
            return
        wanted = wanted or (self._ready() and self._incoming.is_waiting_for_rest())
        if wanted != self._reading and not self._ended:
            self._reading = wanted
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()

    def _is_busy(self) -> bool:
        return self._steps is not None or (self._in_flight is not None and not self._is_dropped)

    def _idle_too_long(self) -> None:
        log.info("closing the connection of %s: idle for %g s", self.client_host, self._broker.max_idle)
        self.abort()
