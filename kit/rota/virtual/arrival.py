"""Bytes that reach a connection as an event loop brings them: into the buffer that it gives, part by part."""

from __future__ import annotations

from rota.server.connection import Connection


def arrive(connection: Connection, data: bytes) -> None:
    """What a client has sent arrives."""
    while data:
        buffer = connection.get_buffer(-1)
        part, data = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(part)] = part
        connection.buffer_updated(len(part))
