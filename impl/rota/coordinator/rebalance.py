"""The join phase: how a rebalance starts, when its barrier opens, what the next generation is."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rota.coordinator import voting
from rota.coordinator.group import Group, GroupState, Member, metadata_for
from rota.coordinator.messages import ErrorCode, JoinGroupProtocol, JoinGroupReply, JoinGroupReplyMember
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
    members, told = group.members_by_id(), []
    for member in members:
        parked = waiting.get(member.member_id)
        if parked is not None:
            told.append((parked, member.member_id))
        member.is_new = False
        restart_session(step, group, member)
    step.reply_each(told, generation_of(group, members).reply)
    start_sync_timer(step, group)


class Generation(NamedTuple):
    """What the JoinGroup responses of a generation tell, whatever becomes of the group and its members.

    members: those that the leader is told of, with their ids, instance ids and lists of protocols.
    """

    generation_id: int
    protocol_type: str | None
    protocol_name: str
    leader: str
    members: Sequence[tuple[str, str | None, tuple[JoinGroupProtocol, ...]]]

    def reply(self, member_id: str) -> JoinGroupReply:
        """The response to a member: the leader's with everybody's metadata."""
        generation_id, protocol_type, name, leader, _ = self
        listed = self._listed() if member_id == leader else ()
        # By position: at the end of a phase there are thousands, and names take twice as long.
        return JoinGroupReply(
            ErrorCode.NONE, generation_id, protocol_type, name, leader, False, member_id, listed
        )

    def _listed(self) -> tuple[JoinGroupReplyMember, ...]:
        name = self.protocol_name
        return tuple(
            [
                JoinGroupReplyMember(member_id, instance_id, metadata_for(name, listed))
                for member_id, instance_id, listed in self.members
            ]
        )


def generation_of(group: Group, members: Sequence[Member]) -> Generation:
    """The group's current generation, whose leader is told of these members."""
    name, leader = group.protocol_name, group.leader
    assert name is not None, "a group with a generation has a protocol"
    assert leader is not None, "a group with a generation has a leader"
    listed = [(each.member_id, each.group_instance_id, each.protocols) for each in members]
    return Generation(group.generation_id, group.protocol_type, name, leader, listed)


def generation_reply(group: Group, member: Member, with_members: bool = True) -> JoinGroupReply:
    """The JoinGroup response of the current generation: the leader's with everybody's metadata, if wanted."""
    leads = with_members and member.member_id == group.leader
    return generation_of(group, group.members_by_id() if leads else ()).reply(member.member_id)


def _stop_join_timer(step: Step, group: Group) -> None:
    if group.join_timer is not None:
        step.cancel(group.join_timer, group.group_id)
        group.join_timer = None
