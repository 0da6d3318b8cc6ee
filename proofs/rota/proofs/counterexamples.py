"""Claims about the vote that are false, each refuted by two members with names and the shortest lists.

Candidates by union are the mistake that the protocol avoids. That winners are unique would make ties
impossible; they are possible, so the proofs include them. And a counter that grows with every *entry* of
a list, where a list may name a protocol twice, does not mean what the set of supporters means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3

from rota.proofs.encoding import (
    MEMBER,
    PROTOCOL,
    Rule,
    ballots,
    belongs,
    casts,
    entries,
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
from rota.proofs.obligations import Claim, Formula, Obligation
from rota.proofs.world import World

PAIR = World(("alice", "bob"), ("range", "roundrobin"))
"""Where counterexamples live: two members are enough for each of them."""

X, Y = z3.Const("x", PROTOCOL), z3.Const("y", PROTOCOL)
_m, _p = z3.Const("m", MEMBER), z3.Const("p", PROTOCOL)
candidate = z3.Function("candidate", PROTOCOL, z3.BoolSort())


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


def in_pair(rule: Rule, goal: Formula, **more: Formula) -> Claim:
    """A claim about two members who both vote, with the shortest lists."""
    everyone = z3.ForAll([_m], z3.Exists([_p], casts(_m, _p)))
    facts = vote_facts(PAIR, rule) | {"everyone votes": everyone} | more
    return PAIR.ground_claim(Claim(facts, goal, measure=PAIR.length()))


def by_union() -> Claim:
    """The winner is listed by both."""
    return in_pair(union, z3.Implies(wins(X), intersection(X)))


def by_entry() -> Claim:
    """The same, for a count of entries."""
    return in_pair(full_by_entry, z3.Implies(wins(X), intersection(X)), let_in=let_in())


def unique_winner() -> Claim:
    """Two winners would be the same."""
    return in_pair(intersection, z3.Implies(z3.And(wins(X), wins(Y)), X == Y))


@dataclass(frozen=True)
class VoteExample:
    """A vote that breaks the claim, in names.

    Parameters: lists, member and what it lists, in its order; ballots, member and what it votes for;
    candidates; votes, protocol and how many; winner; opposed, the members that do not list the winner.
    """

    lists: tuple[tuple[str, tuple[str, ...]], ...]
    ballots: tuple[tuple[str, str], ...]
    candidates: tuple[str, ...]
    votes: tuple[tuple[str, int], ...]
    winner: str
    opposed: tuple[str, ...]

    def as_lines(self) -> Iterator[str]:
        """For people."""
        ballots = dict(self.ballots)
        yield f"candidates: {_names(self.candidates)}"
        for member, protocols in self.lists:
            yield f"{member} lists {_names(protocols)} and votes for {ballots[member]}"
        yield "votes: " + ", ".join(f"{protocol} {count}" for protocol, count in self.votes)
        verb = "do" if len(self.opposed) > 1 else "does"
        against = f"which {_names(self.opposed)} {verb} not support" if self.opposed else "as others may too"
        yield f"{self.winner} may win, {against}"

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


def read_pair(model: Any) -> VoteExample:
    """The vote in a model of `PAIR`, with names."""

    def value(term: Formula) -> Any:
        return model.eval(term, model_completion=True)

    def is_so(term: Formula) -> bool:
        return bool(z3.is_true(value(term)))

    def listed(member: str) -> tuple[str, ...]:
        pairs = {p: (PAIR.member(member), PAIR.protocol(p)) for p in PAIR.protocols}
        in_order = sorted(pairs, key=lambda p: value(rank(*pairs[p])).as_long())
        return tuple(p for p in in_order for _ in range(value(entries(*pairs[p])).as_long()))

    def ballot(member: str) -> str:
        return next(p for p in PAIR.protocols if is_so(casts(PAIR.member(member), PAIR.protocol(p))))

    winner = next(p for p in PAIR.protocols if is_so(PAIR.protocol(p) == X))
    preferences = tuple((member, listed(member)) for member in PAIR.members)
    return VoteExample(
        lists=preferences,
        ballots=tuple((member, ballot(member)) for member in PAIR.members),
        candidates=tuple(p for p in PAIR.protocols if is_so(candidate(PAIR.protocol(p)))),
        votes=tuple((p, value(votes(PAIR.protocol(p))).as_long()) for p in PAIR.protocols),
        winner=winner,
        opposed=tuple(member for member, protocols in preferences if winner not in protocols),
    )


REFUTED = (
    Obligation(
        "voting.union",
        "with candidates by union (what any member lists) every winner is listed by every member",
        "refuted",
        by_union,
        explain=read_pair,
    ),
    Obligation(
        "voting.winner-is-unique",
        "no two protocols win the same vote",
        "refuted",
        unique_winner,
        explain=read_pair,
    ),
    Obligation(
        "voting.counters.by-entry",
        "with candidates by a count of list entries, which may repeat a name, every winner is listed by "
        "every member",
        "refuted",
        by_entry,
        explain=read_pair,
    ),
)
"""What is refuted, and must be."""
