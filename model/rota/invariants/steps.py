"""Steps: nothing bad between a state and the next."""

from __future__ import annotations

from collections.abc import Callable

from rota.environment.broker.coordinator import Coordinator
from rota.invariants.shape import WITH_GENERATION
from rota.invariants.views import COORDINATOR, labels
from rota.kernel import Kind, Property
from rota.spec import Group, GroupState

E, P, C, S = (
    GroupState.EMPTY,
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.STABLE,
)

LEGAL = frozenset({(E, P), (P, E), (P, C), (C, P), (C, S), (S, P), (C, C), (S, C), (C, E), (S, E)})
"""(before, after) of one transition where the state or the generation changes. The last four pass through
PreparingRebalance: a phase whose barrier is open at once."""


Test = Callable[[Group | None, Group | None], bool]


def _within_epoch(test: Test) -> Callable[[Coordinator, Coordinator], bool]:
    """A sentence about one coordinator: another one goes on from what the log has, and may repeat numbers."""

    def judged(before: Coordinator, after: Coordinator) -> bool:
        moved = before.epoch != after.epoch or before.loading
        return moved or test(before.group, after.group)

    return judged


def _generation_grows(before: Group | None, after: Group | None) -> bool:
    if before is None or after is None:
        # A deletion whose record could not be stored gives an Empty group back.
        return after is None or after.state is E or after.generation_id in (0, 1)
    grown = after.generation_id - before.generation_id
    completed = after.state in (C, E) and (before.state is not after.state or grown == 1)
    return grown == (1 if completed else 0)


def _legal_transition(before: Group | None, after: Group | None) -> bool:
    if before is None or after is None:
        return after is None or after.state in (E, P)
    changed = (before.state, before.generation_id) != (after.state, after.generation_id)
    return not changed or (before.state, after.state) in LEGAL


def _membership_fixed(before: Group | None, after: Group | None) -> bool:
    if before is None or after is None or after.state not in WITH_GENERATION:
        return True
    same = before.generation_id == after.generation_id
    return not same or set(labels(before)) == set(labels(after))


def _assignment_fixed(before: Group | None, after: Group | None) -> bool:
    if before is None or after is None or not (before.state is after.state is S):
        return True
    return all(
        after.members[i].assignment == m.assignment for i, m in before.members.items() if i in after.members
    )


def _parked_member_stays(before: Group | None, after: Group | None) -> bool:
    if before is None or after is None:
        return True
    stay = labels(after)
    return all(
        (member.group_instance_id or member_id) in stay
        for member_id, member in before.members.items()
        if not member.is_new and (member.awaiting_join or member.awaiting_sync)
    )


def _barrier_waits_for_pending(before: Coordinator, after: Coordinator) -> bool:
    moved = before.epoch != after.epoch or before.loading
    if moved or before.group is None or after.group is None or after.group.state is not C:
        return True
    new_generation = before.group.generation_id != after.group.generation_id
    return not (new_generation and after.ended_by_barrier and after.group.pending)


STEPS = (
    Property(
        "generation.grows-by-completed-joins",
        Kind.STEP,
        "The generation grows by one with every completed join phase and never otherwise.",
        (COORDINATOR,),
        _within_epoch(_generation_grows),
        source="upstream ClassicGroup#initNextGeneration",
        rules=("join.next-generation", "join.empty"),
    ),
    Property(
        "state.legal-transition",
        Kind.STEP,
        "The state changes only along the legal transitions.",
        (COORDINATOR,),
        _within_epoch(_legal_transition),
        source="upstream ClassicGroupState",
        rules=("join.prepare-rebalance", "persistence.late-answer"),
    ),
    Property(
        "join.membership-fixed-in-a-generation",
        Kind.STEP,
        "While a generation is completed or stable its members do not change.",
        (COORDINATOR,),
        _within_epoch(_membership_fixed),
        source="KAFKA-9801; upstream GroupMetadataManager#maybePrepareRebalanceOrCompleteJoin",
        rules=("leave.batch", "timers.session-expired", "join.rebalance-or-complete"),
    ),
    Property(
        "sync.assignment-fixed-in-a-generation",
        Kind.STEP,
        "The assignments of a stable generation do not change.",
        (COORDINATOR,),
        _within_epoch(_assignment_fixed),
        source="upstream GroupMetadataManager#classicGroupSyncToClassicGroup",
        rules=("sync.stable", "persistence.late-answer"),
    ),
    Property(
        "timers.parked-member-stays",
        Kind.STEP,
        "A member whose client waits for an answer is not removed, unless it is new.",
        (COORDINATOR,),
        _within_epoch(_parked_member_stays),
        source="upstream ClassicGroupMember#hasSatisfiedHeartbeat",
        rules=("timers.session-ignored", "join.complete-phase"),
    ),
    Property(
        "join.barrier-waits-for-pending",
        Kind.STEP,
        "A join phase that did not time out ends only when no handed-out id is unused.",
        (COORDINATOR,),
        _barrier_waits_for_pending,
        source="KIP-394; upstream ClassicGroup#hasAllMembersJoined",
        rules=("join.barrier",),
    ),
)
