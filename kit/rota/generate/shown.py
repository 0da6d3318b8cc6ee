"""Where two servers that were told the same have answered another thing first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rota.generate.player import Message

_ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Shown:
    """How a bug shows first: in the "answer" to a request, in the "moment" of one, by so many seconds (less
    than nothing: earlier), or in "silence" where an answer was due, for so many seconds until all ended."""

    kind: str
    api: str
    seconds: float = 0.0

    def __str__(self) -> str:
        by = f" by {self.seconds:+.3f} s" if self.kind == "moment" else ""
        return f"{self.kind} of {self.api}{by}"


def first_shown(sound: Sequence[Message], other: Sequence[Message]) -> Shown | None:
    """Where what was answered is another thing first, or at another moment; None where it never is."""
    ours, theirs = _plain(sound), _plain(other)
    place = next(
        (place for place, (one, two) in enumerate(zip(ours, theirs, strict=False)) if one != two),
        min(len(ours), len(theirs)),
    )
    left, came = _apart(ours[place:], theirs[place:])
    firsts = sorted([*left[:1], *came[:1]], key=lambda one: one.at)
    if not firsts:
        return None
    first = firsts[0]
    due = next((one for one in left if one.number == first.number), None)
    told = next((one for one in came if one.number == first.number), None)
    if told is None:
        return Shown("silence", first.api, round(max(ours[-1].at, theirs[-1].at) - first.at, 3))
    if due is None or due.data != told.data:
        return Shown("answer", first.api)
    return Shown("moment", first.api, round(told.at - due.at, 3))


def _apart(ours: Sequence[_Plain], theirs: Sequence[_Plain]) -> tuple[list[_Plain], list[_Plain]]:
    """Answers of each that the other has not given as well, at the same moment: these only came in another
    order."""
    left, came = (Counter(one for one in each if one.is_answer) for each in (ours, theirs))
    return [*(left - came).elements()], [*(came - left).elements()]


@dataclass(frozen=True)
class _Plain:
    """A message whose ids are numbered. number: of the request."""

    at: float
    api: str
    number: int
    data: bytes
    is_answer: bool


def _plain(messages: Sequence[Message]) -> list[_Plain]:
    numbers: dict[bytes, bytes] = {}

    def numbered(found: re.Match[bytes]) -> bytes:
        return numbers.setdefault(found[0], b"%036d" % len(numbers))

    plain = []
    for one in messages:
        place = 8 if one.sent else 4
        number = int.from_bytes(one.data[place : place + 4], "big")
        is_answer = bool(one.api) and not one.sent
        plain.append(_Plain(round(one.at, 6), one.api, number, _ID.sub(numbered, one.data), is_answer))
    return plain
