"""The guard of joins: a list must have a name that every present member lists.

By induction over all that changes a group: with it the members always have a protocol in common, so that a
vote always has a candidate. Lists are sets here: the guard does not look at their order. The group is any
group, `lists` what its members list, and what those list that come.

Source: upstream ClassicGroup#supportsProtocols, #replaceStaticMember, #fromRecord in GroupMetadataManager;
the rules `voting.supports`, `join.inconsistent-protocol`, `loading.load` and those of a replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.vote.encoding import MEMBER, PROTOCOL, Rule, belongs, lists, some
from rota.proofs.vote.groups import (
    ALICE,
    BOB,
    CAROL,
    CAST,
    NOBODY,
    NOW,
    Course,
    VotingGroup,
    has_common,
    list_of,
    read_snapshot,
    smallest,
)
from rota.proofs.vote.small_groups import group_claim

ANNA = z3.Const("anna", MEMBER)
LEADER = z3.Const("leader", MEMBER)
X = z3.Const("x", PROTOCOL)
ELECTED = CAST.protocol("range")
"""The protocol of the generation that a fail-over finds in the log."""

brings = z3.Function("brings", PROTOCOL, z3.BoolSort())
"""The list with which a member changes its own."""
stays = z3.Function("stays", MEMBER, z3.BoolSort())

_m = z3.Const("m", MEMBER)
BOBS = list_of(BOB)
_LOADED = NOW.loaded(ELECTED)

Guard = Callable[[VotingGroup, Rule], Formula]


def by_all(group: VotingGroup, names: Rule) -> Formula:
    """The guard as it is."""
    return group.fits(names)


def by_leader(group: VotingGroup, names: Rule) -> Formula:
    """A bad guard: something in common with one member."""
    return some(lambda p: z3.And(names(p), group.inside(LEADER), group.listed(LEADER, p)))


def by_each(group: VotingGroup, names: Rule) -> Formula:
    """A bad guard: something in common with each member, not the same with all."""
    shares = some(lambda p: z3.And(names(p), group.listed(_m, p)))
    return z3.ForAll([_m], z3.Implies(group.inside(_m), shares))


def not_empty(group: VotingGroup, names: Rule) -> Formula:
    """No guard: any list but the empty one, as an Empty group has it."""
    return some(names)


def start(group: VotingGroup = NOBODY) -> Claim:
    """Nobody is there."""
    return group_claim({}, has_common(group))


def first(guard: Guard = not_empty) -> Claim:
    """bob joins an Empty group."""
    facts = {"nobody is there": z3.Not(z3.Exists([_m], belongs(_m))), "guard": guard(NOW, BOBS)}
    return group_claim(facts, has_common(NOW.with_list(BOB, BOBS)))


def join(guard: Guard = by_all) -> Claim:
    """bob joins."""
    return group_claim({"guard": guard(NOW, BOBS)}, has_common(NOW.with_list(BOB, BOBS)))


def update(guard: Guard = by_all) -> Claim:
    """alice changes her list."""
    return group_claim({"guard": guard(NOW, brings)}, has_common(NOW.with_list(ALICE, brings)))


def by_others(group: VotingGroup, names: Rule) -> Formula:
    """A guard that leaves alice's own earlier list out."""
    return group.without(ALICE).fits(names)


def leave(new: Rule = lambda m: z3.BoolVal(False)) -> Claim:
    """Any number of members go, and (in a mutant) others are let in unasked."""
    rest = VotingGroup(lambda m: z3.Or(new(m), z3.And(belongs(m), stays(m))), lists)
    return group_claim({"up to now": has_common(NOW)}, has_common(rest))


def rename() -> Claim:
    """A static member alice comes back as anna."""
    facts = {"alice is a member": belongs(ALICE), "anna is nobody's id": z3.Not(belongs(ANNA))}
    return group_claim(facts, NOW.renamed(ALICE, ANNA).common(X) == NOW.common(X))


def replace(guard: Guard = by_all) -> Claim:
    """She brings another list, which the guard has seen before the change of her id."""
    after = NOW.renamed(ALICE, ANNA).with_list(ANNA, brings)
    return group_claim({"guard": guard(NOW, brings)}, has_common(after))


def load(group: VotingGroup = _LOADED) -> Claim:
    """Another coordinator reads the group from the log."""
    return group_claim({"a member": belongs(ALICE)}, group.common(X) == (X == ELECTED))


def candidate(common: Formula | None = None) -> Claim:
    """What the vote has of the invariant. (An empty group has no vote.)"""
    wanted = z3.ForAll([_m], z3.Implies(belongs(_m), some(lambda p: lists(_m, p))))
    return group_claim({"up to now": has_common(NOW) if common is None else common}, wanted)


def newcomer_exact() -> Claim:
    """bob is let in exactly if he leaves the members something in common."""
    after = has_common(NOW.with_list(BOB, brings))
    return group_claim({"bob is new": z3.Not(belongs(BOB))}, NOW.fits(brings) == after)


def sole_member() -> Claim:
    """alice, alone, changes her list."""
    facts = {
        "alice is a member": belongs(ALICE),
        "nobody else": z3.ForAll([_m], z3.Implies(belongs(_m), _m == ALICE)),
    }
    shares = some(lambda p: z3.And(brings(p), lists(ALICE, p)))
    return group_claim(facts, NOW.fits(brings) == shares)


PROVED = (
    Obligation(
        "voting.guard.start",
        "an empty group has nothing that a member does not list",
        "proved",
        start,
        (Mutant("with members of any lists", partial(start, NOW)),),
    ),
    Obligation(
        "voting.guard.first",
        "whoever joins an Empty group with a list that is not empty has a protocol in common with itself",
        "proved",
        first,
    ),
    Obligation(
        "voting.guard.join",
        "a newcomer that lists something that every member lists leaves all a protocol in common",
        "proved",
        join,
        (
            Mutant("lists something of the leader", partial(join, by_leader)),
            Mutant("lists something of each", partial(join, by_each)),
            Mutant("lists something", partial(join, not_empty)),
        ),
    ),
    Obligation(
        "voting.guard.update",
        "a member that changes its list to one with something that every member lists, itself before "
        "included, leaves all a protocol in common",
        "proved",
        update,
        (
            Mutant("lists something of the leader", partial(update, by_leader)),
            Mutant("lists something of each", partial(update, by_each)),
            Mutant("lists something", partial(update, not_empty)),
        ),
    ),
    Obligation(
        "voting.guard.update-by-others",
        "a guard that leaves out the sender's own earlier list would do as well; so a list can be put back "
        "that shares something with all others",
        "proved",
        partial(update, by_others),
    ),
    Obligation(
        "voting.guard.leave",
        "members that go, one or many, leave the others what they have in common",
        "proved",
        leave,
        (Mutant("somebody comes unasked", partial(leave, lambda m: m == BOB)),),
    ),
    Obligation(
        "voting.guard.rename",
        "a static member that comes back under a new id changes nothing of what all list",
        "proved",
        rename,
    ),
    Obligation(
        "voting.guard.replace",
        "a new incarnation whose list the guard let pass leaves all a protocol in common",
        "proved",
        replace,
        (Mutant("lists something", partial(replace, not_empty)),),
    ),
    Obligation(
        "voting.guard.load",
        "after a fail-over the members have one protocol in common, the elected one, and no other",
        "proved",
        load,
        (Mutant("with their own lists", partial(load, NOW)),),
    ),
    Obligation(
        "voting.guard.newcomer-exact",
        "the guard lets a newcomer in exactly if all have a protocol in common afterwards",
        "proved",
        newcomer_exact,
    ),
    Obligation(
        "voting.guard.sole-member",
        "a sole member may change its list exactly if the new one shares something with the old one",
        "proved",
        sole_member,
    ),
    Obligation(
        "voting.guard.no-empty-list",
        "as long as the members have a protocol in common nobody's list is empty",
        "proved",
        candidate,
    ),
)


def _read(*snapshots: tuple[str, VotingGroup], conclusion: str) -> Callable[[Any], Course]:
    """The explanation of a model by these snapshots."""
    return lambda model: Course(tuple(read_snapshot(model, *snapshot) for snapshot in snapshots), conclusion)


def _refuted(
    name: str,
    statement: str,
    claim: tuple[dict[str, Formula], Formula],
    snapshots: Sequence[tuple[str, VotingGroup]],
    conclusion: str,
) -> Obligation:
    build = partial(smallest, *claim, [group for _, group in snapshots], [brings])
    return Obligation(name, statement, "refuted", build, explain=_read(*snapshots, conclusion=conclusion))


_BOB_IN = NOW.with_list(BOB, BOBS)
_CHANGED = NOW.with_list(ALICE, brings)
_CAROL_IN = NOW.with_list(CAROL, list_of(CAROL))
_CAROL_AND_BOB = _CAROL_IN.with_list(BOB, BOBS)
_CHANGED_AND_BOB = _CHANGED.with_list(BOB, BOBS)
_BACK = _CHANGED_AND_BOB.with_list(ALICE, list_of(ALICE))

_NEWS = {"bob is new": z3.Not(belongs(BOB)), "up to now": has_common(NOW)}
_ALICE_IN = {"alice is a member": belongs(ALICE)}
_STUCK = "the members have nothing in common: a vote has no candidate"

REFUTED = (
    _refuted(
        "voting.guard.none",
        "without the guard, if only no list is empty, all have a protocol in common after a join",
        (_NEWS | {"a list": not_empty(NOW, BOBS)}, has_common(_BOB_IN)),
        [("before", NOW), ("bob joins", _BOB_IN)],
        _STUCK,
    ),
    _refuted(
        "voting.guard.none-for-members",
        "without the guard for members, if only no list is empty, all have a name in common after a change",
        (_ALICE_IN | {"up to now": has_common(NOW), "a list": some(brings)}, has_common(_CHANGED)),
        [("before", NOW), ("alice changes her list", _CHANGED)],
        _STUCK,
    ),
    _refuted(
        "voting.guard.each",
        "it is enough for a newcomer to have something in common with each member",
        (_NEWS | {"a list": not_empty(NOW, BOBS), "guard": by_each(NOW, BOBS)}, has_common(_BOB_IN)),
        [("before", NOW), ("bob joins", _BOB_IN)],
        _STUCK,
    ),
    _refuted(
        "voting.guard.at-first-request",
        "it is enough to check a list when a member id is asked for, not again when the id is used",
        (
            _NEWS
            | {
                "carol is new": z3.Not(belongs(CAROL)),
                "bob's guard": z3.And(some(BOBS), NOW.fits(BOBS)),
                "carol's guard": NOW.fits(list_of(CAROL)),
            },
            has_common(_CAROL_AND_BOB),
        ),
        [
            ("bob asks for an id, his list fits", NOW),
            ("carol joins", _CAROL_IN),
            ("bob joins with his id", _CAROL_AND_BOB),
        ],
        _STUCK,
    ),
    _refuted(
        "voting.guard.put-back",
        "a replaced member's old list can be put back when the log fails, whoever joined meanwhile",
        (
            _NEWS | _ALICE_IN | {"alice's guard": NOW.fits(brings), "bob's guard": _CHANGED.fits(BOBS)},
            has_common(_BACK),
        ),
        [
            ("before", NOW),
            ("alice is replaced, with another list", _CHANGED),
            ("bob joins", _CHANGED_AND_BOB),
            ("the log has failed, alice's old list is put back", _BACK),
        ],
        _STUCK,
    ),
    _refuted(
        "voting.guard.member-exact",
        "the guard refuses a member only what would leave the members nothing in common",
        (_ALICE_IN | {"up to now": has_common(NOW), "and then": has_common(_CHANGED)}, NOW.fits(brings)),
        [("before", NOW), ("alice would change her list", _CHANGED)],
        "she is refused, since her own earlier list counts, although nothing would break",
    ),
    _refuted(
        "voting.guard.same-after-fail-over",
        "whoever fits before a fail-over fits after it",
        (
            _NEWS | _ALICE_IN | {"elected": NOW.common(ELECTED), "bob's guard": NOW.fits(BOBS)},
            _LOADED.fits(BOBS),
        ),
        [("before", NOW), ("after a fail-over", _LOADED), ("bob would join", _LOADED.with_list(BOB, BOBS))],
        "he is refused, since only the elected protocol is left of the lists",
    ),
)

GUARD = PROVED + REFUTED
"""What is proved of the guard, and what is refuted without it."""
