"""How the two older designs are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness.random_walk import walk
from rota.designs import suites
from rota.kernel import Arrow, State, System, Transition


def values(system: System, state: State) -> Mapping[str, Any]:
    return {machine.name: value for machine, value in zip(system.machines, state, strict=True)}


BUDGETS = {
    "watchers": {"leave": 1, "expire": 2, "partitions": 1, "broker": 1},
    "server-side": {"leave": 1, "expire": 1, "move": 2, "partitions": 1},
}


@pytest.mark.parametrize("design", BUDGETS)
def test_whatever_happens_can_be_drawn(design: str) -> None:
    system = suites.system(design, {"budget": BUDGETS[design]})
    depiction = system.depiction
    lanes = {lane.machine for lane in depiction.lanes(system.machines)}
    assert lanes == {machine.name for machine in system.machines} - {"budget"}
    texts, held = set(), 0
    for seed in range(20):
        for state, step in walk(system, seed):
            before, after = values(system, state), values(system, step.target)
            arrows = depiction.arrows(before, step)
            texts |= {arrow.text.partition(" ")[0] for arrow in arrows}
            assert all({one.source, one.target} <= lanes for one in arrows)
            assert set(depiction.bands(after)) | set(depiction.captions(after)) <= lanes
            owners = depiction.owners(after)
            held += any(owners.values())
            assert {who for holders in owners.values() for who in holders} <= lanes
    assert (
        texts
        >= {
            "watchers": {"register", "read", "ids", "claim", "granted", "release", "a", "close"},
            "server-side": {"ConsumerMetadata", "JoinGroup", "Heartbeat", "←"},
        }[design]
    )
    assert held


def step(system: System, state: State, label: str) -> Transition:
    return next(one for one in system.successors(state) if one.label == label)


def test_a_member_of_the_second_design_gets_its_part_of_a_generation() -> None:
    system = suites.system("server-side", {})
    (state,) = system.initial_states()
    joins = (
        "c1 asks a broker for the coordinator",
        "c1 sends JoinGroup to broker 0",
        "the coordinator assigns",
    )
    for label in joins:
        state = step(system, state, label).target
    answered = step(system, state, "c1 is answered")
    assert system.depiction.arrows(values(system, state), answered) == [
        Arrow("brokers", "member/c1", "JoinGroup ← generation 1, partition 0, partition 1, partition 2")
    ]
    after = values(system, answered.target)
    assert system.depiction.bands(after) == {"member/c1": "generation 1", "brokers": "generation 1"}
    assert system.depiction.owners(after)["partition 0"] == ("member/c1",)


def test_a_consumer_of_the_first_design_claims_what_it_computed() -> None:
    system = suites.system("watchers", {})
    (state,) = system.initial_states()
    for label in ("c1 registers", "c1 reads the children"):
        state = step(system, state, label).target
    claims = step(system, state, "c1 claims partition 0")
    assert system.depiction.arrows(values(system, state), claims) == [
        Arrow("consumer/c1", "zookeeper", "claim partition 0"),
        Arrow("zookeeper", "consumer/c1", "granted"),
    ]
    captions = system.depiction.captions(values(system, claims.target))
    assert "partition 0: c1" in captions["zookeeper"]
    assert captions["consumer/c1"][0] == "claiming"
