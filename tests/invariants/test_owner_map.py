"""The protocol refines the owner map: every transition of the world is moves of the map, or none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rota.environment import world
from rota.invariants.owners import OwnerMap, abstract, moves
from rota.kernel import System
from rota.spec import RULES, Group, GroupRecord, Spec
from rota.spec.classic.persistence import assignment_stored
from rota.spec.classic.step import Steps
from rota.spec.vocabulary import AppendError

LATE = {"budget": (("late", 1),)}


def maps(system: System) -> Iterator[tuple[OwnerMap, OwnerMap]]:
    """The owner maps before and after each transition that changes it."""
    seen = set(system.initial_states())
    todo = list(seen)
    while todo:
        state = todo.pop()
        for transition in system.successors(state):
            if transition.target not in seen:
                seen.add(transition.target)
                todo.append(transition.target)
            before, after = abstract(state), abstract(transition.target)
            if before != after:
                yield before, after


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="core"),
        pytest.param(
            {"budget": (("leave", 1), ("rejoin", 1))}, id="leave-and-rejoin", marks=pytest.mark.long
        ),
        pytest.param({"budget": (("append", 1),)}, id="append"),
        pytest.param(LATE, id="late"),
    ],
)
def test_every_transition_is_moves_of_the_map(settings: dict[str, Any]) -> None:
    changes = list(maps(world(**settings)))
    assert all(moves(*change) for change in changes)
    assert {2} <= {len(after) for _, after in changes}, "no state in which all partitions are consumed"


def test_two_owners_at_once_take_a_client_that_is_late() -> None:
    assert all(exclusive(after) for _, after in maps(world()))
    assert not all(exclusive(after) for _, after in maps(world(**LATE)))


def exclusive(owners: OwnerMap) -> bool:
    return len({partition for partition, _, _ in owners}) == len(owners)


def test_a_coordinator_that_gives_both_the_same_makes_no_moves_of_the_map() -> None:
    def one_share_for_all(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
        share = record.members[0].assignment
        same = replace(record, members=tuple(replace(each, assignment=share) for each in record.members))
        return assignment_stored(spec, group, same, error)

    rules = RULES.replaced("persistence.assignment-stored", one_share_for_all)
    assert not all(moves(*change) for change in maps(world(rules=rules)))


def test_moves() -> None:
    nothing, one = frozenset(), frozenset({(0, 1, "c1")})
    assert moves(nothing, one)
    assert moves(one, nothing)
    assert moves(one, one | {(0, 2, "c2")})
    assert not moves(one, one | {(0, 1, "c2")})
    assert not moves(nothing, frozenset({(0, 1, "c1"), (0, 1, "c2")}))
