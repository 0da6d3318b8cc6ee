"""All obligations by family, in the order in which they build on each other; families load when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

from rota.proofs.obligations import Obligation


@dataclass(frozen=True)
class Family:
    """Obligations that belong together.

    Parameters: name, the first part of their names; about, in words; parts, MODULE:NAME of its tuples of
    obligations; groups, MODULE:NAME of a dict from the name above several obligations (`core.members`) to
    what they prove together, '' if each is told by itself; singly, groups whose obligations are told one by
    one also where there is little room.
    """

    name: str
    about: str
    parts: tuple[str, ...]
    groups: str = ""
    singly: tuple[str, ...] = ()

    def obligations(self) -> tuple[Obligation, ...]:
        """Import and join the parts."""
        return _join(self.parts)

    def sentences(self) -> dict[str, str]:
        """What the obligations under a name prove together, by that name."""
        return dict(_load(self.groups)) if self.groups else {}


FAMILIES = (
    Family(
        "voting",
        "the vote on the assignment protocol, for any number of members and protocols",
        (
            "rota.proofs.vote.tally:VOTE",
            "rota.proofs.vote.counters:COUNTERS",
            "rota.proofs.vote.counterexamples:REFUTED",
            "rota.proofs.vote.guard:GUARD",
            "rota.proofs.vote.senders:SENDERS",
            "rota.proofs.vote.ties:TIES",
            "rota.proofs.vote.code:CODE",
        ),
        "rota.proofs.vote:TOGETHER",
    ),
    Family(
        "core",
        "joining, syncing, heartbeats, leaving, for any number of members, generations and answers in flight",
        (
            "rota.proofs.core.obligations:INVARIANT",
            "rota.proofs.core.obligations:STEPS",
            "rota.proofs.core.obligations:FOLLOWS",
            "rota.proofs.core.obligations:FIRES",
            "rota.proofs.core.obligations:WISHED",
        ),
        "rota.proofs.core.obligations:TOGETHER",
        ("core.follows",),
    ),
    Family(
        "timers",
        "the initial delay, sessions and the barrier, in time and for any number of members",
        (
            "rota.proofs.timers.initial:INITIAL",
            "rota.proofs.timers.sessions:SESSION",
            "rota.proofs.timers.barrier:BARRIER",
        ),
        "rota.proofs.timers:TOGETHER",
    ),
    Family(
        "assignors",
        "range, roundrobin and cooperative-sticky, for any number of members, topics and partitions",
        (
            "rota.proofs.assignors.ranges:RANGE",
            "rota.proofs.assignors.roundrobin:ROUNDROBIN",
            "rota.proofs.assignors.cooperative:COOPERATIVE",
            "rota.proofs.assignors.readers:READERS",
        ),
        "rota.proofs.assignors:TOGETHER",
    ),
)
"""What `rota prove` runs; a new family is one entry here."""

TOPICS = {
    "the vote": "voting",
    "join, sync, heartbeat and leave": "core",
    "timers": "timers",
    "assignors": "assignors",
}
"""What the plan is to prove, and the family that does."""

NEVER = ("offsets and transactions", "the log", "that a coordinator follows these formulas")
"""What no family is about; exploration, lockstep and conformance are."""


class UnknownObligation(ValueError):
    """No obligation has this name or lies under it. near: names that look like it."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        super().__init__(name)
        self.near = tuple(near)


def not_proved() -> list[str]:
    """What stays open, in words."""
    here = {family.name for family in FAMILIES}
    return [*(topic for topic, family in TOPICS.items() if family not in here), *NEVER]


def family_of(obligation: Obligation) -> Family:
    """The family that the name begins with. Errors: KeyError."""
    return {family.name: family for family in FAMILIES}[obligation.name.partition(".")[0]]


def select(names: Sequence[str] = ()) -> tuple[Obligation, ...]:
    """Those with these names or under them (`voting.tally` is both its base and its step); all for none.

    Errors: UnknownObligation.
    """
    heads = {name.partition(".")[0] for name in names}
    known = [o for family in FAMILIES if not names or family.name in heads for o in family.obligations()]
    for name in names:
        if not any(_under(obligation, name) for obligation in known):
            raise UnknownObligation(name, _near(name))
    return tuple(o for o in known if not names or any(_under(o, name) for name in names))


def _under(obligation: Obligation, name: str) -> bool:
    return obligation.name == name or obligation.name.startswith(f"{name}.")


def _near(name: str) -> list[str]:
    known = dict.fromkeys(above for one in select() for above in _and_above(one.name))
    return get_close_matches(name, known, 3, 0.7)


def _and_above(name: str) -> Iterator[str]:
    """The name and what it lies under: a.b.c, a.b, a."""
    while name:
        yield name
        name = name.rpartition(".")[0]


@cache
def _join(parts: tuple[str, ...]) -> tuple[Obligation, ...]:
    return tuple(obligation for part in parts for obligation in _load(part))


def _load(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
