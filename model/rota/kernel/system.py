"""The composition of machines: states, transitions and the reference meaning of both."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import product
from typing import Any

from rota.kernel.depiction import PLAIN, Depiction
from rota.kernel.encoding import component_hash, state_hash
from rota.kernel.machine import Machine, Message, Outcome
from rota.kernel.mistakes import UserError
from rota.kernel.properties import Kind, Liveness, Property
from rota.kernel.refusals import DeadEnd
from rota.kernel.symmetry import Symmetry
from rota.kernel.transition import LocalStep, State, Transition

Delivery = tuple[str, str, Message]
"""(sender, receiver, message)."""


MAX_MESSAGES = 1000
"""Most messages within a transition; with more of them machines answer each other for ever."""


def endless(where: str, system: str) -> UserError:
    """The error about more messages than that."""
    what = f"more than {MAX_MESSAGES} messages in one transition of {system}; let machines come to an end"
    return UserError(where, what)


@dataclass(frozen=True)
class SystemRef:
    """How another process builds the same system: `factory` is MODULE:NAME, called with `settings`."""

    factory: str
    settings: tuple[tuple[str, Any], ...] = ()

    def build(self) -> System:
        """Import the factory and call it. Errors: ImportError, AttributeError, those of the factory."""
        module, _, name = self.factory.partition(":")
        system = getattr(import_module(module), name)(**dict(self.settings))
        if not isinstance(system, System):
            raise TypeError(f"{self.factory} returned {type(system).__name__}, not a System")
        return system


@dataclass(frozen=True, eq=False)
class System:
    """Machines and what is claimed of them.

    Parameters: name; machines, names unique; properties; ref, how a worker process rebuilds it (None:
    it cannot be shipped); symmetry, if some machines are interchangeable; liveness, what is claimed of
    endless runs, which only the search for lassos judges; rules, the slugs that outcomes of its machines
    have: a check names those that never fire; depiction, what a picture of it shows.
    """

    name: str
    machines: tuple[Machine, ...]
    properties: tuple[Property, ...] = ()
    ref: SystemRef | None = None
    symmetry: Symmetry | None = None
    liveness: tuple[Liveness, ...] = ()
    rules: tuple[str, ...] = ()
    depiction: Depiction = PLAIN

    def __post_init__(self) -> None:
        if len(self.index) != len(self.machines):
            raise ValueError(f"system {self.name}: two machines share a name")
        known = {machine.role for machine in self.machines}
        for one in self.properties:
            missing = {view.role for view in one.views} - known
            if missing and one.universal is False:
                there = ", ".join(sorted(known))
                raise ValueError(
                    f"property {one.name}: no machine has the role {sorted(missing)[0]}; there are {there}"
                )

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each machine by name."""
        return {machine.name: i for i, machine in enumerate(self.machines)}

    def positions(self, prop: Property | Liveness) -> tuple[tuple[int, ...], ...]:
        """Every choice of distinct machines for the roles of a property's views."""
        by_role = [[i for i, m in enumerate(self.machines) if m.role == view.role] for view in prop.views]
        return tuple(choice for choice in product(*by_role) if len(set(choice)) == len(choice))

    def select(self, *kinds: Kind) -> tuple[Property, ...]:
        """The properties of the given kinds, in order."""
        return tuple(prop for prop in self.properties if prop.kind in kinds)

    def initial_states(self) -> list[State]:
        """Every combination of the machines' initial values."""
        return list(product(*(machine.initial() for machine in self.machines)))

    def successors(self, state: State) -> Iterator[Transition]:
        """Every transition out of a state, in a fixed order, duplicates included."""
        for position in range(len(self.machines)):
            yield from self.begun_by(position, state)

    def begun_by(self, position: int, state: State) -> Iterator[Transition]:
        """The transitions out of a state that the machine at a position begins, in a fixed order."""
        return self._begun(position, state, None)

    def dead_ends(self, position: int, state: State) -> tuple[DeadEnd, ...]:
        """Where what the machine at a position begins ends, because a machine refuses a message."""
        dead: list[DeadEnd] = []
        for _ in self._begun(position, state, dead):
            pass
        return tuple(dead)

    def _begun(self, position: int, state: State, dead: list[DeadEnd] | None) -> Iterator[Transition]:
        machine = self.machines[position]
        for outcome in machine.actions(state[position]):
            local_step = LocalStep(machine.name, None, None, outcome.label, outcome.rules, outcome.value)
            yield from self._deliver(
                _put(state, position, outcome), _queue(machine.name, outcome), (local_step,), dead
            )

    def _deliver(
        self,
        state: State,
        queue: tuple[Delivery, ...],
        local_steps: tuple[LocalStep, ...],
        dead: list[DeadEnd] | None,
    ) -> Iterator[Transition]:
        open_ = [(state, queue, local_steps)]
        while open_:
            state, queue, local_steps = open_.pop()
            if not queue:
                yield Transition(state, local_steps)
                continue
            sender, receiver, message = queue[0]
            position = self.index[receiver]
            branches = []
            for outcome in self.machines[position].receive(state[position], sender, message):
                local_step = LocalStep(receiver, message, sender, outcome.label, outcome.rules, outcome.value)
                pending = queue[1:] + _queue(receiver, outcome)
                branches.append((_put(state, position, outcome), pending, (*local_steps, local_step)))
            if len(local_steps) > MAX_MESSAGES and branches:
                raise endless(f"machine {local_steps[0].machine}", self.name)
            if dead is not None and not branches:
                dead.append(DeadEnd(local_steps, receiver, state[position], sender, message))
            open_ += reversed(branches)

    def holds(self, prop: Property, state: State) -> bool:
        """Whether a state property holds (WITNESS: whether this state is one)."""
        results = (prop.holds(*seen) for seen in self.seen(prop, state))
        # of a witness every choice is looked at: a mistake in one is not hidden by another that is fine
        return all(results) if prop.universal else any([*results])

    def step_holds(self, prop: Property, before: State, after: State) -> bool:
        """Whether a step property holds between two states."""
        return all(prop.holds(*seen) for seen in self.seen_stepping(prop, before, after))

    def seen(self, prop: Property, state: State) -> Iterator[tuple[Hashable, ...]]:
        """What a state property is judged on: what its views see, for every choice of machines."""
        for choice in self.positions(prop):
            yield tuple([view.of(state[i]) for view, i in zip(prop.views, choice, strict=True)])

    def seen_stepping(self, prop: Property, before: State, after: State) -> Iterator[tuple[Hashable, ...]]:
        """The same for a step property: what its view sees before and after, for every machine."""
        (view,) = prop.views
        for (i,) in self.positions(prop):
            yield view.of(before[i]), view.of(after[i])

    def hash_state(self, state: State) -> int:
        """The 128-bit hash that digests add up and traces are ordered by."""
        return state_hash([component_hash(value) for value in state])


def _put(state: State, position: int, outcome: Outcome) -> State:
    return (*state[:position], outcome.value, *state[position + 1 :])


def _queue(sender: str, outcome: Outcome) -> tuple[Delivery, ...]:
    return tuple((sender, send.to, send.message) for send in outcome.sends)
