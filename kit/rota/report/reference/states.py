"""The states of a group and the ways between them, as explorations go them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from rota.environment.broker.coordinator import Coordinator
from rota.explore.liveness.graph import build
from rota.kernel import State, System, Transition
from rota.mutants import system
from rota.scopes import load
from rota.spec import GroupState

DRAWN = (
    *("core", "no-handshake", "no-common-protocol", "leave", "rejoin", "change", "unsettled"),
    *("same-instance", "static-poll-timeout", "full", "raw-full", "raw-offsets", "raw-offsets-static"),
    *("alone-crash", "alone-leave", "alone-move", "alone-static", "alone-offsets", "alone-retention"),
)
"""The configurations of the scope endless that are explored for the diagram: small ones, which together show
every way that any does with up to 2,500 states."""

MOST = 5_000
"""States that one of them may have."""

NOWHERE = "no group"
"""The state of a group that does not exist."""

ORDER = (NOWHERE, *(state.value for state in GroupState))


@dataclass(frozen=True)
class Way:
    """From a state to a state, because of a rule; by way of: the rules that it asked meanwhile, in order."""

    before: str
    after: str
    rule: str
    by_way_of: tuple[str, ...]


@dataclass(frozen=True)
class StateGraph:
    """What was seen."""

    ways: frozenset[Way]

    def between(self, before: str, after: str) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Rule -> all that it asked meanwhile, for the ways from a state to another; in order of names."""
        found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for way in self.ways:
            if (way.before, way.after) == (before, after):
                found[way.rule].add(way.by_way_of)
        return {rule: tuple(sorted(found[rule])) for rule in sorted(found)}

    @property
    def states(self) -> tuple[str, ...]:
        """The states that were seen, in order."""
        there = {state for way in self.ways for state in (way.before, way.after)}
        return tuple(state for state in ORDER if state in there)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(state, state) with ways between them, in the order of states; not from a state to itself."""
        there = {(way.before, way.after) for way in self.ways}
        return tuple(
            (one, other) for one in ORDER for other in ORDER if one != other and (one, other) in there
        )


def collect() -> StateGraph:
    """Explore the configurations, with the newest brokers. Errors: TooManyStates."""
    scope = load("endless")
    ways = (ways_of(system(scope.configuration(name).settings)) for name in DRAWN)
    return StateGraph(frozenset[Way]().union(*ways))


def ways_of(made: System) -> set[Way]:
    """The ways of a group in a system, from its whole graph. Errors: TooManyStates."""
    at = made.index["coordinator"]
    found: set[Way] = set()

    def watch(state: State, transition: Transition) -> None:
        before, after = name_of(state[at]), name_of(transition.target[at])
        for local_step in transition.local_steps:
            if local_step.machine == "coordinator" and local_step.rules:
                # a rule that asks others is named after them
                found.add(Way(before, after, local_step.rules[-1], local_step.rules[:-1]))

    build(made, (), MOST, watch=watch)
    return found


def name_of(value: Hashable) -> str:
    """The state of the group of a coordinator."""
    assert isinstance(value, Coordinator)
    return NOWHERE if value.group is None else value.group.state.value
