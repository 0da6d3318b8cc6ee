"""Claims about the vote that are false, each refuted by two members with names and the shortest lists.

Candidates by union are the mistake that the protocol avoids. That winners are unique would make ties
impossible; they are possible, so the proofs include them. And a counter that grows with every *entry* of
a list, where a list may name a protocol twice, does not mean what the set of supporters means. Rules for a
tie that are no such rules: what the leader lists first, or first of the candidates, without a vote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula, Obligation
from rota.proofs.vote.encoding import (
    MEMBER,
    PROTOCOL,
    Rule,
    ballots,
    belongs,
    casts,
    entries,
    first,
    intersection,
    lists,
    rank,
    ranks_differ,
    ranks_not_negative,
    repeats,
    union,
    votes,
    wins,
)
from rota.proofs.vote.small_groups import World

PAIR = World(("alice", "bob"), ("range", "roundrobin"))
"""Where counterexamples live: two members are enough for most of them."""

TRIO = World(("alice", "bob", "carol"), PAIR.protocols)
"""For those that need a majority."""

X, Y = z3.Const("x", PROTOCOL), z3.Const("y", PROTOCOL)
_m, _p = z3.Const("m", MEMBER), z3.Const("p", PROTOCOL)
candidate = z3.Function("candidate", PROTOCOL, z3.BoolSort())
LEADER = PAIR.member("alice")
place, other_place = (z3.Function(name, PROTOCOL, z3.IntSort()) for name in ("place", "other_place"))
"""Where two brokers have a name in the order in which they go through a tally."""


def full_by_entry(protocol: Formula) -> Formula:
    """The entries with this name, on all lists together, are as many as the members."""
    return z3.Sum([entries(PAIR.member(name), protocol) for name in PAIR.members]) == len(PAIR.members)


def let_in() -> Formula:
    """bob joins alice only if one of his protocols is a candidate in her group of one, counted alike."""
    alice, bob = (PAIR.member(name) for name in PAIR.members)
    return z3.Exists([_p], z3.And(lists(bob, _p), entries(alice, _p) == 1))


def vote_facts(world: World, rule: Rule) -> dict[str, Formula]:
    """A vote in a finite group, with the candidates named."""
    return {
        "ranks not negative": ranks_not_negative(),
        "ranks differ": ranks_differ(),
        "repeats": repeats(),
        "candidates": z3.ForAll([_p], candidate(_p) == rule(_p)),
        "ballots": ballots(candidate),
        "tally": world.tally(),
        "all are members": z3.And([belongs(world.member(name)) for name in world.members]),
    }


def in_world(world: World, rule: Rule, goal: Formula, **more: Formula) -> Claim:
    """A claim about members who all vote, with the shortest lists."""
    everyone = z3.ForAll([_m], z3.Exists([_p], casts(_m, _p)))
    facts = vote_facts(world, rule) | {"everyone votes": everyone} | more
    return world.ground_claim(Claim(facts, goal, measure=world.length()))


def by_union() -> Claim:
    """The winner is listed by both."""
    return in_world(PAIR, union, z3.Implies(wins(X), intersection(X)))


def by_entry() -> Claim:
    """The same, for a count of entries."""
    return in_world(PAIR, full_by_entry, z3.Implies(wins(X), intersection(X)), let_in=let_in())


def unique_winner() -> Claim:
    """Two winners would be the same."""
    return in_world(PAIR, intersection, z3.Implies(z3.And(wins(X), wins(Y)), X == Y))


def orders_agree() -> Claim:
    """Two brokers that go through the tally in orders of their own."""

    def elects(order: Rule, elected: Formula) -> Formula:
        earlier = z3.And(wins(_p), _p != elected, order(_p) <= order(elected))
        return z3.And(wins(elected), z3.Not(z3.Exists([_p], earlier)))

    elected = {"here": elects(place, X), "there": elects(other_place, Y)}
    return in_world(PAIR, intersection, X == Y, **elected)


def leader_first() -> Claim:
    """The leader's first protocol, as it is."""
    return in_world(PAIR, intersection, intersection(X), leader=first(LEADER, X, lambda p: z3.BoolVal(True)))


def leader_decides() -> Claim:
    """The leader's first candidate."""
    return in_world(TRIO, intersection, wins(X), leader=first(LEADER, X, intersection))


@dataclass(frozen=True)
class VoteExample:
    """A vote that breaks the claim, in names.

    Parameters: lists, member and what it lists, in its order; ballots, member and what it votes for;
    candidates; votes, protocol and how many; winner; opposed, the members that do not list the winner;
    ending, what the last line says of the winner, {}, if not that it may win.
    """

    lists: tuple[tuple[str, tuple[str, ...]], ...]
    ballots: tuple[tuple[str, str], ...]
    candidates: tuple[str, ...]
    votes: tuple[tuple[str, int], ...]
    winner: str
    opposed: tuple[str, ...]
    ending: str = ""

    def as_lines(self) -> Iterator[str]:
        """For people."""
        ballots = dict(self.ballots)
        yield f"candidates: {_names(self.candidates)}"
        for member, protocols in self.lists:
            yield f"{member} lists {_names(protocols)} and votes for {ballots[member]}"
        yield "votes: " + ", ".join(f"{protocol} {count}" for protocol, count in self.votes)
        verb = "do" if len(self.opposed) > 1 else "does"
        against = f"which {_names(self.opposed)} {verb} not support" if self.opposed else "as others may too"
        yield self.ending.format(self.winner) if self.ending else f"{self.winner} may win, {against}"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "lists": {member: list(protocols) for member, protocols in self.lists},
            "ballots": dict(self.ballots),
            "candidates": list(self.candidates),
            "votes": dict(self.votes),
            "winner": self.winner,
            "opposed": list(self.opposed),
        }


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"


def read_vote(model: Any, world: World = PAIR, ending: str = "") -> VoteExample:
    """The vote in a model of a world, with names. ending: see `VoteExample`."""

    def value(term: Formula) -> Any:
        return model.eval(term, model_completion=True)

    def is_so(term: Formula) -> bool:
        return bool(z3.is_true(value(term)))

    def listed(member: str) -> tuple[str, ...]:
        pairs = {p: (world.member(member), world.protocol(p)) for p in world.protocols}
        in_order = sorted(pairs, key=lambda p: value(rank(*pairs[p])).as_long())
        return tuple(p for p in in_order for _ in range(value(entries(*pairs[p])).as_long()))

    def ballot(member: str) -> str:
        return next(p for p in world.protocols if is_so(casts(world.member(member), world.protocol(p))))

    winner = next(p for p in world.protocols if is_so(world.protocol(p) == X))
    preferences = tuple((member, listed(member)) for member in world.members)
    return VoteExample(
        lists=preferences,
        ballots=tuple((member, ballot(member)) for member in world.members),
        candidates=tuple(p for p in world.protocols if is_so(candidate(world.protocol(p)))),
        votes=tuple((p, value(votes(world.protocol(p))).as_long()) for p in world.protocols),
        winner=winner,
        opposed=tuple(member for member, protocols in preferences if winner not in protocols),
        ending=ending,
    )


REFUTED = (
    Obligation(
        "voting.union",
        "with candidates by union (what any member lists) every winner is listed by every member",
        "refuted",
        by_union,
        explain=read_vote,
    ),
    Obligation(
        "voting.winner-is-unique",
        "no two protocols win the same vote",
        "refuted",
        unique_winner,
        explain=read_vote,
    ),
    Obligation(
        "voting.counters.by-entry",
        "with candidates by a count of list entries, which may repeat a name, every winner is listed by "
        "every member",
        "refuted",
        by_entry,
        explain=read_vote,
    ),
    Obligation(
        "voting.ties.orders-agree",
        "brokers that go through the tally in different orders elect the same protocol",
        "refuted",
        orders_agree,
        explain=partial(read_vote, ending="one broker elects {}, another one the other"),
    ),
    Obligation(
        "voting.ties.leader-first",
        "the leader's first protocol, which the mock broker of librdkafka takes, is listed by every member",
        "refuted",
        leader_first,
        explain=partial(read_vote, ending="{} is elected, which alice, the leader, lists first"),
    ),
    Obligation(
        "voting.ties.leader-decides",
        "the leader's first candidate has the most votes",
        "refuted",
        leader_decides,
        explain=partial(
            read_vote,
            world=TRIO,
            ending="{} is elected, which alice, the leader, lists first of the candidates",
        ),
    ),
)
"""What is refuted, and must be."""
