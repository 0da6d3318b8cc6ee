"""From a path of transitions to a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rota import kernel
from rota.kernel import Kind, Liveness, Property, State, System, Transition, UserError, component_hash
from rota.trace import endless
from rota.trace.decisive import decisive
from rota.trace.model import DEADLOCK, MISTAKE, Component, LocalStep, Origin, Sight, Step, Trace
from rota.trace.reach import unwrapped
from rota.trace.render import Difference, differences, render

STUCK = "A state that nothing can leave and that is not a declared end."


def record(
    system: System,
    property_name: str,
    start: State,
    path: Sequence[Transition],
    origin: Origin | None = None,
    cycle: int | None = None,
) -> Trace:
    """The trace of a run that contradicts a property.

    Parameters: system; property_name, of one of its properties or `deadlock`; start, an initial state;
    path, the transitions from it, the last of which violates (or ends in the state that does); origin,
    by default only the system's reference; cycle, of an endless run: how many of the last transitions are
    repeated. Errors: KeyError for a property that the system does not have.
    """
    names = tuple(machine.name for machine in system.machines)
    states = [start, *(transition.target for transition in path)]
    prop = _property(system, property_name)
    return Trace(
        system=system.name,
        origin=origin or origin_of(system),
        property_name=property_name,
        kind=_kind(prop),
        meaning=prop.meaning if prop else STUCK,
        source=prop.source if prop else "",
        guards=prop.rules if prop else (),
        start=components(names, start),
        steps=steps_of(names, start, path),
        why=tuple(
            _lasting(system, prop, states, cycle or 0)
            if isinstance(prop, Liveness)
            else _why(system, prop, states)
        ),
        cycle=cycle,
        assumed=tuple(one.meaning for one in prop.fairness) if isinstance(prop, Liveness) else (),
        decisive=decisive(system, prop, states, cycle),
    )


def record_mistake(system: System, error: UserError) -> Trace:
    """The trace of a shortest run to a mistake of the system's. Errors: ValueError for one without a run."""
    if error.start is None or error.path is None:
        raise ValueError("a mistake without a run")
    names = tuple(machine.name for machine in system.machines)
    return Trace(
        system=system.name,
        origin=origin_of(system),
        property_name=error.where,
        kind=MISTAKE,
        meaning=error.what,
        source=error.source,
        guards=(),
        start=components(names, error.start),
        steps=steps_of(names, error.start, error.path),
        why=(),
    )


def components(names: Sequence[str], state: State) -> tuple[Component, ...]:
    """The texts and hashes of a state's values. names: of the machines."""
    codes = hashes(state)
    return tuple(Component(*one) for one in zip(names, map(render, state), codes, strict=True))


def steps_of(names: Sequence[str], start: State, path: Sequence[Transition]) -> tuple[Step, ...]:
    """The steps of a run. names: of the machines; start: the state before the first one."""
    states = [start, *(transition.target for transition in path)]
    return tuple(_step(names, index, states[index - 1], one) for index, one in enumerate(path, 1))


def _kind(prop: Property | Liveness | None) -> str:
    if prop is None:
        return DEADLOCK
    return Kind.LIVENESS.value if isinstance(prop, Liveness) else prop.kind.value


def origin_of(system: System) -> Origin:
    """How a system is rebuilt, by its own reference."""
    if system.ref is None:
        return Origin()
    ref, reach = unwrapped(system.ref)
    return Origin(ref.factory, dict(ref.settings), reach=reach)


def hashes(state: State) -> tuple[str, ...]:
    """The hash of every component, 32 hexadecimal digits each."""
    return tuple("{:016x}{:016x}".format(*component_hash(value)) for value in state)


def contradicts(
    system: System, property_name: str, states: Sequence[State], path: Sequence[Transition], cycle: int | None
) -> bool:
    """Whether a run that passed these states, on this path, ends in a contradiction of the property.

    cycle: as in `record`. Errors: KeyError for a property that the system does not have.
    """
    prop = _property(system, property_name)
    if isinstance(prop, Liveness):
        return (
            cycle is not None
            and endless.closed(states, cycle)
            and not endless.unfair(system, prop, states, path, cycle)
            and bool(endless.breaking(system, prop, states, cycle))
        )
    if prop is None:
        ends = all(system.holds(end, states[-1]) for end in system.select(Kind.TERMINAL))
        return not ends and all(step.target == states[-1] for step in system.successors(states[-1]))
    if prop.kind is Kind.STEP:
        return len(states) > 1 and not system.step_holds(prop, states[-2], states[-1])
    return not system.holds(prop, states[-1])


def _property(system: System, name: str) -> Property | Liveness | None:
    """The property of that name, None for the deadlock that engines add."""
    if name == DEADLOCK:
        return None
    every: tuple[Property | Liveness, ...] = (*system.properties, *system.liveness)
    for prop in every:
        if prop.name == name:
            return prop
    raise KeyError(name)


def _step(names: Sequence[str], index: int, before: State, transition: Transition) -> Step:
    changed: list[Difference] = []
    for name, old, new in zip(names, before, transition.target, strict=True):
        changed += differences(name, old, new)
    local_steps = tuple(_local_step(local_step) for local_step in transition.local_steps)
    return Step(index, transition.label, local_steps, tuple(changed), hashes(transition.target))


def _local_step(local_step: kernel.LocalStep) -> LocalStep:
    message = None if local_step.sender is None else render(local_step.message)
    return LocalStep(local_step.machine, local_step.sender, message, local_step.label, local_step.rules)


def _why(system: System, prop: Property | None, states: Sequence[State]) -> Iterator[Sight]:
    """The views of every choice of machines that contradicts the property."""
    if prop is None:
        for machine, value in zip(system.machines, states[-1], strict=True):
            yield Sight(1, machine.name, None, render(value))
        return
    judge = _step_judge if prop.kind is Kind.STEP else _state_judge
    reported: set[frozenset[tuple[str, str]]] = set()
    for positions in system.positions(prop):
        if judge(prop, positions, states):
            continue
        names = [system.machines[position].name for position in positions]
        seen = [
            render(view.of(states[-1][position]))
            for view, position in zip(prop.views, positions, strict=True)
        ]
        same = frozenset(zip(names, seen, strict=True))
        if same in reported:  # two machines of one role, in the other order
            continue
        reported.add(same)
        before = render(prop.views[0].of(states[-2][positions[0]])) if prop.kind is Kind.STEP else None
        for name, after in zip(names, seen, strict=True):
            yield Sight(len(reported), name, before, after)


def _lasting(system: System, prop: Liveness, states: Sequence[State], cycle: int) -> Iterator[Sight]:
    """The views, in a state of the cycle, of every choice of machines on which an endless run breaks it."""
    for number, choice in enumerate(endless.breaking(system, prop, states, cycle), 1):
        state = endless.worst(prop, choice, states, cycle)
        for view, at in zip(prop.views, choice, strict=True):
            yield Sight(number, system.machines[at].name, None, render(view.of(state[at])))


Judge = Callable[[Property, tuple[int, ...], Sequence[State]], bool]


def _state_judge(prop: Property, positions: tuple[int, ...], states: Sequence[State]) -> bool:
    seen: list[Any] = [view.of(states[-1][i]) for view, i in zip(prop.views, positions, strict=True)]
    return prop.holds(*seen)


def _step_judge(prop: Property, positions: tuple[int, ...], states: Sequence[State]) -> bool:
    (view,), (position,) = prop.views, positions
    return prop.holds(view.of(states[-2][position]), view.of(states[-1][position]))
