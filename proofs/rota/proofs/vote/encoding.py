"""Members, protocols, lists, votes and counts as Z3 terms.

Members and protocols are uninterpreted sorts, so that nothing depends on how many there are. A member's
list is two relations: `lists(m, p)`, p is on m's list, and `rank(m, p)`, the index of p's first
occurrence there. A list may be empty, and it may name a protocol twice: `entries(m, p)` says how often.

**Counting is not first order.** Counts are tied to sets by induction, whose axioms are these; all other
facts about counts are obligations of their own, each split into a base and a step:

- *finite*: a group is built from the empty one by adding members one at a time, a set of protocols from
  one protocol by adding others. What holds at the base and is kept by every addition holds for all. (This
  is the induction principle; it is used when a base and a step together stand as an assumption elsewhere.)
- *tally*: nobody has voted in an empty group; adding a member adds 1 to what it votes for.
- *empty*: the empty set has no elements: `card({}) = 0`.
- *insert*: adding what is not in a set makes it larger by one: `card(s + {m}) = card(s) + 1` for m not in s.
- *ranks*: an index is not negative, and two protocols on one list have different first occurrences.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from rota.proofs.obligations import Formula

Rule = Callable[[Formula], Formula]
"""From a protocol (or member) to a term about it."""

MEMBER = z3.DeclareSort("Member")
PROTOCOL = z3.DeclareSort("Protocol")
MEMBERS = z3.SetSort(MEMBER)

belongs = z3.Function("belongs", MEMBER, z3.BoolSort())
lists = z3.Function("lists", MEMBER, PROTOCOL, z3.BoolSort())
rank = z3.Function("rank", MEMBER, PROTOCOL, z3.IntSort())
entries = z3.Function("entries", MEMBER, PROTOCOL, z3.IntSort())
casts = z3.Function("casts", MEMBER, PROTOCOL, z3.BoolSort())
votes = z3.Function("votes", PROTOCOL, z3.IntSort())
card = z3.Function("card", MEMBERS, z3.IntSort())

_m, _n = z3.Const("m", MEMBER), z3.Const("n", MEMBER)
_p, _q = z3.Const("p", PROTOCOL), z3.Const("q", PROTOCOL)


def intersection(protocol: Formula) -> Formula:
    """A candidate is what every member lists."""
    return z3.ForAll([_n], z3.Implies(belongs(_n), lists(_n, protocol)))


def union(protocol: Formula) -> Formula:
    """The bad variant: a candidate is what any member lists."""
    return z3.Exists([_n], z3.And(belongs(_n), lists(_n, protocol)))


def some(rule: Rule) -> Formula:
    """The rule holds for at least one protocol."""
    return z3.Exists([_p], rule(_p))


def first(member: Formula, protocol: Formula, candidate: Rule, strictly: bool = False) -> Formula:
    """The protocol is the first candidate on the member's list. strictly: no other has its rank."""
    this, other = rank(member, protocol), rank(member, _q)
    earlier = z3.Or(_q == protocol, this < other) if strictly else this <= other
    rivals = z3.Implies(z3.And(candidate(_q), lists(member, _q)), earlier)
    return z3.And(candidate(protocol), lists(member, protocol), z3.ForAll([_q], rivals))


def ranks_not_negative() -> Formula:
    """Indexes are not negative."""
    return z3.ForAll([_m, _p], rank(_m, _p) >= 0)


def ranks_differ() -> Formula:
    """Two protocols on one list have different first occurrences."""
    both = z3.And(lists(_m, _p), lists(_m, _q), rank(_m, _p) == rank(_m, _q))
    return z3.ForAll([_m, _p, _q], z3.Implies(both, _p == _q))


def repeats() -> Formula:
    """Lists name a protocol as often as `entries` says."""
    listed = lists(_m, _p) == (entries(_m, _p) >= 1)
    return z3.ForAll([_m, _p], z3.And(entries(_m, _p) >= 0, listed))


def ballots(candidate: Rule) -> Formula:
    """Each member casts its vote for the first candidate on its list, and for nothing else."""
    choice = casts(_m, _p) == first(_m, _p, candidate)
    return z3.ForAll([_m, _p], z3.Implies(belongs(_m), choice))


def tally_means(inside: Rule, count: Rule) -> Formula:
    """A protocol has votes exactly if some member in the set votes for it; no count is negative."""
    voter = z3.Exists([_m], z3.And(inside(_m), casts(_m, _p)))
    return z3.ForAll([_p], z3.And(count(_p) >= 0, (count(_p) >= 1) == voter))


def wins(protocol: Formula) -> Formula:
    """The protocol got votes, and none got more: what an implementation reads from its tally."""
    return z3.And(votes(protocol) >= 1, z3.ForAll([_q], votes(_q) <= votes(protocol)))


def most_voted(protocol: Formula, candidate: Rule) -> Formula:
    """The same in the words of the protocol: a candidate such that no candidate got more votes."""
    rivals = z3.Implies(candidate(_q), votes(_q) <= votes(protocol))
    return z3.And(candidate(protocol), z3.ForAll([_q], rivals))


def maximum(inside: Rule, value: Rule, strictly: bool = False) -> Formula:
    """Some protocol in the set has the greatest value of all in it. strictly: (for a mutant) it alone."""
    below = z3.Or(_q == _p, value(_q) < value(_p)) if strictly else value(_q) <= value(_p)
    return z3.Exists([_p], z3.And(inside(_p), z3.ForAll([_q], z3.Implies(inside(_q), below))))


def insertion(group: Formula, member: Formula) -> Formula:
    """The axiom *insert* for one set and one member."""
    grown = card(z3.SetAdd(group, member)) == card(group) + 1
    return z3.Implies(z3.Not(z3.IsMember(member, group)), grown)


def subset_counts(part: Formula, whole: Formula) -> Formula:
    """A subset is not larger than the whole, and as large only if it is the whole (finite sets)."""
    sizes = z3.And(card(part) <= card(whole), z3.Implies(card(part) == card(whole), part == whole))
    return z3.Implies(z3.IsSubset(part, whole), sizes)
