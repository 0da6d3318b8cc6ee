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
from rota.invariants.views import COORDINATOR, GROUP, error_answered, is_not_told, present
from rota.kernel import Kind, Property, View
from rota.spec import ErrorCode, Group, GroupState
from rota.spec.classic.voting import winners


def _places(group: Group) -> dict[str, str]:
    """Instance id → member id."""
    held = ((m.group_instance_id, member_id) for member_id, m in group.members.items())
    return {instance: member_id for instance, member_id in held if instance is not None}


def _restarts_alike(before: Coordinator, after: Coordinator) -> bool:
    """Whether a member of a stable group was replaced, and the lists elect the same protocol."""
    old, new = before.group, after.group
    if old is None or new is None or old.state is not GroupState.STABLE:
        return False
    former, latter = _places(old), _places(new)
    replaced = former.keys() == latter.keys() and former != latter
    return replaced and winners([one.names for one in new.members.values()]) == (old.protocol_name,)


def _stays_stable(before: Coordinator, after: Coordinator) -> bool:
    return after.group is not None and after.group.state is GroupState.STABLE


RESTARTS = (
    Property(
        "static.restart-is-quiet",
        Kind.STEP,
        "A static member that restarts in a stable group, with a list that elects the same protocol, makes "
        "nobody rebalance.",
        (COORDINATOR,),
        _stays_stable,
        given=_restarts_alike,
        source="KIP-345; upstream GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
        rules=("static.replaced-in-stable", "static.replaced-changed-vote"),
    ),
)


def _static_name(client: Client) -> str | None:
    return client.name if client.group_instance_id is not None else None


def _its_members(group: Group, static: str) -> list[str]:
    return [member_id for member_id in group.members if owner(member_id) == static]


def _has_a_member(group: Group | None, static: str | None) -> bool:
    return group is not None and static is not None and bool(_its_members(group, static))


def _one_member(group: Group, static: str) -> bool:
    return len(_its_members(group, static)) == 1


def _told(client: Client) -> ErrorCode | None:
    """How it is answered; None if a late request of its own has taken its place."""
    return None if client.overtaken else error_answered(client)


def _told_at_rest(client: Client) -> ErrorCode | None:
    return _told(client) if client.phase in IN_GENERATION else None


ALONE = (
    Property(
        "static.one-member-per-process",
        Kind.SAFETY,
        "A static client has one member in its group, however often it restarts.",
        (GROUP, View("client", _static_name)),
        _one_member,
        given=_has_a_member,
        source="KIP-345; upstream ClassicGroup#replaceStaticMember",
        rules=("static.replaced", "loading.load"),
    ),
    Property(
        "static.fenced-by-another",
        Kind.SAFETY,
        "A client in a generation that shares its instance id with nobody is not fenced, unless by a late "
        "request of its own.",
        (View("client", _told_at_rest),),
        is_not_told(ErrorCode.FENCED_INSTANCE_ID),
        given=present,
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
        (View("client", _told),),
        is_not_told(ErrorCode.FENCED_INSTANCE_ID),
        given=present,
        source="upstream GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin: when the record "
        "of a restart fails after a rebalance has answered its JoinGroup, the former id is put back, and the "
        "new one, which has joined, is fenced, a fatal error",
        rules=("static.replacement-failed",),
    ),
)


Answered = tuple[str, str | None, ErrorCode | None]
"""(client, its instance id, how it is answered)."""


def _answered(client: Client) -> Answered:
    return client.name, client.group_instance_id, error_answered(client)


def _is_replaced(group: Group | None, answered: Answered) -> bool:
    """Whether a client is answered whose place another one has taken."""
    name, instance, error = answered
    holder = None if group is None or error is None else group.holder(instance)
    return holder is not None and owner(holder) != name


def _not_unknown(group: Group, answered: Answered) -> bool:
    return answered[2] is not ErrorCode.UNKNOWN_MEMBER_ID


SHARED = (
    Property(
        "static.replaced-is-fenced",
        Kind.SAFETY,
        "A process whose place another one of its instance id has taken is told so, not that it is unknown.",
        (GROUP, View("client", _answered)),
        _not_unknown,
        given=_is_replaced,
        source="KIP-345, KAFKA-8225",
        rules=("static.validate", "heartbeat.fenced-instance-id", "join.fenced-instance-id"),
    ),
)
"""What holds where processes share an instance id and none of them ends or is taken for dead."""


def _stable(group: Group | None) -> bool:
    return group is not None and group.state is GroupState.STABLE


def _all_owned(partitions: int) -> Callable[[Group], bool]:
    """Whether a stable generation hands out a topic of so many partitions."""

    def all_owned(group: Group) -> bool:
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
        given=_stable,
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
        given=_stable,
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
