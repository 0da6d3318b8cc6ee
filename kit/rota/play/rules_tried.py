"""Which rules the handlers asked within a transition: those that refused, with their guards, and the one that
fired."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rota.kernel import Attempt, LocalStep, State, System, Transition
from rota.kernel.refusals import tried
from rota.play.guards import Guard, noting
from rota.spec import Spec


@dataclass(frozen=True)
class Asked:
    """A rule that was asked. guard: what refused, None where that is not known, or where it fired."""

    rule: str
    fired: bool
    guard: Guard | None = None


@dataclass(frozen=True)
class Trial:
    """What a machine asked of its rules in a transition. about: a request, a timer, …; asked, in order."""

    machine: str
    about: str
    asked: tuple[Asked, ...]


def trials(system: System, state: State, transition: Transition) -> tuple[Trial, ...]:
    """For each part of a transition out of a state, what the machine says that it asked."""
    return tuple(_trials(system, state, transition))


def _trials(system: System, state: State, transition: Transition) -> Iterator[Trial]:
    values = list(state)
    for part in transition.local_steps:
        position = system.index[part.machine]
        machine = system.machines[position]
        with noting(_functions(machine)) as noted:
            attempts = tried(machine, values[position], part.sender, part.message)
        guards = noted.guards(attempts)
        for several in _handled(attempts):
            asked = tuple(
                Asked(one.rule, one.fired, guard)
                for one, guard in zip(several, islice(guards, len(several)), strict=True)
            )
            if _is_of(several, part):
                yield Trial(part.machine, several[0].about, asked)
        values[position] = part.value


def _functions(machine: Any) -> Mapping[str, Callable[..., Any]]:
    """The rules of a machine that has a spec."""
    spec = getattr(machine, "spec", None)
    return {slug: rule.function for slug, rule in spec.rules.items()} if isinstance(spec, Spec) else {}


def _handled(attempts: Sequence[Attempt]) -> Iterator[list[Attempt]]:
    """The attempts by handler: each goes on until a rule fires."""
    several: list[Attempt] = []
    for one in attempts:
        several.append(one)
        if one.fired:
            yield several
            several = []


def _is_of(several: Sequence[Attempt], part: LocalStep) -> bool:
    """Whether it is about this part of the transition, not about another outcome of the same message."""
    own = part.sender is not None or several[0].about == part.label
    return own and several[-1].rule in part.rules
