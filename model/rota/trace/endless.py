"""Endless runs, judged by the definitions alone: whether a lasso is fair and breaks a sentence.

The search that finds lassos is not asked: a replay of its trace would prove nothing else.
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
    """The assumptions of a sentence that a run does not keep, if it repeats its last steps for ever.

    It keeps one if it takes each of its classes again and again, or is again and again where that is
    impossible.
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
    """The choices of machines on which a run breaks a sentence, if it repeats its last steps for ever."""
    return tuple(choice for choice in system.positions(prop) if _breaks(prop, choice, states, cycle))


def _breaks(prop: Liveness, choice: tuple[int, ...], states: Sequence[State], cycle: int) -> bool:
    good = [_says(prop, choice, prop.test, state) for state in states]
    loop = good[len(good) - 1 - cycle :]
    if prop.kind is LivenessKind.EVENTUALLY_ALWAYS:
        return not all(loop)
    if prop.kind is LivenessKind.INFINITELY_OFTEN:
        return not any(loop)
    assert prop.given is not None
    after = max((at for at, fine in enumerate(good) if fine), default=-1) + 1
    return not any(loop) and any(_says(prop, choice, prop.given, state) for state in states[after:])


def worst(prop: Liveness, choice: tuple[int, ...], states: Sequence[State], cycle: int) -> State:
    """A state of the cycle in which the sentence's predicate does not hold, the last one of them."""
    loop = states[len(states) - 1 - cycle :]
    return next(state for state in reversed(loop) if not _says(prop, choice, prop.test, state))


def _says(prop: Liveness, choice: tuple[int, ...], test: Callable[..., bool], state: State) -> bool:
    return test(*(view.of(state[i]) for view, i in zip(prop.views, choice, strict=True)))
