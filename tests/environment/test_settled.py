"""Dead data is really dead: the image of all states under `settled` is the settled system's set of states.

If a clause cleared something that a rule still reads, the settled system would miss states of the image or
have others; if minting looked at dead data, ids would be named differently.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rota.environment import broker, world
from rota.kernel import State, System
from rota.spec import GroupState, settled

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "leave and rejoin": {"budget": (("leave", 1), ("rejoin", 1))},
    "change": {"budget": (("change", 1),)},
    "a failed append or a late client": {"budget": (("append", 1), ("late", 1))},
    "a broken connection": {"budget": (("break", 1),)},
    "a crash of one of two, admitted at once": {"budget": (("crash", 1),), "join_version": 3},
}


def reachable(system: System) -> set[State]:
    """Every state, by plain search."""
    found = set(system.initial_states())
    frontier = list(found)
    while frontier:
        fresh = {t.target for state in frontier for t in system.successors(state)} - found
        found |= fresh
        frontier = list(fresh)
    return found


def image(state: State) -> State:
    """A state without dead data."""
    value, log, *rest = state
    assert isinstance(value, broker.Coordinator)
    assert isinstance(log, tuple)
    group = None if value.group is None else settled.settled(value.group)
    settled_value = replace(value, group=group, armed=settled.settled_timers(group, value.armed))
    return (settled_value, settled.settled_appends(group, log), *rest)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_image_of_all_states_is_the_settled_system(name: str) -> None:
    full = reachable(world(settle=False, **CONFIGURATIONS[name]))
    small = reachable(world(settle=True, **CONFIGURATIONS[name]))
    assert {image(state) for state in full} == small
    assert len(full) > len(small)


def test_a_clause_that_clears_live_data_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: assignments are cleared in Stable too, where `sync.stable` reads them."""

    def too_much(group: Any) -> Any:
        group = original(group)
        if group.state is not GroupState.STABLE:
            return group
        return group.with_each((i, replace(m, assignment=b"")) for i, m in group.members.items())

    original = settled.settled
    settings = {"budget": (("rejoin", 1),)}
    full = reachable(world(settle=False, **settings))
    monkeypatch.setattr(settled, "settled", too_much)
    monkeypatch.setattr(broker, "settled", too_much)
    small = reachable(world(settle=True, **settings))
    assert {image(state) for state in full} != small
