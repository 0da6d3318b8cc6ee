"""What a regression test asks of a system: to follow steps that are written down, and what it does then.

The steps are texts, as in a trace, but without hashes: a test is read by people, and outlives changes of what
values consist of that show in no step of it. A step that a system does not do as it is written makes a test
*outdated*, which says nothing of what it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rota.kernel import State, System, Transition
from rota.trace.parting import begun
from rota.trace.record import contradicts
from rota.trace.render import differences
from rota.trace.words import change


@dataclass(frozen=True)
class Did:
    """A step. machine and action: what begins it; rules that fired, each once; changes: in the values of
    machines, a line each; label: all that it is called, empty if that is the action."""

    machine: str
    action: str
    rules: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    label: str = ""


class Outdated(AssertionError):
    """The system does not come to where the test begins: the test has to be written again."""


def follow(system: System, steps: Sequence[Did]) -> State:
    """The state to which steps lead, from one in which the system begins. Errors: Outdated, naming the first
    step that it does not do."""
    furthest = 0
    for start in system.initial_states():
        open_: list[tuple[State, int]] = [(start, 0)]
        while open_:
            state, done = open_.pop()
            if done == len(steps):
                return state
            furthest = max(furthest, done)
            open_ += [(one.target, done + 1) for one in _doing(system, state, steps[done])]
    missed = steps[furthest].label or steps[furthest].action
    raise Outdated(
        f"outdated: step {furthest + 1}, {missed!r}, is not done as it is written, so nothing is said of "
        "what comes after it; if that is meant, write the test again"
    )


def _doing(system: System, state: State, wanted: Did) -> Iterator[Transition]:
    for transition in _actions(system, state, wanted.machine, wanted.action):
        if did(system, state, transition) == wanted:
            yield transition


def _actions(system: System, state: State, machine: str, action: str) -> Iterator[Transition]:
    """The transitions that begin with an action; none of a machine that the system does not have."""
    if machine in system.index:
        yield from begun(system, state, machine, action)


def did(system: System, state: State, transition: Transition) -> Did:
    """A transition out of a state, written down."""
    names = [one.name for one in system.machines]
    changes = tuple(
        f"{name} {one.path}: {change(one)}" if one.path else f"{name}: {change(one)}"
        for name, old, new in zip(names, state, transition.target, strict=True)
        for one in differences(name, old, new)
    )
    first = transition.local_steps[0]
    rules = tuple(dict.fromkeys(transition.rules))
    label = "" if transition.label == first.label else transition.label
    return Did(first.machine, first.label, rules, changes, label)


def outcomes(system: System, state: State, machine: str, action: str) -> list[Did]:
    """What an action leads to in a state, in a fixed order; nothing where it is not possible."""
    return distinct(did(system, state, one) for one in _actions(system, state, machine, action))


def distinct(several: Iterable[Did]) -> list[Did]:
    """Each once, in a fixed order."""
    return sorted(set(several), key=lambda one: (one.label, one.rules, one.changes))


def onward(system: System, state: State) -> set[Did]:
    """All that can be done in a state and leads to another one."""
    return {did(system, state, one) for one in system.successors(state) if one.target != state}


def breaking(system: System, name: str, state: State, machine: str, action: str) -> list[Did]:
    """What an action leads to in a state that contradicts a property of states or steps. Errors: KeyError."""
    return distinct(
        did(system, state, one)
        for one in _actions(system, state, machine, action)
        if contradicts(system, name, (state, one.target), (one,), None)
    )
