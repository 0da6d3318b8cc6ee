"""Refusals: why something is not possible now, in the words of the machine that does not do it.

A machine says so with functions that it may have beside those of `Machine`. Engines never ask them, and no
digest depends on them; only those do who show a state to a person. Where a machine says nothing, nothing is
made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rota.kernel.machine import Machine, Message
from rota.kernel.mistakes import Call
from rota.kernel.transition import LocalStep


@dataclass(frozen=True)
class Refusal:
    """A move that a machine knows, and cannot begin with its value.

    label: what it would do, as the label of an outcome would say it; reason: why not, a sentence without its
    full stop.
    """

    label: str
    reason: str


@dataclass(frozen=True)
class Attempt:
    """A rule that a machine asked.

    about: what it was asked about, such as the name of a request, or the label of the machine's own move;
    rule: its slug; fired: whether it did; else its guard refused, and the next one was asked.
    """

    about: str
    rule: str
    fired: bool


@dataclass(frozen=True)
class DeadEnd:
    """A transition that was begun and is not there, since a machine refuses a message.

    local_steps: what had happened until then; machine: the one that refuses, of which value, and what, from
    whom.
    """

    local_steps: tuple[LocalStep, ...]
    machine: str
    value: Any
    sender: str
    message: Message


class Explaining(Protocol):
    """What a machine may have beside the functions of `Machine`: each by itself, all pure."""

    def refusals(self, value: Any) -> Sequence[Refusal]:
        """The moves that `actions(value)` does not offer, and why, as far as there is something to say."""
        ...

    def why_refused(self, value: Any, sender: str, message: Message) -> str | None:
        """Why `receive` gives no outcome for these arguments, for which it gives none."""
        ...

    def tried(self, value: Any, sender: str | None, message: Message) -> Sequence[Attempt]:
        """The rules that `receive` asks with these arguments, in order; without a sender, `actions`."""
        ...


def refusals(machine: Machine, value: Any) -> tuple[Refusal, ...]:
    """The moves that a machine says it cannot begin. Errors: UserError for a mistake in its function."""
    call = _told(machine, "refusals")
    return () if call is None else tuple(call(value))


def why_refused(machine: Machine, dead: DeadEnd) -> str | None:
    """Why the machine at a dead end refuses, None where it does not say. Errors: UserError."""
    call = _told(machine, "why_refused")
    why = None if call is None else call(dead.value, dead.sender, dead.message)
    return None if why is None else str(why)


def tried(machine: Machine, value: Any, sender: str | None, message: Message) -> tuple[Attempt, ...]:
    """The rules that a machine says it asks. Errors: UserError for a mistake in its function."""
    call = _told(machine, "tried")
    return () if call is None else tuple(call(value, sender, message))


def _told(machine: Machine, name: str) -> Call | None:
    """One of the functions, None where the machine does not have it."""
    function = getattr(machine, name, None)
    return Call(f"machine {machine.name}", name, function) if callable(function) else None
