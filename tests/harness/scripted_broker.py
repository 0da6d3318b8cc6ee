"""A broker that answers as a test wants, and what stands between it and a client that a test plays."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rota.history import Event, event_of
from rota.record.proxy import Proxy
from rota.record.redaction import Redactor
from rota.record.writer import Lines
from rota.wire import encode_request, frame

Answer = Callable[[bytes], bytes | None]
"""From a frame's payload to that of its answer; None for none."""


@dataclass
class Broker:
    """Listens at `place`; `heard` are the frames that came, as they came."""

    answer: Answer
    heard: list[bytes] = field(default_factory=list)
    place: tuple[str, int] = ("", 0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        try:
            while True:
                payload = await received(reader)
                self.heard.append(payload)
                if (said := self.answer(payload)) is not None:
                    writer.write(frame(said))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def listening(answer: Answer) -> AsyncIterator[Broker]:
    """A broker on loopback."""
    broker = Broker(answer)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    broker.place = server.sockets[0].getsockname()[:2]
    try:
        yield broker
    finally:
        server.close()


@dataclass
class Between:
    """A proxy that runs: where it listens, and its file."""

    place: tuple[str, int]
    proxy: Proxy
    path: Path

    def events(self) -> list[Event]:
        """What was recorded, when it has ended."""
        return [event_of(line) for line in self.path.read_bytes().splitlines()]

    async def client(self) -> Client:
        """A new connection to it."""
        return Client(*await asyncio.open_connection(*self.place))


@asynccontextmanager
async def between(broker: Broker, folder: Path, redactor: Redactor | None = None) -> AsyncIterator[Between]:
    """A proxy in front of the broker; it has ended when this is left."""
    path = folder / "recording.jsonl"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    proxy = Proxy(broker.place, Lines(descriptor, path.name), redactor=redactor)
    stop = asyncio.Event()
    place = proxy.listen("127.0.0.1", 0)
    serving = asyncio.ensure_future(proxy.serve(stop))
    try:
        yield Between(place, proxy, path)
    finally:
        stop.set()
        await serving
        os.close(descriptor)


@dataclass
class Client:
    """A connection of a client, which asks one thing after the other."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    number: int = 0

    async def ask(self, name: str, version: int, body: dict[str, Any], client: str = "c") -> bytes:
        """The payload of the answer."""
        self.number += 1
        return await self.say(encode_request(name, version, body, self.number, client))

    async def say(self, payload: bytes) -> bytes:
        """The payload of what is answered to this frame."""
        self.writer.write(frame(payload))
        return await received(self.reader)

    async def leave(self) -> None:
        """Close, and wait until it is closed at the other end."""
        self.writer.close()
        await asyncio.sleep(0)


async def received(reader: asyncio.StreamReader) -> bytes:
    """The payload of the next frame."""
    (length,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)
