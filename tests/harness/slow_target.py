"""rota's server behind a relay that holds requests back for a while, each connection's by themselves.

So requests on one connection overtake those on another, as with a broker on a busy machine.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from rota.conformance.targets.remote import Embedded

Delay = Callable[[int], float]
"""Key of the API of a request -> seconds that it is held back."""


class Relayed:
    """rota's server, which gets each request only after its delay."""

    def __init__(self, settings: Mapping[str, int], delay: Delay) -> None:
        self._server = Embedded(settings)
        self._delay = delay
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listening]
        self.address: tuple[str, int] = self._listening.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def post_mortem(self, grace: float) -> str | None:
        return self._server.post_mortem(grace)

    def stop(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._server.stop()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server.address)
                self._open += [client, server]
                for one, other, through in ((client, server, self._late), (server, client, self._renamed)):
                    threading.Thread(target=_relay, args=(one, other, through), daemon=True).start()

    def _late(self, request: bytes) -> bytes:
        time.sleep(self._delay(int.from_bytes(request[:2])))
        return request

    def _renamed(self, answer: bytes) -> bytes:
        """Where the server is to be found: here."""
        own, there = (b"127.0.0.1" + port.to_bytes(4) for _, port in (self.address, self._server.address))
        return answer.replace(there, own)


def _relay(one: socket.socket, other: socket.socket, through: Callable[[bytes], bytes]) -> None:
    """Pass on what one says to the other, frame by frame, until one of them closes."""
    with suppress(OSError):
        with one.makefile("rb") as frames:
            while size := frames.read(4):
                other.sendall(size + through(frames.read(int.from_bytes(size))))
        other.shutdown(socket.SHUT_RDWR)
