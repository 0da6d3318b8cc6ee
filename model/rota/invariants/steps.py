"""Steps: nothing bad between a state and the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


Test = Callable[[Any, Any], bool]


def _of_groups(test: Test) -> Callable[[Coordinator, Coordinator], bool]:
    """A predicate over the group before and after."""

    def judged(before: Coordinator, after: Coordinator) -> bool:
        return test(before.group, after.group)

    return judged


def _within_epoch(given: Test) -> Callable[[Coordinator, Coordinator], bool]:
    """The premise of a sentence about one coordinator: another one goes on from what the log has, and may
    repeat numbers."""

    def judged(before: Coordinator, after: Coordinator) -> bool:
        moved = before.epoch != after.epoch or before.loading
        return not moved and given(before.group, after.group)

    return judged


def _there_is_one(before: Group | None, after: Group | None) -> bool:
    return after is not None


def _generation_grows(before: Group | None, after: Group) -> bool:
    if before is None:
        # A deletion whose record could not be stored gives an Empty group back.
        return after.state is E or after.generation_id in (0, 1)
    grown = after.generation_id - before.generation_id
    completed = after.state in (C, E) and (before.state is not after.state or grown == 1)
    return grown == (1 if completed else 0)


def _changes(before: Group | None, after: Group | None) -> bool:
    if before is None or after is None:
        return after is not None
    return (before.state, before.generation_id) != (after.state, after.generation_id)


def _legal_transition(before: Group | None, after: Group) -> bool:
    return after.state in (E, P) if before is None else (before.state, after.state) in LEGAL


def _same_generation(before: Group | None, after: Group | None) -> bool:
    if before is None or after is None or after.state not in WITH_GENERATION:
        return False
    return before.generation_id == after.generation_id


def _membership_fixed(before: Group, after: Group) -> bool:
    return set(labels(before)) == set(labels(after))


def _stays_stable(before: Group | None, after: Group | None) -> bool:
    return before is not None and after is not None and before.state is after.state is S


def _assignment_fixed(before: Group, after: Group) -> bool:
    return all(
        after.members[i].assignment == m.assignment for i, m in before.members.items() if i in after.members
    )


def _parked(group: Group) -> list[str]:
    """The members whose clients wait for an answer, but for new ones."""
    return [
        member.group_instance_id or member_id
        for member_id, member in group.members.items()
        if not member.is_new and (member.awaiting_join or member.awaiting_sync)
    ]


def _somebody_is_parked(before: Group | None, after: Group | None) -> bool:
    return before is not None and after is not None and bool(_parked(before))


def _parked_member_stays(before: Group, after: Group) -> bool:
    return set(_parked(before)) <= set(labels(after))


def _begins_a_generation(before: Group | None, after: Group | None) -> bool:
    if before is None or after is None or after.state is not C:
        return False
    return before.generation_id != after.generation_id


def _barrier_ends_phase(before: Coordinator, after: Coordinator) -> bool:
    return after.ended_by_barrier and _within_epoch(_begins_a_generation)(before, after)


def _nobody_is_pending(before: Coordinator, after: Coordinator) -> bool:
    return after.group is not None and not after.group.pending


STEPS = (
    Property(
        "generation.grows-by-completed-joins",
        Kind.STEP,
        "The generation grows by one with every completed join phase and never otherwise.",
        (COORDINATOR,),
        _of_groups(_generation_grows),
        given=_within_epoch(_there_is_one),
        source="upstream ClassicGroup#initNextGeneration",
        rules=("join.next-generation", "join.empty"),
    ),
    Property(
        "state.legal-transition",
        Kind.STEP,
        "The state changes only along the legal transitions.",
        (COORDINATOR,),
        _of_groups(_legal_transition),
        given=_within_epoch(_changes),
        source="upstream ClassicGroupState",
        rules=("join.prepare-rebalance", "persistence.late-answer"),
    ),
    Property(
        "join.membership-fixed-in-a-generation",
        Kind.STEP,
        "While a generation is completed or stable its members do not change.",
        (COORDINATOR,),
        _of_groups(_membership_fixed),
        given=_within_epoch(_same_generation),
        source="KAFKA-9801; upstream GroupMetadataManager#maybePrepareRebalanceOrCompleteJoin",
        rules=("leave.batch", "timers.session-expired", "join.rebalance-or-complete"),
    ),
    Property(
        "sync.assignment-fixed-in-a-generation",
        Kind.STEP,
        "The assignments of a stable generation do not change.",
        (COORDINATOR,),
        _of_groups(_assignment_fixed),
        given=_within_epoch(_stays_stable),
        source="upstream GroupMetadataManager#classicGroupSyncToClassicGroup",
        rules=("sync.stable", "persistence.late-answer"),
    ),
    Property(
        "timers.parked-member-stays",
        Kind.STEP,
        "A member whose client waits for an answer is not removed, unless it is new.",
        (COORDINATOR,),
        _of_groups(_parked_member_stays),
        given=_within_epoch(_somebody_is_parked),
        source="upstream ClassicGroupMember#hasSatisfiedHeartbeat",
        rules=("timers.session-ignored", "join.complete-phase"),
    ),
    Property(
        "join.barrier-waits-for-pending",
        Kind.STEP,
        "A join phase that did not time out ends only when no handed-out id is unused.",
        (COORDINATOR,),
        _nobody_is_pending,
        given=_barrier_ends_phase,
        source="KIP-394; upstream ClassicGroup#hasAllMembersJoined",
        rules=("join.barrier",),
    ),
)
