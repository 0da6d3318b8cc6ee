"""What happens when a timer fires. Arming and cancelling is where the reason is: join, sync, heartbeat.

A timer that fires is no longer armed. Firings find the state as it is then: an expiry that has lost its
object (the member is gone, or is parked and thereby alive) does nothing.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rota.coordinator import voting
from rota.coordinator.effects import TimerId
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.leave import drop_member
from rota.coordinator.rebalance import complete_join, prepare_rebalance, start_initial_delay
from rota.coordinator.session_timers import stop_timer
from rota.coordinator.step import Step


def fire(step: Step, group: Group, timer_id: TimerId) -> None:
    """Carry out the rule of the timer's kind."""
    FIRE[timer_id.kind](step, group, timer_id.member_id)


def initial_join(step: Step, group: Group, _: str) -> None:
    """A delay of the initial join phase is over: once more if somebody came meanwhile and time is left.

    The next delay is the configured one, cut to what is left; what is left shrinks by the delay just over.
    The mark that somebody came survives the end of the phase, as in the broker, unless that is mended.
    """
    group.join_timer = None
    remaining = group.initial_remaining_ms
    if not group.new_member_added or remaining == 0:
        complete_join(step, group)
        return
    group.new_member_added = False
    delay = min(step.config.group_initial_rebalance_delay_ms, remaining)
    start_initial_delay(step, group, delay, max(remaining - group.initial_delay_ms, 0))


def join_phase(step: Step, group: Group, _: str) -> None:
    """The join phase has lasted long enough: go on with those that wait."""
    group.join_timer = None
    complete_join(step, group)


def sync_phase(step: Step, group: Group, _: str) -> None:
    """Members whose SyncGroup is still pending are removed, whatever their heartbeats say; then a rebalance.

    It comes too if only old ids of static members are pending, as in the broker.
    """
    group.sync_timer = False
    if not group.has_generation:
        return
    late = sorted(group.pending_sync_members & group.members.keys())
    for member_id in late:
        member = group.members[member_id]
        stop_timer(step, group, member)
        step.dismiss(group.remove(member))
    if late:
        step.note("not_synced", group, removed=tuple(late))
    voting.elect_leader(group, step.choices)
    prepare_rebalance(step, group, f"removing {', '.join(late)} on pending sync request expiration")


def pending(step: Step, group: Group, member_id: str) -> None:
    """A pending member has not come back in time: the join phase need not wait for it any longer."""
    if group.state is GroupState.DEAD or member_id not in group.pending_members:
        return
    group.pending_members.remove(member_id)
    step.note("not_returned", group, member_id)
    _complete_if_all_joined(step, group)


def session(step: Step, group: Group, member_id: str) -> None:
    """A member was not heard from, or has been parked too long as a new one.

    Who waits for an answer is alive, unless it is new: its client may be long gone and have asked again.
    """
    member = group.members.get(member_id)
    if member is None:
        return
    member.timer = None
    if group.state is not GroupState.DEAD and expires(group, member):
        step.note("failed", group, member_id, member.group_instance_id)
        drop_member(step, group, member)
        voting.elect_leader(group, step.choices)
        if group.has_generation:
            prepare_rebalance(step, group, f"removing member {member_id} on heartbeat expiration")
        else:
            _complete_if_all_joined(step, group)


def expires(group: Group, member: Member) -> bool:
    """Whether the end of its timer takes a member out."""
    return member.is_new or not group.awaits_answer(member.member_id)


def _complete_if_all_joined(step: Step, group: Group) -> None:
    # Unlike a request, an expiry ends the initial join phase too.
    if group.state is GroupState.PREPARING_REBALANCE and group.all_members_joined:
        complete_join(step, group)


FIRE: Mapping[str, Callable[[Step, Group, str], None]] = MappingProxyType(
    {
        "initial_join": initial_join,
        "join": join_phase,
        "sync": sync_phase,
        "pending": pending,
        "session": session,
        "new_member": session,
    }
)
