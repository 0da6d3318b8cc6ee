"""roundrobin: one partition after the other, each to the next member in the circle that wants it.

Members sit in a circle at the places 0 to `k - 1`. A partition goes to the member at the place that is
reached, but places of members that do not want its topic are passed over. Only partitions of topics that
somebody wants are dealt out. Source: upstream RoundRobinAssignor#assign.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import z3

from rota.proofs.assignors.ranges import one_if
from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.story import Story, figures_of, story

K, PLACE, TAKER, X, Y = z3.Ints("members place taker x y")
wants = z3.Function("wants", z3.IntSort(), z3.BoolSort())
"""By place: whether the member wants the topic of the partition that is dealt out."""


def inside(place: Formula, count: Formula = K) -> Formula:
    """There is such a place."""
    return z3.And(place >= 0, place < count)


def following(place: Formula, count: Formula = K, wraps: bool = True) -> Formula:
    """The next place in the circle. wraps: (False for a mutant) after the last one comes the first."""
    return z3.If(place + 1 == count, 0, place + 1) if wraps else place + 1


def way(place: Formula, taker: Formula) -> Formula:
    """How many places are passed over from here to there."""
    return taker - place + z3.If(taker >= place, 0, K)


def _a_taker() -> dict[str, Formula]:
    return {"a place": inside(PLACE), "somebody wants it": z3.And(inside(TAKER), wants(TAKER))}


def skip(wraps: bool = True) -> Claim:
    """A place is passed over: its member does not want the topic."""
    after = following(PLACE, wraps=wraps)
    facts = _a_taker() | {"not wanted here": z3.Not(wants(PLACE))}
    shorter = z3.And(way(after, TAKER) == way(PLACE, TAKER) - 1, way(after, TAKER) >= 0)
    return Claim(facts, z3.And(inside(after), shorter))


def arrival(at: int = 0) -> Claim:
    """The way is over."""
    return Claim(_a_taker(), z3.Implies(way(PLACE, TAKER) == at, wants(PLACE)))


PASSED = z3.Bool("passed")


def nearest() -> Claim:
    """What was passed over so far, and one place more."""
    facts = {
        "up to now": z3.Implies(PASSED, z3.Not(wants(X))),
        "not wanted here": z3.Not(wants(PLACE)),
    }
    return Claim(facts, z3.Implies(z3.Or(PASSED, X == PLACE), z3.Not(wants(X))))


DEALT, P, OWNERS, STRANGERS = z3.Ints("dealt partition owners strangers")


def _owned(owners: Formula, strangers: Formula, dealt: Formula) -> Formula:
    """The partition has one owner once it has been dealt out, and before none."""
    return z3.And(owners == one_if(z3.And(P >= 0, dealt > P)), strangers == 0)


def owned_base(owners: int = 0) -> Claim:
    """Nothing has been dealt out."""
    return Claim({}, _owned(z3.IntVal(owners), z3.IntVal(0), z3.IntVal(0)))


def owned_step(twice: bool = False) -> Claim:
    """One partition more is dealt out. twice: (for a mutant) to two members."""
    here = P == DEALT
    owners = OWNERS + one_if(here) * (2 if twice else 1)
    strangers = STRANGERS + one_if(z3.And(here, z3.Not(wants(PLACE))))
    facts = {
        "up to now": _owned(OWNERS, STRANGERS, DEALT),
        "from 0 on": DEALT >= 0,
        "who is reached wants it": wants(PLACE),
    }
    return Claim(facts, _owned(owners, strangers, DEALT + 1))


def one_owner(missing: int = 0) -> Claim:
    """All have been dealt out."""
    count = z3.Int("partitions")
    facts = {"all dealt out": _owned(OWNERS, STRANGERS, DEALT), "all": count - missing == DEALT}
    return Claim(facts, z3.And(one_if(z3.And(P >= 0, count > P)) == OWNERS, STRANGERS == 0))


ROUNDS, GOT, GOT_TOO = z3.Ints("rounds got got_too")


def _rounds_after(wraps: bool = True) -> Formula:
    return ROUNDS + one_if(following(PLACE, wraps=wraps) == 0)


def circle_step(wraps: bool = True) -> Claim:
    """All want the same: a partition more goes to the next place at once."""
    after = following(PLACE, wraps=wraps)
    facts = {"up to now": DEALT == ROUNDS * K + PLACE, "a place": inside(PLACE)}
    return Claim(facts, z3.And(_rounds_after(wraps) * K + after == DEALT + 1, inside(after)))


def share_step(to_the_next: bool = False) -> Claim:
    """How many a member at place x has got: one for each round, one more if this round has passed it."""
    receiver = following(PLACE) if to_the_next else PLACE
    facts = {
        "up to now": ROUNDS + one_if(X < PLACE) == GOT,
        "a place": inside(PLACE),
        "a member": inside(X),
    }
    got = GOT + one_if(receiver == X)
    return Claim(facts, got == _rounds_after() + one_if(following(PLACE) > X))


def even(most: int = 1) -> Claim:
    """Two members, when all have been dealt out."""
    facts = {
        "of x": ROUNDS + one_if(X < PLACE) == GOT,
        "of y": ROUNDS + one_if(Y < PLACE) == GOT_TOO,
    }
    more = GOT - GOT_TOO
    return Claim(facts, z3.And(more <= most, -more <= most))


PARTITIONS = 4
"""Of two topics; enough for the counterexample."""
NAMES, TOPICS = ("alice", "bob"), ("t", "u")
wish = {(name, topic): z3.Bool(f"{name}_wants_{topic}") for name in NAMES for topic in TOPICS}
IN_T = z3.Int("partitions_of_t")


def _deal() -> list[Formula]:
    """The place that gets each partition, in a circle of two."""
    place: Formula = z3.IntVal(0)
    receivers = []
    for number in range(PARTITIONS):
        here = [z3.If(number < IN_T, wish[name, "t"], wish[name, "u"]) for name in NAMES]
        wanted = z3.If(place == 0, here[0], here[1])
        receiver = z3.If(wanted, place, following(place, z3.IntVal(2)))
        receivers.append(receiver)
        place = following(receiver, z3.IntVal(2))
    return receivers


def have() -> list[Formula]:
    """How many each of the two gets."""
    return [z3.Sum([one_if(receiver == place) for receiver in _deal()]) for place in (0, 1)]


def even_if_different() -> Claim:
    """False: who wants more topics gets all of those that the other does not want."""
    each = [z3.Or([wish[name, topic] for topic in TOPICS]) for name in NAMES]
    wishes = z3.Sum([one_if(one) for one in wish.values()])
    facts = {
        "wishes": z3.And(*each, wish["bob", "t"], wish["bob", "u"]),
        "two topics": IN_T == PARTITIONS // 2,
    }
    alice, bob = have()
    return Claim(facts, z3.And(alice - bob <= 1, bob - alice <= 1), measure=wishes)


def _tell_uneven(model: Any) -> Story:
    chosen = figures_of(model, {"t": IN_T} | dict(zip(NAMES, have(), strict=True)))
    flags = figures_of(model, {f"{name} {topic}": term for (name, topic), term in wish.items()})
    lists = {f"{name}_wants": " and ".join(t for t in TOPICS if flags[f"{name} {t}"]) for name in NAMES}
    return story(
        chosen | {"u": PARTITIONS - chosen["t"]} | lists,
        "partitions of topic t: {t}, of topic u: {u}",
        "alice subscribes to {alice_wants}, bob to {bob_wants}",
        "alice gets {alice} of them, bob {bob}: the circle does not look at how many a member has",
    )


ROUNDROBIN = (
    Obligation(
        "assignors.roundrobin.skip",
        "passing a member over brings the next one that wants the partition nearer: the search ends",
        "proved",
        skip,
        (Mutant("the circle is not closed", partial(skip, False)),),
    ),
    Obligation(
        "assignors.roundrobin.arrival",
        "where the search ends the member wants the partition",
        "proved",
        arrival,
        (Mutant("one place too early", partial(arrival, 1)),),
    ),
    Obligation(
        "assignors.roundrobin.nearest",
        "nobody who wants the partition is passed over",
        "proved",
        nearest,
    ),
    Obligation(
        "assignors.roundrobin.owned.base",
        "before anything is dealt out a partition has no owner",
        "proved",
        owned_base,
        (Mutant("one owner", partial(owned_base, 1)),),
    ),
    Obligation(
        "assignors.roundrobin.owned.step",
        "one partition more keeps this: each that has been dealt out has one owner, the others none, and no "
        "owner has not subscribed",
        "proved",
        owned_step,
        (Mutant("dealt out twice", partial(owned_step, True)),),
    ),
    Obligation(
        "assignors.roundrobin.one-owner",
        "each partition of a topic with subscribers has exactly one owner, a subscriber",
        "proved",
        one_owner,
        (Mutant("the last one is kept", partial(one_owner, 1)),),
    ),
    Obligation(
        "assignors.roundrobin.circle",
        "with equal subscriptions the partition at place i goes to the member at place i modulo their number",
        "proved",
        circle_step,
        (Mutant("the circle is not closed", partial(circle_step, False)),),
    ),
    Obligation(
        "assignors.roundrobin.share",
        "with equal subscriptions a member has one partition for each round, and one more if this round has "
        "passed it",
        "proved",
        share_step,
        (Mutant("dealt to the next place", partial(share_step, True)),),
    ),
    Obligation(
        "assignors.roundrobin.even",
        "with equal subscriptions two members differ by at most one partition, over all topics",
        "proved",
        even,
        (Mutant("they have as many", partial(even, 0)),),
    ),
    Obligation(
        "assignors.roundrobin.even-if-different",
        "with different subscriptions too two members differ by at most one partition",
        "refuted",
        even_if_different,
        explain=_tell_uneven,
    ),
)
"""What is proved and refuted of roundrobin."""
