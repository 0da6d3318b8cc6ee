"""The counters that implementations keep: how many members there are, and how many list each protocol.

An implementation does not intersect lists at every vote; it keeps a counter per protocol and takes for a
candidate what as many members list as there are. Proved by induction over adding, removing and updating
members: the counters are the sizes of the sets, and equal sizes mean that everybody lists the protocol.
The protocol is arbitrary and fixed, so `fans` (the members anywhere that list it) is one set.

Beside the axioms of `rota.proofs.vote.encoding` nothing is assumed of senders where a member counts once for
a protocol, however often its list names it. Where every *entry* counts, as brokers keep it, no list may name
a protocol twice, and the list that is taken off must be the one that was added; `rota.proofs.vote.senders`
shows what happens without. Source: upstream ClassicGroup#incrementSupportedProtocols,
#decrementSupportedProtocols, #candidateProtocols.
"""

from __future__ import annotations

from functools import partial

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.vote.encoding import MEMBER, MEMBERS, card, insertion, subset_counts
from rota.proofs.vote.small_groups import group_claim

ALICE = z3.Const("alice", MEMBER)
GROUP, FANS = z3.Const("group", MEMBERS), z3.Const("fans", MEMBERS)
SIZE, COUNTER = z3.Int("size"), z3.Int("counter")
LISTS_IT = z3.Bool("lists_it")
"""Whether the list that alice comes with names the protocol."""
ENTRIES, HELD, TAKEN = z3.Int("entries"), z3.Int("held"), z3.Int("taken")
"""How often the list that alice comes with names the protocol, the one that she has, the one taken off."""


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


def _is_list(entries: Formula, names_it: Formula) -> Formula:
    """A list that names the protocol so often."""
    return z3.And(entries >= 0, (entries >= 1) == names_it)


def add_entries() -> Claim:
    """alice joins, every entry counts."""
    grown, fans = z3.SetAdd(GROUP, ALICE), _listing(FANS)
    facts = add().assumptions | {
        "the list": _is_list(ENTRIES, LISTS_IT),
        "no name twice": ENTRIES <= 1,
    }
    return group_claim(facts, counters_mean(SIZE + 1, COUNTER + ENTRIES, grown, fans))


def _held() -> dict[str, Formula]:
    """The list that alice has, and the one that is taken off."""
    return {
        "the list": _is_list(HELD, z3.IsMember(ALICE, FANS)),
        "no name twice": HELD <= 1,
        "what is taken off was added": TAKEN == HELD,
    }


def remove_entries() -> Claim:
    """alice leaves, every entry counts."""
    rest = z3.SetDel(GROUP, ALICE)
    facts = remove().assumptions | _held()
    return group_claim(facts, counters_mean(SIZE - 1, COUNTER - TAKEN, rest, FANS))


def update_entries() -> Claim:
    """alice brings another list, every entry counts."""
    facts = update().assumptions | _held()
    facts |= {"the new list": _is_list(ENTRIES, LISTS_IT), "no name twice in the new": ENTRIES <= 1}
    return group_claim(facts, counters_mean(SIZE, COUNTER - TAKEN + ENTRIES, GROUP, _listing(FANS)))


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


OF_TYPE = z3.Const("of_type", MEMBERS)


def one_type() -> Claim:
    """From counters to sets where a protocol is a name together with a type."""
    supporters = z3.SetIntersect(GROUP, FANS)
    return group_claim(
        {
            "counters": _before(),
            "subset": subset_counts(supporters, GROUP),
            "one type": z3.IsSubset(GROUP, OF_TYPE),
        },
        (COUNTER == SIZE) == z3.IsSubset(GROUP, z3.SetIntersect(FANS, OF_TYPE)),
    )


VOTERS = z3.Const("voters", MEMBERS)


def count_votes(per_vote: int = 1) -> Claim:
    """alice is next in the tally; `group` are those before her, `voters` all that vote for the protocol."""
    counted = z3.SetIntersect(GROUP, VOTERS)
    grown = z3.SetIntersect(z3.SetAdd(GROUP, ALICE), VOTERS)
    return group_claim(
        {
            "up to now": card(counted) == COUNTER,
            "alice is new": z3.Not(z3.IsMember(ALICE, GROUP)),
            "insert into those who vote for it": insertion(counted, ALICE),
        },
        COUNTER + per_vote * _one_if(z3.IsMember(ALICE, VOTERS)) == card(grown),
    )


def zero(least: int = 1) -> Claim:
    """What the counter says of a protocol that somebody lists, or nobody."""
    nobody, supporters = z3.EmptySet(MEMBER), z3.SetIntersect(GROUP, FANS)
    return group_claim(
        {
            "counters": _before(),
            "empty": card(nobody) == 0,
            "subset": subset_counts(nobody, supporters),
        },
        (least <= COUNTER) == (supporters != nobody),
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
    Obligation(
        "voting.counters.one-type",
        "counters by name mean protocols of the group's type, if the group has members of one type only",
        "proved",
        one_type,
    ),
    Obligation(
        "voting.counters.zero",
        "a counter is above zero exactly if somebody lists the protocol: what drops to zero can be forgotten",
        "proved",
        zero,
        (Mutant("above one", partial(zero, 2)),),
    ),
    Obligation(
        "voting.counters.votes",
        "a protocol's votes, one more for each member that votes for it, are as many as these members",
        "proved",
        count_votes,
        (Mutant("counts twice", partial(count_votes, 2)),),
    ),
    Obligation(
        "voting.counters.entries.add",
        "counting every entry of a list that is added is right, if it names no protocol twice",
        "proved",
        add_entries,
    ),
    Obligation(
        "voting.counters.entries.remove",
        "counting off every entry is right, if the list is the one that was added and names nothing twice",
        "proved",
        remove_entries,
    ),
    Obligation(
        "voting.counters.entries.update",
        "counting off the old entries and on the new ones is right, if neither list names anything twice",
        "proved",
        update_entries,
    ),
)
"""What is proved of the counters."""
