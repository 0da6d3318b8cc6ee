"""Sentences that say less in larger worlds: where a number comes twice, and after several faults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rota.environment.broker.coordinator import Coordinator
from rota.environment.clients.assignment import Assignment
from rota.explore.fast import engine as fast
from rota.invariants import classic
from rota.invariants.catalog import OUTLIVED
from rota.invariants.crowd import no_pile_up
from rota.invariants.restarts import nothing_unowned, nothing_unowned_ever
from rota.invariants.safety import SAFETY
from rota.invariants.weaknesses import LOST, judged
from rota.kernel import FrozenMap, Kind, Property
from rota.mutants import system
from rota.scopes import load
from rota.spec import Group, GroupState
from rota.spec.classic.state import Member

NAMED = {one.name: one for one in SAFETY}
LATE = load("small").configuration("retention-late").settings


def holds(prop: Property, value: Any, *others: Any) -> bool:
    """Whether a sentence holds of a coordinator and of what its other view sees."""
    return prop.holds(prop.views[0].of(value), *others)


@pytest.mark.parametrize("name", sorted(OUTLIVED))
def test_what_is_left_out_does_not_hold_when_a_group_begins_again(name: str) -> None:
    assert name not in {one.name for one in classic(LATE)}
    result = fast.explore(replace(system(LATE), properties=(NAMED[name],)))
    assert result.violation is not None


def test_and_only_where_somebody_outlives_its_group() -> None:
    no_fault = {**LATE, "budget": (("retention", 1),)}
    no_removal = {**LATE, "budget": (("late", 1),)}
    one_client = load("standard").configuration("raw-fault").settings
    for settings in (no_fault, no_removal, one_client):
        assert {one.name for one in classic(settings)} >= OUTLIVED


def left_behind(*ids: str) -> Coordinator:
    """Members that wait on a connection that is gone."""
    waits = Member(3_000, 45_000, (), awaiting_join="")
    group = Group(GroupState.PREPARING_REBALANCE, 2, members=FrozenMap((one, waits) for one in ids))
    return Coordinator(group)


@pytest.mark.parametrize(("faults", "most"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_members_left_behind_are_bounded_by_faults(faults: int, most: int) -> None:
    ids = [f"c1-{number}" for number in range(1, most + 2)]
    gone = ("c1", ())
    assert holds(no_pile_up(faults), left_behind(*ids[:most]), gone)
    assert not holds(no_pile_up(faults), left_behind(*ids), gone)
    assert holds(no_pile_up(faults), left_behind(*ids), ("c1", tuple(ids[:1])))
    assert holds(no_pile_up(faults), left_behind(*ids), ("c2", ()))


@pytest.mark.parametrize(
    ("budget", "most"),
    [({"retry": 9}, 1), ({"late": 3}, 1), ({"fault": 3}, 2), ({"break": 1, "crash": 2, "retry": 2}, 2)],
)
def test_retries_do_not_count(budget: dict[str, int], most: int) -> None:
    (prop,) = (one for one in classic({"budget": tuple(budget.items())}) if one.name == "join.no-pile-up")
    ids = [f"c1-{number}" for number in range(1, most + 2)]
    assert holds(prop, left_behind(*ids[:most]), ("c1", ()))
    assert not holds(prop, left_behind(*ids), ("c1", ()))


def handed_out(epoch: int, *parts: tuple[int, ...]) -> Coordinator:
    """A stable group whose members have these parts, after so many moves."""
    members = {
        f"c{n}-1": Member(3_000, 45_000, (), Assignment(2, f"c{n}-1", part).encode())
        for n, part in enumerate(parts, start=1)
    }
    return Coordinator(Group(GroupState.STABLE, 2, members=FrozenMap(members.items())), epoch=epoch)


@pytest.mark.parametrize(("epoch", "weak"), [(0, False), (1, False), (2, True)])
def test_a_lost_generation_takes_a_coordinator_that_came_back(epoch: int, weak: bool) -> None:
    hole, whole = handed_out(epoch, (0,)), handed_out(epoch, (0,), (1,))
    assert holds(nothing_unowned(2), hole) is weak
    assert not holds(nothing_unowned_ever(2), hole)
    assert holds(nothing_unowned(2), whole)
    assert holds(nothing_unowned_ever(2), whole)


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"budget": (("failover", 2),)}, False),
        ({"budget": (("failover", 1), ("fault", 1))}, False),
        ({"budget": (("break", 1), ("failover", 2))}, True),
        ({"budget": (("failover", 2), ("fault", 1))}, True),
        ({"budget": (("failover", 2), ("fault", 1)), "partitions": 1}, None),
        ({"budget": (("failover", 2), ("fault", 1)), "clients": ("cooperative",) * 2}, None),
        ({"budget": (("failover", 2), ("fault", 1)), "instances": ("i1", "")}, None),
    ],
)
def test_where_a_lost_generation_is_looked_for(settings: dict[str, Any], cause: bool | None) -> None:
    said = {one.name: there for one, there in judged(settings)}
    assert said.get(LOST.name) is cause
    kinds = {one.name: one.kind for one in classic(settings)}
    expected = {True: Kind.WITNESS, False: Kind.SAFETY, None: None}
    assert kinds.get(LOST.name) is expected[cause]


def test_it_is_judged_for_as_many_partitions_as_there_are() -> None:
    settings = {"budget": (("failover", 2),), "partitions": 3}
    (prop,) = (one for one in classic(settings) if one.name == LOST.name)
    assert not holds(prop, handed_out(2, (0,), (1,)))
    assert holds(prop, handed_out(2, (0, 2), (1,)))
