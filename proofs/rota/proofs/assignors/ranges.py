"""range: each topic by itself, in consecutive pieces.

A topic has `n` partitions and `k` subscribers; `n = k * q + r` with `0 <= r < k`. The subscriber at place `i`
gets `q` partitions from `i * q + min(i, r)` on, and one more if `i < r`. The partition that is looked at is
any one, so that what is proved of it is proved of all. Products stand only where both sides have the same.
Source: upstream RangeAssignor#assignPartitions, without racks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.story import Story, figures_of, story

N, K, Q, R = z3.Ints("partitions subscribers share extra")
PLACE, OTHER, P = z3.Ints("place other_place partition")
OWNERS, STRANGERS, START = z3.Ints("owners strangers start")
SUBSCRIBED = z3.Bool("subscribed")

Piece = Callable[[Formula, Formula, Formula], tuple[Formula, Formula]]
"""(place, share, extra) → where a piece starts and ends (exclusive)."""


def one_if(condition: Formula) -> Formula:
    """1 where it holds, else 0."""
    return z3.If(condition, 1, 0)


def piece(place: Formula, share: Formula, extra: Formula) -> tuple[Formula, Formula]:
    """The piece at a place: the first ones are larger by one."""
    start = place * share + z3.If(place < extra, place, extra)
    return start, start + share + one_if(place < extra)


def without_extra(place: Formula, share: Formula, extra: Formula) -> tuple[Formula, Formula]:
    """For mutants: all alike, what is left over goes to nobody."""
    return place * share, place * share + share


def extra_to_the_last(place: Formula, share: Formula, extra: Formula) -> tuple[Formula, Formula]:
    """For mutants: places as if the first ones were larger, but the last ones are."""
    start = piece(place, share, extra)[0]
    return start, start + share + one_if(place >= K - extra)


def all_larger(place: Formula, share: Formula, extra: Formula) -> tuple[Formula, Formula]:
    """For mutants: rounded up for everyone."""
    return place * (share + 1), place * (share + 1) + share + 1


def consecutive(cut: Piece = piece) -> Claim:
    """The first piece starts at 0, each next one where the one before ends."""
    first, end, following = cut(z3.IntVal(0), Q, R)[0], cut(PLACE, Q, R)[1], cut(PLACE + 1, Q, R)[0]
    return Claim({"the larger are some": R >= 0}, z3.And(first == 0, end == following))


def complete(cut: Piece = piece) -> Claim:
    """Behind the last piece nothing is left, nor has it more than there are."""
    facts = {"divided": N == K * Q + R, "the rest is smaller": R < K}
    return Claim(facts, cut(K, Q, R)[0] == N)


def even(cut: Piece = piece) -> Claim:
    """Of two pieces the earlier one is as large as the later, or larger by one."""

    def size(place: Formula) -> Formula:
        start, end = cut(place, Q, R)
        return end - start

    more = size(PLACE) - size(OTHER)
    return Claim({"in order": PLACE < OTHER}, z3.And(more >= 0, more <= 1))


def _owned(owners: Formula, strangers: Formula, upto: Formula) -> Formula:
    """The partition has one owner if it is below the end of the pieces so far, and else none."""
    return z3.And(owners == one_if(z3.And(P >= 0, upto > P)), strangers == 0)


def owned_base(owners: int = 0) -> Claim:
    """No member has been looked at."""
    return Claim({}, _owned(z3.IntVal(owners), z3.IntVal(0), z3.IntVal(0)))


def owned_step(reads_topics: bool = True, places_for_all: bool = False, overlap: int = 0) -> Claim:
    """One member more in the order: a subscriber gets the next piece, of any size, where the last one ended.

    For mutants: reads_topics, only subscribers get one; places_for_all, pieces of others are left out;
    overlap, partitions that a piece has in common with the next one.
    """
    size = z3.Int("size")
    takes = SUBSCRIBED if reads_topics else z3.BoolVal(True)
    has = z3.And(takes, START <= P, START + size + overlap > P)
    moves_on = z3.BoolVal(True) if places_for_all else takes
    after = START + z3.If(moves_on, size, 0)
    facts = {
        "up to now": _owned(OWNERS, STRANGERS, START),
        "from 0 on": START >= 0,
        "a size": size >= 0,
    }
    strangers = STRANGERS + one_if(z3.And(has, z3.Not(SUBSCRIBED)))
    return Claim(facts, _owned(OWNERS + one_if(has), strangers, after))


def one_owner(more: int = 0) -> Claim:
    """All members have been looked at: the pieces end where the topic ends."""
    facts = {"all pieces": _owned(OWNERS, STRANGERS, START), "complete": N + more == START}
    exists = z3.And(P >= 0, N > P)
    return Claim(facts, z3.And(one_if(exists) == OWNERS, STRANGERS == 0))


TOPIC = z3.DeclareSort("Topic")
HERE, NEXT = z3.Const("topic", TOPIC), z3.Const("next_topic", TOPIC)
DONE = z3.Const("topics_done", z3.SetSort(TOPIC))
EXISTS = z3.Bool("exists")


def topics_step(by_number: bool = False) -> Claim:
    """One topic more is cut, which is another one or that of the partition.

    by_number: (for a mutant) partitions of topics are taken for each other if they have the same number.
    """
    hit = EXISTS if by_number else z3.And(NEXT == HERE, EXISTS)
    facts = {
        "up to now": one_if(z3.And(z3.IsMember(HERE, DONE), EXISTS)) == OWNERS,
        "each topic once": z3.Not(z3.IsMember(NEXT, DONE)),
    }
    done = z3.IsMember(HERE, z3.SetAdd(DONE, NEXT))
    return Claim(facts, OWNERS + one_if(hit) == one_if(z3.And(done, EXISTS)))


FIRST_TOPIC, SECOND_TOPIC = z3.Ints("first_topic second_topic")


def has(place: int) -> Formula:
    """How many of both topics the member at this place of two gets."""
    pieces = [piece(z3.IntVal(place), count / 2, count % 2) for count in (FIRST_TOPIC, SECOND_TOPIC)]
    return z3.Sum([end - start for start, end in pieces])


def even_over_topics() -> Claim:
    """False: each topic's extra partition goes to the first members."""
    facts = {"topics": z3.And(FIRST_TOPIC >= 0, SECOND_TOPIC >= 0)}
    return Claim(facts, has(0) - has(1) <= 1, measure=FIRST_TOPIC + SECOND_TOPIC)


def _tell_uneven(model: Any) -> Story:
    terms = {"t": FIRST_TOPIC, "u": SECOND_TOPIC, "alice": has(0), "bob": has(1)}
    return story(
        figures_of(model, terms),
        "topic t has {t} partitions, topic u {u}; alice and bob subscribe to both",
        "alice gets {alice} of them all, bob {bob}",
    )


RANGE = (
    Obligation(
        "assignors.range.consecutive",
        "the first piece starts at 0, each next one where the one before ends",
        "proved",
        consecutive,
        (Mutant("the larger ones last", partial(consecutive, extra_to_the_last)),),
    ),
    Obligation(
        "assignors.range.complete",
        "the pieces of all subscribers together end with the last partition",
        "proved",
        complete,
        (
            Mutant("what is left over goes to nobody", partial(complete, without_extra)),
            Mutant("rounded up", partial(complete, all_larger)),
        ),
    ),
    Obligation(
        "assignors.range.owned.base",
        "before anybody has a piece a partition has no owner",
        "proved",
        owned_base,
        (Mutant("one owner", partial(owned_base, 1)),),
    ),
    Obligation(
        "assignors.range.owned.step",
        "one member more, subscribed or not, keeps this: each partition below the end of the pieces so far "
        "has one owner, the others none, and nobody who is not subscribed has one",
        "proved",
        owned_step,
        (
            Mutant("who is not subscribed gets a piece", partial(owned_step, False)),
            Mutant("who is not subscribed takes a place", partial(owned_step, True, True)),
            Mutant("pieces overlap", partial(owned_step, overlap=1)),
        ),
    ),
    Obligation(
        "assignors.range.one-owner",
        "each partition of a topic with subscribers has exactly one owner, a subscriber",
        "proved",
        one_owner,
        (Mutant("one too many", partial(one_owner, 1)),),
    ),
    Obligation(
        "assignors.range.topics",
        "one topic more keeps this: each partition of the topics so far has one owner, others none",
        "proved",
        topics_step,
        (Mutant("by numbers alone", partial(topics_step, True)),),
    ),
    Obligation(
        "assignors.range.even",
        "the pieces of a topic differ in size by at most one, the larger come first",
        "proved",
        even,
        (Mutant("the larger ones last", partial(even, extra_to_the_last)),),
    ),
    Obligation(
        "assignors.range.even-over-topics",
        "of all topics together two members with the same subscription get as many, or one more",
        "refuted",
        even_over_topics,
        explain=_tell_uneven,
    ),
)
"""What is proved and refuted of range."""
