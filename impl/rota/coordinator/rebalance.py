"""The join phase: how a rebalance starts, when its barrier opens, what the next generation is."""

from collections.abc import Callable

from rota.coordinator import voting
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.messages import ErrorCode, JoinGroupReply, JoinGroupReplyMember
from rota.coordinator.session_timers import restart_session, stop_timer
from rota.coordinator.step import Step
from rota.coordinator.sync import reset_assignments, start_sync_timer, stop_sync_timer


def client_reason(given: str | None) -> str:
    """What a client says of why it comes or goes; old versions cannot say it (KIP-800)."""
    return f"client reason: {given or 'not provided'}"


def rebalance_or_complete(step: Step, group: Group, reason: Callable[[], str]) -> None:
    """After a JoinGroup was parked: start a join phase, or see whether it ends the one that is running."""
    if group.can_rebalance:
        prepare_rebalance(step, group, reason())
    else:
        try_complete_join(step, group)


def prepare_rebalance(step: Step, group: Group, reason: str) -> None:
    """Start a join phase, from any state in which none is running.

    From Empty it is initial: a fixed delay for others to arrive, of which the first is the configured one
    even when the rebalance timeout is shorter. Otherwise it lasts at most the longest rebalance timeout of
    the members at this moment, and ends here and now if everybody is waiting already (nobody at all counts as
    that).
    """
    if group.state is GroupState.COMPLETING_REBALANCE:
        reset_assignments(step, group, ErrorCode.REBALANCE_IN_PROGRESS)
    stop_sync_timer(step, group)
    step.note("preparing", group, reason=reason)
    group.transition_to(GroupState.PREPARING_REBALANCE, step.choices.now_ms())
    if group.is_initial_join:
        delay = step.config.group_initial_rebalance_delay_ms
        start_initial_delay(step, group, delay, max(group.max_rebalance_timeout_ms - delay, 0))
    elif group.all_members_joined:
        complete_join(step, group)
    else:
        start_join_timer(step, group)


def start_join_timer(step: Step, group: Group) -> None:
    """Wait for the others, for as long as the longest rebalance timeout."""
    group.join_timer = "join"
    step.arm("join", group.group_id, group.max_rebalance_timeout_ms)


def start_initial_delay(step: Step, group: Group, delay_ms: int, remaining_ms: int) -> None:
    """Wait for `delay_ms`; afterwards `remaining_ms` are left for extensions."""
    group.join_timer = "initial_join"
    group.initial_delay_ms, group.initial_remaining_ms = delay_ms, remaining_ms
    step.arm("initial_join", group.group_id, delay_ms)


def try_complete_join(step: Step, group: Group) -> None:
    """Open the barrier if all are there. The initial join phase is never ended early by a request."""
    if (
        group.state is GroupState.PREPARING_REBALANCE
        and not group.is_initial_join
        and group.all_members_joined
    ):
        complete_join(step, group)


def complete_join(step: Step, group: Group) -> None:
    """End the join phase: a new generation of those that wait, or an Empty group if there are no members.

    Dynamic members that have not rejoined are removed; static ones are not, and pending members stay. If only
    static members are left and none of them waits, the phase goes on until one comes or all their sessions
    have ended.
    """
    _stop_join_timer(step, group)
    group.new_member_added &= step.config.mends.newcomer_mark_stays
    late = []
    for member_id in sorted(group.members.keys() - group.parked_joins):
        member = group.members[member_id]
        if member.group_instance_id is None:
            stop_timer(step, group, member)
            step.dismiss(group.remove(member))
            late.append(member_id)
    if late:
        step.note("not_joined", group, removed=tuple(late))
    if group.state is GroupState.DEAD:
        return
    if group.members and not group.parked_joins:
        voting.elect_leader(group, step.choices)
        start_join_timer(step, group)
        return
    voting.elect_joined_leader(group, step.choices)
    group.generation_id += 1
    if group.members:
        _start_generation(step, group)
    else:
        group.protocol_name = None
        group.transition_to(GroupState.EMPTY, step.choices.now_ms())
        step.note("empty", group)
        step.append(group.group_id, group.record({}))
    group.note_subscriptions()


def _start_generation(step: Step, group: Group) -> None:
    """All members are part of it, also static ones that have not rejoined: their sessions start anew too."""
    group.protocol_name = voting.select_protocol(group, step.choices)
    group.transition_to(GroupState.COMPLETING_REBALANCE, step.choices.now_ms())
    step.note("stabilized", group, group.leader or "")
    waiting = group.parked_joins.take_all()
    for member in group.members_by_id():
        parked = waiting.get(member.member_id)
        if parked is not None:
            step.reply(parked, generation_reply(group, member))
        member.is_new = False
        restart_session(step, group, member)
    start_sync_timer(step, group)


def generation_reply(group: Group, member: Member, with_members: bool = True) -> JoinGroupReply:
    """The JoinGroup response of the current generation: the leader's with everybody's metadata, if wanted."""
    name, leader, member_id = group.protocol_name, group.leader, member.member_id
    assert name is not None, "a group with a generation has a protocol"
    assert leader is not None, "a group with a generation has a leader"
    listed = _listed(group, name) if member_id == leader and with_members else ()
    # By position: at the end of a phase there are thousands, and names take twice as long.
    return JoinGroupReply(
        ErrorCode.NONE, group.generation_id, group.protocol_type, name, leader, False, member_id, listed
    )


def _listed(group: Group, protocol_name: str) -> tuple[JoinGroupReplyMember, ...]:
    return tuple(
        [
            JoinGroupReplyMember(each.member_id, each.group_instance_id, each.metadata(protocol_name))
            for each in group.members_by_id()
        ]
    )


def _stop_join_timer(step: Step, group: Group) -> None:
    if group.join_timer is not None:
        step.cancel(group.join_timer, group.group_id)
        group.join_timer = None
