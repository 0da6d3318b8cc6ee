"""HTTP on the loopback interface, for this machine alone and for so many connections at a time."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any

HOST = "127.0.0.1"


class LoopbackServer(ThreadingHTTPServer):
    """Listens at a port of 127.0.0.1; 0: any that is free. most: connections that are served at a time.

    Errors: OSError where the port cannot be had.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler], most: int) -> None:
        self._room = threading.BoundedSemaphore(most)
        super().__init__((HOST, port), handler)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a request may name as its host."""
        return tuple(f"{name}:{self.port}" for name in (HOST, "localhost"))

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, unless there are too many already: then the connection is closed."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """As of a threading server; then there is room for another connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Whoever goes away in the middle of something is nobody's mistake."""
