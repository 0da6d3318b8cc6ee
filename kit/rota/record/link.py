"""One client's connection through the proxy to a broker, both ways."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from typing import Any, Protocol, cast

from rota.record.addresses import Elsewhere, Place, is_addressing, rewritten, versions_lowered
from rota.record.cutter import Cutter, NotAFrame
from rota.record.dialogue import BROKER, CLIENT, CLOSED_BY, LOST, REQUEST_HEAD, RESPONSE_HEAD, Asked, Dialogue
from rota.record.hiding import Hider
from rota.wire import WireError, api, frame

CONNECT_SECONDS = 10.0

MOST_HELD = 2**20
"""Bytes of an answer with payload that is held to be rewritten; in a longer one addresses are hidden."""

MOST_REWRITTEN = 100 * 2**20
"""Bytes of an answer that is held to be rewritten at all; none of a real cluster comes near it."""

_BUFFER = memoryview(bytearray(2**16))

_NO_VERSION = b"\x7f\xff"
_VERSION = slice(6, 8)
"""Where a request's version stands in its frame."""


class House(Protocol):
    """What links have in common."""

    def elsewhere(self, host: str) -> Elsewhere:
        """Where a client is led to that has reached the proxy at this host."""

    def dialogue(self, client: Place, broker: Place) -> Dialogue:
        """What is told of a new connection between these."""

    def moment(self) -> None:
        """Something has come: what is told from now on was seen now."""

    def gone(self, link: Link) -> None:
        """A link has ended."""

    async def reach(self, make: Callable[[], End], broker: Place) -> End:
        """A connection to a broker. Errors: OSError, TimeoutError."""


class End(asyncio.BufferedProtocol):
    """One end of a link: what comes is given on, and nothing is read while the other end cannot write.

    All ends share a buffer, since what is in it is given on before anything else is read.
    """

    def __init__(self, made: Callable[[End], None], take: Callable[[bytes], None]) -> None:
        self._made = made
        self.take = take
        self.lost: Callable[[Exception | None], None] = _nothing
        self.other: End | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """As of every protocol."""
        self.transport = cast(asyncio.Transport, transport)
        self._made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """As of every buffered protocol."""
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        """As of every buffered protocol."""
        self.take(bytes(_BUFFER[:nbytes]))

    def connection_lost(self, exc: Exception | None) -> None:
        """As of every protocol."""
        self.lost(exc)

    def pause_writing(self) -> None:
        """What was written waits for the peer, so nothing more is read for it."""
        self._reading(False)

    def resume_writing(self) -> None:
        """The peer has taken what waited."""
        self._reading(True)

    def _reading(self, goes_on: bool) -> None:
        transport = self.other.transport if self.other else None
        if transport is None or transport.is_closing():
            return
        if goes_on:
            transport.resume_reading()
        else:
            transport.pause_reading()


class Link:
    """A client and the broker that it means to talk to.

    Frames of interest are held until they are whole; everything else passes in the pieces in which it comes.
    """

    def __init__(self, house: House, broker: Place) -> None:
        self._house, self._broker_place = house, broker
        self.client = End(self._client_made, self._from_client)
        self._broker: End | None = None
        self._asking = Cutter(REQUEST_HEAD, self._ask_begins)
        self._answering = Cutter(RESPONSE_HEAD, self._answer_begins)
        self._asked: Asked | None = None
        self._answered: Asked | None = None
        self._hider: Hider | None = None
        self._ended = False
        self._connecting: asyncio.Task[None] | None = None

    def end(self, reason: str) -> None:
        """Close both ends; what was written already still goes out."""
        if self._ended:
            return
        self._ended = True
        if self._connecting is not None:
            self._connecting.cancel()
        self._house.moment()
        self._dialogue.closed(reason)
        for one in (self.client, self._broker):
            if one is not None and one.transport is not None:
                one.transport.close()
        self._house.gone(self)

    @property
    def is_busy(self) -> bool:
        """Whether an end has not taken all yet that was written to it."""
        transports = [one.transport for one in (self.client, self._broker) if one is not None]
        return any(one is not None and one.get_write_buffer_size() > 0 for one in transports)

    def abort(self) -> None:
        """Drop both ends with what they have not taken yet."""
        for one in (self.client, self._broker):
            if one is not None and one.transport is not None:
                one.transport.abort()

    def _client_made(self, client: End) -> None:
        transport = client.transport
        assert transport is not None
        transport.pause_reading()
        kept_alive(transport)
        client.lost = self._client_lost
        self._house.moment()
        client_place = transport.get_extra_info("peername")[:2]
        self._dialogue = self._house.dialogue(client_place, self._broker_place)
        self._elsewhere = self._house.elsewhere(transport.get_extra_info("sockname")[0])
        self._connecting = asyncio.get_running_loop().create_task(self._connect(transport))

    async def _connect(self, client: asyncio.Transport) -> None:
        try:
            broker = await self._house.reach(self._broker_end, self._broker_place)
        except (OSError, TimeoutError) as error:
            self.end(f"the broker cannot be reached: {cause(error)}")
            return
        self._broker = broker
        broker.other, self.client.other = self.client, broker
        client.resume_reading()

    def _broker_end(self) -> End:
        end = End(_broker_made, self._from_broker)
        end.lost = self._broker_lost
        return end

    def _client_lost(self, error: Exception | None) -> None:
        self.end(f"the {CLIENT} {LOST}: {cause(error)}" if error else f"{CLOSED_BY} {CLIENT}")

    def _broker_lost(self, error: Exception | None) -> None:
        self.end(f"the {BROKER} {LOST}: {cause(error)}" if error else f"{CLOSED_BY} {BROKER}")

    def _from_client(self, data: bytes) -> None:
        self._house.moment()
        out: list[bytes] = []
        whole: list[tuple[Asked, bytes]] = []
        try:
            for held, piece in self._asking.feed(data):
                if held and (asked := self._asked) is not None:
                    whole.append((asked, piece[4:]))
                    piece = self._answerable(asked, piece)
                out.append(piece)
        except NotAFrame as error:
            out.append(self._asking.leftover())
            self.client.take = self._blindly_to_broker
            self._dialogue.gap(f"what the client sends is no frame any more: {error}")
        self._blindly_to_broker(b"".join(out))
        for asked, payload in whole:
            self._dialogue.asked(asked, payload)

    def _from_broker(self, data: bytes) -> None:
        self._house.moment()
        out: list[bytes] = []
        whole: list[tuple[Asked, bytes]] = []
        try:
            for held, piece in self._answering.feed(data):
                if held and (asked := self._answered) is not None:
                    payload = piece[4:]
                    if asked.recorded:
                        whole.append((asked, payload))
                    piece = self._led_back(asked, payload, piece)
                elif self._hider is not None:
                    piece = self._hider.passed(piece)
                out.append(piece)
        except NotAFrame as error:
            out.append(self._answering.leftover())
            if self._broker is not None:
                self._broker.take = self._blindly_to_client
            self._dialogue.gap(f"what the broker sends is no frame any more: {error}")
        self._blindly_to_client(b"".join(out))
        for asked, payload in whole:
            self._dialogue.answered(asked, payload)

    def _blindly_to_broker(self, data: bytes) -> None:
        if data and self._broker is not None and self._broker.transport is not None:
            self._broker.transport.write(data)

    def _blindly_to_client(self, data: bytes) -> None:
        if data and self.client.transport is not None:
            self.client.transport.write(data)

    def _ask_begins(self, head: bytes, length: int) -> bool:
        self._asked = self._dialogue.ask_begins(head, length)
        return self._asked is not None and self._asked.recorded

    def _answerable(self, asked: Asked, whole: bytes) -> bytes:
        """The request as the broker gets it: ApiVersions only in a version whose answer can be read.

        A version that no broker has is answered as version 0, with which clients begin anew (KIP-511).
        """
        if asked.name != "ApiVersions" or asked.version <= api(asked.name).max_version:
            return whole
        return whole[: _VERSION.start] + _NO_VERSION + whole[_VERSION.stop :]

    def _answer_begins(self, head: bytes, length: int) -> bool:
        self._hider = None
        self._answered = asked = self._dialogue.answer_begins(head, length)
        if asked is None:
            return False
        if asked.name in ("Produce", "Fetch"):
            return is_addressing(asked) and self._is_short(asked, length)
        if asked.name == "ApiVersions" or is_addressing(asked):
            if length <= MOST_REWRITTEN:
                return True
            self._dialogue.unread(asked, f"an answer of {length:,} bytes, more than are looked at")
            return False
        return asked.recorded

    def _is_short(self, asked: Asked, length: int) -> bool:
        """Whether an answer with payload is held; in one that is not, addresses are hidden as it passes."""
        if length > MOST_HELD and asked.version <= api(asked.name).max_version:
            self._hider = Hider(asked.name, asked.version)
        return length <= MOST_HELD

    def _led_back(self, asked: Asked, payload: bytes, whole: bytes) -> bytes:
        """The answer as the client gets it."""
        try:
            if asked.name == "ApiVersions":
                changed = versions_lowered(asked, payload)
            elif is_addressing(asked):
                changed = rewritten(asked, payload, self._elsewhere)
            else:
                return whole
        except WireError as error:
            self._dialogue.unread(asked, f"addresses in its answer are as the broker gave them: {error}")
            return whole
        return whole if changed is payload else frame(changed)


def cause(error: BaseException) -> str:
    """Why a connection failed, in words that name neither hosts nor addresses."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate is not trusted"
    if isinstance(error, ssl.SSLError):
        return f"no TLS: {(error.reason or 'the handshake fails').replace('_', ' ').lower()}"
    if isinstance(error, TimeoutError):
        return f"no connection in {CONNECT_SECONDS:g} s"
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if isinstance(number, int) and number else "no connection"


def kept_alive(transport: asyncio.BaseTransport) -> None:
    """Have the system ask a silent peer now and then whether it is still there."""
    connection: Any = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _broker_made(end: End) -> None:
    if end.transport is not None:
        kept_alive(end.transport)


def _nothing(_: Exception | None) -> None:
    pass
