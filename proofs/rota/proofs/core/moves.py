"""A rule as a formula: its guard, and the state after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from rota.proofs.core.logic import Sort, Term, both, symbol
from rota.proofs.core.signature import SIGNATURE, State, agree

Args = Any
"""A namespace of arguments: the request's fields, choices, fresh ids and records."""

Effect = tuple[Term, State]
"""The guard, and the state afterwards."""

Argument = Sort | tuple[Sort, ...] | None
"""An element; a set, of elements or rows; None: a truth value."""

GIVEN = "given"
"""The one argument that is a function: what a SyncGroup gives to each member."""


@dataclass(frozen=True, eq=False)
class Move:
    """One rule's own part of a step, up to where another rule continues it.

    slug: the spec's rule; part: which part of it, '' where it has one only; args: what it takes beside the
    state, by name; effect: its guard and its outcome.
    """

    slug: str
    part: str
    args: Mapping[str, Argument]
    effect: Callable[[State, Args], Effect]

    @property
    def name(self) -> str:
        """The slug and the part."""
        return f"{self.slug}.{self.part}" if self.part else self.slug

    def symbols(self) -> Args:
        """Arguments of which nothing is known, as Z3 symbols."""
        made = {}
        for name, kind in self.args.items():
            if name == GIVEN:
                made[name] = symbol(f"arg {name}", (Sort.MEMBER,), Sort.ASSIGNMENT)
            elif isinstance(kind, tuple):
                made[name] = symbol(f"arg {name}", kind, None)
            else:
                made[name] = symbol(f"arg {name}", (), kind)
        return SimpleNamespace(**made)

    def transition(self, pre: State, post: State, args: Args) -> Term:
        """The formula: the guard holds before, and afterwards each name is what the rule makes it."""
        guard, reached = self.effect(pre, args)
        return both(guard, *(agree(post, reached, name) for name in SIGNATURE))


def move(slug: str, part: str = "", **args: Argument) -> Callable[[Callable[[State, Args], Effect]], Move]:
    """Make a `Move` of a function from state and arguments to guard and outcome."""
    return lambda effect: Move(slug, part, args, effect)
