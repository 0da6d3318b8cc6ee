"""A random run of a system, by its definition."""

from __future__ import annotations

import random
from collections.abc import Iterator

from rota.kernel import State, System, Transition


def walk(system: System, seed: int, steps: int = 80) -> Iterator[tuple[State, Transition]]:
    """So many steps drawn by the seed, fewer if none is possible: the state before each, and the step."""
    chosen = random.Random(seed)
    (state,) = system.initial_states()
    for _ in range(steps):
        further = list(system.successors(state))
        if not further:
            return
        step = chosen.choice(further)
        yield state, step
        state = step.target
