"""Every rule that answers a request is played in every state of the group in which it can answer one.

Which pairs of rule and state there are is read off explored graphs; which are played, off the situations of
the families. What is left has a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import cast

from rota.conformance.catalogue import all_cases
from rota.conformance.families.axes import State
from rota.conformance.families.family import FAMILIES
from rota.environment.broker.coordinator import Coordinator
from rota.mutants import system
from rota.scopes import load
from rota.spec.classic import heartbeat, join, sync

Pair = tuple[str, State]

WORLDS = (
    "leave", "all-leave", "rejoin", "change", "static", "same-instance", "static-poll-timeout", "full", "old",
    "no-common-protocol", "raw", "raw-static",
)  # fmt: skip
"""Configurations of the scope `tiny` in which, together, all the rules fire that any of it makes fire."""

HANDLERS = (*join.HANDLER, *sync.HANDLER, *heartbeat.HANDLER)
"""The rules that answer JoinGroup, SyncGroup and Heartbeat."""


@cache
def reachable() -> frozenset[Pair]:
    """The rules that fire, each with the state in which the coordinator then has the group."""
    return frozenset(pair for name in WORLDS for pair in _fired(name))


def _fired(name: str) -> Iterator[Pair]:
    world = system(load("tiny").configuration(name).settings)
    known = set(world.initial_states())
    front = list(known)
    while front:
        state = front.pop()
        for transition in world.successors(state):
            group = cast(Coordinator, state[0]).group
            before = State.NO_GROUP if group is None else State(group.state.value)
            yield from ((rule, before) for rule in transition.rules)
            if transition.target not in known:
                known.add(transition.target)
                front.append(transition.target)


@cache
def played() -> frozenset[Pair]:
    rules = {case.id: case.rule for case in all_cases()}
    parts = [part for family in FAMILIES.values() for part in family]
    return frozenset((rules[part.id], part.situation.state) for part in parts)


LEFT = {
    "heartbeat.invalid-group-id": "looked at before any group",
    "join.invalid-group-id": "looked at before any group",
    "sync.invalid-group-id": "looked at before any group",
    "join.group-max-size-reached": "the cases of a limited size play it, which take a setting of the broker",
    "static.pending-with-instance": "one case plays it, in the one state in which it was seen to fail",
    "static.replaced": "the families of what becomes of it in each state play it: static.replaced-…",
}
"""Rule → why there are states in which no family plays it."""


def not_played(played: frozenset[Pair]) -> dict[str, list[State]]:
    """Rules that answer a request → the states in which they do and no family plays them."""
    left: dict[str, list[State]] = {}
    for rule, state in sorted(reachable() - played):
        if rule in HANDLERS:
            left.setdefault(rule, []).append(state)
    return left


def test_each_rule_is_played_in_each_state_in_which_it_fires() -> None:
    left = not_played(played())
    assert left.keys() == LEFT.keys(), left
    assert all(LEFT.values())


def test_the_worlds_make_every_rule_fire_that_is_no_matter_of_hosting() -> None:
    fired = {rule for rule, _ in reachable()}
    assert {rule for rule in HANDLERS if rule not in fired} == {
        rule for rule in HANDLERS if rule.startswith("hosting.")
    }


def test_a_state_that_is_missing_is_noticed() -> None:
    fewer = played() - {("heartbeat.alive", State.COMPLETING)}
    assert not_played(fewer) == {**not_played(played()), "heartbeat.alive": [State.COMPLETING]}
