"""Properties: named sentences over views of one or two machines.

A view is a function of one component's value; a property reads nothing but its views. So an engine
evaluates a view once per distinct value and a predicate once per distinct combination of views.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """What a property says and when it is judged."""

    SHAPE = "shape"
    """Every state is well formed."""
    SAFETY = "safety"
    """Nothing bad in any state."""
    STEP = "step"
    """Nothing bad between a state and the next: the predicate gets the view before and after."""
    WITNESS = "witness"
    """Something good must be reachable, else the check is vacuous."""
    TERMINAL = "terminal"
    """The states that may be last; any other state without a successor but itself is a deadlock."""


@dataclass(frozen=True)
class View:
    """What a property sees of each machine of a role. of: value -> hashable."""

    role: str
    of: Callable[[Any], Hashable]


@dataclass(frozen=True)
class Property:
    """A named sentence.

    Parameters: name, a slug; kind; meaning, one sentence for a person; views, one or two; test, a
    predicate that takes one argument per view (STEP: the single view before and after).
    SHAPE, SAFETY and TERMINAL hold in a state if the predicate holds for every choice of distinct
    machines of the views' roles; WITNESS if it holds for some. source and rules say where the sentence
    comes from and which rules (slugs) it guards.
    """

    name: str
    kind: Kind
    meaning: str
    views: tuple[View, ...]
    test: Callable[..., bool]
    source: str = ""
    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.views) <= 2:
            raise ValueError(f"property {self.name} has {len(self.views)} views; one or two can be tabulated")
        if self.kind is Kind.STEP and len(self.views) != 1:
            raise ValueError(f"step property {self.name} has two views; a step is judged on one machine")

    @property
    def universal(self) -> bool:
        """True where every choice of machines must satisfy the predicate, False where one is enough."""
        return self.kind is not Kind.WITNESS
