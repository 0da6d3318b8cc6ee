"""The owner map: in a few lines what the protocol is for, and properties by which it refines that.

A claim is an owner (a member id, or the instance id of a static member, which may have more than one process)
that consumes a partition, with the generation since which it does. The map is the set of all claims. It knows
two moves: a claim ends, or one begins that differs from every other in its partition or its generation.
`abstract` takes a state of the world to its map, and every transition of the world is moves of the map, or
none. Properties say so without looking at whole states: a client claims only by reading an assignment, and
for the generation that it reads (`owners.claimed-by-sync`), and no two clients hold equal claims
(`sync.one-owner`). A test checks the same on whole states.

The strong form, one claim a partition, is what a rebalance is meant to bring about. It holds as long as
nobody is taken for dead who is not.
"""

from __future__ import annotations

from rota.environment.clients.assignment import Assignment
from rota.environment.clients.state import IN_GENERATION, Client, Phase
from rota.invariants.views import CLIENT
from rota.kernel import Kind, Property, View
from rota.kernel.transition import State

Claims = frozenset[tuple[int, int]]
"""(partition, generation since which it is consumed) of one client."""

OwnerMap = frozenset[tuple[int, int, str]]
"""(partition, since, owner): all claims."""


def moves(before: OwnerMap, after: OwnerMap) -> bool:
    """Whether the map allows to go from one to the other: no two claims equal in partition and generation."""
    begun = after - before
    held = {claim[:2] for claim in before & after}
    return len({claim[:2] for claim in begun} - held) == len(begun)


def abstract(state: State) -> OwnerMap:
    """The owner map of a state of the world."""
    clients = (value for value in state if isinstance(value, Client))
    return frozenset((*claim, client.label) for client in clients for claim in claims(client))


def claims(client: Client) -> Claims:
    """What a client consumes. One that is gone or joins consumes nothing."""
    if not client.assignment:
        return frozenset()
    part = Assignment.decode(client.assignment)
    return frozenset((partition, part.generation_id) for partition in part.partitions)


def _begun(before: Client, after: Client) -> Claims:
    return claims(after) - claims(before)


def _begins_to_consume(before: Client, after: Client) -> bool:
    return bool(_begun(before, after))


def _claimed_by_sync(before: Client, after: Client) -> bool:
    own = all(since == after.generation_id for _, since in _begun(before, after))
    return before.phase is Phase.SYNCING and own


def _in_no_generation(client: Client) -> bool:
    return client.phase not in IN_GENERATION


def _consumes_nothing(client: Client) -> bool:
    return not claims(client)


def _partitions(client: Client) -> frozenset[int]:
    return frozenset(partition for partition, _ in claims(client))


def _both_consume(one: frozenset[int], other: frozenset[int]) -> bool:
    return bool(one and other)


def _disjoint(one: frozenset[int], other: frozenset[int]) -> bool:
    return not one & other


OWNERS = (
    Property(
        "owners.claimed-by-sync",
        Kind.STEP,
        "A client begins to consume a partition only when it reads its assignment, and for that generation.",
        (CLIENT,),
        _claimed_by_sync,
        given=_begins_to_consume,
        source="upstream ConsumerCoordinator#onJoinComplete",
        rules=("sync.stable", "persistence.assignment-stored"),
    ),
)

EAGER = (
    Property(
        "owners.revoked-before-joining",
        Kind.SAFETY,
        "An eager client consumes nothing while it joins or syncs, nor when it has left.",
        (CLIENT,),
        _consumes_nothing,
        given=_in_no_generation,
        source="upstream ConsumerCoordinator#onJoinPrepare",
        rules=("join.complete-phase",),
    ),
)
"""What holds where nobody is cooperative."""

KNOWN_WEAKNESSES = (
    Property(
        "weakness.taken-for-dead-and-consuming",
        Kind.SAFETY,
        "No two clients consume a partition at the same time, in whatever generations.",
        (View("client", _partitions), View("client", _partitions)),
        _disjoint,
        given=_both_consume,
        source="KIP-62: a member whose session has run out consumes until it hears of it, and its partitions "
        "have a new owner meanwhile",
        rules=("timers.session-expired", "heartbeat.unknown-member"),
    ),
)
"""The strong form of `sync.one-owner`."""
