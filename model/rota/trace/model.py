"""What a trace is: where it comes from, what it claims, the start, the steps, and the contradiction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rota.trace.render import Difference

SCHEMA = 3
"""Version of the file format and of the texts in it."""

DEADLOCK = "deadlock"
"""The property that engines add: the last state cannot be left and is not a declared end."""

MISTAKE = "mistake"
"""Kind of what is contradicted by a run in which the system itself makes a mistake."""


@dataclass(frozen=True)
class Origin:
    """Where a trace comes from.

    factory and settings: those of the `SystemRef` that builds the system (None: it cannot be rebuilt);
    scope, configuration, profile, mutant: as they were named to `rota check`, None where there were none;
    reach: the expression that describes the last state, of a run that was searched for one.
    """

    factory: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    scope: str | None = None
    configuration: str | None = None
    profile: str | None = None
    mutant: str | None = None
    reach: str | None = None


@dataclass(frozen=True)
class Component:
    """A machine's value in the first state. hash: of its canonical encoding, 32 hexadecimal digits."""

    machine: str
    value: str
    hash: str


@dataclass(frozen=True)
class LocalStep:
    """A machine's part in a step. sender and message are None for the machine that began the step."""

    machine: str
    sender: str | None
    message: str | None
    label: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A transition. index: from 1; hashes: of every component after it, in the order of the start state."""

    index: int
    label: str
    local_steps: tuple[LocalStep, ...]
    differences: tuple[Difference, ...]
    hashes: tuple[str, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """Slugs of the rules that fired, in order, each once."""
        return tuple(dict.fromkeys(slug for local_step in self.local_steps for slug in local_step.rules))


@dataclass(frozen=True)
class Sight:
    """What the property sees of one machine where it is contradicted.

    choice: counts the choices of machines that contradict it, from 1; before: of a property of steps, the
    view before the last step, else None; after: the view of the last state (of an endless run: of a state to
    which it comes again and again).
    """

    choice: int
    machine: str
    before: str | None
    after: str


Part = tuple[str, str]
"""A machine, and the path of what changed in it."""


@dataclass(frozen=True)
class Decisive:
    """A step without which the run would not end in a contradiction.

    step: its index; parts: what it changed that must be undone for that, each alone or, where none is enough
    alone, all together.
    """

    step: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Trace:
    """A run that ends in the contradiction of a property, or goes on for ever in one.

    system: its name; property_name, kind, meaning, source, guards: of the property, guards being the
    rules that it speaks for; start: a value per machine; why: what the property sees at the end. cycle: None
    where the run ends; else that many of the last steps are repeated for ever (0: it stays where it is);
    assumed: what the property assumes of endless runs, and this one keeps, a sentence each; decisive: the
    steps that decide, in order, none where it is no single step's doing (`rota.trace.decisive`).
    """

    system: str
    origin: Origin
    property_name: str
    kind: str
    meaning: str
    source: str
    guards: tuple[str, ...]
    start: tuple[Component, ...]
    steps: tuple[Step, ...]
    why: tuple[Sight, ...]
    cycle: int | None = None
    assumed: tuple[str, ...] = ()
    decisive: tuple[Decisive, ...] = ()

    @property
    def machines(self) -> tuple[str, ...]:
        """The names of the machines, in the system's order."""
        return tuple(component.machine for component in self.start)
