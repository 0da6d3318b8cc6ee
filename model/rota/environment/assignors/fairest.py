"""The fairest assignment when members want different topics: cheapest flow, one partition at a time."""

from __future__ import annotations

from collections.abc import Mapping

from rota.environment.assignors.common import TopicPartition


def fairest(
    wanted: Mapping[TopicPartition, tuple[str, ...]], owner: Mapping[TopicPartition, str]
) -> dict[str, list[TopicPartition]]:
    """Every partition to one of those who want it: least sum of squared sizes, then fewest moves.

    Parameters: wanted, each partition → who may get it (at least one); owner, some partitions → who has it
    (one of these), which is left only where that makes sizes fairer. Returns those who may get anything.

    Partitions are placed in turn, each where it is cheapest when those placed before may be passed on
    along a chain of members; so what is placed is the best for the partitions placed so far (successive
    shortest paths: costs that grow with a member's size and no cycle that pays). Ties: the lowest id.
    """
    given: dict[str, list[TopicPartition]] = {
        member_id: [] for takers in wanted.values() for member_id in takers
    }
    for partition in sorted(wanted, key=lambda one: (one not in owner, len(wanted[one]), one)):
        _place(partition, given, wanted, owner)
    return given


def _place(
    partition: TopicPartition,
    given: Mapping[str, list[TopicPartition]],
    wanted: Mapping[TopicPartition, tuple[str, ...]],
    owner: Mapping[TopicPartition, str],
) -> None:
    """Place one more partition; `given` changes along the cheapest chain.

    Size outweighs all moves together: squares are whole numbers, moves are at most `len(wanted)`.
    """
    moves, passed_on = _chains(partition, given, wanted, owner)
    weight = len(wanted) + 1
    taker = min(moves, key=lambda one: (moves[one] + weight * (2 * len(given[one]) + 1), one))
    while taker in passed_on:
        giver, what = passed_on[taker]
        given[giver].remove(what)
        given[taker].append(what)
        taker = giver
    given[taker].append(partition)


def _chains(
    partition: TopicPartition,
    given: Mapping[str, list[TopicPartition]],
    wanted: Mapping[TopicPartition, tuple[str, ...]],
    owner: Mapping[TopicPartition, str],
) -> tuple[dict[str, int], dict[str, tuple[str, TopicPartition]]]:
    """Who can end up with one more → the moves that this costs; and who passes what on to whom for it.

    A partition taken from its owner costs one move, one brought back saves one. No chain comes back to
    where it began at a gain, since the partitions placed so far are placed for the best.
    """

    def away(what: TopicPartition, member_id: str) -> int:
        return int(owner.get(what, member_id) != member_id)

    moves = {member_id: away(partition, member_id) for member_id in wanted[partition]}
    passed_on: dict[str, tuple[str, TopicPartition]] = {}
    changed = True
    while changed:
        changed = False
        for giver in sorted(moves):
            for what in given[giver]:
                for taker in wanted[what]:
                    cost = moves[giver] + away(what, taker) - away(what, giver)
                    if taker not in moves or cost < moves[taker]:
                        moves[taker] = cost
                        passed_on[taker] = (giver, what)
                        changed = True
    return moves, passed_on
