"""Addresses at the end of an answer too long to be held: hidden while it passes, its length unchanged."""

from __future__ import annotations

import struct
from collections.abc import Generator, Sequence

from rota.wire import api
from rota.wire.schema import FIXED, Field
from rota.wire.source import element_of, present

NODE_ENDPOINTS = 0
"""The tag of `node_endpoints` in answers to Produce and Fetch."""

UNKNOWN = 127
"""A tag that no version has, which clients pass over; of the same size."""

_HEADER = 4 + 4 + 1
"""Bytes before the body: length, correlation id, no tagged fields."""

Steps = Generator[None, int, None]
Number = Generator[None, int, int]


class Hider:
    """Passes an answer on, with `node_endpoints` under a tag that clients do not know.

    They then ask for metadata, as those do who do not know the tagged field (KIP-951). What cannot be
    understood is passed on as it is.
    """

    def __init__(self, name: str, version: int) -> None:
        self._skip = _HEADER
        self._found = False
        self._steps: Steps | None = self._message(api(name).response, version)
        next(self._steps)

    def passed(self, data: bytes) -> bytes:
        """The next bytes of the frame, its length included, as the client gets them."""
        at = 0
        while self._steps is not None and at + self._skip < len(data):
            at += self._skip
            self._skip = 0
            try:
                self._steps.send(data[at])
            except StopIteration:
                self._steps = None
                if self._found:
                    return data[:at] + bytes([UNKNOWN]) + data[at + 1 :]
            at += 1
        self._skip -= len(data) - at
        return data

    def _message(self, fields: Sequence[Field], version: int) -> Steps:
        """Takes the bytes that tell how long something is; ends with the first tag of the message itself."""
        for field in present(fields, version):
            yield from self._value(field, version)
        self._found = bool((yield from _varint())) and (yield) == NODE_ENDPOINTS

    def _struct(self, fields: Sequence[Field], version: int) -> Steps:
        for field in present(fields, version):
            yield from self._value(field, version)
        for _ in range((yield from _varint())):
            yield from _varint()
            self._skip += yield from _varint()

    def _value(self, field: Field, version: int) -> Steps:
        if field.type in FIXED and not field.array:
            self._skip += struct.calcsize(">" + FIXED[field.type])
        elif field.type == "uuid" and not field.array:
            self._skip += 16
        elif field.type == "struct" and not field.array:
            yield from self._struct(field.fields, version)
        else:
            number = max(0, (yield from _varint()) - 1)  # 0 is null
            if not field.array:
                self._skip += number
            elif field.type in FIXED:
                self._skip += number * struct.calcsize(">" + FIXED[field.type])
            else:
                for _ in range(number):
                    yield from self._value(element_of(field), version)


def _varint() -> Number:
    number = shift = 0
    while True:
        byte = yield
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number
