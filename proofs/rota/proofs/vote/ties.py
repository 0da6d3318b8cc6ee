"""Rules for a tie, each as a refinement of the vote: of the protocols with the most votes any may win.

Brokers go through the tally in some order and keep the first that has the most: Java's a hash map's, by
bucket and within one by arrival; Scala's a trie's, by name. Proved by induction over that order that they
elect a winner of the vote, one, and that every winner is elected in some order. To ask the leader's list is
permitted among the tied; without the vote, or without the others' lists, it is not.

Source: upstream ClassicGroup#selectProtocol (Stream#max over HashMap entries); GroupMetadata#selectProtocol
in Scala (maxBy); the mock broker of librdkafka, rdkafka_mock_cgrp_classic_elect_leader, takes the leader's
first protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.vote.encoding import (
    MEMBER,
    PROTOCOL,
    Rule,
    ballots,
    belongs,
    first,
    intersection,
    lists,
    ranks_differ,
    some,
    tally_means,
    votes,
    wins,
)
from rota.proofs.vote.small_groups import group_claim

LEADER = z3.Const("leader", MEMBER)
X, Y, BEST = (z3.Const(name, PROTOCOL) for name in ("x", "y", "best"))
seen = z3.Function("seen", PROTOCOL, z3.BoolSort())
"""Protocols that have been gone through."""
before = z3.Function("before", PROTOCOL, PROTOCOL, z3.BoolSort())
"""The order in which a broker goes through the tally."""
bucket = z3.Function("bucket", PROTOCOL, z3.IntSort())
arrival = z3.Function("arrival", PROTOCOL, z3.IntSort())
"""When a protocol got its first vote."""
position = z3.Function("position", PROTOCOL, z3.IntSort())

_p, _q = z3.Const("p", PROTOCOL), z3.Const("q", PROTOCOL)

Order = Callable[[Formula, Formula], Formula]


def by_bucket(one: Formula, other: Formula) -> Formula:
    """Java's order."""
    in_one = z3.And(bucket(one) == bucket(other), arrival(one) < arrival(other))
    return z3.Or(bucket(one) < bucket(other), in_one)


def by_bucket_alone(one: Formula, other: Formula) -> Formula:
    """For a mutant: within a bucket there is no order."""
    return bucket(one) < bucket(other)


def by_position(one: Formula, other: Formula) -> Formula:
    """Scala's order, or the alphabet's: nothing but the name counts."""
    return position(one) < position(other)


def first_maximum(inside: Rule, best: Formula, order: Order) -> Formula:
    """It is inside, nothing inside has more votes, and what has as many comes later."""
    tied = z3.And(votes(_q) == votes(best), _q != best)
    rivals = z3.And(votes(_q) <= votes(best), z3.Implies(tied, order(best, _q)))
    return z3.And(inside(best), z3.ForAll([_q], z3.Implies(inside(_q), rivals)))


def _voted(protocol: Formula) -> Formula:
    """It is in the tally."""
    return votes(protocol) >= 1


def fold_base(protocols: tuple[Formula, ...] = (X,)) -> Claim:
    """Of the first in the order alone."""
    return group_claim({}, first_maximum(lambda p: z3.Or([p == one for one in protocols]), X, before))


def fold_step(keeps: Callable[[Formula, Formula], Formula] = lambda new, old: new <= old) -> Claim:
    """The next in the order takes the place of the best so far only if it has more."""
    facts = {
        "up to now": first_maximum(seen, BEST, before),
        "in order": z3.ForAll([_q], z3.Implies(seen(_q), before(_q, X))),
    }
    best = z3.If(keeps(votes(X), votes(BEST)), BEST, X)
    return group_claim(facts, first_maximum(lambda p: z3.Or(seen(p), p == X), best, before))


def refines(order: Order, inside: Rule = _voted) -> Claim:
    """What the order elects wins the vote, and it elects no two."""
    elected = partial(first_maximum, inside, order=order)
    one = z3.Implies(z3.And(elected(X), elected(Y)), X == Y)
    return group_claim({}, z3.And(z3.Implies(elected(X), wins(X)), one))


def in_order(order: Order, same_place: Order) -> Claim:
    """Of two protocols one comes first, and not both."""
    differ = z3.ForAll([_p, _q], z3.Implies(same_place(_p, _q), _p == _q))
    return group_claim({"places differ": differ}, z3.Implies(X != Y, order(X, Y) != order(Y, X)))


def same_bucket(one: Formula, other: Formula) -> Formula:
    """One place in Java's order, where two came at once."""
    return z3.And(bucket(one) == bucket(other), arrival(one) == arrival(other))


def same_position(one: Formula, other: Formula) -> Formula:
    """One place in Scala's order."""
    return position(one) == position(other)


def _anything(protocol: Formula) -> Formula:
    """For mutants: a protocol without votes may be in the tally."""
    return votes(protocol) >= 0


def some_order() -> Claim:
    """Whatever wins the vote is elected if the order has it first."""
    facts = {
        "wins": wins(X),
        "first in the order": z3.ForAll([_q], z3.Or(_q == X, before(X, _q))),
    }
    return group_claim(facts, first_maximum(_voted, X, before))


def leader_among(tied: Rule = wins) -> Claim:
    """The first on the leader's list of those that win."""
    elected = partial(first, LEADER, candidate=tied)
    facts = {
        "ballots": ballots(intersection),
        "tally": tally_means(belongs, votes),
        "the leader is a member": belongs(LEADER),
        "ranks differ": ranks_differ(),
    }
    one = z3.Implies(z3.And(elected(X), elected(Y)), X == Y)
    is_one = z3.Implies(elected(X), wins(X))
    exists = z3.Implies(some(wins), some(elected))
    return group_claim(facts, z3.And(is_one, one, exists), {"a first exists": _choice(tied)})


def _choice(tied: Rule) -> Formula:
    """What voting.vote-exists proves, for the leader and these protocols."""
    listed = some(lambda p: z3.And(tied(p), lists(LEADER, p)))
    return z3.Implies(listed, some(lambda p: first(LEADER, p, tied)))


TIES = (
    Obligation(
        "voting.ties.first-maximum.base",
        "of one protocol, it is the first with the most votes",
        "proved",
        fold_base,
        (Mutant("of two", partial(fold_base, (X, Y))),),
    ),
    Obligation(
        "voting.ties.first-maximum.step",
        "going on to the next, which replaces the best only with more votes, keeps this: the best is the "
        "first in the order that has the most votes",
        "proved",
        fold_step,
        (
            Mutant("replaced with as many", partial(fold_step, lambda new, old: new < old)),
            Mutant("replaced with fewer", partial(fold_step, lambda new, old: new >= old)),
        ),
    ),
    Obligation(
        "voting.ties.java-order",
        "by bucket and, within one, by arrival, one of two protocols comes first, if no two arrive at once",
        "proved",
        partial(in_order, by_bucket, same_bucket),
        (Mutant("by bucket alone", partial(in_order, by_bucket_alone, same_bucket)),),
    ),
    Obligation(
        "voting.ties.java",
        "Java's rule is permitted: what it elects wins the vote, and it elects one",
        "proved",
        partial(refines, by_bucket),
        (
            Mutant("goes through what has no votes", partial(refines, by_bucket, _anything)),
            Mutant(
                "by bucket alone, either way",
                partial(refines, lambda one, other: bucket(one) <= bucket(other)),
            ),
        ),
    ),
    Obligation(
        "voting.ties.scala-order",
        "by name one of two protocols comes first, if no two names have one place",
        "proved",
        partial(in_order, by_position, same_position),
    ),
    Obligation(
        "voting.ties.scala",
        "Scala's rule is permitted: what it elects wins the vote, and it elects one",
        "proved",
        partial(refines, by_position),
        (Mutant("goes through what has no votes", partial(refines, by_position, _anything)),),
    ),
    Obligation(
        "voting.ties.any",
        "whatever wins the vote is elected in some order: of the tied no one is ruled out",
        "proved",
        some_order,
    ),
    Obligation(
        "voting.ties.leader",
        "the leader's preference is permitted among the tied: the first of them on its list wins the vote, "
        "and there is one if anything wins",
        "proved",
        leader_among,
        (Mutant("among all candidates", partial(leader_among, intersection)),),
    ),
)
"""What is proved of the rules for a tie."""
