"""sticky: as balanced as possible, and among the balanced results one that moves the fewest partitions."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from rota.environment.assignors.common import (
    Parts,
    Subscription,
    TopicPartition,
    in_order,
    in_parts,
    subscribers,
)
from rota.environment.assignors.fairest import fairest


def assign_sticky(partitions: Mapping[str, int], members: Iterable[Subscription]) -> Parts:
    """Balance first, then as few moves as possible.

    Promises: every partition of a wanted topic has one owner, a subscriber. With equal subscriptions the
    sizes differ by at most one; with different ones no other result has a smaller sum of squared sizes, so no
    member can hand a partition to one that has two or more fewer. Among the results with these sizes none
    takes fewer partitions from members whose claim counts (see `holders`). So a result that comes back as
    claims stays as it is. With equal subscriptions only its own partitions move when a member leaves; when
    one joins only those move that it gets, and it gets no more than the balance asks for.

    With equal subscriptions upstream does exactly this, but for one choice: if several members have more than
    their share, the order of a hash map decides which of them gives some up. With different ones it moves
    single partitions while that helps and stops where no single move does, a result that need not be unique
    or the best; `fairest` gives one of the best, so upstream's promise holds for it too. An older claim that
    lost is not preferred among equals as it is upstream: that only breaks ties.

    Two faults of upstream's are not repeated. Where the first subscription that it looks at names no topics
    it takes the others for equal and gives that member what it did not ask for; here it gets nothing. And
    it counts claims on partitions that do not exist (a topic made anew with fewer), which can end in an
    exception; here they count for nothing.

    Left out: racks. Upstream a member does not keep a partition of another rack, so with racks more may
    move; that each partition has one owner and how even the sizes are is not touched, balance goes first.
    Errors: ValueError for a member with two subscriptions. Source: AbstractStickyAssignor#assignPartitions.
    """
    ordered = in_order(members)
    wanted = subscribers(partitions, ordered)
    counting = holders(ordered)
    owner = {
        partition: counting[partition] for partition in wanted if counting.get(partition) in wanted[partition]
    }
    member_ids = [member.member_id for member in ordered]
    if len({frozenset(member.topics) for member in ordered}) == 1:
        return in_parts(_even(list(wanted), owner, member_ids))
    nothing: dict[str, list[TopicPartition]] = {member_id: [] for member_id in member_ids}
    return in_parts(nothing | fairest(wanted, owner))


def holders(members: Iterable[Subscription]) -> dict[TopicPartition, str]:
    """Each claimed partition → the member whose claim counts; it is missing where none does.

    The claim of the highest generation counts. Two of that same generation contradict each other and
    neither does; what older generations claim is then of no use either.
    Source: AbstractStickyAssignor#allSubscriptionsEqual. There, with two equal claims and a higher one, the
    outcome depends on the order of a hash map; here the higher one counts.
    """
    claims: defaultdict[TopicPartition, list[tuple[int, str]]] = defaultdict(list)
    for member in members:
        for partition in set(member.owned_partitions):
            claims[partition].append((member.generation_id, member.member_id))
    counting = {}
    for partition, claimed in claims.items():
        newest = max(generation for generation, _ in claimed)
        claimants = [member_id for generation, member_id in claimed if generation == newest]
        if len(claimants) == 1:
            counting[partition] = claimants[0]
    return counting


def _even(
    wanted: Sequence[TopicPartition], owner: Mapping[TopicPartition, str], member_ids: Sequence[str]
) -> dict[str, list[TopicPartition]]:
    """Equal subscriptions: everyone has `low` partitions, the `extra` that are left go to one member each.

    Members that have more than `low` keep the extra ones, as far as these go. What is free is dealt in a
    circle to those below `low`, then to those at `low`.
    Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder.
    """
    low, extra = divmod(len(wanted), len(member_ids))
    given: dict[str, list[TopicPartition]] = {}
    full = 0
    for member_id in member_ids:
        mine = sorted(
            (partition for partition in wanted if owner.get(partition) == member_id),
            key=lambda partition: (partition[1], partition[0]),
        )
        keeps_extra = len(mine) > low and full < extra
        full += keeps_extra
        given[member_id] = mine[: low + keeps_extra]
    short = deque(member_id for member_id in member_ids if len(given[member_id]) < low)
    ready = deque(member_id for member_id in member_ids if len(given[member_id]) == low)
    kept = {partition for part in given.values() for partition in part}
    for partition in wanted:
        if partition in kept:
            continue
        member_id = (short or ready).popleft()
        given[member_id].append(partition)
        if len(given[member_id]) < low:
            short.append(member_id)
        elif len(given[member_id]) == low:
            ready.append(member_id)
    return given
