"""roundrobin: one partition after the other, each to the next member that wants it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rota.environment.assignors.common import (
    Parts,
    Subscription,
    TopicPartition,
    in_parts,
    static_first,
    subscribers,
)


def assign_roundrobin(partitions: Mapping[str, int], members: Iterable[Subscription]) -> Parts:
    """All partitions by topic and number, dealt in a circle of the members.

    Promises: every partition of a wanted topic has one owner, a subscriber: the first one after the owner
    of the partition before, in the circle of static members by instance id, then the others by member id.
    With equal subscriptions sizes differ by at most one; with different ones nothing is promised of them.
    Claims are not read.

    Left out: nothing; upstream's does not know racks either.
    Errors: ValueError for a member with two subscriptions. Source: RoundRobinAssignor#assign.
    """
    ordered = static_first(members)
    circle = [member.member_id for member in ordered]
    given: dict[str, list[TopicPartition]] = {member_id: [] for member_id in circle}
    following = 0
    for partition, takers in subscribers(partitions, ordered).items():
        while circle[following] not in takers:
            following = (following + 1) % len(circle)
        given[circle[following]].append(partition)
        following = (following + 1) % len(circle)
    return in_parts(given)
