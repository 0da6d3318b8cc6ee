"""Copies of a history under other names: another group, other members, other connections, another moment.

A name is exchanged for one of the same length, in what events tell and in the bytes of frames alike, so that
a copy is as well made as its original. It adds to how much there is and not to what happens in it.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from random import Random
from uuid import UUID

from rota.history import Event, line_of
from rota.population.histories import group_of

MOST = 100
"""Copies of a history, itself among them."""

APART = 3_600.0
"""Seconds within which copies begin."""

Line = tuple[float, bytes]
"""An event's moment, and its line without an end."""

_ID = rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

_BASE64 = re.compile(rb'(?:(?<="bytes":")|(?<="base64":"))([A-Za-z0-9+/=]+)(?=")')
"""Bytes in a line: a frame, or the value of a field."""


def copies(events: Sequence[Event], number: int, copied: int, seed: int) -> Iterator[list[Line]]:
    """The lines of so many copies of a history, the first of them as it is.

    events: of frames, with their moments; number: the history's own.
    """
    originals = [_Original(event, group_of(number).encode()) for event in events]
    yield [one.line for one in originals]
    for copy in range(1, copied):
        drawn = Random(f"{seed} {number} copy {copy}")
        later = drawn.uniform(0.0, APART)
        names = _Names(drawn)
        names[group_of(number).encode()] = group_of(number, copy).encode()
        yield [one.renamed(names, copy, later) for one in originals]


class _Names(dict[bytes, bytes]):
    """Names by those that stood there; an id that was not met before gets one. Parameters: drawn: whence."""

    def __init__(self, drawn: Random) -> None:
        super().__init__()
        self._drawn = drawn

    def __missing__(self, old: bytes) -> bytes:
        self[old] = new = str(UUID(int=self._drawn.getrandbits(128), version=4)).encode()
        return new


class _Text:
    """Bytes with names in them, taken apart once for all copies. Parameters: data; group: its name."""

    def __init__(self, data: bytes, group: bytes) -> None:
        self._pieces = re.split(b"(%s|%s)" % (re.escape(group), _ID), data)

    def within(self, names: _Names) -> bytes:
        """With other names."""
        pieces = self._pieces
        if len(pieces) == 1:
            return pieces[0]
        return b"".join([names[one] if place % 2 else one for place, one in enumerate(pieces)])


class _Original:
    """An event of which copies are made: its line, and where names stand in it, in base64 too."""

    def __init__(self, event: Event, group: bytes) -> None:
        assert event.at is not None, "what was played has a moment"
        told = line_of(event).encode()
        self.line: Line = event.at, told
        self._file, self._mark, self._number = event.origin.rpartition("#")
        self._head, moment, rest = told.partition(json.dumps(event.at).encode())
        self._between, origin, rest = rest.partition(_text(event.origin))
        assert moment, "a line has its moment"
        assert origin, "a line has its origin"
        self._rest = [
            (_Text(b64decode(one) if place % 2 else one, group), place % 2 == 1)
            for place, one in enumerate(_BASE64.split(rest))
        ]

    def renamed(self, names: _Names, copy: int, later: float) -> Line:
        """Its line in a copy that begins so many seconds later."""
        at = self.line[0] + later
        origin = _text(f"{self._file}-{copy:02}{self._mark}{self._number}")
        rest = [
            b64encode(one.within(names)) if is_base64 else one.within(names) for one, is_base64 in self._rest
        ]
        return at, b"".join((self._head, b"%r" % at, self._between, origin, *rest))


def _text(text: str) -> bytes:
    """As a line has it."""
    return json.dumps(text, ensure_ascii=False).encode()
