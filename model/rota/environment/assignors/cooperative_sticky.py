"""cooperative-sticky: what sticky wants, less what has to be revoked first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rota.environment.assignors.common import Parts, Subscription, in_order
from rota.environment.assignors.sticky import assign_sticky, holders


def assign_cooperative_sticky(partitions: Mapping[str, int], members: Iterable[Subscription]) -> Parts:
    """The parts of sticky; a partition that someone else claims is held back from its new owner.

    Members keep their partitions while they join, so one that moves goes to nobody in this generation: its
    old owner sees that it is gone, revokes it and joins again, and the next run gives it away.

    Promises: nobody gets a partition that another member claims, unless its own claim is the one that
    counts (see `holders`: then the others are told by their parts that theirs does not); of two equal
    claims neither keeps it. Nobody gets a topic that it does not want, and what is missing is claimed by
    somebody. When all have taken up their parts and claim them in the next generation, the second run
    leaves everyone what it has, deals out the rest, holds nothing back and is what sticky promises.

    Upstream does the same with equal subscriptions. With different ones it holds back only what its new
    owner did not claim, so one of two equal claimants, or one whose claim is out of date, may get the
    partition at once while the other still has it, and now and then it takes a third run. What is promised
    here holds for all subscriptions alike.
    Left out: racks, as in `assign_sticky`.
    Errors: ValueError for a member with two subscriptions.
    Source: CooperativeStickyAssignor#assignPartitions.
    """
    ordered = in_order(members)
    counting = holders(ordered)
    claimed = {partition for member in ordered for partition in member.owned_partitions}
    return {
        member_id: tuple(
            partition
            for partition in part
            if counting.get(partition) == member_id or partition not in claimed
        )
        for member_id, part in assign_sticky(partitions, ordered).items()
    }
