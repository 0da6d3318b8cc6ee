"""The same actions in another system, up to the first step that is not the same there.

An *action* is what begins a step: the machine that begins it and the label of what it begins. What the
others make of it, and which rules fire, is what it leads to.

A run *parts* from another system at its first step that is no transition there: out of the state that both
are in, no transition has the same local steps (machine, sender, message, label, rules, in order) and leads to
the same values of all machines. So until then both were in the same states, and what differs is seen where it
begins, not where it first matters. A run that stops for want of a step, or goes on for ever without one,
parts also where the other system can do what its own cannot: in the last state, or in one of those that it
comes back to.

Systems that clear different dead data part where nothing has happened; who compares such ones has to keep it
in both (`twin` finds a run again in a system that does).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rota.kernel import State, System, Transition
from rota.trace.model import DEADLOCK
from rota.trace.render import Difference, differences
from rota.trace.replay import Run


@dataclass(frozen=True, eq=False)
class Instead:
    """What the same action leads to in the other system.

    differences: from what it leads to in the run.
    """

    transition: Transition
    differences: tuple[Difference, ...]


@dataclass(frozen=True, eq=False)
class Parting:
    """Where a run and another system part.

    index: of the step, from 1, 0 if they do not begin alike; before: the state that both are in, None where
    they do not begin alike; transition: the run's; instead: what the action leads to there, the most similar
    first, nothing where it is not possible; possible: labels of what the machine can begin there in place of
    it; further: what leads on only in the other system, after step `index`, where all steps are the same.
    """

    index: int
    before: State | None = None
    transition: Transition | None = None
    instead: tuple[Instead, ...] = ()
    possible: tuple[str, ...] = ()
    further: tuple[Transition, ...] = ()


def parting(run: Run, other: System) -> Parting | None:
    """The first step of a run that is not the same in another system; None if every one is.

    Errors: ValueError for a system with other machines.
    """
    here, there = (tuple(one.name for one in system.machines) for system in (run.system, other))
    if here != there:
        raise ValueError(f"the run is about {', '.join(here)}, the other system has {', '.join(there)}")
    if run.states[0] not in other.initial_states():
        return Parting(0)
    for index, transition in enumerate(run.path, 1):
        state = run.states[index - 1]
        if not any(_same(transition, one) for one in _the_same_action(other, state, transition)):
            return _parted(index, state, transition, other)
    return _beyond(run, other)


def _beyond(run: Run, other: System) -> Parting | None:
    """Where the other system goes on, and the run's does not."""
    trace, last = run.trace, len(run.path)
    if trace.cycle is None and trace.kind != DEADLOCK:
        return None
    for index in range(last - (trace.cycle or 0), last + 1):
        state = run.states[index]
        known = list(run.system.successors(state))
        there = [one for one in other.successors(state) if one.target != state]
        further = [one for one in there if not any(_same(one, each) for each in known)]
        if further:
            return Parting(index, state, further=tuple(further))
    return None


def begun(system: System, state: State, machine: str, action: str) -> Iterator[Transition]:
    """The transitions out of a state that begin with an action: of a machine, with this label."""
    for transition in system.begun_by(system.index[machine], state):
        if transition.local_steps[0].label == action:
            yield transition


def _the_same_action(system: System, state: State, transition: Transition) -> Iterator[Transition]:
    first = transition.local_steps[0]
    return begun(system, state, first.machine, first.label)


def _same(one: Transition, other: Transition) -> bool:
    return one.target == other.target and _heard(one) == _heard(other)


def _heard(transition: Transition) -> list[tuple[object, ...]]:
    """All of the local steps but the values, which are the target's."""
    return [(one.machine, one.sender, one.message, one.label, one.rules) for one in transition.local_steps]


def _parted(index: int, state: State, transition: Transition, other: System) -> Parting:
    names = tuple(one.name for one in other.machines)
    instead = sorted(
        (
            Instead(one, _between(names, transition.target, one.target))
            for one in _the_same_action(other, state, transition)
        ),
        key=lambda one: (one.transition.label != transition.label, len(one.differences)),
    )
    at = other.index[transition.local_steps[0].machine]
    possible = () if instead else tuple(dict.fromkeys(one.label for one in other.begun_by(at, state)))
    return Parting(index, state, transition, _distinct(instead), possible)


def _distinct(several: list[Instead]) -> tuple[Instead, ...]:
    """Without those that lead to the same by the same rules."""
    kept: list[Instead] = []
    for one in several:
        if not any(_same(one.transition, other.transition) for other in kept):
            kept.append(one)
    return tuple(kept)


def _between(names: tuple[str, ...], one: State, other: State) -> tuple[Difference, ...]:
    return tuple(
        difference
        for name, old, new in zip(names, one, other, strict=True)
        for difference in differences(name, old, new)
    )


def twin(run: Run, system: System) -> Run | None:
    """A run of a system with the same actions that have the same labels and rules; None if there is none.

    Such a system keeps dead data, for instance, which the run's clears. Messages and values may be others
    then, and so may local steps without a label and a rule.
    """
    for start in system.initial_states():
        open_: list[tuple[State, tuple[Transition, ...]]] = [(start, ())]
        while open_:
            state, path = open_.pop()
            if len(path) == len(run.path):
                return Run(run.trace, system, (start, *(one.target for one in path)), path)
            wanted = run.path[len(path)]
            fitting = [
                one
                for one in _the_same_action(system, state, wanted)
                if (one.label, one.rules) == (wanted.label, wanted.rules)
            ]
            open_ += [(one.target, (*path, one)) for one in reversed(fitting)]
    return None
