"""Every rule that answers a request is played in every state of the group in which it can answer one.

Which pairs of rule and state there are is read off explored graphs; which are played, off the situations of the
families. What is left has a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from rota.conformance.dialogues.registry import CASES
from rota.conformance.families.axes import State
from rota.conformance.families.family import FAMILIES
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
            group = state[0].group
            before = State.NO_GROUP if group is None else State(group.state.value)
            yield from ((rule, before) for rule in transition.rules)
            if transition.target not in known:
                known.add(transition.target)
                front.append(transition.target)


@cache
def played() -> frozenset[Pair]:
    parts = [part for family in FAMILIES.values() for part in family]
    return frozenset((CASES[part.id].rule, part.situation.state) for part in parts)
