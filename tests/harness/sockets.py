"""Reading from a socket by those who serve in a test."""

from __future__ import annotations

import socket


def exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes; EOFError when the peer has gone before."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
