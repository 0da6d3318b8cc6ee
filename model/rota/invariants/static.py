"""Static members (KIP-345): one member per instance, and what their restarts must not do."""

from __future__ import annotations

from rota.environment.broker.coordinator import Coordinator
from rota.environment.broker.member_ids import owner
from rota.environment.clients.state import Client, Phase
from rota.invariants.views import COORDINATOR, GROUP, both
from rota.kernel import Kind, Property, View
from rota.spec import ErrorCode, Group, GroupState, JoinGroupReply


def _instances(group: Group) -> list[str]:
    return [m.group_instance_id for m in group.members.values() if m.group_instance_id is not None]


def _has_instances(group: Group | None) -> bool:
    return group is not None and bool(_instances(group))


def _one_member_per_instance(group: Group) -> bool:
    return len(set(_instances(group))) == len(_instances(group))


def _runs_out_of_time(before: Coordinator, after: Coordinator) -> bool:
    """Only a phase that a timer ended is judged: a LeaveGroup may end one, too, and take a member along."""
    old, new = before.group, after.group
    if old is None or new is None or old.state is not GroupState.PREPARING_REBALANCE:
        return False
    timed_out = new.state is GroupState.COMPLETING_REBALANCE and not after.ended_by_barrier
    return timed_out and bool(_instances(old))


def _absent_stay(before: Coordinator, after: Coordinator) -> bool:
    assert before.group is not None
    assert after.group is not None
    return set(_instances(before.group)) <= set(_instances(after.group))


def _somebody_owes_a_sync(group: Group | None) -> bool:
    return group is not None and bool(group.pending_sync)


def _owed_syncs_are_members(group: Group) -> bool:
    return group.pending_sync <= set(group.members)


def _refused_for_size(client: Client) -> str | None:
    reply = client.inbox
    refused = isinstance(reply, JoinGroupReply) and reply.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    return client.name if refused else None


def _not_its_own_place(group: Group, refused: str) -> bool:
    held = (i for i, m in group.members.items() if m.group_instance_id is not None)
    return all(owner(member_id) != refused for member_id in held)


def _led(value: Coordinator) -> tuple[str, int] | None:
    group = value.group
    if group is None or group.state is not GroupState.STABLE or group.leader is None:
        return None
    return group.leader, group.generation_id


def _believes(client: Client) -> tuple[str, int, bool] | None:
    return (client.member_id, client.generation_id, client.leads) if client.phase is Phase.STABLE else None


def _it_leads(led: tuple[str, int] | None, client: tuple[str, int, bool] | None) -> bool:
    return led is not None and client is not None and client[:2] == led


def _it_knows(led: tuple[str, int], client: tuple[str, int, bool]) -> bool:
    return client[2]


STATIC = (
    Property(
        "static.one-member-per-instance",
        Kind.SHAPE,
        "No two members hold the same group instance id.",
        (GROUP,),
        _one_member_per_instance,
        given=_has_instances,
        source="KIP-345; KAFKA-8225; upstream ClassicGroup#staticMembers",
        rules=("static.new-member", "static.replaced-in-stable", "static.replaced-while-preparing"),
    ),
    Property(
        "static.absent-members-stay",
        Kind.STEP,
        "A join phase that runs out of time removes no static member.",
        (COORDINATOR,),
        _absent_stay,
        given=_runs_out_of_time,
        source="KIP-345; KAFKA-8220; upstream GroupMetadataManager#completeClassicGroupJoin",
        rules=("join.complete-phase", "static.nobody-joined"),
    ),
)

KNOWN_WEAKNESSES = (
    Property(
        "weakness.stale-sync-debt",
        Kind.SHAPE,
        "Only members owe a SyncGroup.",
        (GROUP,),
        _owed_syncs_are_members,
        given=_somebody_owes_a_sync,
        source="upstream ClassicGroup#replaceStaticMember keeps the old id among those that have not synced: "
        "when the sync timer is due the group rebalances although everybody has synced",
        rules=("static.replaced-in-stable", "timers.sync-timeout"),
    ),
    Property(
        "weakness.static-restart-refused",
        Kind.SAFETY,
        "A static member that restarts, which adds nobody to its group, is not refused for the group's size.",
        (GROUP, View("client", _refused_for_size)),
        _not_its_own_place,
        given=both,
        source="upstream GroupMetadataManager#acceptJoiningMember counts a static restart as a newcomer",
        rules=("join.group-max-size-reached",),
    ),
    Property(
        "weakness.leader-does-not-know",
        Kind.SAFETY,
        "The client that leads a stable generation knows that it does.",
        (View("coordinator", _led), View("client", _believes)),
        _it_knows,
        given=_it_leads,
        source="KIP-814; upstream GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin: below "
        "JoinGroup v9 a restarted leader is told its dead id as the leader's, and nobody watches the topics",
        rules=("static.replaced-in-stable",),
    ),
)
