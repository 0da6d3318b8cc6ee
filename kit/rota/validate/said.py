"""What was said in a group before a violation: its lines, and where each of them stands in the source."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rota.conformance.dialogues.transcript import Line, render
from rota.generate.player import Message
from rota.generate.told import SILENCE, lines_of
from rota.kernel.structs import Frozen
from rota.linearise import Answered, Judgement
from rota.linearise.ids import MARK
from rota.linearise.words import in_words


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
    if found.late or not found.nearest:
        return told
    differs = found.nearest[0].differs
    told["expected"] = ", ".join(f"{name} {_brief(wanted)}" for name, wanted, _ in differs)
    told["came"] = ", ".join(f"{name} {_brief(seen)}" for name, _, seen in differs)
    return told


def _brief(value: Any) -> str:
    """A value of an answer; of several fields those that are not empty."""
    if isinstance(value, Frozen):
        parts: Any = value
        told = ((one.name, getattr(parts, one.name)) for one in fields(parts))
        return f"({', '.join(f'{name} {_brief(one)}' for name, one in told if one)})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_brief, value))}]"
    return json.dumps(value) if isinstance(value, str) and MARK not in value else in_words(value)
