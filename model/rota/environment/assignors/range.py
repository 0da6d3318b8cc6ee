"""range: each topic by itself, in consecutive pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rota.environment.assignors.common import Parts, Subscription, TopicPartition, in_parts, static_first


def assign_range(partitions: Mapping[str, int], members: Iterable[Subscription]) -> Parts:
    """Each topic's partitions in as many pieces as it has subscribers.

    Promises: every partition of a wanted topic has one owner, a subscriber; per topic the pieces are
    consecutive and go to static members by instance id, then to the others by member id; their sizes
    differ by at most one, the larger come first. So topics with as many partitions and the same
    subscribers are split alike. Over all topics the first members may have more: one for each topic.
    Claims are not read.

    Left out: racks. Upstream they may bend the pieces, never their sizes, and only where partitions have
    replicas on some racks and members name theirs; without racks it does the same as this.
    Errors: ValueError for a member with two subscriptions. Source: RangeAssignor#assignPartitions.
    """
    ordered = static_first(members)
    given: dict[str, list[TopicPartition]] = {member.member_id: [] for member in ordered}
    for topic, count in partitions.items():
        takers = [member.member_id for member in ordered if topic in member.topics]
        if not takers:
            continue
        share, extra = divmod(count, len(takers))
        for position, member_id in enumerate(takers):
            start = position * share + min(position, extra)
            end = start + share + (position < extra)
            given[member_id] += [(topic, number) for number in range(start, end)]
    return in_parts(given)
