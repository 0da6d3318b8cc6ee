"""JoinGroup: who is admitted, who has to come back with a member id, who is refused.

Source: Kafka's Java coordinator, GroupMetadataManager#classicGroupJoinToClassicGroup, #acceptJoiningMember,
#classicGroupJoinNewMember and #classicGroupJoinExistingMember.
"""

from dataclasses import replace
from typing import NamedTuple

from rota.coordinator import static, voting
from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.effects import GroupRecord
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.ledger import Created
from rota.coordinator.memory import GROUP_BYTES, Memory, list_bytes, member_bytes
from rota.coordinator.messages import ErrorCode, JoinGroup, JoinGroupReply
from rota.coordinator.notices import Event
from rota.coordinator.purgatory import ParkedRequest
from rota.coordinator.rebalance import (
    client_reason,
    generation_reply,
    rebalance_or_complete,
    try_complete_join,
)
from rota.coordinator.session_timers import start_new_member_timer, stop_timer
from rota.coordinator.step import Step

MEMBER_ID_REQUIRED_SINCE = 4
"""First JoinGroup version whose new members get their id before they are admitted (KIP-394)."""


class Joiner(NamedTuple):
    """Who sends a JoinGroup: where to answer it, and the connection's client id and host."""

    parked: ParkedRequest
    client_id: str
    client_host: str


def request_error(config: CoordinatorConfig, request: JoinGroup) -> int:
    """The first check that fails before any group is looked up, or NONE."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    low, high = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    return ErrorCode.NONE if low <= request.session_timeout_ms <= high else ErrorCode.INVALID_SESSION_TIMEOUT


def memory_error(
    config: CoordinatorConfig, memory: Memory, group: Group | None, request: JoinGroup, client_id: str
) -> int:
    """Whether there is memory for what a JoinGroup brings, or NONE; `group` is None if it is to be created.

    Nothing is kept of one that comes with an unknown id. A member that comes again is counted once.
    """
    if group is None:
        grows = GROUP_BYTES + len(request.group_id) + _bytes_of_new(request, client_id)
    else:
        holder = request.member_id or group.static_members.get(request.group_instance_id or "", "")
        member = group.members.get(holder)
        if member is not None:
            grows = list_bytes(request.protocols) - member.listed_bytes
        elif request.member_id and request.member_id not in group.pending_members:
            return ErrorCode.NONE
        else:
            grows = _bytes_of_new(request, client_id)
    limits = config.group_members_max_bytes, config.members_max_bytes
    return memory.error(request.group_id, grows, *limits, ErrorCode.GROUP_MAX_SIZE_REACHED)


def _bytes_of_new(request: JoinGroup, client_id: str) -> int:
    return member_bytes(
        list_bytes(request.protocols), request.member_id, client_id, request.group_instance_id
    )


def join_group(step: Step, group: Group, request: JoinGroup, joiner: Joiner) -> None:
    """Answer or park a JoinGroup that passed `request_error`.

    The size comes first, and who is refused for it is out of the group; an unfit protocol list is noticed
    before an unknown member id. An error's answer echoes the request's id, but for that about the size.
    """
    if joiner.parked.version == 0:
        request = replace(request, rebalance_timeout_ms=request.session_timeout_ms)
    if not has_room(group, request.member_id, step.config.group_max_size):
        event: Event = "refused_member" if request.member_id else "refused"
        who = request.member_id, request.group_instance_id
        step.note(event, group, *who, client_id=joiner.client_id)
        _remove_refused(step, group, request.member_id)
        step.reply(joiner.parked, JoinGroupReply(ErrorCode.GROUP_MAX_SIZE_REACHED))
    elif group.state is GroupState.DEAD:
        _refuse(step, joiner, request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not voting.supports_protocols(group, request):
        _refuse(step, joiner, request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif not request.member_id:
        _join_new(step, group, request, joiner)
    elif request.member_id in group.pending_members:
        _join_pending(step, group, request, joiner)
    else:
        _join_known(step, group, request, joiner)


def has_room(group: Group, member_id: str, most: int) -> bool:
    """Whether the size limit lets this JoinGroup in; pending members do not count.

    While a rebalance is prepared only those count that wait, so that a group that is too large becomes
    smaller: who has not rejoined competes with the others. Otherwise members are let in; a static member
    that comes without its id is none.
    """
    if group.has_generation:
        return member_id in group.members or len(group.members) < most
    if group.state is GroupState.PREPARING_REBALANCE:
        return member_id in group.parked_joins or len(group.parked_joins) < most
    return True


def _remove_refused(step: Step, group: Group, member_id: str) -> None:
    """Take out who was refused for the size: a member that has not rejoined, or a pending one.

    The barrier is not looked at: the others wait for the end of the join phase, as in the broker. Mended,
    they do not.
    """
    member = group.members.get(member_id)
    if member is not None:
        stop_timer(step, group, member)
        step.dismiss(group.remove(member))
        voting.elect_leader(group, step.choices)
    elif member_id in group.pending_members:
        _remove_pending(step, group, member_id)
    if step.config.mends.refusal_completes_phase:
        try_complete_join(step, group)


def _remove_pending(step: Step, group: Group, member_id: str) -> None:
    """A pending member is one no longer: it comes, or is refused."""
    group.pending_members.remove(member_id)
    step.cancel("pending", group.group_id, member_id)


def record_creation(step: Step, group: Group) -> None:
    """The first record of a group that a JoinGroup has made, whatever became of the JoinGroup.

    Source: GroupCoordinatorRecordHelpers#newEmptyGroupMetadataRecord.
    """
    step.append(group.group_id, GroupRecord(0, "", None, None, (), step.choices.now_ms()), Created())


def _refuse(step: Step, joiner: Joiner, request: JoinGroup, error_code: int) -> None:
    step.reply(joiner.parked, JoinGroupReply(error_code, member_id=request.member_id))


def _join_new(step: Step, group: Group, request: JoinGroup, joiner: Joiner) -> None:
    """A member without id gets one to come back with; in old versions, or if static, it is admitted at once.

    Of a pending member only the id is kept, for the session timeout of this request. A static member whose
    instance is in the group already replaces that one.
    """
    instance_id = request.group_instance_id
    member_id = step.choices.new_member_id(joiner.client_id if instance_id is None else instance_id)
    holder = None if instance_id is None else group.static_members.get(instance_id)
    if holder is not None:
        static.replace_member(step, group, group.members[holder], member_id, request, joiner.parked)
    elif instance_id is not None or joiner.parked.version < MEMBER_ID_REQUIRED_SINCE:
        step.note("joined", group, member_id, instance_id)
        _admit(step, group, request, joiner, member_id)
    else:
        step.note("id_given", group, member_id)
        group.pending_members.add(member_id)
        step.arm("pending", group.group_id, request.session_timeout_ms, member_id)
        step.reply(joiner.parked, JoinGroupReply(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))


def _join_pending(step: Step, group: Group, request: JoinGroup, joiner: Joiner) -> None:
    """A pending member comes back with its id. One that has an instance id, too, makes a broker fail."""
    if request.group_instance_id is not None:
        step.reply(joiner.parked, JoinGroupReply(ErrorCode.UNKNOWN_SERVER_ERROR))
        return
    _remove_pending(step, group, request.member_id)
    step.note("joined_with_id", group, request.member_id)
    _admit(step, group, request, joiner, request.member_id)


def _join_known(step: Step, group: Group, request: JoinGroup, joiner: Joiner) -> None:
    error = group.member_error(request.member_id, request.group_instance_id)
    if error == ErrorCode.NONE and group.state is GroupState.EMPTY:
        error = ErrorCode.UNKNOWN_MEMBER_ID
    if error != ErrorCode.NONE:
        _refuse(step, joiner, request, error)
    else:
        _rejoin(step, group, request, joiner)


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
        group_instance_id=request.group_instance_id,
    )
    group.add(member, request.protocol_type)
    group.parked_joins.park(member_id, joiner.parked)
    start_new_member_timer(step, group, member)
    rebalance_or_complete(step, group, lambda: _why_new(request, member_id))


def _rejoin(step: Step, group: Group, request: JoinGroup, joiner: Joiner) -> None:
    """A known member joins: parked, or answered with the current generation where nothing has changed.

    Stable: a leader always gets its rebalance, that is how it asks for one. In the immediate answer the
    request's timeouts are ignored and no timer is touched.
    """
    member = group.members[request.member_id]
    is_leader = group.leader == member.member_id
    unchanged = member.protocols == request.protocols
    if unchanged and (
        group.state is GroupState.COMPLETING_REBALANCE or (group.state is GroupState.STABLE and not is_leader)
    ):
        step.reply(joiner.parked, generation_reply(group, member))
        return
    replaced = group.update_and_park(member, request, joiner.parked)
    if replaced is not None:
        # Upon this error clients of every age join again, with the id that they have.
        again = JoinGroupReply(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, member_id=member.member_id)
        step.dismiss(replaced, again if step.config.mends.answers_replaced else None)
    rebalance_or_complete(step, group, lambda: _why_again(group, request, unchanged))


def _why_new(request: JoinGroup, member_id: str) -> str:
    named = f"{member_id} with instance id {request.group_instance_id}"
    return f"adding new member {named}; {client_reason(request.reason)}"


def _why_again(group: Group, request: JoinGroup, unchanged: bool) -> str:
    leads = " leader" if group.leader == request.member_id else ""
    what = f"re-joining of{leads}" if unchanged else "updating metadata of"
    return f"{what} {request.member_id} during {group.state}; {client_reason(request.reason)}"
