"""`range` and `uniform` of the spec, and Kafka's RangeAssignor and UniformAssignor, on generated groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

import pytest

from harness.java_programs import Compiled, answers
from harness.reconciling import names
from rota.coordinator.consumer.assignors import ASSIGNORS, Subscriptions
from rota.kernel import FrozenMap, replace
from rota.spec.consumer import Partition, assignors
from rota.spec.consumer import unequal as of_unequal
from rota.spec.consumer.assignors import by_range, by_uniform, complete, legal, uniform
from rota.spec.consumer.context import Asked, Assignment
from rota.spec.consumer.unequal import unequal

GROUPS = pytest.mark.parametrize("groups", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
"""How many groups are generated."""

WITH_ALL_ORDERS = 400
TOPICS = "tuv"


@dataclass(frozen=True)
class Case:
    """What an assignor is asked, and the order of members."""

    assignor: str
    asked: Asked
    members: Sequence[str]

    def line(self) -> str:
        kind = "HOMOGENEOUS" if self.asked.uniform_names else "HETEROGENEOUS"
        sizes = ",".join(f"{topic}{size}" for topic, size in self.asked.partitions.items())
        members = (
            f"{one}:{','.join(sorted(self.asked.topics[one])) or '-'}:{names(self.asked.target[one])}"
            for one in self.members
        )
        return " ".join((self.assignor, kind, sizes or "-", *members))


def generated(random: Random, assignor: str, equal: bool) -> Case:
    """A group whose target is of another time: with members and partitions that it did not know."""
    sizes = {topic: random.randrange(1, 6) for topic in TOPICS if random.randrange(4)} or {"t": 3}
    members = random.sample("ABCDE", random.randrange(1, 6))
    all_ = frozenset(sizes)
    each = {
        one: all_ if equal else frozenset(topic for topic in all_ if random.randrange(2)) for one in members
    }
    if not equal:
        each[members[0]] = all_
    had: dict[str, set[Partition]] = {one: set() for one in members}
    old = random.sample(members, random.randrange(0, len(members) + 1))
    for topic, size in sizes.items():
        for index in range(random.randrange(size + 1)):
            if old:
                had[random.choice(old)].add(Partition(topic, index))
    target = FrozenMap((one, frozenset(some)) for one, some in had.items())
    return Case(assignor, Asked(FrozenMap(each), FrozenMap(sizes), target, equal), members)


def wide(random: Random) -> Case:
    """A group with more members, topics and partitions, unequal subscriptions, and few who have had all."""
    sizes = {topic: random.randrange(1, 12) for topic in "tuvwx"[: random.randrange(1, 6)]}
    members = random.sample("ABCDEFGH", random.randrange(2, 9))
    each = {one: frozenset(topic for topic in sizes if random.randrange(3)) for one in members}
    each[members[0]] = frozenset(sizes)
    had: dict[str, set[Partition]] = {one: set() for one in members}
    old = random.sample(members, random.randrange(min(3, len(members) + 1)))
    for topic, size in sizes.items():
        for index in range(size if old else 0):
            had[random.choice(old)].add(Partition(topic, index))
    target = FrozenMap((one, frozenset(some)) for one, some in had.items())
    return Case("uniform", Asked(FrozenMap(each), FrozenMap(sizes), target, False), members)


@pytest.fixture(scope="module")
def kafka(java: Compiled) -> tuple[str, ...]:
    return java("Assigner")


def last_first(asked: Asked) -> Assignment:
    """`range` with the members in the opposite order."""
    other = {one: chr(ord("A") + ord("Z") - ord(one)) for one in asked.topics}
    turned = replace(asked, topics=FrozenMap((other[one], some) for one, some in asked.topics.items()))
    (given,) = by_range(turned)
    return FrozenMap((one, given[other[one]]) for one in asked.topics)


def told(given: Assignment) -> str:
    return " ".join(f"{one}:{names(given[one])}" for one in given)


def asked(kafka: tuple[str, ...], cases: Sequence[Case]) -> list[tuple[str, str]]:
    """The order of topics, and what Kafka gives."""
    lines = answers(kafka, [one.line() for one in cases])
    return [(order, given) for order, _, given in (line.partition(" ") for line in lines)]


@GROUPS
@pytest.mark.parametrize("equal", [True, False])
def test_range_gives_what_kafkas_gives(kafka: tuple[str, ...], equal: bool, groups: int) -> None:
    cases = [generated(Random(seed), "range", equal) for seed in range(groups)]
    found = [told(*by_range(one.asked)) for one in cases]
    theirs = [given for _, given in asked(kafka, cases)]
    assert found == theirs
    assert [told(last_first(one.asked)) for one in cases] != theirs
    assert all(legal(one.asked, *by_range(one.asked)) for one in cases)


def in_their_order(one: Case, order: str) -> str:
    return told(uniform(one.asked, one.members, [*order]))


@GROUPS
def test_uniform_gives_what_kafkas_gives_in_its_order(
    kafka: tuple[str, ...], groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [generated(Random(seed), "uniform", True) for seed in range(groups)]
    theirs = asked(kafka, cases)
    both = [*zip(cases, theirs, strict=True)]
    assert [(order, in_their_order(one, order)) for one, (order, _) in both] == theirs
    for name, wrong in WRONG.items():
        with monkeypatch.context() as patched:
            patched.setattr(assignors, name, wrong)
            found = [(order, in_their_order(one, order)) for one, (order, _) in both]
        assert found != theirs, name


@GROUPS
def test_uniform_of_unequal_subscriptions_gives_what_kafkas_gives_in_its_order(
    kafka: tuple[str, ...], groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = [generated(Random(seed), "uniform", False) for seed in range(groups)]
    cases = [*small, *(wide(Random(seed)) for seed in range(groups))]
    theirs = [given for _, given in asked(kafka, cases)]

    def found() -> list[str]:
        return [told(unequal(one.asked, one.members, sorted(one.asked.partitions))) for one in cases]

    assert found() == theirs
    assert [in_the_core(one) for one in cases] == [
        told(unequal(one.asked, sorted(one.members), sorted(one.asked.partitions))) for one in cases
    ]
    for place, name, wrong in WRONG_OF_UNEQUAL:
        with monkeypatch.context() as patched:
            patched.setattr(place, name, wrong)
            assert found() != theirs, name


def in_the_core(one: Case) -> str:
    """What the coordinator gives, which goes through members and topics in the order of their ids."""
    ids = {topic: UUID(int=ord(topic)) for topic in one.asked.partitions}
    named = {id: topic for topic, id in ids.items()}
    given = ASSIGNORS["uniform"](
        Subscriptions(
            topics={name: frozenset(map(ids.__getitem__, some)) for name, some in one.asked.topics.items()},
            targets={
                name: frozenset((ids[each.topic], each.index) for each in some)
                for name, some in one.asked.target.items()
            },
            partitions={ids[topic]: size for topic, size in one.asked.partitions.items()},
            homogeneous=False,
        )
    )
    return told(
        FrozenMap(
            (name, frozenset(Partition(named[id], index) for id, index in given.get(name, ())))
            for name in one.members
        )
    )


def kept_by_the_last(asked: Asked, name: str, topics: Sequence[str], quota: int) -> Any:
    kept, rest = KEPT(asked, name, topics[::-1], quota)
    return kept, rest


KEPT = assignors._kept
WRONG: Mapping[str, Callable[..., Any]] = {
    "_hands_back": lambda extra, others: 0 < extra < others,
    "_kept": kept_by_the_last,
}


def any_rank(sharing: of_unequal._Sharing, topic: str) -> tuple[float, int]:
    return 0.0, len(sharing.line_of(topic))


WRONG_OF_UNEQUAL: Sequence[tuple[Any, str, Any]] = (
    (of_unequal, "_balance", lambda sharing, topics: None),
    (of_unequal, "ROUNDS", 1),
    (of_unequal._Sharing, "rank", any_rank),
    (of_unequal._Sharing, "_load", lambda sharing, name: 0),
    (of_unequal._Line, "pass_over", lambda line: None),
    (of_unequal._Line, "is_even", property(lambda line: line.high - line.low <= 2)),
)
"""Where, what, and what is wrong there."""


def test_what_kafkas_gives_is_among_what_the_spec_allows(kafka: tuple[str, ...]) -> None:
    cases = [
        generated(Random(seed), "uniform", equal)
        for seed in range(WITH_ALL_ORDERS)
        for equal in (True, False)
    ]
    small = [one for one in cases if len(one.members) <= 3 and sum(one.asked.partitions.values()) <= 6]
    assert len(small) > WITH_ALL_ORDERS // 10
    for one, (_, given) in zip(small, asked(kafka, small), strict=True):
        allowed = {told(each) for each in by_uniform(one.asked)}
        assert given in allowed
        assert allowed <= {told(each) for each in complete(one.asked)}
