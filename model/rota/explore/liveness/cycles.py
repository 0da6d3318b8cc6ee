"""Short fair cycles, whichever graph they are in.

A cycle has goals to meet: to be in a bad state, and for each class either to take it or to be where it is
impossible. The shortest walk that meets all and comes home is found breadth first over pairs (state, goals
met so far). Where these are too many it goes to the nearest goal again and again, then home, and what can be
left out is: such a cycle is fair, and not always as short as can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

E = TypeVar("E")

BAD = -1
"""The goal to be in a bad state; the others are numbers of classes."""

MOST_GOALS = 31
"""Goals that a walk keeps apart."""


class Ground(Protocol[E]):
    """A component to walk in. E: how its edges are named."""

    def target(self, edge: E) -> int:
        """Where an edge leads."""
        ...

    def met_in(self, state: int) -> frozenset[int]:
        """The goals that being in a state meets."""
        ...

    def met_by(self, edge: E) -> frozenset[int]:
        """The goals that taking an edge meets."""
        ...

    def walk(self, start: int, goals: Sequence[int], home: int | None) -> list[E] | None:
        """A shortest walk that meets all goals and ends at home; without a home, that meets any of them.

        Of the shortest ones the first, if states are left in the order in which they are come to, by their
        edges in order. None where all goals and a home are too many pairs to look at.
        """
        ...


def cycle(ground: Ground[E], entry: int, goals: Iterable[int]) -> list[E]:
    """A fair cycle through a state; empty where all goals are met by staying there."""
    wanted = sorted(set(goals) - ground.met_in(entry))
    shortest = ground.walk(entry, wanted, entry) if len(wanted) <= MOST_GOALS else None
    if shortest is not None:
        return shortest
    return _cut(ground, entry, _greedy(ground, entry, wanted), frozenset(wanted))


def _greedy(ground: Ground[E], entry: int, wanted: Sequence[int]) -> list[E]:
    walk: list[E] = []
    at, left = entry, list(wanted)
    while left:
        further = ground.walk(at, left[:MOST_GOALS], None) or []
        walk += further
        at = ground.target(further[-1])
        met = _met(ground, further)
        left = [goal for goal in left if goal not in met]
    return walk + (ground.walk(at, (), entry) or [])


def _met(ground: Ground[E], walk: Iterable[E]) -> frozenset[int]:
    """The goals that a walk meets after its start."""
    met = (ground.met_by(edge) | ground.met_in(ground.target(edge)) for edge in walk)
    return frozenset[int]().union(*met)


def _cut(ground: Ground[E], entry: int, walk: list[E], wanted: frozenset[int]) -> list[E]:
    """A cycle without the loops in it that can be left out, the longest first."""
    states = [entry, *(ground.target(edge) for edge in walk)]
    loops = [
        (begin, end)
        for begin, state in enumerate(states)
        for end in range(begin + 1, len(states))
        if states[end] == state
    ]
    for begin, end in sorted(loops, key=lambda loop: (loop[0] - loop[1], loop)):
        left = walk[:begin] + walk[end:]
        if wanted <= _met(ground, left):
            return _cut(ground, entry, left, wanted)
    return walk
