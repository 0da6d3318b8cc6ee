"""The cost of a change: over all runs of a small group, and on seeded walks through larger ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rota.herd.subjects import MeasuredGroup, Subject
from rota.herd.tally import COUNTS, Tally, tally
from rota.kernel import State, Transition

CHANGES = ("join", "leave")
"""One more joins a stable group; one of a stable group leaves. Both end with the same number of members,
so that what differs is the change."""


@dataclass(frozen=True)
class Range:
    """The least and the most of each number over all runs. rest: stable states from which they began."""

    least: Tally
    most: Tally
    rest: int

    def text(self, name: str) -> str:
        """`3`, or `3 to 5`."""
        low, high = getattr(self.least, name), getattr(self.most, name)
        return f"{low}" if low == high else f"{low} to {high}"


def simulated(subject: Subject, members: int, change: str, seed: int) -> Tally:
    """What one random run of a change costs. members: that are there when it is over; seed: of the choices.

    Errors: ValueError for a change that is not one of `CHANGES`.
    """
    group = _group(subject, members, change)
    choices = random.Random(f"{subject.name} {members} {change} {seed}")
    late = _late(group, change)
    state = _entered(group, late)
    state, _ = _walked(group, state, late, choices)
    if change == "leave":
        step = group.leaving(choices.choice(group.members), state)
        _, total = _walked(group, step.target, (), choices)
        return tally(step) + total
    return _walked(group, state, (), choices)[1]


def _group(subject: Subject, members: int, change: str) -> MeasuredGroup:
    if change not in CHANGES:
        raise ValueError(f"there is no change {change}; there are {', '.join(CHANGES)}")
    return MeasuredGroup(subject, members + (change == "leave"))


def _late(group: MeasuredGroup, change: str) -> tuple[int, ...]:
    """The member that joins a stable group."""
    return group.members[-1:] if change == "join" else ()


def _entered(group: MeasuredGroup, late: Sequence[int]) -> State:
    """All members but the late one have come, one after the other, and have done nothing else."""
    (state,) = group.system.initial_states()
    for position in group.members:
        if position not in late:
            for _ in range(group.subject.opening):
                state = next(group.moves(position, state)).target
    return state


def _walked(
    group: MeasuredGroup, state: State, without: Sequence[int], choices: random.Random
) -> tuple[State, Tally]:
    """A random run until no transition is enabled, and what it costs."""
    total = Tally()
    while (step := _chosen(group, state, without, choices)) is not None:
        state, total = step.target, total + tally(step)
    return state, total


def _chosen(
    group: MeasuredGroup, state: State, without: Sequence[int], choices: random.Random
) -> Transition | None:
    """A step of a machine that can move, every such machine with the same chance."""
    for machines in group.by_priority(without):
        for position in choices.sample(machines, len(machines)):
            steps = list(group.moves(position, state))
            if steps:
                return choices.choice(steps)
    return None


def explored(subject: Subject, members: int, change: str) -> Range:
    """The cost over all runs of a change, from every stable state that a group reaches that joins together.

    members, errors: as in `simulated`.
    """
    group = _group(subject, members, change)
    late = _late(group, change)
    rest = [state for state, steps in _reached(group, [_entered(group, late)], late) if not steps]
    after = _Costs(group)
    if change == "join":
        pairs = [after.of(state) for state in rest]
    else:
        leaving = [group.leaving(position, state) for state in rest for position in group.members]
        pairs = [_both(after.of(step.target), tally(step)) for step in leaving]
    least, most = pairs[0]
    for low, high in pairs:
        least, most = _each(min, least, low), _each(max, most, high)
    return Range(least, most, len(rest))


def _steps(group: MeasuredGroup, state: State, without: Sequence[int] = ()) -> list[Transition]:
    """The transitions that are enabled."""
    for machines in group.by_priority(without):
        steps = [step for position in machines for step in group.moves(position, state)]
        if steps:
            return steps
    return []


def _reached(
    group: MeasuredGroup, begin: Sequence[State], without: Sequence[int]
) -> Iterator[tuple[State, list[Transition]]]:
    """Every state that can be reached, and the steps that lead out of it."""
    seen, waiting = set(begin), list(begin)
    while waiting:
        state = waiting.pop()
        steps = _steps(group, state, without)
        yield state, steps
        fresh = {step.target for step in steps} - seen
        seen |= fresh
        waiting += fresh


Pair = tuple[Tally, Tally]
Pick = Callable[[int, int], int]


def _each(pick: Pick, one: Tally, other: Tally) -> Tally:
    return Tally(*(pick(getattr(one, name), getattr(other, name)) for name in COUNTS))


def _both(pair: Pair, more: Tally) -> Pair:
    return pair[0] + more, pair[1] + more


class _Costs:
    """(least, most) from a state until no transition is enabled, memoised by state.

    A run with a cycle has no most; the models have none, for what changes nothing is no step.
    """

    def __init__(self, group: MeasuredGroup) -> None:
        self._group = group
        self._known: dict[State, Pair] = {}

    def of(self, state: State) -> Pair:
        """Errors: ValueError for a run that comes back to a state."""
        stack = [(state, _steps(self._group, state))]
        open_states = {state}
        while stack:
            top, steps = stack[-1]
            missing = [step.target for step in steps if step.target not in self._known]
            if missing:
                if missing[0] in open_states:
                    raise ValueError("a run comes back to a state; it has no greatest cost")
                open_states.add(missing[0])
                stack.append((missing[0], _steps(self._group, missing[0])))
                continue
            self._known[top] = self._folded(steps)
            open_states.discard(top)
            stack.pop()
        return self._known[state]

    def _folded(self, steps: Sequence[Transition]) -> Pair:
        if not steps:
            return Tally(), Tally()
        pairs = [_both(self._known[step.target], tally(step)) for step in steps]
        least, most = pairs[0]
        for low, high in pairs[1:]:
            least, most = _each(min, least, low), _each(max, most, high)
        return least, most
