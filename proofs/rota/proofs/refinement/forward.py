"""The formulas run forward over a finite universe: from an abstract state to its successors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any

from rota.proofs.core import leave, rebalance, static, timers
from rota.proofs.core.logic import Finite, Point
from rota.proofs.core.moves import Args, Effect, Move
from rota.proofs.core.signature import State
from rota.proofs.refinement.abstraction import AbstractState, abstract_successor, normal_form, state_of

Choices = Mapping[str, Sequence[Any]]
"""For an argument's name, what it may be. Any element of its sort where it is not named."""

Replaced = Mapping[str, Callable[[State, Args], Effect]]
"""Other effects for some moves, by name: mutants of the formulas."""

CONTINUED: Mapping[Point, tuple[Move, ...]] = {
    Point.REMOVING: (rebalance.remove_member,),
    Point.SWEEPING: (timers.sync_timeout_removes, timers.sync_timeout_ends),
    Point.CHANGED: (rebalance.rebalance_or_complete,),
    Point.CHECKING: (rebalance.complete_if_all_joined,),
    Point.BEGINNING: (rebalance.prepare_rebalance,),
    Point.ENDING: (rebalance.complete_phase,),
    Point.EMPTYING: (rebalance.empty,),
    Point.ABSENT: (rebalance.nobody_joined,),
    Point.ELECTING: (rebalance.elect_leader,),
    Point.VOTING: (rebalance.choose_protocol,),
    Point.COUNTING: (rebalance.next_generation,),
    Point.REPLACED: (
        static.replaced_while_preparing,
        static.replaced_while_completing,
        static.replaced_changed_vote,
        static.replaced_in_stable,
    ),
}
"""Which rules continue a step. Within a LeaveGroup it is what the request names next."""

UNCOUNTED = ("removes", "ends")
"""Parts of a rule that has begun already: the rule fires once."""


LONGEST = 60
"""Rules in one step, at most. Far more than any step of few members has."""


class EndlessStep(Exception):
    """A mutant of the formulas continues a step for ever."""


@dataclass(frozen=True)
class Started:
    """A rule that may begin the step, with what its arguments may be."""

    move: Move
    choices: Choices = field(default_factory=dict)


@dataclass(frozen=True)
class AbstractOutcome:
    """A step's result. state: abstract, see `normal_form`; slugs: rules that fired, with how often."""

    state: tuple[Any, ...]
    slugs: frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Runner:
    """Runs formulas. replaced: mutants of some."""

    u: Finite
    replaced: Replaced = field(default_factory=dict)

    def outcomes(
        self, shown: AbstractState, starts: Sequence[Started], batch: Sequence[Sequence[Started]] = ()
    ) -> frozenset[AbstractOutcome]:
        """All that a step may lead to.

        Parameters: shown; starts; batch: for each identity of a LeaveGroup, the rules that may take it.
        Errors: EndlessStep.
        """
        found = set()
        todo: list[tuple[AbstractState, int, tuple[Move, ...]]]
        todo = [(later, 0, (move,)) for later, move in self._each(shown, starts)]
        known = set()
        while todo:
            now, done, moves = todo.pop()
            here = (*now.values(), done, frozenset(Counter(moves).items()))
            if here in known:
                continue
            known.add(here)
            if now["point"] is Point.RESTING:
                slugs = Counter(move.slug for move in moves if move.part not in UNCOUNTED)
                found.add(AbstractOutcome(normal_form(now), frozenset(slugs.items())))
                continue
            if len(moves) > LONGEST:
                raise EndlessStep(" ".join(move.name for move in moves))
            within = now["point"] is Point.BATCH
            following = self._within(done, batch) if within else _continued(now)
            after = done + (within and done < len(batch))
            todo += [(later, after, (*moves, move)) for later, move in self._each(now, following)]
        return frozenset(found)

    def _within(self, done: int, batch: Sequence[Sequence[Started]]) -> Sequence[Started]:
        return batch[done] if done < len(batch) else (Started(leave.batch_ends),)

    def _each(self, shown: AbstractState, starts: Sequence[Started]) -> Iterator[tuple[AbstractState, Move]]:
        state = state_of(self.u, shown)
        for start in starts:
            effect = self.replaced.get(start.move.name, start.move.effect)
            for args in self.arguments(start):
                guard, reached = effect(state, args)
                if guard:
                    yield abstract_successor(self.u, reached, state, shown), start.move

    def arguments(self, start: Started) -> Iterator[Args]:
        """All that the arguments may be."""
        kinds = start.move.args
        options = [
            start.choices[name] if name in start.choices else self._elements(kind)
            for name, kind in kinds.items()
        ]
        for values in product(*options):
            yield SimpleNamespace(**dict(zip(kinds, values, strict=True)))

    def _elements(self, kind: Any) -> Sequence[Any]:
        if kind is None:
            return (True, False)
        return self.u.everything.of[kind]


def _continued(shown: AbstractState) -> tuple[Started, ...]:
    return tuple(Started(move) for move in CONTINUED[shown["point"]])
