"""SyncGroup: members fetch their assignment, the leader brings everybody's; and how parked ones are answered.

The leader's SyncGroup does not make the group Stable. It appends a record; what follows from the log's answer
is in `persistence`.
"""

from collections.abc import Callable, Mapping
from functools import partial

from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.ledger import Assigned
from rota.coordinator.messages import ErrorCode, SyncGroup, SyncGroupReply
from rota.coordinator.purgatory import ParkedRequest
from rota.coordinator.session_timers import restart_session
from rota.coordinator.step import Step


def sync_group(step: Step, group: Group | None, request: SyncGroup, parked: ParkedRequest) -> None:
    """Answer or park a SyncGroup whose group id is valid; `group` is None if there is none of that id.

    In Stable the stored assignment is answered and what the request brings is ignored, also the leader's; the
    session timer is left alone (the broker's Java coordinator; the older Scala one restarted it). A second
    parked SyncGroup of a member replaces the first, which a broker never answers.
    """
    error = sync_error(group, request)
    if group is None or error != ErrorCode.NONE:
        step.reply(parked, SyncGroupReply(error))
        return
    member = group.members[request.member_id]
    remove_pending_sync(step, group, request.member_id)
    if group.state is GroupState.STABLE:
        step.reply(parked, _assignment_reply(group, member))
        return
    told = SyncGroupReply(ErrorCode.REBALANCE_IN_PROGRESS) if step.config.mends.answers_replaced else None
    step.dismiss(group.parked_syncs.park(request.member_id, parked), told)
    if group.leader == request.member_id:
        step.note("assignment", group, request.member_id)
        sent = dict(request.assignments)
        assignments = {member_id: sent.get(member_id, b"") for member_id in group.members}
        about = Assigned(group.generation_id, assignments)
        step.append(group.group_id, group.record(assignments), about)


def sync_error(group: Group | None, request: SyncGroup) -> int:
    """The first check that the request fails, or NONE: then the group is CompletingRebalance or Stable.

    A type or name that is given has to be the group's; where the group has none yet, any passes.
    """
    if group is None or group.state is GroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = group.member_error(request.member_id, request.group_instance_id)
    if error != ErrorCode.NONE:
        return error
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(request.protocol_type, group.protocol_type):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if _differs(request.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def remove_pending_sync(step: Step, group: Group, member_id: str) -> None:
    """The member has sent its SyncGroup; the sync timer is cancelled with the last one that was pending."""
    group.pending_sync_members.discard(member_id)
    if not group.pending_sync_members:
        stop_sync_timer(step, group)


def start_sync_timer(step: Step, group: Group) -> None:
    """Await a SyncGroup of every member, for as long as the longest rebalance timeout."""
    group.pending_sync_members = set(group.members)
    group.sync_timer = True
    step.arm("sync", group.group_id, group.max_rebalance_timeout_ms)


def stop_sync_timer(step: Step, group: Group) -> None:
    """Await no SyncGroup any more: all members have sent theirs, or a new rebalance has begun."""
    group.pending_sync_members.clear()
    if group.sync_timer:
        step.cancel("sync", group.group_id)
        group.sync_timer = False


def assign(step: Step, group: Group, assignments: Mapping[str, bytes]) -> None:
    """Put the assignments into force and answer every parked SyncGroup with its member's own."""
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
    _answer_parked(step, group, ErrorCode.NONE)


def reset_assignments(step: Step, group: Group, error_code: int) -> None:
    """Take all assignments back and answer every parked SyncGroup with the error."""
    for member in group.members.values():
        member.assignment = b""
    _answer_parked(step, group, error_code)


def _answer_parked(step: Step, group: Group, error_code: int) -> None:
    waiting = group.parked_syncs.take_all()
    succeeded = error_code == ErrorCode.NONE
    told = []
    for member in group.members_by_id() if waiting else ():
        parked = waiting.get(member.member_id)
        if parked is None:
            continue
        told.append((parked, member.assignment))
        # Its session may have run out unnoticed while it was parked: it starts anew.
        restart_session(step, group, member)
    if told:
        step.reply_each(told, _assigned(group) if succeeded else lambda _: SyncGroupReply(error_code))


def _assigned(group: Group) -> Callable[[bytes], SyncGroupReply]:
    """Makes the reply of an assignment in the group's current generation."""
    return partial(SyncGroupReply, ErrorCode.NONE, group.protocol_type, group.protocol_name)


def _assignment_reply(group: Group, member: Member) -> SyncGroupReply:
    return _assigned(group)(member.assignment)


def _differs(given: str | None, expected: str | None) -> bool:
    return given is not None and expected is not None and given != expected
