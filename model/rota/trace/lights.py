"""Which properties of a system hold in each state of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rota.kernel import (
    IN_STATES,
    Kind,
    Liveness,
    Property,
    State,
    System,
    Transition,
    UserError,
    guarded,
)
from rota.trace import endless
from rota.trace.model import DEADLOCK
from rota.trace.record import STUCK, contradicts
from rota.trace.story import Claim, Light

LIT = (*IN_STATES, Kind.STEP)

Judge = Callable[[int], Light]
"""The light of the moment at a position."""


def claims(system: System, first: str = "", cycle: int | None = None) -> tuple[Claim, ...]:
    """The properties that have lights in a run, the one that it is about first.

    These are what must be so in every state or step. A property of endless runs and the deadlock have
    lights only where the run is about them.
    """
    found = [Claim(one.name, one.kind.value, one.meaning) for one in system.select(*LIT)]
    if cycle is not None:
        found += [
            Claim(one.name, Kind.LIVENESS.value, one.meaning) for one in system.liveness if one.name == first
        ]
    if first == DEADLOCK:
        found.append(Claim(DEADLOCK, DEADLOCK, STUCK))
    return tuple(sorted(found, key=lambda one: one.name != first))


def lights(
    system: System,
    states: Sequence[State],
    path: Sequence[Transition] = (),
    named: Sequence[Claim] = (),
    cycle: int | None = None,
) -> list[dict[str, Light]]:
    """The lights of each state.

    Parameters: system; states and path, of the run; named, whose lights; cycle, of an endless run. A property
    whose own functions make a mistake in a state has no light there.
    """
    watched = guarded(system)
    every: tuple[Property | Liveness, ...] = (*watched.properties, *watched.liveness)
    by_name = {one.name: one for one in every}
    judges = {one.name: _judge(watched, by_name.get(one.name), states, cycle) for one in named}
    return [dict(_seen(judges, at)) for at in range(len(states))]


def _seen(judges: Mapping[str, Judge], at: int) -> Iterator[tuple[str, Light]]:
    for name, judge in judges.items():
        try:
            yield name, judge(at)
        except UserError:
            continue


def _judge(
    system: System, prop: Property | Liveness | None, states: Sequence[State], cycle: int | None
) -> Judge:
    if prop is None:
        return lambda at: _stuck(system, states[at])
    if isinstance(prop, Liveness):
        return _lasting(system, prop, states, cycle or 0)
    return lambda at: _light(system, prop, states, at)


def _light(system: System, prop: Property, states: Sequence[State], at: int) -> Light:
    """A property of steps says nothing of the state before the first one."""
    if prop.kind is not Kind.STEP:
        seen = system.seen(prop, states[at])
    elif at:
        seen = system.seen_stepping(prop, states[at - 1], states[at])
    else:
        return Light.SILENT
    claimed = [one for one in seen if prop.premise(*one)]
    if not claimed:
        return Light.SILENT
    return Light.HOLDS if all(prop.test(*one) for one in claimed) else Light.VIOLATED


def _stuck(system: System, state: State) -> Light:
    return Light.VIOLATED if contradicts(system, DEADLOCK, [state], (), None) else Light.HOLDS


def _lasting(system: System, prop: Liveness, states: Sequence[State], cycle: int) -> Judge:
    """Of what the run breaks: where it is so, and, in the part that repeats, where it is not.

    Before that part nothing is broken yet.
    """
    choices = endless.breaking(system, prop, states, cycle)
    loop = len(states) - 1 - cycle

    def judge(at: int) -> Light:
        if all(endless.says(prop, choice, prop.test, states[at]) for choice in choices):
            return Light.HOLDS
        return Light.VIOLATED if at >= loop else Light.SILENT

    return judge
