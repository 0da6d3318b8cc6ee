"""A connection of an offender: blocking, and it drops answers without looking at them where it can."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any

from rota.wire import decode_response, encode_request, frame

CLIENT_ID = "offender"
SCRATCH = 1 << 20
"""Bytes of an answer that are read at once to be dropped."""


class Unanswered(Exception):
    """A request that has to be answered was not, or its connection was closed instead."""


def request(name: str, version: int, body: Mapping[str, Any]) -> bytes:
    """A request as it travels."""
    return frame(encode_request(name, version, body, 1, CLIENT_ID))


class Client:
    """One connection. index: which of the offender's it is, from 0."""

    def __init__(self, address: str, index: int = 0, seconds: float = 600.0) -> None:
        host, _, port = address.rpartition(":")
        self.address = address
        self.index = index
        self.socket = socket.create_connection((host, int(port)), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._scratch = bytearray(SCRATCH)
        self._held = 0  # bytes in there that were read and not looked at

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes it."""
        self.socket.close()

    def reset(self) -> None:
        """Closes it at once; the port is free again."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Sends bytes."""
        self.socket.sendall(data)

    def skip(self, answers: int = 1) -> None:
        """Waits for so many answers and drops them. No other may be on its way."""
        left = 0  # bytes of the answer that is being dropped
        while answers:
            at = 0
            while answers and at < self._held:
                if not left:
                    if self._held - at < 4:
                        break
                    left = 4 + int.from_bytes(self._scratch[at : at + 4], "big")
                taken = min(left, self._held - at)
                at, left = at + taken, left - taken
                answers -= not left
            rest = self._scratch[at : self._held]
            self._scratch[: len(rest)] = rest
            self._held = len(rest)
            if answers:
                self._fill()

    def all_at_once(self, requests: list[bytes]) -> None:
        """Sends requests in one go, then takes their answers."""
        self.send(b"".join(requests))
        self.skip(len(requests))

    def ask(self, name: str, version: int, **body: Any) -> Mapping[str, Any]:
        """One request and the body of its answer."""
        self.send(request(name, version, body))
        size = int.from_bytes(self._read(4), "big")
        return decode_response(name, version, self._read(size)).body

    def must_answer(self, data: bytes, seconds: float = 5.0) -> None:
        """Sends a request that has to be answered in time. Errors: Unanswered."""
        before = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        try:
            self.send(data)
            self.skip()
        except (OSError, EOFError) as error:
            raise Unanswered(str(error)) from None
        self.socket.settimeout(before)

    def _fill(self) -> None:
        taken = self.socket.recv_into(memoryview(self._scratch)[self._held :])
        if not taken:
            raise EOFError
        self._held += taken

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            if not self._held:
                self._fill()
            part = self._scratch[: min(size - len(data), self._held)]
            data += part
            self._scratch[: self._held - len(part)] = self._scratch[len(part) : self._held]
            self._held -= len(part)
        return bytes(data)
