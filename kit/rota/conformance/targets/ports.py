"""Ports for brokers that have to be told theirs."""

from __future__ import annotations

import secrets
import socket


def free_ports(number: int) -> list[int]:
    """Ports below those that the system gives to outgoing connections, which would take them meanwhile."""
    sockets: list[socket.socket] = []
    try:
        while len(sockets) < number:
            tried = socket.socket()
            try:
                tried.bind(("127.0.0.1", 12_000 + secrets.randbelow(18_000)))
            except OSError:
                tried.close()
            else:
                sockets.append(tried)
        return [bound.getsockname()[1] for bound in sockets]
    finally:
        for bound in sockets:
            bound.close()
