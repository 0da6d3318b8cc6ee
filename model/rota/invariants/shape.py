"""Shape: every state is well formed."""

from __future__ import annotations

from rota.environment.broker.coordinator import Coordinator
from rota.invariants.views import COORDINATOR, GROUP, present
from rota.kernel import Kind, Property
from rota.spec import Group, GroupState, Timer
from rota.spec.classic.rebalance import barrier
from rota.spec.classic.settled import settled_timers, waits_for_log
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.effects import timer

WITH_GENERATION = frozenset({GroupState.COMPLETING_REBALANCE, GroupState.STABLE})


def _fields_match_state(group: Group) -> bool:
    if group.state is GroupState.EMPTY:
        bare = group.leader is None and group.protocol_name is None and not group.pending_sync
        return bare and not group.members and group.initial_join is None
    if group.state is GroupState.PREPARING_REBALANCE:
        return not group.pending_sync
    chosen = group.protocol_name is not None and group.initial_join is None
    return chosen and bool(group.members)


def _leader_is_a_member(group: Group) -> bool:
    return group.leader in group.members if group.members else group.leader is None


def _somebody_is_pending(group: Group | None) -> bool:
    return group is not None and bool(group.pending)


def _pending_are_no_members(group: Group) -> bool:
    return not group.pending.intersection(group.members)


def _somebody_is_parked(group: Group | None) -> bool:
    return group is not None and any(
        member.awaiting_join is not None or member.awaiting_sync is not None
        for member in group.members.values()
    )


def _parked_fits_state(group: Group) -> bool:
    for member in group.members.values():
        in_phase = group.state is GroupState.PREPARING_REBALANCE
        if member.awaiting_join is not None and not in_phase and not waits_for_log(member):
            return False
        if member.awaiting_sync is not None and group.state is not GroupState.COMPLETING_REBALANCE:
            return False
    return True


def _waits_for_members(group: Group | None) -> bool:
    """Whether a join phase runs, past its initial delay."""
    if group is None or group.state is not GroupState.PREPARING_REBALANCE:
        return False
    return group.initial_join is None


def _barrier_is_closed(group: Group) -> bool:
    return not barrier(group)


def expected_timers(group: Group | None) -> frozenset[Timer]:
    """The timers that must be armed, as a function of the group alone."""
    if group is None:
        return frozenset()
    armed = {timer(TimerKind.PENDING, i) for i in group.pending}
    for member_id, member in group.members.items():
        armed.add(timer(TimerKind.NEW_MEMBER if member.is_new else TimerKind.SESSION, member_id))
    if group.state is GroupState.PREPARING_REBALANCE:
        armed.add(timer(TimerKind.JOIN if group.initial_join is None else TimerKind.INITIAL_JOIN))
    if group.pending_sync:
        armed.add(timer(TimerKind.SYNC))
    return frozenset(armed)


def _timers_match_state(value: Coordinator) -> bool:
    """Sessions of parked members are left out: their expiry is ignored, so it shows nowhere."""
    wanted = settled_timers(value.group, expected_timers(value.group))
    return settled_timers(value.group, value.armed) == wanted


SHAPE = (
    Property(
        "shape.fields-match-state",
        Kind.SHAPE,
        "An Empty group has no members, leader or protocol; one with a generation has all three.",
        (GROUP,),
        _fields_match_state,
        given=present,
        source="upstream ClassicGroup",
        rules=("join.empty", "join.next-generation"),
    ),
    Property(
        "join.leader-is-a-member",
        Kind.SHAPE,
        "A group with members has exactly one leader, and it is one of them; an empty one has none.",
        (GROUP,),
        _leader_is_a_member,
        given=present,
        source="upstream ClassicGroup#remove",
        rules=("join.leader", "leave.remove-member"),
    ),
    Property(
        "join.pending-are-no-members",
        Kind.SHAPE,
        "An id that was handed out and not used yet is no member's.",
        (GROUP,),
        _pending_are_no_members,
        given=_somebody_is_pending,
        source="KIP-394",
        rules=("join.member-id-required", "join.pending-member"),
    ),
    Property(
        "parked.fits-state",
        Kind.SHAPE,
        "JoinGroups are parked only while a rebalance is prepared, SyncGroups only while it is completed.",
        (GROUP,),
        _parked_fits_state,
        given=_somebody_is_parked,
        source="upstream ClassicGroup",
        rules=("join.next-generation", "join.prepare-rebalance", "persistence.assignment-stored"),
    ),
    Property(
        "timers.match-state",
        Kind.SHAPE,
        "Exactly the timers are armed that the group's state calls for: none is forgotten, none left over.",
        (COORDINATOR,),
        _timers_match_state,
        source="upstream GroupMetadataManager",
        rules=("join.prepare-rebalance", "join.next-generation", "heartbeat.alive", "join.new-member"),
    ),
)

KNOWN_WEAKNESSES = (
    Property(
        "join.open-barrier-completes",
        Kind.SHAPE,
        "A join phase is over when all members have joined and no id is pending, but for an initial delay.",
        (GROUP,),
        _barrier_is_closed,
        given=_waits_for_members,
        source="upstream GroupMetadataManager#maybeCompleteJoinPhase",
        rules=("join.rebalance-or-complete", "join.complete-if-all-joined", "timers.pending-expired"),
    ),
)
"""The Java coordinator breaks it: it does not look at the barrier when it has refused a member for size."""
