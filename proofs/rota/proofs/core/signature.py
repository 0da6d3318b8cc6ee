"""The signature of a state: the group, the control state within a step, and history (ghost relations).

Each name is a constant, or a relation or function over the sorts of `rota.proofs.core.logic`. The *group*
part is the spec's `Group` and its appends in flight; the *control* part stands for the call stack of one
step; the *history* part is written and never read by a rule, so it changes nothing that a group does. The
relations `answered_…` have every answer that was ever sent: answers in flight may come late, twice, in
another order or never. `owes` holds the members whose SyncGroup is expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.proofs.core.logic import Kind, Phase, Point, Sort, Term, Universe, both, either, symbol

M, INSTANCE, G = Sort.MEMBER, Sort.INSTANCE, Sort.GENERATION
P, A, R = Sort.PROTOCOL, Sort.ASSIGNMENT, Sort.RECORD


@dataclass(frozen=True)
class Part:
    """A symbol of the signature. domain: argument sorts; value: sort or enumeration, None: a truth value."""

    role: str
    domain: tuple[Sort, ...]
    value: Sort | type[Phase] | type[Point] | type[Kind] | None
    meaning: str


SIGNATURE: Mapping[str, Part] = {
    "phase": Part("group", (), Phase, "Group.state"),
    "generation": Part("group", (), G, "Group.generation_id"),
    "protocol": Part("group", (), P, "Group.protocol_name, `no_protocol` for None"),
    "leader": Part("group", (), M, "Group.leader, `nobody` for None"),
    "initial": Part("group", (), None, "Group.initial_join is not None"),
    "member": Part("group", (M,), None, "the id is in Group.members"),
    "pending": Part("group", (M,), None, "the id is in Group.pending"),
    "owes": Part("group", (M,), None, "the id is in Group.pending_sync"),
    "joining": Part("group", (M,), None, "Member.awaiting_join is not None"),
    "syncing": Part("group", (M,), None, "Member.awaiting_sync is not None"),
    "is_new": Part("group", (M,), None, "Member.is_new"),
    "supports": Part("group", (M, P), None, "the protocol is among Member.names; only of members"),
    "assigned": Part("group", (M,), A, "Member.assignment; only of members, `nothing` for no bytes"),
    "held": Part("group", (INSTANCE,), None, "Group.holder(instance) is not None"),
    "appended": Part("group", (R,), None, "a record of a `Kind` that the log has not answered yet"),
    "point": Part("control", (), Point, "which rule continues the step"),
    "victim": Part("control", (), M, "who is removed; the former id in `REPLACED`"),
    "after": Part("control", (), Point, "where the step goes on when it is removed"),
    "subject": Part("control", (), M, "the new id in `REPLACED`"),
    "change": Part("control", (), R, "the record that a replacement would write"),
    "gone": Part("control", (), None, "within a LeaveGroup: a member has been removed"),
    "returned": Part("control", (), None, "within a LeaveGroup: an unused id has been forgotten"),
    "belonged": Part(
        "history", (G, M), None, "was a member when it was completed, or took such a one's place"
    ),
    "seat": Part("history", (G, INSTANCE), None, "the instance had a member in this generation"),
    "led": Part("history", (G, M), None, "led the generation"),
    "chosen": Part("history", (G, P), None, "the generation's protocol; `no_protocol` of an Empty one"),
    "proposed": Part(
        "history", (G, M, A), None, "the leader of the generation handed this in for the member"
    ),
    "settled": Part("history", (G,), None, "the generation became Stable"),
    "decided": Part("history", (G, M, A), None, "stored for the member in this generation"),
    "undone": Part(
        "history", (G,), None, "a replacement failed while this generation's SyncGroups were awaited"
    ),
    "answered_generation": Part(
        "history", (M, G), None, "a JoinGroup was answered: you are in this generation"
    ),
    "answered_leader": Part("history", (M, G, M), None, "it was answered: this one leads it"),
    "answered_protocol": Part("history", (M, G, P), None, "it was answered: this is its protocol"),
    "answered_list": Part("history", (M, G), None, "it was answered with the list of members"),
    "listed": Part("history", (M, G, M), None, "that list has this member id"),
    "listed_seat": Part("history", (M, G, INSTANCE), None, "that list has this instance id"),
    "answered_restart": Part(
        "history", (M, G, M), None, "a replacement's JoinGroup was answered: this one leads"
    ),
    "answered_sync": Part("history", (M, G, A), None, "a SyncGroup was answered with this assignment"),
    "answered_alive": Part(
        "history", (M, G), None, "a Heartbeat was answered: all is well in this generation"
    ),
}


class State:
    """A state: a value for each name of `SIGNATURE`; attributes by name. u: the universe it lives in."""

    def __init__(self, u: Universe, parts: Mapping[str, Any]) -> None:
        if set(parts) != set(SIGNATURE):
            raise ValueError(f"a state needs exactly {', '.join(SIGNATURE)}")
        self.u = u
        self.parts = dict(parts)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.parts[name]
        except KeyError:
            raise AttributeError(f"no state has a {name}") from None

    def but(self, **changes: Any) -> State:
        """This state with other values for some names; all others are the same: the frame."""
        return State(self.u, {**self.parts, **changes})

    def put(self, name: str, *row: Term) -> State:
        """With one row more in a relation."""
        old = self.parts[name]
        return self.but(**{name: lambda *at: either(old(*at), _same(at, row))})

    def drop(self, name: str, *row: Term) -> State:
        """With one row less in a relation."""
        old = self.parts[name]
        return self.but(**{name: lambda *at: both(old(*at), _differ(at, row))})

    def none(self, name: str) -> State:
        """With nothing in a relation."""
        return self.but(**{name: lambda *at: False})


def _same(one: tuple[Term, ...], other: tuple[Term, ...]) -> Term:
    return both(*(a == b for a, b in zip(one, other, strict=True)))


def _differ(one: tuple[Term, ...], other: tuple[Term, ...]) -> Term:
    return either(*(a != b for a, b in zip(one, other, strict=True)))


def symbolic(u: Universe, mark: str = "") -> State:
    """A state of which nothing is known: each name is a Z3 symbol. mark: put behind the names."""
    return State(u, {name: symbol(name + mark, part.domain, part.value) for name, part in SIGNATURE.items()})


def agree(one: State, other: State, name: str) -> Term:
    """Both states have the same under this name."""
    a, b, domain = one.parts[name], other.parts[name], SIGNATURE[name].domain
    if not domain:
        return a == b
    return one.u.every(domain, lambda *at: a(*at) == b(*at))
