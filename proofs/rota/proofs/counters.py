"""The counters that implementations keep: how many members there are, and how many list each protocol.

An implementation does not intersect lists at every vote; it keeps a counter per protocol and takes for a
candidate what as many members list as there are. Proved by induction over adding, removing and updating
members: the counters are the sizes of the sets, and equal sizes mean that everybody lists the protocol.
The protocol is arbitrary and fixed, so `fans` (the members anywhere that list it) is one set.
Assumed, beside the axioms of `rota.proofs.encoding`: a member counts once for a protocol, however often
its list names it.
"""

from __future__ import annotations

from functools import partial

import z3

from rota.proofs.encoding import MEMBER, MEMBERS, card, insertion, subset_counts
from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.world import group_claim

ALICE = z3.Const("alice", MEMBER)
GROUP, FANS = z3.Const("group", MEMBERS), z3.Const("fans", MEMBERS)
SIZE, COUNTER = z3.Int("size"), z3.Int("counter")
LISTS_IT = z3.Bool("lists_it")
"""Whether the list that alice comes with names the protocol."""


def counters_mean(size: Formula, counter: Formula, group: Formula, fans: Formula) -> Formula:
    """size counts the group, counter those in it that list the protocol."""
    return z3.And(size == card(group), counter == card(z3.SetIntersect(group, fans)))


def _before() -> Formula:
    return counters_mean(SIZE, COUNTER, GROUP, FANS)


def _one_if(condition: Formula) -> Formula:
    return z3.If(condition, 1, 0)


def _listing(fans: Formula) -> Formula:
    """The same lists, but alice's new one."""
    return z3.Store(fans, ALICE, LISTS_IT)


def start(at: int = 0) -> Claim:
    """The empty group, both counters zero."""
    nobody = z3.EmptySet(MEMBER)
    return group_claim({"empty": card(nobody) == 0}, counters_mean(z3.IntVal(0), z3.IntVal(at), nobody, FANS))


def add(per_protocol: int = 1) -> Claim:
    """alice joins with a list."""
    grown, fans = z3.SetAdd(GROUP, ALICE), _listing(FANS)
    after = counters_mean(SIZE + 1, COUNTER + per_protocol * _one_if(LISTS_IT), grown, fans)
    return group_claim(
        {
            "up to now": _before(),
            "alice is new": z3.Not(z3.IsMember(ALICE, GROUP)),
            "insert into the group": insertion(GROUP, ALICE),
            "insert into those who list it": insertion(z3.SetIntersect(GROUP, FANS), ALICE),
        },
        after,
    )


def remove(per_protocol: int = 1) -> Claim:
    """alice leaves."""
    rest = z3.SetDel(GROUP, ALICE)
    off = per_protocol * _one_if(z3.IsMember(ALICE, FANS))
    return group_claim(
        {
            "up to now": _before(),
            "alice is a member": z3.IsMember(ALICE, GROUP),
            "insert into the group": insertion(rest, ALICE),
            "insert into those who list it": insertion(z3.SetIntersect(rest, FANS), ALICE),
        },
        counters_mean(SIZE - 1, COUNTER - off, rest, FANS),
    )


def update(forgets_old: bool = False) -> Claim:
    """alice, a member, brings another list."""
    others = z3.SetIntersect(z3.SetDel(GROUP, ALICE), FANS)
    old = z3.IntVal(0) if forgets_old else _one_if(z3.IsMember(ALICE, FANS))
    after = counters_mean(SIZE, COUNTER - old + _one_if(LISTS_IT), GROUP, _listing(FANS))
    return group_claim(
        {
            "up to now": _before(),
            "alice is a member": z3.IsMember(ALICE, GROUP),
            "insert into the others who list it": insertion(others, ALICE),
        },
        after,
    )


PART, WHOLE = z3.Const("part", MEMBERS), z3.Const("whole", MEMBERS)


def subset_base(whole_has: tuple[Formula, ...] = ()) -> Claim:
    """Subsets of the empty set."""
    whole = z3.EmptySet(MEMBER)
    for member in whole_has:
        whole = z3.SetAdd(whole, member)
    return group_claim({}, subset_counts(PART, whole))


def subset_step() -> Claim:
    """Subsets of a set with one member more, by what holds for the subset without her."""
    rest = z3.SetDel(PART, ALICE)
    return group_claim(
        {
            "up to now": subset_counts(rest, WHOLE),
            "alice is new": z3.Not(z3.IsMember(ALICE, WHOLE)),
            "insert into the whole": insertion(WHOLE, ALICE),
            "insert into the subset": insertion(rest, ALICE),
        },
        subset_counts(PART, z3.SetAdd(WHOLE, ALICE)),
    )


def meaning(slack: int = 0) -> Claim:
    """From counters to sets."""
    supporters = z3.SetIntersect(GROUP, FANS)
    return group_claim(
        {"counters": _before(), "subset": subset_counts(supporters, GROUP)},
        (COUNTER + slack >= SIZE) == z3.IsSubset(GROUP, FANS),
    )


COUNTERS = (
    Obligation(
        "voting.counters.start",
        "in an empty group counters of zero are right",
        "proved",
        start,
        (Mutant("starts at one", partial(start, 1)),),
    ),
    Obligation(
        "voting.counters.add",
        "adding a member and one for each protocol on its list keeps the counters right",
        "proved",
        add,
        (Mutant("counts twice", partial(add, 2)), Mutant("does not count", partial(add, 0))),
    ),
    Obligation(
        "voting.counters.remove",
        "removing a member and one for each protocol on its list keeps the counters right",
        "proved",
        remove,
        (Mutant("does not count", partial(remove, 0)),),
    ),
    Obligation(
        "voting.counters.update",
        "taking one off for each protocol of the old list and one on for each of the new keeps them right",
        "proved",
        update,
        (Mutant("keeps the old list", partial(update, True)),),
    ),
    Obligation(
        "voting.counters.subset.base",
        "a subset of the empty set is not larger, and as large only if it is the same",
        "proved",
        subset_base,
        (Mutant("of a set of one", partial(subset_base, (ALICE,))),),
    ),
    Obligation(
        "voting.counters.subset.step",
        "adding a member keeps this: no subset is larger than the whole, and as large only if it is the same",
        "proved",
        subset_step,
    ),
    Obligation(
        "voting.counters.meaning",
        "the counter of a protocol equals the number of members exactly if every member lists it",
        "proved",
        meaning,
        (Mutant("one short is enough", partial(meaning, 1)),),
    ),
)
"""What is proved of the counters."""
