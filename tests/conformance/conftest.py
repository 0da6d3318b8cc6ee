"""Targets that misbehave: small servers in a thread, each with its own idea of an answer."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.sockets import exactly

Handler = Callable[[socket.socket], None]


class HostileServer:
    """Accepts on 127.0.0.1 and hands every connection to the handler, in a thread of its own."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.name = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._handler(connection)

    def stop(self) -> None:
        """Stop listening and cut every connection."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


@pytest.fixture
def hostile() -> Iterator[Callable[[Handler], HostileServer]]:
    """Starts hostile servers; they stop when the test is over."""
    servers: list[HostileServer] = []

    def start(handler: Handler) -> HostileServer:
        servers.append(HostileServer(handler))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def read_request(connection: socket.socket) -> bytes:
    """The payload of the next request; EOFError when the peer has gone."""
    (length,) = struct.unpack(">i", exactly(connection, 4))
    return exactly(connection, length)


@pytest.fixture
def next_request() -> Callable[[socket.socket], bytes]:
    """Reads one request off a connection."""
    return read_request


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is empty at first."""
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
