"""What all assignors read and return, and the orders in which they take members and partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

TopicPartition: TypeAlias = tuple[str, int]
"""(topic, number from 0)."""

Parts: TypeAlias = dict[str, tuple[TopicPartition, ...]]
"""Member id → its part, in order of topic and number; in order of member ids; every member is in it."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member says of itself when it joins.

    Parameters: topics in any order; owned_partitions, those that it claims to have; generation_id, the
    generation in which it got them (-1: none known); group_instance_id of a static member.
    Source: ConsumerPartitionAssignor.Subscription without the rack.
    """

    member_id: str
    topics: tuple[str, ...]
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation_id: int = -1
    group_instance_id: str | None = None


Assignor: TypeAlias = Callable[[Mapping[str, int], Iterable[Subscription]], Parts]
"""(number of partitions per topic, subscriptions in any order) → parts. A topic that is not in the first
argument does not exist (yet) and is passed over."""


def in_order(members: Iterable[Subscription]) -> list[Subscription]:
    """The members by id. Errors: ValueError if one is there twice."""
    ordered = sorted(members, key=lambda member: member.member_id)
    for one, other in pairwise(ordered):
        if one.member_id == other.member_id:
            raise ValueError(f"member {one.member_id!r} has two subscriptions; give each member one")
    return ordered


def static_first(members: Iterable[Subscription]) -> list[Subscription]:
    """Static members by instance id, then the others by member id.

    So a static member that comes back under a new member id keeps its place. Errors: as `in_order`. Source:
    AbstractPartitionAssignor.MemberInfo#compareTo.
    """
    return sorted(
        in_order(members),
        key=lambda member: (member.group_instance_id is None, member.group_instance_id or ""),
    )


def subscribers(
    partitions: Mapping[str, int], members: Sequence[Subscription]
) -> dict[TopicPartition, tuple[str, ...]]:
    """Each existing partition of a topic that anyone wants → who may get it, in the order of `members`.

    In order of topic and number.
    """
    takers = {
        topic: tuple(member.member_id for member in members if topic in member.topics) for topic in partitions
    }
    return {
        (topic, number): takers[topic]
        for topic in sorted(partitions)
        if takers[topic]
        for number in range(partitions[topic])
    }


def in_parts(given: Mapping[str, Iterable[TopicPartition]]) -> Parts:
    """The result in its one order."""
    return {member_id: tuple(sorted(given[member_id])) for member_id in sorted(given)}
