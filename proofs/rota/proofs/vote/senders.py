"""What the counters take for granted, in small groups with names: without it they stop to mean the sets.

A counter per protocol goes up by one for each *entry* of a list that is added, and down for each of one that
is taken off, as brokers keep it. Nothing in a JoinGroup keeps its sender from naming a protocol twice; the
other conditions are the coordinator's own to keep. Before the step the counters are right.

Source: upstream ClassicGroup#incrementSupportedProtocols, #decrementSupportedProtocols, #updateMember;
GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin for a member that has gone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula, Obligation
from rota.proofs.vote.encoding import MEMBER, PROTOCOL, Rule, belongs, entries, repeats, some
from rota.proofs.vote.groups import (
    ALICE,
    BOB,
    CAST,
    NOW,
    Course,
    VotingGroup,
    has_common,
    list_of,
    read_names,
    read_snapshot,
    smallest,
)

taken = z3.Function("taken", PROTOCOL, z3.IntSort())
"""Entries of a list that is taken off in the place of another."""
of_consumers = z3.Function("of_consumers", MEMBER, z3.BoolSort())
"""Whether a member is a consumer; else its protocols are of another type, whatever their names."""

_m, _p = z3.Const("m", MEMBER), z3.Const("p", PROTOCOL)


def right(group: VotingGroup) -> Rule:
    """As many as there are members that list the protocol."""
    members = [CAST.member(name) for name in CAST.members]
    return lambda p: z3.Sum([z3.If(z3.And(group.inside(m), group.listed(m, p)), 1, 0) for m in members])


def size(group: VotingGroup) -> Formula:
    """How many members there are."""
    return z3.Sum([z3.If(group.inside(CAST.member(name)), 1, 0) for name in CAST.members])


@dataclass(frozen=True)
class Keeping:
    """A step and what becomes of the counters.

    Parameters: what happens; group after it; counter after it; assumed, what else is so; ending, the end of
    the story; common, what the members have in common, if not what all list; means, how that and what the
    counters say are to go together.
    """

    what: str
    group: VotingGroup
    counter: Rule
    assumed: dict[str, Formula]
    ending: str
    common: Rule | None = None
    means: Callable[[Formula, Formula], Formula] = operator.eq

    def claim(self) -> Claim:
        """Afterwards a counter equals the number of members exactly if all list the protocol."""
        common = self.common or self.group.common
        means = self.means(common(_p), self.counter(_p) == size(self.group))
        somebody = z3.Exists([_m], self.group.inside(_m))
        common_names = z3.And(has_common(NOW), has_common(self.group))
        facts = {"lists": repeats(), "somebody": somebody, "in common": common_names} | self.assumed
        brought = [names_taken, list_of(ALICE)]
        return smallest(facts, z3.ForAll([_p], means), [NOW, self.group], brought, entries)

    def read(self, model: Any) -> Course:
        """The step in a model, with the counters before and after."""
        before, after = (
            read_snapshot(
                model, what, group, {p: CAST.ground(count(CAST.protocol(p))) for p in CAST.protocols}, entries
            )
            for what, group, count in (("before", NOW, right(NOW)), (self.what, self.group, self.counter))
        )
        lists = {"off": read_names(model, names_taken), "on": read_names(model, list_of(ALICE))}
        return Course((before, replace(after, what=after.what.format_map(lists))), self.ending)


def names_taken(protocol: Formula) -> Formula:
    """Whether the list that is taken off names the protocol."""
    return taken(protocol) >= 1


def a_list() -> Formula:
    """The list that is taken off names something, and nothing twice."""
    each = z3.ForAll([_p], z3.And(taken(_p) >= 0, taken(_p) <= 1))
    return z3.And(each, some(names_taken))


def once() -> Formula:
    """No list names a protocol twice."""
    return z3.ForAll([_m, _p], entries(_m, _p) <= 1)


_BOB_IN = NOW.with_list(BOB, list_of(BOB))
_BOB_NEW = {"bob is new": z3.Not(belongs(BOB))}

NAMED_TWICE = Keeping(
    "bob joins",
    _BOB_IN,
    lambda p: right(NOW)(p) + entries(BOB, p),
    _BOB_NEW,
    "what every member lists is no candidate, since one list names it twice: nobody can vote or join",
    means=z3.Implies,
)
OTHER_LIST = Keeping(
    "alice leaves, and {off} is taken off",
    NOW.without(ALICE),
    lambda p: right(NOW)(p) - taken(p),
    {
        "alice is a member": belongs(ALICE),
        "once": once(),
        "a list": a_list(),
    },
    "what was added for her still counts, and what others list no longer does",
)
A_STRANGER = Keeping(
    "the log has failed for alice, who has gone meanwhile: {on} counts for her again, {off} no more",
    NOW,
    lambda p: right(NOW)(p) - taken(p) + entries(ALICE, p),
    {
        "alice has gone": z3.Not(belongs(ALICE)),
        "once": once(),
        "an old list": some(list_of(ALICE)),
        "a new list": a_list(),
    },
    "a list counts that nobody has",
)
TWICE_ADDED = Keeping(
    "alice is added once more",
    NOW.with_list(ALICE, list_of(ALICE)),
    lambda p: right(NOW)(p) + entries(ALICE, p),
    {"alice is a member": belongs(ALICE), "once": once()},
    "one member counts for two",
)


def _typed(protocol: Formula) -> Formula:
    """Every member lists the protocol of consumers."""
    all_consumers = z3.ForAll([_m], z3.Implies(_BOB_IN.inside(_m), of_consumers(_m)))
    return z3.And(_BOB_IN.common(protocol), all_consumers)


OTHER_TYPE = Keeping(
    "bob, no consumer, joins with protocols of the same names",
    _BOB_IN,
    lambda p: right(NOW)(p) + entries(BOB, p),
    _BOB_NEW
    | {
        "once": once(),
        "consumers": z3.ForAll([_m], z3.Implies(belongs(_m), of_consumers(_m))),
        "alice is a member": belongs(ALICE),
        "bob is no consumer": z3.Not(of_consumers(BOB)),
    },
    "a name is a candidate that means something else to bob",
    _typed,
)


def names_kept() -> Claim:
    """alice, alone, changes her list; the broker keeps the counter of what she no longer lists, at zero."""
    after = NOW.with_list(ALICE, names_taken)
    facts = {
        "alice is a member": belongs(ALICE),
        "once": once(),
        "lists": repeats(),
        "guard": NOW.fits(names_taken),
    }
    counted = z3.Or(z3.Exists([_m], z3.And(belongs(_m), NOW.listed(_m, _p))), names_taken(_p))
    listed = z3.Exists([_m], z3.And(after.inside(_m), after.listed(_m, _p)))
    return smallest(facts, z3.ForAll([_p], counted == listed), [NOW, after])


def _read_names(model: Any) -> Course:
    after = NOW.with_list(ALICE, names_taken)
    snapshots = read_snapshot(model, "before", NOW), read_snapshot(model, "alice changes her list", after)
    return Course(snapshots, "a counter of zero is kept for a name that nobody lists any more")


def _refuted(name: str, statement: str, keeping: Keeping) -> Obligation:
    return Obligation(name, statement, "refuted", keeping.claim, explain=keeping.read)


SENDERS = (
    _refuted(
        "voting.senders.named-twice",
        "counting entries, what every member lists is a candidate, even if a list names it twice",
        NAMED_TWICE,
    ),
    _refuted(
        "voting.senders.other-list",
        "the counters stay right whatever list is taken off when a member goes",
        OTHER_LIST,
    ),
    _refuted(
        "voting.senders.no-member",
        "the counters stay right when the list of somebody changes that is no member any more",
        A_STRANGER,
    ),
    _refuted(
        "voting.senders.added-twice",
        "the counters stay right when a member is added that is there",
        TWICE_ADDED,
    ),
    _refuted(
        "voting.senders.other-type",
        "counters by name mean the same whatever types the members' protocols are of",
        OTHER_TYPE,
    ),
    Obligation(
        "voting.senders.names-kept",
        "with a counter kept at zero for what is no longer listed, only what somebody lists has a counter",
        "refuted",
        names_kept,
        explain=_read_names,
    ),
)
"""What is refuted of the counters where an assumption does not hold."""
