"""Short fair cycles, whichever graph they are in.

A fair cycle meets goals: to visit a bad state, and for each class either to take it or to visit a state in
which it is disabled. The shortest closed walk that meets all is found breadth first over pairs (state, goals
met so far). Where these are too many, the walk goes greedily to the nearest goal left and back to its start
at the end, and closed parts that no goal needs are cut out: such a cycle is fair, and not always the
shortest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

E = TypeVar("E")

BAD = -1
"""The goal to visit a bad state; the others are numbers of classes."""

MOST_GOALS = 31
"""Most goals of one exact search."""


class FairComponent(Protocol[E]):
    """A strongly connected component with a fair violating cycle. E: how its edges are named."""

    def target(self, edge: E) -> int:
        """Where an edge leads."""
        ...

    def met_in(self, state: int) -> frozenset[int]:
        """The goals that a visit to a state meets."""
        ...

    def met_by(self, edge: E) -> frozenset[int]:
        """The goals that taking an edge meets."""
        ...

    def walk(self, start: int, goals: Sequence[int], final: int | None) -> list[E] | None:
        """A shortest walk that meets all goals and ends in final; final None: that meets any of them.

        Of several shortest ones the first in a breadth-first search that takes edges in order. None where the
        search would visit too many pairs of a state and the goals met so far.
        """
        ...


def cycle(fair_component: FairComponent[E], entry: int, goals: Iterable[int]) -> list[E]:
    """A fair cycle through a state; empty where all goals are met by staying there."""
    wanted = sorted(set(goals) - fair_component.met_in(entry))
    shortest = fair_component.walk(entry, wanted, entry) if len(wanted) <= MOST_GOALS else None
    if shortest is not None:
        return shortest
    return _cut(fair_component, entry, _greedy(fair_component, entry, wanted), frozenset(wanted))


def _greedy(fair_component: FairComponent[E], entry: int, wanted: Sequence[int]) -> list[E]:
    walk: list[E] = []
    at, left = entry, list(wanted)
    while left:
        further = fair_component.walk(at, left[:MOST_GOALS], None) or []
        walk += further
        at = fair_component.target(further[-1])
        met = _met(fair_component, further)
        left = [goal for goal in left if goal not in met]
    return walk + (fair_component.walk(at, (), entry) or [])


def _met(fair_component: FairComponent[E], walk: Iterable[E]) -> frozenset[int]:
    """The goals that a walk meets after its start."""
    met = (fair_component.met_by(edge) | fair_component.met_in(fair_component.target(edge)) for edge in walk)
    return frozenset[int]().union(*met)


def _cut(fair_component: FairComponent[E], entry: int, walk: list[E], wanted: frozenset[int]) -> list[E]:
    """A cycle without the loops in it that can be left out, the longest first."""
    states = [entry, *(fair_component.target(edge) for edge in walk)]
    loops = [
        (begin, end)
        for begin, state in enumerate(states)
        for end in range(begin + 1, len(states))
        if states[end] == state
    ]
    for begin, end in sorted(loops, key=lambda loop: (loop[0] - loop[1], loop)):
        left = walk[:begin] + walk[end:]
        if wanted <= _met(fair_component, left):
            return _cut(fair_component, entry, left, wanted)
    return walk
