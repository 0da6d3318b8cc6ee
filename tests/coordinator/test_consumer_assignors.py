"""The assignors `range` and `uniform` say what Kafka's classes say of the same input."""

from __future__ import annotations

from uuid import UUID

import pytest

from rota.coordinator.consumer.assignors import ASSIGNORS, Subscriptions
from rota.coordinator.consumer.records import Place

IDS = {"t": UUID(int=1), "u": UUID(int=2), "v": UUID(int=3)}
NAMES = {topic_id: name for name, topic_id in IDS.items()}

# Assignor; partitions of topics; members with topics (and /instance); the target before; the one after.
CASES = """
range   | t5       | A t; B t           |                       | A t0 t1 t2; B t3 t4
range   | t2       | A t; B t; C t      |                       | A t0; B t1; C
range   | t3 u3    | A tu; B tu         |                       | A t0 t1 u0 u1; B t2 u2
range   | t7 u2    | A tu; B tu; C tu   |                       | A t0 t1 t2 u0; B t3 t4 u1; C t5 t6
range   | t5       | A t; A0 t; B t     | A t0 t1 t2; B t3 t4   | A t0 t1; A0 t2 t3; B t4
range   | t5       | A t; Z/i9 t; Y/i1 t |                      | Y t0 t1; Z t2 t3; A t4
range   | t4 u3    | A tu; B t          |                       | A t0 t1 u0 u1 u2; B t2 t3
range   | t4 u3    | A t; B tu; C u     |                       | A t0 t1; B t2 t3 u0 u1; C u2
uniform | t5       | A t; B t           |                       | A t0 t1; B t2 t3 t4
uniform | t5       | A t; B t           | A t0 t1 t2 t3 t4      | A t0 t1 t2; B t3 t4
uniform | t5       | A t; B t           | B t0 t1 t2 t3 t4      | A t3 t4; B t0 t1 t2
uniform | t2       | A t; B t; C t      |                       | A; B t0; C t1
uniform | t2       | A t; B t; C t      | A t0 t1               | A t0; B; C t1
uniform | t3 u3    | A tu; B tu         |                       | A t0 t1 t2; B u0 u1 u2
uniform | t3 u3    | A tu; B tu; C tu; D tu |                   | A t0; B t1; C t2 u0; D u1 u2
uniform | t6       | A t; B t; C t      | A t0 t1 t2; B t3 t4 t5 | A t0 t1; B t3 t4; C t2 t5
uniform | t6       | A t; B t; C t      | A t0 t1; B t2 t3      | A t0 t1; B t2 t3; C t4 t5
uniform | t6       | A t; C t           | A t0 t1; C t4 t5      | A t0 t1 t2; C t3 t4 t5
uniform | t7       | A t; B t; C t      | A t0 t1 t2; B t3 t4; C t5 t6 | A t0 t1 t2; B t3 t4; C t5 t6
uniform | t7       | A t; B t; C t; D t | A t0 t1; B t2 t3; C t4 t5 t6 | A t0 t1; B t2 t3; C t4 t5; D t6
uniform | t4 u4    | A tu; B tu         | A t0 t1 t2 t3 u0 u1 u2 u3 | A t0 t1 t2 t3; B u0 u1 u2 u3
uniform | t4 u2    | A tu; B t          |                       | A t3 u0 u1; B t0 t1 t2
uniform | t4 u2    | A tu; B t          | A t0 t1 t2 t3 u0 u1   | A t0 u0 u1; B t1 t2 t3
uniform | t4 u4    | A tu; B t; C u     |                       | A t0 t2 u3; B t1 t3; C u0 u1 u2
uniform | t6 u2    | A t; B u           |                       | A t0 t1 t2 t3 t4 t5; B u0 u1
uniform | t4 u4 v4 | A t; B tu; C tuv   |                       | A t0 t1 t2 t3; B u0 u1 u2 u3; C v0 v1 v2 v3
uniform | t8 u1    | A t; B tu          | A t0 t1 t2 t3 t4 t5 t6 t7; B u0 | A t0 t1 t2 t3 t4; B t5 t6 t7 u0
"""
"""Measured on RangeAssignor and UniformAssignor of Kafka 4.4.0."""


def listed(text: str) -> dict[str, list[str]]:
    """Members, each with the words behind it."""
    each = (one.split() for one in text.split(";") if one.strip())
    return {name: words for name, *words in each}


def places(text: str) -> dict[str, frozenset[Place]]:
    return {
        member: frozenset((IDS[word[0]], int(word[1:])) for word in words)
        for member, words in listed(text).items()
    }


@pytest.mark.parametrize("case", CASES.strip().splitlines(), ids=lambda case: " ".join(case.split()))
def test_it_assigns_as_kafka_does(case: str) -> None:
    assignor, topics, members, before, expected = (part.strip() for part in case.split("|"))
    subscriptions = {
        name.partition("/")[0]: frozenset(IDS[topic] for topic in "".join(words))
        for name, words in listed(members).items()
    }
    given = Subscriptions(
        topics=subscriptions,
        targets=places(before),
        partitions={IDS[word[0]]: int(word[1:]) for word in topics.split()},
        homogeneous=len(set(subscriptions.values())) == 1,
        instances=dict(name.split("/") for name in listed(members) if "/" in name),
    )
    assert ASSIGNORS[assignor](given) == places(expected)


def test_each_gets_its_share_and_keeps_what_it_may() -> None:
    """Every partition has one member; loads differ by one; nobody loses more than is above its quota."""
    for members in range(1, 6):
        for count in range(12):
            for before in range(members + 1):
                names = [f"m{number}" for number in range(members)]
                alike = dict.fromkeys(names, frozenset([IDS["t"]]))
                of_fewer = dict.fromkeys(names[:before], frozenset([IDS["t"]]))
                counts = {IDS["t"]: count}
                old = ASSIGNORS["uniform"](Subscriptions(of_fewer, {}, counts, True))
                new = ASSIGNORS["uniform"](Subscriptions(alike, old, counts, True))
                assert sorted(place for own in new.values() for place in own) == [
                    (IDS["t"], index) for index in range(count)
                ]
                loads = sorted(map(len, new.values()))
                assert loads[-1] - loads[0] <= 1
                for name, own in old.items():
                    assert len(own & new[name]) >= min(len(own), count // members)
