"""What a restart must not do: rebalance a group that is at rest, leave a member behind, leave a partition
without an owner.

Which sentences there are depends on the configuration: some are about processes that are alone with their
instance id, some about processes that share one, some only where every part is handed out at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rota.environment.broker.coordinator import Coordinator
from rota.environment.broker.member_ids import owner
from rota.environment.clients.assignment import Assignment
from rota.environment.clients.state import IN_GENERATION, Client
from rota.environment.world import Observed
from rota.invariants.views import COORDINATOR, GROUP, error_answered, is_not
from rota.kernel import Kind, Property, View
from rota.spec import ErrorCode, Group, GroupState
from rota.spec.classic.voting import winners


def _places(group: Group) -> dict[str, str]:
    """Instance id → member id."""
    held = ((m.group_instance_id, member_id) for member_id, m in group.members.items())
    return {instance: member_id for instance, member_id in held if instance is not None}


def _quiet(before: Coordinator, after: Coordinator) -> bool:
    old, new = before.group, after.group
    if old is None or new is None or old.state is not GroupState.STABLE or new.state is GroupState.STABLE:
        return True
    former, present = _places(old), _places(new)
    replaced = former.keys() == present.keys() and former != present
    lists = [member.names for member in new.members.values()]
    return not replaced or winners(lists) != (old.protocol_name,)


RESTARTS = (
    Property(
        "static.restart-is-quiet",
        Kind.STEP,
        "A static member that restarts in a stable group, with a list that elects the same protocol, makes "
        "nobody rebalance.",
        (COORDINATOR,),
        _quiet,
        source="KIP-345; upstream GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
        rules=("static.replaced-in-stable", "static.replaced-changed-vote"),
    ),
)


def _static_name(client: Client) -> str | None:
    return client.name if client.group_instance_id is not None else None


def _one_member(group: Group | None, static: str | None) -> bool:
    if group is None or static is None:
        return True
    return sum(owner(member_id) == static for member_id in group.members) <= 1


def _fenced(client: Client) -> bool:
    """Whether it is fenced; not if a late request of its own has taken its place."""
    return error_answered(client) is ErrorCode.FENCED_INSTANCE_ID and not client.overtaken


def _fenced_at_rest(client: Client) -> bool:
    return client.phase in IN_GENERATION and _fenced(client)


ALONE = (
    Property(
        "static.one-member-per-process",
        Kind.SAFETY,
        "A static client has one member in its group, however often it restarts.",
        (GROUP, View("client", _static_name)),
        _one_member,
        source="KIP-345; upstream ClassicGroup#replaceStaticMember",
        rules=("static.replaced", "loading.load"),
    ),
    Property(
        "static.fenced-by-another",
        Kind.SAFETY,
        "A client in a generation that shares its instance id with nobody is not fenced, unless by a late "
        "request of its own.",
        (View("client", _fenced_at_rest),),
        is_not,
        source="KIP-345, KAFKA-10284",
        rules=("static.validate", "static.replaced-in-stable", "loading.load"),
    ),
)
"""Where no two processes share an instance id."""


KNOWN_WEAKNESSES = (
    Property(
        "weakness.fenced-by-a-failed-restart",
        Kind.SAFETY,
        "A restart whose record could not be stored does not fence its own process.",
        (View("client", _fenced),),
        is_not,
        source="upstream GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin: when the record "
        "of a restart fails after a rebalance has answered its JoinGroup, the former id is put back, and the "
        "new one, which has joined, is fenced, a fatal error",
        rules=("static.replacement-failed",),
    ),
)


def _unknown(client: Client) -> tuple[str, str | None] | None:
    unknown = error_answered(client) is ErrorCode.UNKNOWN_MEMBER_ID
    return (client.name, client.group_instance_id) if unknown else None


def _replaced_is_fenced(group: Group | None, unknown: tuple[str, str | None] | None) -> bool:
    if group is None or unknown is None:
        return True
    holder = group.holder(unknown[1])
    return holder is None or owner(holder) == unknown[0]


SHARED = (
    Property(
        "static.replaced-is-fenced",
        Kind.SAFETY,
        "A process whose place another one of its instance id has taken is told so, not that it is unknown.",
        (GROUP, View("client", _unknown)),
        _replaced_is_fenced,
        source="KIP-345, KAFKA-8225",
        rules=("static.validate", "heartbeat.fenced-instance-id", "join.fenced-instance-id"),
    ),
)
"""What holds where processes share an instance id and none of them ends or is taken for dead."""


def _all_owned(partitions: int) -> Callable[[Group | None], bool]:
    """Whether a stable generation hands out a topic of so many partitions."""

    def all_owned(group: Group | None) -> bool:
        if group is None or group.state is not GroupState.STABLE:
            return True
        parts = (Assignment.decode(m.assignment) for m in group.members.values() if m.assignment)
        return {number for part in parts for number in part.partitions} >= set(range(partitions))

    return all_owned


def _until_it_is_back(value: Coordinator) -> Group | None:
    """The group while no broker is its coordinator for the second time."""
    return value.group if value.epoch <= 1 else None


def nothing_unowned(partitions: int) -> Property:
    """What a stable generation hands out, for a topic of so many partitions."""
    return Property(
        "sync.nothing-unowned",
        Kind.SAFETY,
        "In a stable generation every partition is some member's, as long as the coordinator has not come "
        "back to a broker that it left.",
        (View("coordinator", _until_it_is_back),),
        _all_owned(partitions),
        source="KAFKA-9801; upstream GroupMetadataManager#classicGroupSyncToClassicGroup",
        rules=("static.replaced-while-completing", "sync.leader-assigns", "loading.load"),
    )


def nothing_unowned_ever(partitions: int = 0) -> Property:
    """The strong form, wherever the coordinator has been."""
    return Property(
        "weakness.lost-generation-assigns",
        Kind.SAFETY,
        "In a stable generation every partition is some member's, however often the coordinator moves.",
        (GROUP,),
        _all_owned(partitions),
        source="upstream GroupMetadataManager#validateSyncGroup, GroupCoordinator#validateSyncGroup (3.x): a "
        "SyncGroup is known by its member and its generation's number, and after a fail-over that number is "
        "given out again; so the leader's of a generation that was lost, come late, is taken for the new one",
        rules=("sync.illegal-generation", "sync.leader-assigns", "loading.load"),
    )


_ENDS = frozenset({"fault", "crash", "late", "leave", "poll-timeout"})


def hands_out_all(seen: Observed) -> bool:
    """Whether a generation of this configuration hands out every partition.

    Not where a static member's restart may be undone because its record has failed: upstream does so even
    after a rebalance in which the leader has assigned to the new id.
    """
    undone = bool(seen.statics) and not {"fault", "append"}.isdisjoint(seen.budget)
    return not undone and {"raw", "cooperative"}.isdisjoint(seen.kinds)


def restarts(seen: Observed) -> Iterator[Property]:
    """The sentences for a configuration."""
    statics = [instance for instance in seen.instances if instance is not None]
    odd = "raw" in seen.kinds
    if statics:
        yield from RESTARTS
    if statics and len(set(statics)) == len(statics) and not odd:
        yield from ALONE
    if len(set(statics)) < len(statics) and not odd and _ENDS.isdisjoint(seen.budget):
        yield from SHARED
    if hands_out_all(seen):
        yield nothing_unowned(seen.partitions)
