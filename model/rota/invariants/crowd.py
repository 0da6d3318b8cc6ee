"""How many members a group has: what vanished clients leave behind, and group.max.size."""

from __future__ import annotations

from rota.environment.broker.coordinator import Coordinator
from rota.environment.broker.member_ids import owner
from rota.environment.messages import NOBODY
from rota.invariants.views import GROUP, Refers, refers_to
from rota.kernel import Kind, Property, View
from rota.spec import Group, GroupState, TimerKind
from rota.spec.effects import timer


def _left_behind(value: Coordinator) -> tuple[str, ...]:
    """Members that wait on a connection that is gone and that no timer of their own will remove."""
    if value.group is None:
        return ()
    parked = (i for i, m in value.group.members.items() if NOBODY in (m.awaiting_join, m.awaiting_sync))
    return tuple(i for i in parked if timer(TimerKind.NEW_MEMBER, i) not in value.armed)


def _waits_for_ids(value: Coordinator) -> frozenset[str]:
    """The ids that alone keep a join phase from its end."""
    group = value.group
    if group is None or group.state is not GroupState.PREPARING_REBALANCE or group.initial_join is not None:
        return frozenset()
    everybody = group.members and len(group.awaiting_join) == len(group.members)
    return group.pending if everybody else frozenset()


def _waits_for_its_id(waits_for: frozenset[str], client: Refers) -> bool:
    return any(owner(member_id) == client[0] for member_id in waits_for)


def _somebody_comes(waits_for: frozenset[str], client: Refers) -> bool:
    name, held = client
    return all(owner(member_id) != name or member_id in held for member_id in waits_for)


def _vanished(left_behind: tuple[str, ...], client: Refers) -> list[str]:
    """The members that a client has left behind and forgotten."""
    name, held = client
    return [one for one in left_behind if owner(one) == name and one not in held]


def _left_some(left_behind: tuple[str, ...], client: Refers) -> bool:
    return bool(_vanished(left_behind, client))


def no_pile_up(faults: int = 0) -> Property:
    """What a client leaves behind, however often it tries again. faults: how many there may be.

    A newcomer has a timer of its own while it waits (KAFKA-7610), and whoever tries again under the id that
    it was given takes its own place (KIP-394). So only members of a generation are left, each by a process
    that vanished; and for a second one to wait beside the first, a request of the first, too, must have come
    late from a connection that is gone: two faults for each after the first.
    """
    most = max(1, (faults + 1) // 2)

    def bounded(left_behind: tuple[str, ...], client: Refers) -> bool:
        return len(_vanished(left_behind, client)) <= most

    return Property(
        "join.no-pile-up",
        Kind.SAFETY,
        "A client that fails again and again leaves one member behind that only the end of the join phase "
        "can remove, and one more at most for every two faults after the first; retries alone leave no more.",
        (View("coordinator", _left_behind), View("client", refers_to)),
        bounded,
        given=_left_some,
        source="KAFKA-7610, KIP-394",
        rules=("join.new-member", "join.member-id-required", "timers.new-member-expired"),
    )


def _at_rest(group: Group | None) -> bool:
    return group is not None and group.initial_join is None


def _remembers_nobody(group: Group) -> bool:
    return not group.new_member_added


KNOWN_WEAKNESSES = (
    Property(
        "weakness.newcomer-remembered",
        Kind.SHAPE,
        "That somebody joined during an initial delay is forgotten with its end.",
        (GROUP,),
        _remembers_nobody,
        given=_at_rest,
        source="upstream ClassicGroup#newMemberAdded is cleared when a delay is extended, not when it ends: "
        "the next group of that name may wait a window longer for nobody",
        rules=("timers.initial-delay-extended", "join.complete-phase"),
    ),
    Property(
        "weakness.unused-id-holds-up",
        Kind.SAFETY,
        "A join phase that all members have joined does not wait for an id that nobody will use.",
        (View("coordinator", _waits_for_ids), View("client", refers_to)),
        _somebody_comes,
        given=_waits_for_its_id,
        source="KIP-394; upstream ClassicGroup#hasAllMembersJoined: a client that asked for an id and "
        "vanished holds the others up for its session timeout, or to the end of the rebalance timeout",
        rules=("join.barrier", "timers.pending-expired"),
    ),
)


NO_LIMIT = 2_147_483_647


def _stable(group: Group | None) -> bool:
    return group is not None and group.state is GroupState.STABLE


def within_limit(limit: int = NO_LIMIT) -> Property:
    """The size of a stable group, for a group.max.size."""

    def fits(group: Group) -> bool:
        return len(group.members) <= limit

    return Property(
        "weakness.absent-members-not-counted",
        Kind.SAFETY,
        "A stable group has no more members than group.max.size.",
        (GROUP,),
        fits,
        given=_stable,
        source="KIP-389; upstream GroupMetadataManager#acceptJoiningMember: while a rebalance is prepared "
        "only members that wait are counted, and a static member that does not come back stays nevertheless",
        rules=("join.group-max-size-reached",),
    )


def joiners_within_limit(limit: int = NO_LIMIT) -> Property:
    """The weak form: of the dynamic members of a stable group."""

    def fits(group: Group) -> bool:
        return sum(member.group_instance_id is None for member in group.members.values()) <= limit

    return Property(
        "join.size-within-limit",
        Kind.SAFETY,
        "A stable group has no more dynamic members than group.max.size.",
        (GROUP,),
        fits,
        given=_stable,
        source="KIP-389; upstream GroupMetadataManager#acceptJoiningMember",
        rules=("join.group-max-size-reached",),
    )
