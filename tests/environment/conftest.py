"""Plain search through a world, and walks along labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from rota.environment.broker.coordinator import Coordinator
from rota.environment.broker.log import Records
from rota.environment.clients.state import Client
from rota.kernel import State, System


def every_state(system: System) -> set[State]:
    """Every state, by plain search."""
    found = set(system.initial_states())
    frontier = list(found)
    while frontier:
        fresh = {t.target for state in frontier for t in system.successors(state)} - found
        found |= fresh
        frontier = list(fresh)
    return found


@dataclass
class Walk:
    """A walk through a system: each step is the only transition whose label is, or contains, a text."""

    system: System
    state: State = ()
    rules: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.state,) = self.system.initial_states()

    def go(self, *texts: str, by: str = "") -> Walk:
        """Take these steps, one after the other. by: a rule that must take part in each."""
        for text in texts:
            here = list(self.system.successors(self.state))
            fitting = [t for t in here if t.label == text] or [t for t in here if text in t.label]
            there = {t.target: t for t in fitting if not by or by in t.rules}
            assert len(there) == 1, f"{len(there)} for {text!r} among {sorted(t.label for t in here)}"
            (taken,) = there.values()
            self.state = taken.target
            self.rules += taken.rules
        return self

    @property
    def coordinator(self) -> Coordinator:
        """The coordinator's value."""
        return self._value(Coordinator)

    @property
    def log(self) -> Records:
        """The log's value."""
        return self._value(Records)

    def client(self, name: str) -> Client:
        """A client's value."""
        return next(value for value in self.state if isinstance(value, Client) and value.name == name)

    def _value(self, kind: type[Any]) -> Any:
        return next(value for value in self.state if isinstance(value, kind))


@pytest.fixture(scope="session")
def reachable() -> Callable[[System], set[State]]:
    return every_state


@pytest.fixture(scope="session")
def walk() -> type[Walk]:
    return Walk
