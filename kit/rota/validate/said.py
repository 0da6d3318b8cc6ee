"""What was said in a group before a violation: its lines, and where each of them stands in the source."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from rota.conformance.dialogues.transcript import Line, render
from rota.generate.player import Message
from rota.generate.requests import Body
from rota.generate.told import SILENCE, lines_of
from rota.kernel.structs import Frozen
from rota.linearise import Answered, Judgement
from rota.linearise.ids import MARK
from rota.linearise.judgement import ALONE, Nearest
from rota.linearise.words import in_words
from rota.validate.asked import Asked

MOST_MESSAGES = 100
SHOWN = 30
"""Messages that are kept of a group, and those that a violation shows."""

MOST_BYTES = 40
"""Of a value, that are shown."""


@dataclass(frozen=True)
class Said:
    """Lines of a dialogue. names: of member ids, short; origins: where each line stands, "" where it is no
    message's; crucial: places of the lines that a violation is about."""

    lines: tuple[Line, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    origins: tuple[str, ...] = ()
    crucial: frozenset[int] = frozenset()

    @property
    def text(self) -> tuple[str, ...]:
        """The dialogue as people read it, a line each."""
        return tuple(render(self.lines, self.names))


_Told = tuple[float, str, bool, str, int, Body]
"""What a `Message` is made of: most of what is said is never shown."""


class Recent:
    """What was said last in a group. Parameters: group."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._messages: deque[tuple[_Told, str]] = deque(maxlen=MOST_MESSAGES)

    def __len__(self) -> int:
        return len(self._messages)

    def asked(self, asked: Asked, body: Body) -> None:
        """A request was sent."""
        said = asked.at, asked.client, True, asked.api, asked.version, body
        self._messages.append((said, asked.origin))

    def answered(self, asked: Asked, at: float, body: Body, origin: str) -> None:
        """A request was answered. origin: where that stands."""
        said = at, asked.client, False, asked.api, asked.version, body
        self._messages.append((said, origin))

    def ended(self, connection: int, at: float) -> None:
        """A connection has ended."""
        self._messages.append(((at, "", False, "", connection, {}), ""))

    def origins(self, at: float) -> tuple[str, ...]:
        """Where that stands which was said until then."""
        return tuple(origin for said, origin in self._messages if origin and said[0] <= at)

    def said(self, at: float, about: Collection[str]) -> Said:
        """What was said until then. about: where that stands which a violation is about."""
        until = [one for one in self._messages if one[0][0] <= at][-SHOWN:]
        return said_by([(Message(*said), origin) for said, origin in until], self._group, about)


def said_by(messages: Iterable[tuple[Message, str]], group: str, about: Collection[str]) -> Said:
    """What was said. messages: with where they stand; about: where that stands that it is about."""
    kept = list(messages)
    lines, names = lines_of([message for message, _ in kept], group)
    left = iter(origin for _, origin in kept)
    origins = tuple("" if line.mark == SILENCE else next(left) for line in lines)
    crucial = frozenset(place for place, origin in enumerate(origins) if origin and origin in about)
    return Said(tuple(lines), names, origins, crucial)


def in_brief(found: Judgement, about: Callable[[int], str]) -> dict[str, str]:
    """What was asked, what was expected and what came, as far as a judge can tell them apart.

    about: tells a request by its number.
    """
    if not isinstance(found.at, Answered):
        return {}
    told = {"asked": about(found.at.number).partition("(")[2].removesuffix(")")}
    near = by_difference(found.nearest)
    if found.late or not near or not near[0].differs:
        return told
    differs = near[0].differs
    told["expected"] = ", ".join(f"{name} {_brief(wanted)}" for name, wanted, _ in differs)
    told["came"] = ", ".join(f"{name} {_brief(seen)}" for name, _, seen in differs)
    return told


def by_difference(nearest: Sequence[Nearest]) -> list[Nearest]:
    """Those first that name a difference: the others were possible by themselves, and say nothing of it."""
    return sorted(nearest, key=lambda one: not one.differs)


def near_in_brief(one: Nearest) -> str:
    """An answer that was possible, and by which rules."""
    told = ", ".join(f"{name} {_brief(wanted)}, not {_brief(seen)}" for name, wanted, seen in one.differs)
    by = f" by {', '.join(one.rules)}" if one.rules else ""
    return f"{told or ALONE}{by} (group {one.state})"


def _brief(value: Any) -> str:
    """A value of an answer; of several fields those that are not empty, of many bytes their number."""
    if isinstance(value, bytes) and len(value) > MOST_BYTES:
        return f"{len(value)} bytes"
    if isinstance(value, Frozen):
        parts: Any = value
        told = ((one.name, getattr(parts, one.name)) for one in fields(parts))
        return f"({', '.join(f'{name} {_brief(one)}' for name, one in told if one)})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_brief, value))}]"
    return json.dumps(value) if isinstance(value, str) and MARK not in value else in_words(value)
