"""From what a member has to what it shall have: give up, say so, take.

Source: upstream's CurrentAssignmentBuilder#build, #computeNextAssignment and #updateCurrentAssignment
(module group-coordinator); KIP-848, KIP-1251.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from rota.coordinator.consumer.records import CurrentAssignment, MemberState, Place

Owned = Collection[Place] | None
"""What a member says that it owns; None if it does not say."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a member is led to: a part of the target at its epoch, of topics that the member subscribes to.

    `subscribed`: the ids of these topics. `changed`: whether this request changed the subscription.
    `is_free`: whether nobody has a partition.
    """

    epoch: int
    places: frozenset[Place]
    subscribed: frozenset[UUID]
    changed: bool
    is_free: Callable[[Place], bool]


def reconciled(current: CurrentAssignment, goal: Goal, owned: Owned) -> CurrentAssignment:
    """What the member has after this heartbeat of it; the same value if the heartbeat changes nothing."""
    if current.state is MemberState.STABLE and current.epoch == goal.epoch:
        return _unsubscribed(current, goal, owned) if goal.changed else current
    if current.state is MemberState.UNREVOKED and _owns(owned, current.pending_revocation):
        return _unsubscribed(current, goal, owned) if goal.changed else current
    return _next(current, goal, owned)


def _next(current: CurrentAssignment, goal: Goal, owned: Owned) -> CurrentAssignment:
    """Towards the target: as long as there is anything to give up nothing is taken."""
    wanted = frozenset(place for place in goal.places if place[0] in goal.subscribed)
    keep = {place: epoch for place, epoch in current.assigned.items() if place in wanted}
    revoke = {place: epoch for place, epoch in current.assigned.items() if place not in wanted}
    if revoke and _owns(owned, revoke):
        return _moved(current, current.epoch, MemberState.UNREVOKED, keep, revoke)
    missing = wanted - keep.keys()
    free = {
        place: goal.epoch for place in missing if goal.is_free(place) or place in current.pending_revocation
    }
    state = MemberState.STABLE if len(free) == len(missing) else MemberState.UNRELEASED
    return _moved(current, goal.epoch, state, {**keep, **free}, {})


def _unsubscribed(current: CurrentAssignment, goal: Goal, owned: Owned) -> CurrentAssignment:
    """The target has not been made anew; what the member no longer subscribes to goes nevertheless.

    Who leaves all topics is written anew even if there is nothing to give up.
    """
    gone = {place: epoch for place, epoch in current.assigned.items() if place[0] not in goal.subscribed}
    if not gone and (goal.subscribed or current.pending_revocation):
        return current
    keep = {place: epoch for place, epoch in current.assigned.items() if place not in gone}
    pending = {**current.pending_revocation, **gone}
    if pending and _owns(owned, pending):
        return _moved(current, current.epoch, MemberState.UNREVOKED, keep, pending)
    return _moved(current, current.epoch, current.state, keep, {})


def _owns(owned: Owned, places: Collection[Place]) -> bool:
    """Whether the member may still use one of these: it says so, or does not say anything."""
    return owned is None or any(place in owned for place in places)


def _moved(
    current: CurrentAssignment,
    epoch: int,
    state: MemberState,
    assigned: dict[Place, int],
    pending: dict[Place, int],
) -> CurrentAssignment:
    """Whatever is written, the previous epoch is what the epoch was before it."""
    return CurrentAssignment(epoch, current.epoch, state, assigned, pending)
