"""How the world is drawn: what a person who reads a sequence chart of Kafka looks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness.random_walk import walk
from rota.environment import world
from rota.kernel import Arrow, State, System

Drawn = tuple[Arrow, ...]


def values(system: System, state: State) -> Mapping[str, Any]:
    return {machine.name: value for machine, value in zip(system.machines, state, strict=True)}


class Walk:
    """A run of a world, a step by its label at a time."""

    def __init__(self, **settings: Any) -> None:
        self.system = world(**settings)
        (self.state,) = self.system.initial_states()
        self.arrows: list[Drawn] = []

    @property
    def values(self) -> Mapping[str, Any]:
        return values(self.system, self.state)

    def go(self, *labels: str) -> Drawn:
        """The arrows of the last of these steps."""
        for label in labels:
            (step, *_) = [one for one in self.system.successors(self.state) if one.label == label]
            self.arrows.append(tuple(self.system.depiction.arrows(self.values, step)))
            self.state = step.target
        return self.arrows[-1]

    def joins(self, who: str) -> Drawn:
        """It asks for an id and joins with it."""
        reaches = f"{who}'s JoinGroup reaches the coordinator"
        return self.go(
            f"{who} sends JoinGroup", reaches, f"{who} reads JoinGroup MEMBER_ID_REQUIRED", reaches
        )

    def consumes(self, who: str) -> None:
        """It reads its JoinGroup, syncs alone, and consumes."""
        self.go(
            f"{who} reads JoinGroup NONE",
            f"{who}'s SyncGroup reaches the coordinator",
            "log stores the assignment of generation 1",
            f"{who} reads SyncGroup NONE",
        )


def lone(**settings: Any) -> Walk:
    """A client alone in a group, which consumes; another one is there."""
    walk = Walk(**settings)
    walk.joins("c1")
    walk.go("the initial rebalance delay is over")
    walk.consumes("c1")
    return walk


def test_clients_stand_left_of_the_brokers_machines() -> None:
    system = world(offsets=True)
    lanes = system.depiction.lanes(system.machines)
    assert [(lane.machine, lane.title, lane.kind) for lane in lanes] == [
        ("client/c1", "c1", "member"),
        ("client/c2", "c2", "member"),
        ("coordinator", "coordinator", "coordinator"),
        ("log", "log", "log"),
        ("offsets", "offsets", "offsets"),
    ]


def test_a_request_has_an_arrow_where_it_is_taken_and_an_answer_where_it_is_sent() -> None:
    walk = Walk()
    assert walk.go("c1 sends JoinGroup") == ()
    assert walk.go("c1's JoinGroup reaches the coordinator") == (
        Arrow("client/c1", "coordinator", "JoinGroup"),
        Arrow("coordinator", "client/c1", "JoinGroup ← MEMBER_ID_REQUIRED, c1-1"),
    )
    reaches = walk.go("c1 reads JoinGroup MEMBER_ID_REQUIRED", "c1's JoinGroup reaches the coordinator")
    assert reaches == (Arrow("client/c1", "coordinator", "JoinGroup c1-1"),)
    assert walk.go("the initial rebalance delay is over") == (
        Arrow("coordinator", "client/c1", "JoinGroup ← NONE, generation 1, leader c1-1"),
    )
    assert walk.go("c1 reads JoinGroup NONE", "c1's SyncGroup reaches the coordinator") == (
        Arrow("client/c1", "coordinator", "SyncGroup c1-1, generation 1"),
        Arrow("coordinator", "log", "append the assignment of generation 1"),
    )
    assert walk.go("log stores the assignment of generation 1") == (
        Arrow("log", "coordinator", "stored the assignment of generation 1"),
        Arrow("coordinator", "client/c1", "SyncGroup ← NONE, t-0, t-1"),
    )


def test_an_append_that_fails_says_so() -> None:
    walk = Walk(budget={"append": 1})
    walk.joins("c1")
    walk.go("the initial rebalance delay is over", "c1 reads JoinGroup NONE")
    walk.go("c1's SyncGroup reaches the coordinator")
    (failed, *_) = walk.go("log fails to store the assignment of generation 1")
    assert failed == Arrow(
        "log", "coordinator", "NOT_ENOUGH_REPLICAS: the assignment of generation 1 is not stored"
    )


def test_what_does_not_arrive_is_lost() -> None:
    walk = Walk(budget={"break": 2})
    broken = Arrow("client/c1", "coordinator", "connection broken", lost=True)
    assert walk.go("c1 sends JoinGroup", "c1 loses its connection") == (broken,)
    assert walk.go("c1 left a JoinGroup behind that is lost") == (
        Arrow("client/c1", "coordinator", "JoinGroup", lost=True),
    )
    walk.go("c1 sends JoinGroup", "c1's JoinGroup reaches the coordinator")
    answer = Arrow("coordinator", "client/c1", "JoinGroup ← MEMBER_ID_REQUIRED, c1-1", lost=True)
    assert walk.go("c1 loses its connection") == (answer, broken)


def test_a_request_that_was_left_behind_may_be_taken() -> None:
    walk = Walk(budget={"break": 1})
    taken = walk.go(
        "c1 sends JoinGroup",
        "c1 loses its connection",
        "c1 left a JoinGroup behind that is taken now",
    )
    assert taken == (Arrow("client/c1", "coordinator", "JoinGroup, left behind"),)


def test_generations_are_bands() -> None:
    walk = Walk()
    assert walk.system.depiction.bands(walk.values) == {}
    walk.joins("c1")
    walk.go("the initial rebalance delay is over")
    assert walk.system.depiction.bands(walk.values) == {"coordinator": "generation 1"}
    walk.go("c1 reads JoinGroup NONE")
    assert walk.system.depiction.bands(walk.values) == {
        "coordinator": "generation 1",
        "client/c1": "generation 1",
    }


def owners(walk: Walk) -> Mapping[str, tuple[str, ...]]:
    return walk.system.depiction.owners(walk.values)


def test_an_eager_client_owns_what_it_consumes_until_it_joins_again() -> None:
    walk = Walk(budget={"rejoin": 1})
    assert owners(walk) == {"t-0": (), "t-1": ()}
    walk = lone(budget={"rejoin": 1})
    assert owners(walk) == {"t-0": ("client/c1",), "t-1": ("client/c1",)}
    walk.go("c1 rejoins of its own accord")
    assert owners(walk) == {"t-0": (), "t-1": ()}


def test_a_cooperative_client_owns_while_it_joins() -> None:
    protocols = (("cooperative-sticky",), ("cooperative-sticky",))
    walk = lone(protocols=protocols, clients=("cooperative", "cooperative"), budget={"rejoin": 1})
    walk.go("c1 rejoins of its own accord")
    assert owners(walk) == {"t-0": ("client/c1",), "t-1": ("client/c1",)}


def test_one_that_was_taken_for_dead_owns_beside_the_new_owner() -> None:
    walk = lone(budget={"late": 1})
    walk.go("the session of c1-1 is over")
    walk.joins("c2")
    walk.go("the initial rebalance delay is over", "c2 reads JoinGroup NONE")
    generation = walk.values["coordinator"].group.generation_id
    walk.go("c2's SyncGroup reaches the coordinator", f"log stores the assignment of generation {generation}")
    walk.go("c2 reads SyncGroup NONE")
    assert owners(walk) == {"t-0": ("client/c1", "client/c2"), "t-1": ("client/c1", "client/c2")}
    bands = walk.system.depiction.bands(walk.values)
    assert bands["client/c1"] != bands["client/c2"] == bands["coordinator"]


def test_captions_say_how_everybody_stands() -> None:
    walk = lone()
    captions = walk.system.depiction.captions(walk.values)
    assert captions == {
        "coordinator": ("Stable", "members: c1-1 (leader)", "timers: session c1-1"),
        "client/c1": ("stable", "c1-1, leader"),
        "client/c2": ("unjoined",),
    }
    walk.joins("c2")
    captions = walk.system.depiction.captions(walk.values)
    assert captions["coordinator"][0] == "PreparingRebalance"
    walk.go("c1 heartbeats")
    assert (
        "to read: Heartbeat ← REBALANCE_IN_PROGRESS"
        in walk.system.depiction.captions(walk.values)["client/c1"]
    )


WORLDS: dict[str, dict[str, Any]] = {
    "faults": {"budget": {"fault": 3, "leave": 1, "rejoin": 1, "retry": 1}},
    "a raw client": {"clients": ("eager", "raw"), "offsets": True, "budget": {"odd": 40}},
    "offsets": {"offsets": True, "budget": {"commit": 2, "leave": 2, "retention": 1, "failover": 1}},
    "static": {"instances": ("a", "a"), "budget": {"crash": 2, "failover": 2, "late": 1}},
    "cooperative": {
        "protocols": (("cooperative-sticky",), ("cooperative-sticky",)),
        "clients": ("cooperative", "cooperative"),
        "budget": {"late": 2, "partitions": 1, "break": 1},
    },
}


@pytest.mark.parametrize("name", WORLDS)
def test_whatever_happens_can_be_drawn(name: str) -> None:
    system = world(**WORLDS[name])
    depiction = system.depiction
    lanes = {lane.machine for lane in depiction.lanes(system.machines)}
    drawn = 0
    for seed in range(6):
        for state, step in walk(system, seed, 60):
            before, after = values(system, state), values(system, step.target)
            arrows = depiction.arrows(before, step)
            drawn += len(arrows)
            assert all({one.source, one.target} <= lanes and one.text for one in arrows)
            assert set(depiction.bands(after)) | set(depiction.captions(after)) <= lanes
            assert {who for holders in depiction.owners(after).values() for who in holders} <= lanes
    assert drawn > 100
