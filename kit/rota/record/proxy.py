"""A proxy that clients go through unchanged: each broker has a port on it, and what is said is told."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

from rota.conformance.connections.security import PLAINTEXT, Security
from rota.history import Event
from rota.record.addresses import Elsewhere, Place
from rota.record.dialogue import Counted, Dialogue
from rota.record.link import CONNECT_SECONDS, End, Link, cause
from rota.record.redaction import Redactor
from rota.record.writer import CannotRecord, Lines
from rota.wire import WireError

FLUSH_SECONDS = 0.2
"""How long a line waits at most before it is written."""

MOST_BROKERS = 1000
"""Ports are made for so many; a target that names more is no cluster."""

_BACKLOG = 512
_GRACE = 0.5


class Proxy:
    """Listens for clients, as one broker of the target or the other, and tells what they say.

    target: where clients of the first port are led; security: how brokers are spoken to (TLS alone: clients
    authenticate themselves); led: told of each broker and of the place that stands for it.
    """

    def __init__(
        self,
        target: Place,
        lines: Lines,
        security: Security = PLAINTEXT,
        redactor: Redactor | None = None,
        led: Callable[[Place, Place], None] | None = None,
    ) -> None:
        self._target, self._lines, self._security = target, lines, security
        self._redactor, self._led = redactor, led
        self.counted = Counted()
        self._host = ""
        self._ports: dict[Place, int] = {}
        self._servers: list[asyncio.Server] = []
        self._opening: set[asyncio.Task[asyncio.Server]] = set()
        self._links: set[Link] = set()
        self._begun = time.time() - time.monotonic()
        self._at = 0.0
        self._failure: BaseException | None = None
        self._end = asyncio.Event()

    def listen(self, host: str, port: int) -> Place:
        """Listen for clients that know no broker yet; the place. Errors: OSError."""
        self._host = host
        self._listen_for(self._target, port)
        return host, self._ports[self._target]

    async def serve(self, stop: asyncio.Event) -> None:
        """Lead clients until it is to stop. Errors: CannotRecord; BrokenPipeError where nobody reads."""
        stopping = asyncio.ensure_future(stop.wait())
        failing = asyncio.ensure_future(self._end.wait())
        flushing = asyncio.ensure_future(self._flush_often())
        try:
            await asyncio.wait((stopping, failing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (stopping, failing, flushing):
                task.cancel()
            await self._leave()
        if self._failure is not None:
            raise self._failure

    def elsewhere(self, host: str) -> Elsewhere:
        """Where a client is led to that has reached the proxy at this host. Errors, when asked: WireError."""

        def place(broker: Place) -> Place:
            if broker not in self._ports:
                if len(self._ports) >= MOST_BROKERS:
                    raise WireError(f"more than {MOST_BROKERS:,} brokers")
                try:
                    self._listen_for(broker, 0)
                except OSError as error:
                    raise WireError(f"no port for a further broker: {cause(error)}") from None
                if self._led is not None:
                    self._led(broker, (host, self._ports[broker]))
            return host, self._ports[broker]

        return place

    def dialogue(self, client: Place, broker: Place) -> Dialogue:
        """What is told of a new connection between these."""
        number = self.counted.connections + 1
        return Dialogue(number, broker, client, self._now, self._take, self.counted, self._redactor)

    def moment(self) -> None:
        """Something has come: what is told from now on was seen now."""
        self._at = round(self._begun + time.monotonic(), 6)

    def gone(self, link: Link) -> None:
        """A link has ended."""
        self._links.discard(link)

    async def reach(self, make: Callable[[], End], broker: Place) -> End:
        """A connection to a broker. Errors: OSError, TimeoutError."""
        tls = self._security.tls
        name = broker[0] if tls is not None else None
        loop = asyncio.get_running_loop()
        opening = loop.create_connection(make, *broker, ssl=tls, server_hostname=name)
        _, end = await asyncio.wait_for(opening, CONNECT_SECONDS)
        return end

    def _listen_for(self, broker: Place, port: int) -> None:
        """Listen where clients of this broker will come; at once, for they may be on their way already."""
        family, *_, address = socket.getaddrinfo(self._host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
        self._ports[broker] = listening.getsockname()[1]
        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.create_server(lambda: self._accept(broker), sock=listening))
        self._opening.add(task)
        task.add_done_callback(self._opened)

    def _opened(self, task: asyncio.Task[asyncio.Server]) -> None:
        self._opening.discard(task)
        if not task.cancelled():
            self._servers.append(task.result())

    def _accept(self, broker: Place) -> End:
        link = Link(self, broker)
        self._links.add(link)
        return link.client

    def _now(self) -> tuple[float, str]:
        return self._at, self._lines.origin

    def _take(self, event: Event) -> None:
        if self._failure is None:
            self._writing(lambda: self._lines.take(event))

    def _writing(self, write: Callable[[], None]) -> None:
        """Write; when that fails it ends, but not in the middle of what clients and brokers say."""
        try:
            write()
        except (CannotRecord, BrokenPipeError) as error:
            self._failure = error
            self._end.set()

    async def _flush_often(self) -> None:
        while self._failure is None:
            self._writing(self._lines.flush)
            await asyncio.sleep(FLUSH_SECONDS)

    async def _leave(self) -> None:
        """Let nobody in any more, and let those go who are there."""
        for server in self._servers:
            server.close()
        leaving = list(self._links)
        for link in leaving:
            link.end("the recording ended")
        if self._failure is None:
            self._writing(self._lines.flush)
        if leaving:
            await asyncio.sleep(0)
            for _ in range(10):
                if not any(link.is_busy for link in leaving):
                    break
                await asyncio.sleep(_GRACE / 10)
        for link in leaving:
            link.abort()
