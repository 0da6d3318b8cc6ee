"""Lassos judged by the definitions: whether one is closed, fair and violates a liveness property.

Nothing of the search that finds lassos is used here, so that a replay checks it independently.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from rota.kernel import Fairness, Liveness, LivenessKind, State, System, Transition


def closed(states: Sequence[State], cycle: int) -> bool:
    """Whether the last `cycle` steps of a run lead back to where they began."""
    return 0 <= cycle < len(states) and states[-1] == states[-1 - cycle]


def unfair(
    system: System, prop: Liveness, states: Sequence[State], path: Sequence[Transition], cycle: int
) -> tuple[Fairness, ...]:
    """The fairness assumptions of a property that a run violates, if it repeats its last steps for ever.

    A run satisfies one (weak fairness) if it takes each of its classes infinitely often, or each is disabled
    infinitely often.
    """
    loop = path[len(path) - cycle :]
    visited = states[len(states) - 1 - cycle :]
    return tuple(
        one
        for one in prop.fairness
        if set[Hashable].intersection(*(_classes(one, system.successors(state)) for state in visited))
        - _classes(one, loop)
    )


def _classes(one: Fairness, transitions: Iterable[Transition]) -> set[Hashable]:
    return {name for transition in transitions for name in one.of(transition)}


def breaking(
    system: System, prop: Liveness, states: Sequence[State], cycle: int
) -> tuple[tuple[int, ...], ...]:
    """The choices of machines on which a run violates a property, if it repeats its last steps for ever."""
    return tuple(choice for choice in system.positions(prop) if _breaks(prop, choice, states, cycle))


def _breaks(prop: Liveness, choice: tuple[int, ...], states: Sequence[State], cycle: int) -> bool:
    good = [says(prop, choice, prop.test, state) for state in states]
    loop = good[len(good) - 1 - cycle :]
    if prop.kind is LivenessKind.EVENTUALLY_ALWAYS:
        return not all(loop)
    if prop.kind is LivenessKind.INFINITELY_OFTEN:
        return not any(loop)
    assert prop.given is not None
    after = max((at for at, fine in enumerate(good) if fine), default=-1) + 1
    return not any(loop) and any(says(prop, choice, prop.given, state) for state in states[after:])


def worst(prop: Liveness, choice: tuple[int, ...], states: Sequence[State], cycle: int) -> State:
    """A state of the cycle in which the property's predicate does not hold, the last one of them."""
    loop = states[len(states) - 1 - cycle :]
    return next(state for state in reversed(loop) if not says(prop, choice, prop.test, state))


def says(prop: Liveness, choice: tuple[int, ...], test: Callable[..., bool], state: State) -> bool:
    """What a predicate of a property answers about a choice of machines."""
    return test(*(view.of(state[i]) for view, i in zip(prop.views, choice, strict=True)))
