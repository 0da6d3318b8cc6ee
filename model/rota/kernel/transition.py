"""Transitions: a step of a whole system, and the part of each machine in it."""

from __future__ import annotations

from rota.kernel.machine import Message, Value
from rota.kernel.structs import frozen

State = tuple[Value, ...]
"""One value per machine, in the system's order."""


@frozen
class Hop:
    """One machine's part in a transition: who, what it took (None for the one that began), what it did.

    value: the machine's afterwards.
    """

    machine: str
    message: Message
    sender: str | None
    label: str
    rules: tuple[str, ...]
    value: Value


@frozen
class Transition:
    """A step of the whole system. hops: at least the machine that began it."""

    target: State
    hops: tuple[Hop, ...]

    @property
    def label(self) -> str:
        """What happened, in one line."""
        return "; ".join(hop.label for hop in self.hops if hop.label)

    @property
    def rules(self) -> tuple[str, ...]:
        """Slugs of the rules that fired, in order."""
        return tuple(slug for hop in self.hops for slug in hop.rules)
