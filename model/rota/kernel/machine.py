"""Machines: components of a state that offer moves and take messages, by pure functions of one value.

A move of one machine may send messages to others; these are taken at once, in order, as part of the same
transition (what travels over a network is a value of some machine, put there by one transition and taken
by another). A machine that returns no outcome for a message *refuses* it, and the transition is not there:
that is how a budget forbids a fault.

Everything a step may depend on is (own value, sender, message), so an engine can evaluate each distinct
combination once, remember the outcomes, and explore the product over integers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from rota.kernel.structs import frozen

Value = Hashable
"""A component's value: frozen values (`rota.kernel.structs`) or dataclasses, FrozenMap, tuples, frozensets,
enums, str, bytes, int, bool, None.

Never a named tuple: two kinds with equal fields compare equal and would be taken for one another.
"""

Message = Hashable


@frozen
class Send:
    """A message for the machine called `to`."""

    to: str
    message: Message


@frozen
class Outcome:
    """One outcome of a machine's step.

    value: the machine's next value; sends: messages taken in this order by other machines within the
    same transition; label: what happened, for a person; rules: slugs of the rules that fired.
    """

    value: Value
    sends: tuple[Send, ...] = ()
    label: str = ""
    rules: tuple[str, ...] = ()


class Machine(Protocol):
    """A component of the state. All functions are pure; several outcomes mean a choice that is left open.

    It may also say why something is not possible: `rota.kernel.refusals.Explaining` has those functions.
    """

    @property
    def name(self) -> str:
        """Unique within its system, e.g. `client/c1`."""
        ...

    @property
    def role(self) -> str:
        """What properties speak of, e.g. `client`; several machines may share a role."""
        ...

    def initial(self) -> Sequence[Value]:
        """The values this machine may start with."""
        ...

    def actions(self, value: Any) -> Sequence[Outcome]:
        """The moves that this machine may begin by itself."""
        ...

    def receive(self, value: Any, sender: str, message: Message) -> Sequence[Outcome]:
        """What may become of it when `sender`'s message arrives; empty: it refuses."""
        ...
