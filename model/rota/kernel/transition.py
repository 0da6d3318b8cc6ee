"""Transitions: a step of a whole system, and the part of each machine in it."""

from __future__ import annotations

from rota.kernel.machine import Message, Value
from rota.kernel.structs import frozen

State = tuple[Value, ...]
"""One value per machine, in the system's order."""


@frozen
class LocalStep:
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
    """A step of the whole system. local steps: at least the machine that began it."""

    target: State
    local_steps: tuple[LocalStep, ...]

    @property
    def label(self) -> str:
        """What happened, in one line."""
        return "; ".join(local_step.label for local_step in self.local_steps if local_step.label)

    @property
    def rules(self) -> tuple[str, ...]:
        """Slugs of the rules that fired, in order."""
        return tuple(slug for local_step in self.local_steps for slug in local_step.rules)
