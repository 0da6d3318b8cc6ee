"""Copies of a history under other names: another group, other members, other connections, another moment.

A name is exchanged for one of the same length, in what events tell and in the bytes of frames alike, so that
a copy is as well made as its original. It adds to how much there is and not to what happens in it.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from rota.history import Event
from rota.population.histories import group_of

MOST = 100
"""Copies of a history, itself among them."""

APART = 3_600.0
"""Seconds within which copies begin."""

_ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def copies(events: Sequence[Event], number: int, copied: int, seed: int) -> Iterator[list[Event]]:
    """So many copies of a history, the first of them as it is. number: its own."""
    yield list(events)
    for copy in range(1, copied):
        drawn = Random(f"{seed} {number} copy {copy}")
        later = drawn.uniform(0.0, APART)
        names = _Names(group_of(number).encode(), group_of(number, copy).encode(), drawn)
        yield [_renamed(event, names, copy, later) for event in events]


class _Names:
    """Exchanges names. Parameters: old, new: of the group; drawn: from which ids come."""

    def __init__(self, old: bytes, new: bytes, drawn: Random) -> None:
        self._old, self._new, self._drawn = old, new, drawn
        self._ids: dict[bytes, bytes] = {}

    def within(self, data: bytes) -> bytes:
        """In bytes."""
        return _ID.sub(self._id, data.replace(self._old, self._new))

    def text(self, text: str) -> str:
        """In a text."""
        return self.within(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _id(self, found: re.Match[bytes]) -> bytes:
        if found[0] not in self._ids:
            self._ids[found[0]] = str(UUID(int=self._drawn.getrandbits(128), version=4)).encode()
        return self._ids[found[0]]


def _renamed(event: Event, names: _Names, copy: int, later: float) -> Event:
    file, mark, number = event.origin.rpartition("#")
    data = {key: _value(value, names) for key, value in event.data.items()}
    if isinstance(frame := event.data.get("bytes"), str):
        data["bytes"] = b64encode(names.within(b64decode(frame))).decode()
    return replace(
        event,
        at=None if event.at is None else event.at + later,
        origin=f"{file}-{copy:02}{mark}{number}",
        group=names.text(event.group),
        member=names.text(event.member),
        data=data,
    )


def _value(value: Any, names: _Names) -> Any:
    """A value of JSON; bytes stand there as base64."""
    if isinstance(value, str):
        return names.text(value)
    if isinstance(value, list):
        return [_value(one, names) for one in value]
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(text := value.get("base64"), str):
            return {"base64": b64encode(names.within(b64decode(text))).decode()}
        return {key: _value(one, names) for key, one in value.items()}
    return value
