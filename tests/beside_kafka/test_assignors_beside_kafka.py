"""`range` and `uniform` of the spec, and Kafka's RangeAssignor and UniformAssignor, on generated groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from harness.java_programs import Compiled, answers
from harness.reconciling import names
from rota.kernel import FrozenMap, replace
from rota.spec.consumer import Partition, assignors
from rota.spec.consumer.assignors import by_range, by_uniform, complete, legal, uniform
from rota.spec.consumer.context import Asked, Assignment

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


def kept_by_the_last(asked: Asked, name: str, topics: Sequence[str], quota: int) -> Any:
    kept, rest = KEPT(asked, name, topics[::-1], quota)
    return kept, rest


KEPT = assignors._kept
WRONG: Mapping[str, Callable[..., Any]] = {
    "_hands_back": lambda extra, others: 0 < extra < others,
    "_kept": kept_by_the_last,
}


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
