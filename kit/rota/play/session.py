"""A session: a system, a run through it, and the place in the run at which a person stands."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rota.kernel import State, System, Transition, UserError, guarded
from rota.play.offers import Offer, offers
from rota.trace import REACH, ExpressionError, reaching

MOST_STEPS = 2_000
"""Steps of a run at most: more are no use on a page."""


class PlayError(ValueError):
    """Something that is asked for cannot be done; the message is for the person who asked."""


@dataclass(frozen=True)
class Bounds:
    """How far a search goes. states: looked at, at most; seconds: about, at most."""

    states: int = 100_000
    seconds: float = 15.0


@dataclass(frozen=True, eq=False)
class Session:
    """A run, which nothing changes: what is done to a session gives another one.

    start: an initial state of the system; path: the transitions from it; at: how many of them have been
    taken; those after it are where a person came from who went back.
    """

    system: System
    start: State
    path: tuple[Transition, ...] = ()
    at: int = 0

    @classmethod
    def of(cls, system: System, number: int = 0) -> Session:
        """At one of the initial states, by its number. Errors: PlayError."""
        try:
            states = guarded(system).initial_states()
        except UserError as mistake:
            raise PlayError(str(mistake)) from mistake
        if not 0 <= number < len(states):
            raise PlayError(f"there are {len(states)} initial states, counted from 0")
        return cls(system, states[number])

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The states of the whole run, one more than transitions."""
        return (self.start, *(transition.target for transition in self.path))

    @property
    def state(self) -> State:
        """The state at which the person stands."""
        return self.states[self.at]

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """What each machine can begin here, and what it cannot."""
        return offers(self.system, self.state)

    @cached_property
    def moves(self) -> tuple[Transition, ...]:
        """All that is possible here, as it is numbered: every transition of the state, each once."""
        return tuple(dict.fromkeys(move for offer in self.offers for move in offer.moves))

    def step(self, number: int) -> Session:
        """Take one of the moves. The way that was there before stays if it is the same. Errors: PlayError."""
        if not 0 <= number < len(self.moves):
            raise PlayError(f"there is no move {number + 1} here; there are {len(self.moves)}")
        move = self.moves[number]
        if self.at < len(self.path) and self.path[self.at] == move:
            return replace(self, at=self.at + 1)
        return self._along((move,))

    def to(self, at: int) -> Session:
        """Stand elsewhere in the run. Errors: PlayError."""
        if not 0 <= at <= len(self.path):
            raise PlayError(f"the run has {len(self.path)} steps; there is no step {at}")
        return replace(self, at=at)

    def led(self, path: Sequence[Transition]) -> Session:
        """At the end of another run from the same start."""
        return replace(self, path=(), at=0)._along(tuple(path))

    def walked(self, steps: int, seed: int) -> Session:
        """So many steps further at random, fewer if nothing leads on. Errors: PlayError.

        What changes nothing is no step of a walk: a state in which all heartbeat would be the end of most.
        """
        chooser, state = random.Random(seed), self.state
        path: list[Transition] = []
        for _ in range(min(steps, MOST_STEPS - self.at)):
            here = [move for move in successors(self.system, state) if move.target != state]
            if not here:
                break
            path.append(chooser.choice(here))
            state = path[-1].target
        return self._along(tuple(path))

    def jumped(self, text: str, bounds: Bounds = Bounds()) -> Session:
        """At the nearest state, this one aside, of which an expression is true.

        The way there is a shortest one. Errors: PlayError where there is none, none was found within the
        bounds, or the text is no expression about this system.
        """
        return self._along(_shortest(self.system, self.state, self.there(text), text, bounds))

    def there(self, text: str) -> Callable[[State], bool]:
        """Whether an expression is true of a state. Errors: PlayError."""
        try:
            searched = reaching(self.system, text)
        except ExpressionError as error:
            raise PlayError(str(error)) from None
        nowhere = next(one for one in searched.properties if one.name == REACH)

        def there(state: State) -> bool:
            try:
                return not searched.holds(nowhere, state)
            except ExpressionError as error:
                raise PlayError(str(error)) from None

        return there

    def _along(self, further: tuple[Transition, ...]) -> Session:
        path = (*self.path[: self.at], *further)
        if len(path) > MOST_STEPS:
            raise PlayError(f"a run has {MOST_STEPS:,} steps at most; go back first")
        return replace(self, path=path, at=len(path))


def successors(system: System, state: State) -> tuple[Transition, ...]:
    """The transitions out of a state, each once. Errors: PlayError for a mistake of the system's own."""
    try:
        return tuple(dict.fromkeys(guarded(system).successors(state)))
    except UserError as mistake:
        raise PlayError(str(mistake)) from mistake


def _shortest(
    system: System, start: State, there: Callable[[State], bool], text: str, bounds: Bounds
) -> tuple[Transition, ...]:
    """The transitions of a shortest way of one step at least, by breadth-first search."""
    until = time.monotonic() + bounds.seconds
    came: dict[State, tuple[State, Transition]] = {}
    level, depth = [start], 0
    while level:
        depth += 1
        fresh = []
        for state in level:
            for move in successors(system, state):
                if move.target in came:
                    continue
                came[move.target] = state, move
                if there(move.target):
                    return _way(came, start, move.target)
                fresh.append(move.target)
            if len(came) > bounds.states or time.monotonic() > until:
                raise PlayError(
                    f"no such state among the {len(came):,} nearest ones, {depth} steps away and fewer; "
                    f"`rota check --reach {text!r}` looks further"
                )
        level = fresh
    raise PlayError(f"no state that can be reached from here is one in which {text}; all were looked at")


def _way(came: dict[State, tuple[State, Transition]], start: State, end: State) -> tuple[Transition, ...]:
    """How a state was come to. The start may be on the way back to itself, and ends it nevertheless."""
    way: list[Transition] = []
    state = end
    while not way or state != start:
        state, move = came[state]
        way.insert(0, move)
    return tuple(way)
