"""The budget and the settings of the small models: causes are bounded, effects are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rota.kernel import FrozenMap, Message, Outcome, Value, frozen


@frozen
class Charge:
    """Something that the budget must allow."""

    kind: str


@dataclass(frozen=True)
class Budget:
    """The machine that grants charges, so many of each kind; a kind that is not in it is refused."""

    allowed: FrozenMap[str, int]
    name: str = "budget"
    role: str = "budget"

    def initial(self) -> Sequence[Value]:
        """All of it."""
        return (self.allowed,)

    def actions(self, value: Value) -> Sequence[Outcome]:
        """It begins nothing."""
        return ()

    def receive(self, value: FrozenMap[str, int], sender: str, message: Message) -> Sequence[Outcome]:
        """Grant a charge, or refuse it when nothing is left."""
        if not isinstance(message, Charge):
            raise TypeError(f"the budget takes charges, not {message!r}")
        left = value.get(message.kind, 0)
        return (Outcome(value.set(message.kind, left - 1)),) if left else ()

    def why_refused(self, value: FrozenMap[str, int], sender: str, message: Message) -> str | None:
        """How the budget stands."""
        if not isinstance(message, Charge):
            return None
        allowed = self.allowed.get(message.kind, 0)
        return f"no {message.kind} left of {allowed}" if allowed else "this world does not allow that"


def chosen_from(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings over their defaults. Errors: ValueError for one that is not there."""
    for name in settings:
        if name not in defaults:
            raise ValueError(f"no setting is called {name}; there are {', '.join(defaults)}")
    return {**defaults, **settings}
