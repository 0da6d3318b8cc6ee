"""JoinGroup, and the join phase: how a rebalance starts, when its barrier opens, what the next generation is.

Dynamic members only: static membership, group.max.size and the record that a broker writes when a JoinGroup
creates a group are left out.
"""

from dataclasses import replace
from typing import NamedTuple

from rota.coordinator import voting
from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.effects import Parked, Step
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.heartbeat import restart_session, start_new_member_timer, stop_timer
from rota.coordinator.messages import ErrorCode, JoinGroup, JoinGroupReply, JoinGroupReplyMember
from rota.coordinator.sync import reset_assignments, start_sync_timer, stop_sync_timer

MEMBER_ID_REQUIRED_SINCE = 4
"""First JoinGroup version whose new members are told their id before they are admitted (KIP-394)."""


class Joiner(NamedTuple):
    """Who sends a JoinGroup: where to answer it, and the connection's client id and host."""

    parked: Parked
    client_id: str
    client_host: str


def request_error(config: CoordinatorConfig, request: JoinGroup) -> int:
    """The first check that fails before any group is looked up, or NONE."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    low, high = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    return ErrorCode.NONE if low <= request.session_timeout_ms <= high else ErrorCode.INVALID_SESSION_TIMEOUT


def join_group(step: Step, group: Group, request: JoinGroup, joiner: Joiner) -> None:
    """Answer or park a JoinGroup that passed `request_error`.

    An unfit protocol list is noticed before an unknown member id. An error's answer echoes the request's id.
    """
    if joiner.parked.version == 0:
        request = replace(request, rebalance_timeout_ms=request.session_timeout_ms)
    if group.state is GroupState.DEAD:
        _refuse(step, joiner, request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not voting.supports_protocols(group, request):
        _refuse(step, joiner, request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif not request.member_id:
        _join_new(step, group, request, joiner)
    elif request.member_id in group.pending_members:
        group.pending_members.remove(request.member_id)
        step.cancel("pending", group.group_id, request.member_id)
        _admit(step, group, request, joiner, request.member_id)
    elif request.member_id not in group.members or group.state is GroupState.EMPTY:
        _refuse(step, joiner, request, ErrorCode.UNKNOWN_MEMBER_ID)
    else:
        _rejoin(step, group, request, joiner)


def _refuse(step: Step, joiner: Joiner, request: JoinGroup, error_code: int) -> None:
    step.reply(joiner.parked, JoinGroupReply(error_code, member_id=request.member_id))


def _join_new(step: Step, group: Group, request: JoinGroup, joiner: Joiner) -> None:
    """A member without id: told one to come back with, or admitted at once in the old versions.

    The id told is all that is remembered; it is good for the session timeout of this request.
    """
    member_id = step.choices.new_member_id(joiner.client_id)
    if joiner.parked.version < MEMBER_ID_REQUIRED_SINCE:
        _admit(step, group, request, joiner, member_id)
        return
    group.pending_members.add(member_id)
    step.arm("pending", group.group_id, request.session_timeout_ms, member_id)
    step.reply(joiner.parked, JoinGroupReply(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))


def _admit(step: Step, group: Group, request: JoinGroup, joiner: Joiner, member_id: str) -> None:
    """Add a new member with its request parked, and rebalance."""
    if group.is_initial_join:
        group.new_member_added = True  # not for the first joiner: the group is still Empty then
    member = Member(
        member_id=member_id,
        client_id=joiner.client_id,
        client_host=joiner.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=request.protocols,
    )
    group.add(member, request.protocol_type, joiner.parked)
    start_new_member_timer(step, group, member)
    _rebalance(step, group)


def _rejoin(step: Step, group: Group, request: JoinGroup, joiner: Joiner) -> None:
    """A known member joins: parked, or told the current generation again where nothing has changed.

    Stable: a leader always gets its rebalance, that is how it asks for one. In the immediate answer the
    request's timeouts are ignored and no timer is touched.
    """
    member = group.members[request.member_id]
    is_leader = group.leader == member.member_id
    unchanged = member.protocols == request.protocols
    if unchanged and (
        group.state is GroupState.COMPLETING_REBALANCE or (group.state is GroupState.STABLE and not is_leader)
    ):
        step.reply(joiner.parked, _generation_reply(group, member))
        return
    group.update(member, request, joiner.parked)
    _rebalance(step, group)


def _rebalance(step: Step, group: Group) -> None:
    """After a JoinGroup was parked: start a join phase, or see whether it ends the one that is running."""
    if group.can_rebalance:
        prepare_rebalance(step, group)
    else:
        try_complete_join(step, group)


def prepare_rebalance(step: Step, group: Group) -> None:
    """Start a join phase, from any state in which none is running.

    From Empty it is initial: a fixed delay for others to arrive, of which the first is the configured one
    even when the rebalance timeout is shorter. Otherwise it lasts at most the longest rebalance timeout of
    the members at this moment, and ends here and now if everybody is waiting already (nobody at all counts as
    that).
    """
    if group.state is GroupState.COMPLETING_REBALANCE:
        reset_assignments(step, group, ErrorCode.REBALANCE_IN_PROGRESS)
    stop_sync_timer(step, group)
    group.transition_to(GroupState.PREPARING_REBALANCE)
    if group.is_initial_join:
        delay = step.config.group_initial_rebalance_delay_ms
        start_initial_delay(step, group, delay, max(group.max_rebalance_timeout_ms - delay, 0))
    elif group.all_members_joined:
        complete_join(step, group)
    else:
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
    """End the join phase: a new generation of those that wait, or an Empty group if nobody does.

    Members that have not rejoined are removed; handed-out ids stay. The answer to the record of the Empty
    group changes nothing. (A broker keeps the LeaveGroup that emptied the group waiting for it; here it is
    answered at once.)
    """
    _stop_join_timer(step, group)
    for member_id in sorted(group.members.keys() - group.parked_joins):
        member = group.members[member_id]
        stop_timer(step, group, member)
        group.remove(member)
    voting.settle_leader(group, step.choices)
    if group.state is GroupState.DEAD:
        return
    group.generation_id += 1
    if group.members:
        _start_generation(step, group)
    else:
        group.protocol_name = None
        group.transition_to(GroupState.EMPTY)
        step.append(group.group_id, group.record({}), None)
    group.note_subscriptions()


def _start_generation(step: Step, group: Group) -> None:
    group.protocol_name = voting.select_protocol(group, step.choices)
    group.transition_to(GroupState.COMPLETING_REBALANCE)
    for member_id, parked in sorted(group.parked_joins.take_all().items()):
        member = group.members[member_id]
        step.reply(parked, _generation_reply(group, member))
        member.is_new = False
        restart_session(step, group, member)
    start_sync_timer(step, group)


def _generation_reply(group: Group, member: Member) -> JoinGroupReply:
    """The current generation as a member is told it: the leader with everybody's metadata."""
    name, leader = group.protocol_name, group.leader
    assert name is not None, "a group with a generation has a protocol"
    assert leader is not None, "a group with a generation has a leader"
    listed = group.members_by_id() if member.member_id == leader else []
    return JoinGroupReply(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=name,
        leader=leader,
        member_id=member.member_id,
        members=tuple(JoinGroupReplyMember(each.member_id, None, each.metadata(name)) for each in listed),
    )


def _stop_join_timer(step: Step, group: Group) -> None:
    if group.join_timer is not None:
        step.cancel(group.join_timer, group.group_id)
        group.join_timer = None
