"""Mutants of the formulas: a rule that forgets one thing that it changes, or has no guard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rota.proofs.core.claims import changed
from rota.proofs.core.coverage import MOVES
from rota.proofs.core.moves import Args, Effect, Move
from rota.proofs.core.mutants import WRONG_RULES, WRONG_STEPS
from rota.proofs.core.signature import SIGNATURE, State


@dataclass(frozen=True)
class Mistake:
    """A mutant of a formula, which stands in for the move's. looks_at_nothing: its guard is what is gone."""

    name: str
    move: Move
    effect: Callable[[State, Args], Effect]
    looks_at_nothing: bool = False


def forgetful(move: Move, part: str) -> Mistake:
    """What the rule makes of one part of the state is dropped: the part stays as it was."""

    def effect(s: State, a: Args) -> Effect:
        guard, post = move.effect(s, a)
        return guard, post.but(**{part: s.parts[part]})

    return Mistake(f"{move.name} forgets {part}", move, effect)


def restless(move: Move, part: str) -> Mistake:
    """The frame has a hole: a relation that the rule leaves alone is emptied."""

    def effect(s: State, a: Args) -> Effect:
        guard, post = move.effect(s, a)
        return guard, post.none(part)

    return Mistake(f"{move.name} empties {part}", move, effect)


def blind(move: Move) -> Mistake:
    """The guard is dropped: wherever the step may go on with this rule, it does."""

    def effect(s: State, a: Args) -> Effect:
        return True, move.effect(s, a)[1]

    return Mistake(f"{move.name} looks at nothing", move, effect, True)


FRAME = ("member", "pending", "belonged")
"""Of each kind of relation one, to be emptied."""


def mistakes() -> Iterator[Mistake]:
    """Of every rule: each thing that it changes forgotten, its guard dropped, its frame with holes."""
    for move in MOVES:
        parts = [name for name in changed(move) if SIGNATURE[name].role != "control"]
        yield from (forgetful(move, part) for part in sorted(parts))
        yield from (restless(move, part) for part in FRAME if part not in parts)
        yield blind(move)
    yield from (
        Mistake(f"{one.move.name}: {one.name}", one.move, one.rule) for one in (*WRONG_RULES, *WRONG_STEPS)
    )
