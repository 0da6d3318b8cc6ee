"""Compiles the search before anybody waits for it: `python -m rota.explore.fast.ahead`.

Compiled code is made for each number of words that a state takes, and at its first use: so systems without a
meaning are explored that use all of it, of one word and of two, with every way to hold states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rota.explore.fast import search
from rota.explore.result import Limits
from rota.kernel import Kind, Message, Outcome, Property, Symmetry, System, View

WIDTHS = (13, 70)
"""Machines: their states take one word, and two."""

STATES = 3500
"""Enough that the set of states is made anew once."""

WAYS = (
    Limits(max_states=STATES, workers=2),
    Limits(max_states=STATES, symmetry=True),
    Limits(max_states=STATES, fingerprints=True),
    Limits(max_states=STATES, memory=1),
)


@dataclass(frozen=True)
class Switch:
    """A machine that is on or off."""

    name: str
    role: str = "switch"

    def initial(self) -> Sequence[bool]:
        """It is off."""
        return [False]

    def actions(self, value: bool) -> Sequence[Outcome]:
        """It changes."""
        return [Outcome(not value, rules=("ahead.switch",))]

    def receive(self, value: bool, sender: str, message: Message) -> Sequence[Outcome]:
        """Nobody sends anything."""
        return []


def switches(count: int) -> System:
    """Machines that know nothing of each other, the first two of which are interchangeable."""
    names = tuple(f"switch-{number}" for number in range(count))
    view = View("switch", _itself)
    judged = (
        Property("ahead.states", Kind.SAFETY, "It is on or off.", (view,), _known),
        Property("ahead.steps", Kind.STEP, "It changes.", (view,), _known),
    )
    symmetry = Symmetry(names[:2], lambda role, value, places: value, lambda role, value, place: value)
    return System("switches", tuple(map(Switch, names)), judged, None, symmetry)


def _itself(value: bool) -> bool:
    return value


def _known(*values: bool) -> bool:
    return all(value in (True, False) for value in values)


def main() -> None:
    """Explore all of them, in every way."""
    for count in WIDTHS:
        for limits in WAYS:
            search.explore(switches(count), limits)


if __name__ == "__main__":
    main()
