"""The vote on the assignment protocol, for any number of members and protocols.

Candidates are the protocols that every member lists; each member votes for the first candidate on its
list; a candidate with the most votes wins, and of several any may. Proved: the winner is supported by
every member, and if there is a member and a candidate, there is a winner. With candidates by union, what
any member lists, the winner may be one that a member does not support.

Source: the behaviour of Kafka's classic groups (any broker since 0.9); what ties do is left open there.
"""

from __future__ import annotations

from functools import partial

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.vote.encoding import (
    MEMBER,
    PROTOCOL,
    Rule,
    ballots,
    belongs,
    casts,
    first,
    intersection,
    lists,
    maximum,
    most_voted,
    rank,
    ranks_differ,
    ranks_not_negative,
    some,
    tally_means,
    union,
    votes,
    wins,
)
from rota.proofs.vote.small_groups import group_claim

ALICE = z3.Const("alice", MEMBER)
X, Y = z3.Const("x", PROTOCOL), z3.Const("y", PROTOCOL)
_candidate = z3.Function("candidate", PROTOCOL, z3.BoolSort())
_chosen = z3.Function("chosen", PROTOCOL, z3.BoolSort())


def _has_first(below: Formula, strictly: bool = False) -> Formula:
    """If a candidate is on alice's list at an index below this, she has a first one."""
    early = some(lambda p: z3.And(_candidate(p), lists(ALICE, p), rank(ALICE, p) < below))
    return z3.Implies(early, some(lambda p: first(ALICE, p, _candidate, strictly)))


def vote_exists_base(bound: int = 0) -> Claim:
    """Below index 0 there is nothing."""
    return group_claim({"ranks not negative": ranks_not_negative()}, z3.Not(_early(bound)))


def _early(bound: int) -> Formula:
    return some(lambda p: z3.And(lists(ALICE, p), rank(ALICE, p) < bound))


def vote_exists_step(strictly: bool = False) -> Claim:
    """From index k to k + 1."""
    k = z3.Int("k")
    return group_claim({}, _has_first(k + 1, strictly), {"up to k": _has_first(k, strictly)})


def vote_is_supported(candidate: Rule = intersection) -> Claim:
    """Every member votes, by what the induction over indexes gives for all members, and for a candidate."""
    facts = {
        "a candidate": some(candidate),
        "alice is a member": belongs(ALICE),
        "ballots": ballots(candidate),
    }
    goal = z3.And(_votes(ALICE), z3.Implies(casts(ALICE, X), intersection(X)))
    return group_claim(facts, goal, {"a first exists": _choice(candidate)})


def _votes(member: Formula) -> Formula:
    return some(lambda p: casts(member, p))


def _choice(candidate: Rule) -> Formula:
    """alice has a first candidate if she has any: the induction over indexes, past that of a candidate."""
    listed = some(lambda p: z3.And(candidate(p), lists(ALICE, p)))
    return z3.Implies(listed, some(lambda p: first(ALICE, p, candidate)))


def vote_is_unique() -> Claim:
    """Nobody has two first candidates."""
    both = z3.And(first(ALICE, X, _candidate), first(ALICE, Y, _candidate))
    return group_claim({"ranks differ": ranks_differ()}, z3.Implies(both, X == Y))


def tally_base(start: int = 0) -> Claim:
    """The tally of the empty group, all zero."""
    return group_claim({}, tally_means(lambda m: z3.BoolVal(False), lambda p: z3.IntVal(start)))


def tally_step(per_vote: int = 1) -> Claim:
    """The tally after alice is added."""
    grown = partial(_with_alice, per_vote)
    goal = tally_means(lambda m: z3.Or(belongs(m), m == ALICE), grown)
    return group_claim({"up to now": tally_means(belongs, votes)}, goal)


def _with_alice(per_vote: int, protocol: Formula) -> Formula:
    return votes(protocol) + z3.If(casts(ALICE, protocol), per_vote, 0)


def maximum_base(strictly: bool = False, members: tuple[Formula, ...] = (X,)) -> Claim:
    """Of one protocol, it has the most."""
    return group_claim({}, maximum(lambda p: z3.Or([p == one for one in members]), votes, strictly))


def maximum_step(strictly: bool = False) -> Claim:
    """Of one protocol more, either it or the one before has the most."""
    goal = maximum(lambda p: z3.Or(_chosen(p), p == X), votes, strictly)
    return group_claim({}, goal, {"up to now": maximum(_chosen, votes, strictly)})


def winner_is_supported(candidate: Rule = intersection) -> Claim:
    """Whoever wins, ties included, is listed by every member."""
    facts = {"ballots": ballots(candidate), "tally": tally_means(belongs, votes)}
    return group_claim(facts, z3.Implies(wins(X), intersection(X)))


def winner_exists() -> Claim:
    """A member and a candidate are enough for a winner."""
    facts = {
        "a member": belongs(ALICE),
        "a candidate": some(intersection),
        "a candidate makes members vote": _candidate_makes_vote(),
        "tally": tally_means(belongs, votes),
    }
    return group_claim(facts, some(wins), {"maximum": z3.Implies(some(_voted), maximum(_voted, votes))})


def _candidate_makes_vote() -> Formula:
    """What voting.vote-is-supported proves."""
    return z3.Implies(z3.And(some(intersection), belongs(ALICE)), _votes(ALICE))


def _voted(protocol: Formula) -> Formula:
    return votes(protocol) >= 1


def winner_is_most_voted(least: int = 1) -> Claim:
    """The greatest in the tally and the candidate with the most votes are the same."""
    m, p = z3.Const("m", MEMBER), z3.Const("p", PROTOCOL)
    for_candidates = z3.ForAll([m, p], z3.Implies(z3.And(belongs(m), casts(m, p)), intersection(p)))
    facts = {
        "a member": belongs(ALICE),
        "votes are for candidates": for_candidates,
        "a candidate makes members vote": _candidate_makes_vote(),
        "tally": tally_means(belongs, votes),
    }
    return group_claim(facts, z3.And(wins(X), votes(X) >= least) == most_voted(X, intersection))


def empty_list(candidate: Rule = intersection) -> Claim:
    """A member that lists nothing leaves no candidate."""
    nothing = z3.Not(some(lambda p: lists(ALICE, p)))
    return group_claim({"a member": belongs(ALICE), "lists nothing": nothing}, z3.Not(some(candidate)))


def one_member(candidate: Rule = union) -> Claim:
    """By union, with alice alone."""
    n = z3.Const("n", MEMBER)
    facts = {
        "nobody else": z3.ForAll([n], z3.Implies(belongs(n), n == ALICE)),
        "ballots": ballots(candidate),
        "tally": tally_means(belongs, votes),
    }
    return group_claim(facts, z3.Implies(wins(X), intersection(X)))


VOTE = (
    Obligation(
        "voting.vote-exists.base",
        "no protocol is on a member's list before index 0",
        "proved",
        vote_exists_base,
        (Mutant("before index 1", partial(vote_exists_base, 1)),),
    ),
    Obligation(
        "voting.vote-exists.step",
        "if a candidate among the first k on a list makes one the first, so does a candidate among k + 1",
        "proved",
        vote_exists_step,
        (Mutant("no two at one index, but two there", partial(vote_exists_step, True)),),
    ),
    Obligation(
        "voting.vote-is-supported",
        "if there is a candidate, each member votes, for a candidate that every member lists",
        "proved",
        vote_is_supported,
        (Mutant("candidates by union", partial(vote_is_supported, union)),),
    ),
    Obligation(
        "voting.vote-is-unique",
        "a member has one vote: a list has at most one first candidate",
        "proved",
        vote_is_unique,
    ),
    Obligation(
        "voting.tally.base",
        "in the tally of an empty group no protocol has votes",
        "proved",
        tally_base,
        (Mutant("tally starts at one", partial(tally_base, 1)),),
    ),
    Obligation(
        "voting.tally.step",
        "adding a member keeps this: a protocol has votes exactly if a member votes for it",
        "proved",
        tally_step,
        (
            Mutant("a vote adds nothing", partial(tally_step, 0)),
            Mutant("a vote is taken off", partial(tally_step, -1)),
        ),
    ),
    Obligation(
        "voting.maximum.base",
        "of one protocol, some has the most votes",
        "proved",
        maximum_base,
        (
            Mutant("alone at the top, of two", partial(maximum_base, True, (X, Y))),
            Mutant("of none", partial(maximum_base, False, ())),
        ),
    ),
    Obligation(
        "voting.maximum.step",
        "adding a protocol to a set keeps this: some protocol in it has the most votes of all in it",
        "proved",
        maximum_step,
        (Mutant("alone at the top", partial(maximum_step, True)),),
    ),
    Obligation(
        "voting.winner-is-supported",
        "whichever protocol wins, of several with the most votes any, every member lists it",
        "proved",
        winner_is_supported,
        (Mutant("candidates by union", partial(winner_is_supported, union)),),
    ),
    Obligation(
        "voting.winner-exists",
        "if there is a member and a candidate, some protocol wins",
        "proved",
        winner_exists,
    ),
    Obligation(
        "voting.winner-is-most-voted",
        "the greatest in the tally and the candidate with the most votes are the same protocols",
        "proved",
        winner_is_most_voted,
        (Mutant("wins with two votes", partial(winner_is_most_voted, 2)),),
    ),
    Obligation(
        "voting.empty-list",
        "if a member lists nothing, there is no candidate",
        "proved",
        empty_list,
        (Mutant("candidates by union", partial(empty_list, union)),),
    ),
    Obligation(
        "voting.union-one-member",
        "candidates by union are harmless in a group of one: a counterexample needs two members",
        "proved",
        one_member,
    ),
)
"""What is proved of the vote."""
