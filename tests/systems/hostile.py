"""A toy whose names, labels, rules and values are what strangers might write to break a page or a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rota.kernel import FrozenMap, Kind, Outcome, Property, Send, System, View

HOSTILE = (
    "</script><script>alert(1)</script>",
    "a\nend\nparticipant x\n",
    "a;b:c#d%%e",
    "\"'`&<>{}[]()|\\",
    "\x00\x1b[2J\r\u2028\u202e",
    "%%{init: {'theme': 'x'}}%%",
    "end",
    "-->>",
    " ",
    "\ud800",
)
"""Texts that mean something to HTML, JavaScript, JSON, Mermaid or a terminal."""


@dataclass(frozen=True)
class Named:
    """A machine that is called, does and says what it is told."""

    odd: str
    role: str = "m"

    @property
    def name(self) -> str:
        return f"m{self.odd}"

    def initial(self) -> Sequence[Any]:
        return (FrozenMap(),)

    def actions(self, value: Any) -> Sequence[Outcome]:
        if value:
            return ()
        sends = (Send(self.name, self.odd),)
        return (Outcome(FrozenMap({self.odd: self.odd}), sends, f"does {self.odd}", (f"r{self.odd}",)),)

    def receive(self, value: Any, sender: str, message: Any) -> Sequence[Outcome]:
        return (Outcome(value),)


def naming(odd: str) -> System:
    """The system; its property is contradicted by its only step."""
    views = (View("m", len),)
    prop = Property(f"p{odd}", Kind.SAFETY, f"It is {odd}.", views, lambda size: size == 0, source=odd)
    return System(f"s{odd}", (Named(odd),), (prop,))
