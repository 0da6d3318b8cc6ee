"""Reconciliation: every question of a small world, as the spec asks it and as text for Kafka's own class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from rota.spec.consumer import Holding, Member, MemberState, Partition, Question, Target

PARTITIONS = (Partition("t", 0), Partition("t", 1), Partition("u", 0))
EPOCHS = {one: 2 + number for number, one in enumerate(PARTITIONS)}
"""Since which target a partition is held: each since another, so that none is taken for another's."""

EPOCH, PREVIOUS = 5, 3
NOBODY, ASSIGNED, PENDING, OTHER = range(4)
KAFKAS = {
    MemberState.STABLE: "STABLE",
    MemberState.UNREVOKED_PARTITIONS: "UNREVOKED_PARTITIONS",
    MemberState.UNRELEASED_PARTITIONS: "UNRELEASED_PARTITIONS",
}


def questions() -> Iterator[Question]:
    """All: each partition nobody's, assigned, pending or another's; in the target or not; said to be owned or
    not, or nothing said; each state, epoch, subscription, changed or not. To some of them no group can come.
    """
    owners = tuple(product((NOBODY, ASSIGNED, PENDING, OTHER), repeat=3))
    sets = tuple(frozenset(some) for some in product(*((None, one) for one in PARTITIONS)))
    subsets = [some - {None} for some in sets]
    topics = [frozenset(some) for some in ("tu", "t", "u", "")]
    for state, changed, target, names in product(MemberState, (False, True), (EPOCH, EPOCH + 1), topics):
        for owner in owners:
            member = Member(state, EPOCH, PREVIOUS, held(owner, ASSIGNED), held(owner, PENDING), names)
            taken = frozenset(one for one, who in zip(PARTITIONS, owner, strict=True) if who != NOBODY)
            for wanted, owned in product(subsets, (None, *subsets)):
                yield Question(member, Target(target, wanted), changed, owned, taken)


def held(owner: Sequence[int], how: int) -> frozenset[Holding]:
    return frozenset(
        Holding(one, EPOCHS[one]) for one, who in zip(PARTITIONS, owner, strict=True) if who == how
    )


def asked(question: Question) -> str:
    """The question as Reconciler.java reads it."""
    member, target = question.member, question.target
    return " ".join((
        *(KAFKAS[member.state], str(member.epoch), str(member.previous_epoch), str(target.epoch)),
        *("changed" if question.subscription_changed else "same", ",".join(sorted(member.topics)) or "-"),
        *(holdings(member.assigned), holdings(member.pending), names(target.partitions)),
        *("null" if question.owned is None else names(question.owned), names(question.taken)),
    ))  # fmt: skip


def told(member: Member) -> str:
    """The outcome as Reconciler.java writes it."""
    numbers = f"{member.epoch} {member.previous_epoch}"
    return f"{KAFKAS[member.state]} {numbers} {holdings(member.assigned)} {holdings(member.pending)}"


def holdings(some: frozenset[Holding]) -> str:
    each = (f"{one.partition.topic}{one.partition.index}={one.epoch}" for one in some)
    return ",".join(sorted(each)) or "-"


def names(some: frozenset[Partition]) -> str:
    return ",".join(sorted(f"{one.topic}{one.index}" for one in some)) or "-"
