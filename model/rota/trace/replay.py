"""Replay: follow a trace through the system that it came from, step by step, and judge its end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from importlib import import_module

from rota.kernel import Kind, State, System, SystemRef, Transition, UserError, guarded
from rota.trace.model import MISTAKE, Step, Trace
from rota.trace.reach import reaching
from rota.trace.record import contradicts, hashes, record, record_mistake

OWN = "rota."
"""Factories of these packages are called without being asked for."""


class UntrustedFactory(ValueError):
    """A trace names code outside of rota; replaying would import and call it. factory: MODULE:NAME."""

    def __init__(self, factory: str) -> None:
        super().__init__(f"the trace wants {factory} called, which is not part of rota")
        self.factory = factory


class ReplayError(ValueError):
    """The system does not do what the trace says. step: the first that differs, 0 for the start state."""

    def __init__(self, step: int, cause: str) -> None:
        super().__init__(f"{f'step {step}' if step else 'start'}: {cause}")
        self.step, self.cause = step, cause


def rebuild(trace: Trace, trusted: Collection[str] = ()) -> System:
    """Build the system that a trace came from.

    Parameters: trace; trusted, factories outside of rota (MODULE:NAME) that may be called: a file from
    elsewhere must not choose what is run. Errors: UntrustedFactory; ValueError for a trace that names
    none; what building raises.
    """
    factory = trace.origin.factory
    if factory is None:
        raise ValueError("the trace does not say how its system is built")
    if factory not in trusted and not _is_own(factory):
        raise UntrustedFactory(factory)
    system = SystemRef(factory, tuple(trace.origin.settings.items())).build()
    return system if trace.origin.reach is None else reaching(system, trace.origin.reach)


def _is_own(factory: str) -> bool:
    """Whether a factory is defined in rota, not merely imported there."""
    module, _, name = factory.partition(":")
    if not module.startswith(OWN):
        return False
    made_in = getattr(getattr(import_module(module), name, None), "__module__", None) or ""
    return made_in.startswith(OWN)


@dataclass(frozen=True, eq=False)
class Run:
    """A trace with the states and transitions that it describes.

    states: one more than steps, the start state first; path: the transition of each step.
    """

    trace: Trace
    system: System
    states: tuple[State, ...]
    path: tuple[Transition, ...]


def replay(trace: Trace, system: System) -> Run:
    """Follow a trace through a system, at whose end the property must be violated.

    Every step must be a transition of the system with the same label, rules and component hashes, the
    last state must contradict the property (or an endless run must close, be fair and contradict it; or the
    system must make the mistake there that the trace is of), and every other text of the trace must be that
    of this run, but for where in a file the mistake is. Errors: ReplayError with the first step
    that differs.
    """
    machines = tuple(machine.name for machine in system.machines)
    if machines != trace.machines:
        raise ReplayError(0, f"the trace is about {', '.join(trace.machines)}, not {', '.join(machines)}")
    start = state = _start(trace, system)
    path: list[Transition] = []
    for step in trace.steps:
        path.append(_follow(system, state, step))
        state = path[-1].target
    states = [start, *(transition.target for transition in path)]
    if trace.kind == MISTAKE:
        made = record_mistake(system, _mistake(trace, system, states, path))
        _compare(trace, replace(made, origin=trace.origin, source=trace.source))
    else:
        _judge(trace, system, states, path)
        _compare(trace, record(system, trace.property_name, start, path, trace.origin, trace.cycle))
    return Run(trace, system, tuple(states), tuple(path))


def _start(trace: Trace, system: System) -> State:
    wanted = tuple(component.hash for component in trace.start)
    for state in system.initial_states():
        if hashes(state) == wanted:
            return state
    raise ReplayError(0, "the system has no such initial state")


def _follow(system: System, state: State, step: Step) -> Transition:
    """The transition that a step describes."""
    same_label = [t for t in system.successors(state) if t.label == step.label]
    for transition in same_label:
        if hashes(transition.target) == step.hashes and _rules_of_transition(transition) == _rules_of_step(
            step
        ):
            return transition
    if not same_label:
        raise ReplayError(step.index, f"the system cannot do {step.label!r} here")
    near = min(same_label, key=lambda t: len(_unequal(system, t, step)))
    parts = _unequal(system, near, step)
    if not parts:
        raise ReplayError(step.index, f"{step.label!r} is done by other rules: {', '.join(near.rules)}")
    raise ReplayError(step.index, f"{step.label!r} leads to another value of {', '.join(parts)}")


def _unequal(system: System, transition: Transition, step: Step) -> list[str]:
    """The machines whose values are not those of the trace."""
    pairs = zip(system.machines, hashes(transition.target), step.hashes, strict=True)
    return [machine.name for machine, mine, recorded in pairs if mine != recorded]


def _rules_of_transition(transition: Transition) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((local_step.machine, local_step.rules) for local_step in transition.local_steps)


def _rules_of_step(step: Step) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((local_step.machine, local_step.rules) for local_step in step.local_steps)


def _judge(trace: Trace, system: System, states: list[State], path: list[Transition]) -> None:
    try:
        violated = contradicts(system, trace.property_name, states, path, trace.cycle)
    except KeyError:
        raise ReplayError(len(states) - 1, f"the system has no property {trace.property_name}") from None
    if not violated:
        cause = f"{trace.property_name} holds here; the trace says it is violated"
        if trace.origin.reach is not None:
            cause = f"the last state is not one in which {trace.origin.reach}"
        raise ReplayError(len(states) - 1, cause)


def _mistake(trace: Trace, system: System, states: list[State], path: list[Transition]) -> UserError:
    """The mistake that the system makes in the last state."""
    watched = guarded(system)
    try:
        for _ in watched.successors(states[-1]):
            pass
        for prop in watched.properties:
            if prop.kind is not Kind.STEP:
                watched.holds(prop, states[-1])
            elif len(states) > 1:
                watched.step_holds(prop, states[-2], states[-1])
    except UserError as error:
        if (error.where, error.what) == (trace.property_name, trace.meaning):
            return error.found(states[0], tuple(path))
        raise ReplayError(len(path), f"the system makes another mistake here: {error}") from None
    cause = "the system makes no mistake here, or none that is seen in one run"
    raise ReplayError(len(path), cause)


def _compare(recorded: Trace, mine: Trace) -> None:
    """The texts of the trace against those of the same run now."""
    for one, other in zip(recorded.steps, mine.steps, strict=True):
        if one != other:
            raise ReplayError(one.index, "the step is the same, but the trace describes it otherwise")
    if recorded.start != mine.start:
        raise ReplayError(0, "the state is the same, but the trace describes it otherwise")
    if recorded != mine:
        raise ReplayError(len(recorded.steps), "the end is the same, but the trace describes it otherwise")
