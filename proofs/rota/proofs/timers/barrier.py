"""The barrier of the join phase: it closes when everybody has joined and no id is pending, or by time.

Implementations count: members, and members whose JoinGroup is parked. Proved by induction over what changes
them: the counters are the sizes of the sets, for any number of members, and the test of the counters means
the sets. When time is up, members are gone through one by one; who has not joined and is not static goes.
The initial join phase (`rota.proofs.timers.initial`) does not look at the barrier. Counting as in
`rota.proofs.vote.encoding`: the axioms *empty* and *insert*.
Source: upstream ClassicGroup#hasAllMembersJoined, #updateMember, #completeJoinFuture,
GroupMetadataManager#completeClassicGroupJoin; the rules `join.barrier`, `join.complete-phase`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.story import Story, story
from rota.proofs.vote.encoding import MEMBER, MEMBERS, card, insertion, subset_counts
from rota.proofs.vote.small_groups import World, group_claim

ALICE = z3.Const("alice", MEMBER)
GROUP, PARKED = z3.Const("group", MEMBERS), z3.Const("parked", MEMBERS)
PENDING, STATIC = z3.Const("pending", MEMBERS), z3.Const("static", MEMBERS)
SIZE, WAITING = z3.Int("size"), z3.Int("waiting")
NOBODY = z3.EmptySet(MEMBER)


def counters_mean(size: Formula, waiting: Formula, group: Formula, parked: Formula) -> Formula:
    """size counts the members, waiting those of them whose JoinGroup is parked."""
    return z3.And(size == card(group), waiting == card(z3.SetIntersect(group, parked)))


def shut(group: Formula, parked: Formula, pending: Formula) -> Formula:
    """Somebody has not joined, or an id that was handed out has not been used."""
    return z3.Not(z3.And(z3.IsSubset(group, parked), pending == NOBODY))


def counted(size: Formula, waiting: Formula, pending: Formula) -> Formula:
    """What implementations test: the barrier is open."""
    return z3.And(size == waiting, pending == NOBODY)


def remaining(group: Formula, parked: Formula, static: Formula) -> Formula:
    """Who is in the generation when time is up: who has joined, and static members."""
    return z3.SetIntersect(group, z3.SetUnion(parked, static))


def _one_if(condition: Formula) -> Formula:
    return z3.If(condition, 1, 0)


def _before() -> dict[str, Formula]:
    return {"up to now": counters_mean(SIZE, WAITING, GROUP, PARKED)}


def start(at: int = 0) -> Claim:
    """Nobody is there."""
    zero = {"empty": card(NOBODY) == 0}
    return group_claim(zero, counters_mean(z3.IntVal(0), z3.IntVal(at), NOBODY, PARKED))


def add(waiting: int = 1) -> Claim:
    """alice is admitted and her JoinGroup parked."""
    after = counters_mean(SIZE + 1, WAITING + waiting, z3.SetAdd(GROUP, ALICE), z3.SetAdd(PARKED, ALICE))
    facts = _before() | {
        "alice is new": z3.Not(z3.IsMember(ALICE, GROUP)),
        "insert into the group": insertion(GROUP, ALICE),
        "insert into those who wait": insertion(z3.SetIntersect(GROUP, PARKED), ALICE),
    }
    return group_claim(facts, after)


def rejoin(retries_count: bool = False) -> Claim:
    """alice, a member, sends JoinGroup, perhaps once more. retries_count: (for a mutant) each time."""
    more = z3.IntVal(1) if retries_count else _one_if(z3.Not(z3.IsMember(ALICE, PARKED)))
    after = counters_mean(SIZE, WAITING + more, GROUP, z3.SetAdd(PARKED, ALICE))
    facts = _before() | {
        "alice is a member": z3.IsMember(ALICE, GROUP),
        "insert into those who wait": insertion(z3.SetIntersect(GROUP, PARKED), ALICE),
    }
    return group_claim(facts, after)


def remove(forgets_parked: bool = False) -> Claim:
    """alice goes: by LeaveGroup, with her session, or because time is up."""
    rest, parked = z3.SetDel(GROUP, ALICE), z3.SetDel(PARKED, ALICE)
    fewer = z3.IntVal(0) if forgets_parked else _one_if(z3.IsMember(ALICE, PARKED))
    facts = _before() | {
        "alice is a member": z3.IsMember(ALICE, GROUP),
        "insert into the group": insertion(rest, ALICE),
        "insert into those who wait": insertion(z3.SetIntersect(rest, PARKED), ALICE),
    }
    return group_claim(facts, counters_mean(SIZE - 1, WAITING - fewer, rest, parked))


def answered(waiting: int = 0) -> Claim:
    """The phase has ended: all parked JoinGroups are answered."""
    facts = _before() | {"empty": card(NOBODY) == 0}
    return group_claim(facts, counters_mean(SIZE, z3.IntVal(waiting), GROUP, NOBODY))


TIME_UP = z3.Bool("time_is_up")


def closes(slack: int = 0, by_time: bool = True, ids_count: bool = True) -> Claim:
    """When the barrier is looked at: the phase ends if the counters are equal and no id is pending.

    For mutants: slack, so many may be missing; by_time, time ends the phase; ids_count, pending ids do.
    """
    pending = PENDING if ids_count else NOBODY
    ends = z3.Or(z3.And(by_time, TIME_UP), counted(SIZE, WAITING + slack, pending))
    facts = {"counters": counters_mean(SIZE, WAITING, GROUP, PARKED)}
    lemma = {"subset": subset_counts(z3.SetIntersect(GROUP, PARKED), GROUP)}
    return group_claim(facts, ends == z3.Or(TIME_UP, z3.Not(shut(GROUP, PARKED, PENDING))), lemma)


def handed_out(kept: bool = True) -> Claim:
    """alice was sent away with an id. kept: (False for a mutant) it is remembered."""
    pending = z3.SetAdd(PENDING, ALICE) if kept else PENDING
    return group_claim({}, shut(GROUP, PARKED, pending))


DONE, LEFT = z3.Const("gone_through", MEMBERS), z3.Const("left_over", MEMBERS)


def _gone_through(done: Formula, left: Formula) -> Formula:
    """Who is still there: who stays, and who has not been looked at."""
    kept = remaining(GROUP, PARKED, STATIC)
    return left == z3.SetUnion(kept, z3.SetDifference(GROUP, done))


def time_up_base(done: Formula = NOBODY) -> Claim:
    """Nobody has been looked at, and all are there."""
    return group_claim({}, _gone_through(done, GROUP))


def time_up_step(spares_static: bool = True, spares_joined: bool = True) -> Claim:
    """alice is looked at."""
    stays = z3.Or(
        z3.And(spares_joined, z3.IsMember(ALICE, PARKED)), z3.And(spares_static, z3.IsMember(ALICE, STATIC))
    )
    after = z3.If(stays, LEFT, z3.SetDel(LEFT, ALICE))
    facts = {"up to now": _gone_through(DONE, LEFT)}
    return group_claim(facts, _gone_through(z3.SetAdd(DONE, ALICE), after))


def time_up(static_stay: bool = True) -> Claim:
    """Everybody has been looked at."""
    kept = z3.Or(z3.IsMember(ALICE, PARKED), z3.And(static_stay, z3.IsMember(ALICE, STATIC)))
    facts = {"all": z3.IsSubset(GROUP, DONE), "the last": _gone_through(DONE, LEFT)}
    return group_claim(facts, z3.IsMember(ALICE, LEFT) == z3.And(z3.IsMember(ALICE, GROUP), kept))


def nobody_lost() -> Claim:
    """Where all have joined nobody is taken out."""
    facts = {"all have joined": z3.IsSubset(GROUP, PARKED)}
    return group_claim(facts, remaining(GROUP, PARKED, STATIC) == GROUP)


def begins(least: int = 1) -> Claim:
    """Whether there is a generation: the counter of those who wait is not zero."""
    joined = z3.SetIntersect(GROUP, PARKED)
    facts = {"counters": counters_mean(SIZE, WAITING, GROUP, PARKED), "empty": card(NOBODY) == 0}
    lemma = {"subset": subset_counts(NOBODY, joined)}
    return group_claim(facts, (least <= WAITING) == (joined != NOBODY), lemma)


PAIR = World(("alice", "bob"), ("range",))


def refused() -> Claim:
    """False: the only one who is missing is refused, and with that removed; nobody looks at the barrier."""
    pair = z3.EmptySet(MEMBER)
    for name in PAIR.members:
        pair = z3.SetAdd(pair, PAIR.member(name))
    facts = {
        "these two": z3.And(z3.IsSubset(GROUP, pair), z3.IsSubset(PARKED, GROUP)),
        "shut": shut(GROUP, PARKED, PENDING),
        "somebody waits": PARKED != NOBODY,
        "who is refused is a member": z3.IsMember(ALICE, GROUP),
        "she has not joined": z3.Not(z3.IsMember(ALICE, PARKED)),
    }
    claim = Claim(facts, shut(z3.SetDel(GROUP, ALICE), PARKED, PENDING))
    return PAIR.ground_claim(claim)


def _among(model: Any, group: Formula) -> str:
    inside = [
        name
        for name in PAIR.members
        if z3.is_true(model.eval(z3.IsMember(PAIR.member(name), group), model_completion=True))
    ]
    return ", ".join(inside) or "nobody"


def _tell_refused(model: Any) -> Story:
    refusal = next(
        name
        for name in PAIR.members
        if z3.is_true(model.eval(PAIR.member(name) == ALICE, model_completion=True))
    )
    figures = {
        "group": _among(model, GROUP),
        "waiting": _among(model, z3.SetIntersect(GROUP, PARKED)),
        "refused": refusal,
        "left": _among(model, z3.SetDel(GROUP, PAIR.member(refusal))),
    }
    return story(
        figures,
        "a join phase of {group}; parked are the JoinGroups of {waiting}",
        "newcomers have filled the group: {refused} comes back and is refused, and so no member any more",
        "of {left} everybody has joined, and they wait until time is up: the Java coordinator does not look",
    )


BARRIER = (
    Obligation(
        "timers.barrier.counters.start",
        "without members counters of zero are right",
        "proved",
        start,
        (Mutant("starts at one", partial(start, 1)),),
    ),
    Obligation(
        "timers.barrier.counters.add",
        "a newcomer counts as a member and as one who waits",
        "proved",
        add,
        (Mutant("not as one who waits", partial(add, 0)),),
    ),
    Obligation(
        "timers.barrier.counters.rejoin",
        "a member that joins counts as one who waits, however often it sends JoinGroup",
        "proved",
        rejoin,
        (Mutant("a retry counts again", partial(rejoin, True)),),
    ),
    Obligation(
        "timers.barrier.counters.remove",
        "a member that goes counts no more, nor as one who waits if it did",
        "proved",
        remove,
        (Mutant("it still counts as one who waits", partial(remove, True)),),
    ),
    Obligation(
        "timers.barrier.counters.answered",
        "when all are answered nobody waits",
        "proved",
        answered,
        (Mutant("one still counts", partial(answered, 1)),),
    ),
    Obligation(
        "timers.barrier.closes",
        "when it is looked at, the barrier closes the join phase exactly if every member has joined and no "
        "id is pending, or time is up",
        "proved",
        closes,
        (
            Mutant("one may be missing", partial(closes, 1)),
            Mutant("time does not end it", partial(closes, by_time=False)),
            Mutant("pending ids are ignored", partial(closes, ids_count=False)),
        ),
    ),
    Obligation(
        "timers.barrier.handed-out",
        "while an id that was handed out is pending the barrier is shut, whoever has joined",
        "proved",
        handed_out,
        (Mutant("it is not remembered", partial(handed_out, False)),),
    ),
    Obligation(
        "timers.barrier.time-up.base",
        "time is up and nobody has been looked at: all are there",
        "proved",
        time_up_base,
        (Mutant("one has been looked at", partial(time_up_base, z3.SetAdd(NOBODY, ALICE))),),
    ),
    Obligation(
        "timers.barrier.time-up.step",
        "looking at one member more keeps this: of those looked at the joined and the static ones are there",
        "proved",
        time_up_step,
        (
            Mutant("static members go", partial(time_up_step, False)),
            Mutant("joined members go", partial(time_up_step, True, False)),
        ),
    ),
    Obligation(
        "timers.barrier.time-up",
        "when time is up, the members that have joined and the static ones are in, and nobody else",
        "proved",
        time_up,
        (Mutant("static members go", partial(time_up, False)),),
    ),
    Obligation(
        "timers.barrier.nobody-lost",
        "a phase that ends because everybody has joined takes nobody out",
        "proved",
        nobody_lost,
    ),
    Obligation(
        "timers.barrier.begins",
        "a generation begins exactly if somebody has joined: static members alone wait on",
        "proved",
        begins,
        (Mutant("two must have joined", partial(begins, 2)),),
    ),
    Obligation(
        "timers.barrier.refused",
        "a shut barrier is still shut when a full group has refused a member that came late",
        "refuted",
        refused,
        explain=_tell_refused,
    ),
)
"""What is proved and refuted of the barrier."""
