"""The server: a listener on 127.0.0.1, its connections, and which part answers which request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from rota.server.cluster import Cluster, api_versions, api_versions_out_of_range
from rota.server.connection import Call, Connection
from rota.server.groups import GroupService
from rota.server.settings import Settings

HOST = "127.0.0.1"
STOP_SECONDS = 1.0
"""How long a stop waits for replies that are still being sent."""


class Server:
    """One broker. `start` once, `stop` once, both on the event loop that runs it.

    `connections` are those that are open; `groups` is the coordinator with its clock, None before the start.
    """

    def __init__(self, settings: Settings) -> None:
        self.max_frame = settings.socket_request_max_bytes
        self.connections: set[Connection] = set()
        self.groups: GroupService | None = None
        self._settings = settings
        self._listener: asyncio.Server | None = None
        self._handlers: dict[str, Callable[[Mapping[str, Any], Call], None]] = {}

    async def start(self, port: int = 0) -> str:
        """Listens; port 0 takes any free one. Returns "127.0.0.1:PORT". Errors: OSError as of `bind`."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), HOST, port, start_serving=False)
        port = self._listener.sockets[0].getsockname()[1]
        cluster = Cluster(self._settings, HOST, port)
        self.groups = GroupService(self._settings.coordinator, loop)
        self._handlers = {
            "ApiVersions": _answered(api_versions),
            "FindCoordinator": _answered(cluster.find_coordinator),
            "Metadata": _answered(cluster.metadata),
            **self.groups.handlers,
        }
        await self._listener.start_serving()
        return f"{HOST}:{port}"

    async def stop(self) -> None:
        """Accepts nothing more, sends what was answered, closes every connection."""
        if self._listener is None or self.groups is None:
            return
        self._listener.close()
        self.groups.stop()
        for connection in tuple(self.connections):
            connection.close()
        for seconds in (STOP_SECONDS, None):
            if self.connections:
                await asyncio.wait([connection.closed for connection in self.connections], timeout=seconds)
            for connection in tuple(self.connections):
                connection.abort()
        await self._listener.wait_closed()

    def handle(self, body: Mapping[str, Any], call: Call) -> None:
        """Hands a request to its part of the server."""
        self._handlers[call.api_name](body, call)

    def out_of_range(self) -> Mapping[str, Any]:
        """The body, in version 0, that answers an ApiVersions of an unknown version."""
        return api_versions_out_of_range()


def _answered(
    function: Callable[[Mapping[str, Any], int], Mapping[str, Any]],
) -> Callable[[Mapping[str, Any], Call], None]:
    """A handler from a function (body, version) → response body."""
    return lambda body, call: call.reply(function(body, call.version))


async def serve(
    config: Mapping[str, object],
    port: int,
    stop: asyncio.Event,
    listening: Callable[[str], object] = lambda address: None,
) -> None:
    """Runs a server until `stop` is set; `listening` is told the address "127.0.0.1:PORT".

    `config` has Kafka's names. Errors: SettingsError; OSError if the port cannot be had.
    """
    server = Server(Settings.of(config))
    address = await server.start(port)
    try:
        listening(address)
        await stop.wait()
    finally:
        await server.stop()


@contextmanager
def running(config: Mapping[str, object] | None = None, port: int = 0) -> Iterator[str]:
    """A server in a thread of its own while the block runs; gives "127.0.0.1:PORT".

    Errors: as of `serve`, before the block; whatever the server's end raises, after it.
    """
    address: Future[str] = Future()
    ending: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def main() -> None:
        stop = asyncio.Event()
        ending.set_result((asyncio.get_running_loop(), stop))
        await serve(config or {}, port, stop, address.set_result)

    outcome: Future[None] = Future()

    def thread() -> None:
        try:
            asyncio.run(main())
            outcome.set_result(None)
        except BaseException as error:
            outcome.set_exception(error)
            if not address.done():
                address.set_exception(error)

    worker = threading.Thread(target=thread, name="rota-server", daemon=True)
    worker.start()
    try:
        yield address.result()
    finally:
        loop, stop = ending.result()
        if not outcome.done():
            loop.call_soon_threadsafe(stop.set)
        worker.join()
    outcome.result()
