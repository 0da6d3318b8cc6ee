"""Static members: a restarted one takes the place of its old incarnation (KIP-345, KIP-814).

Source: Kafka's Java coordinator, GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin,
ClassicGroup#replaceStaticMember.
"""

from dataclasses import replace

from rota.coordinator import voting
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.ledger import Replaced
from rota.coordinator.messages import ErrorCode, JoinGroup, JoinGroupReply, SyncGroupReply
from rota.coordinator.purgatory import ParkedRequest
from rota.coordinator.rebalance import client_reason, generation_reply, rebalance_or_complete
from rota.coordinator.session_timers import restart_session, stop_timer
from rota.coordinator.step import Step
from rota.coordinator.sync import remove_pending_sync

SKIP_ASSIGNMENT_SINCE = 9
"""First JoinGroup version that has skip_assignment, for a leader that has nothing to assign (KIP-814)."""


def replace_member(
    step: Step, group: Group, old: Member, member_id: str, request: JoinGroup, parked: ParkedRequest
) -> None:
    """A static member comes without its id: it gets a new one, and the old one is fenced.

    While the group is Stable, and would choose the same protocol again, there is no rebalance: the JoinGroup
    is answered when the log has the new id. Nobody looks at the metadata then. The session that starts is the
    old one's; the request's timeout counts from the next time on.
    """
    before = (group.leader, old.protocols, old.session_timeout_ms, old.rebalance_timeout_ms)
    step.note("replaced", group, member_id, old.group_instance_id, old_member_id=old.member_id)
    member = _fence_and_rename(step, group, old, member_id)
    if not step.config.mends.replaced_owes_sync:
        remove_pending_sync(step, group, old.member_id)
    group.update_and_park(member, request, parked)
    if (
        group.state is GroupState.STABLE
        and voting.select_protocol(group, step.choices) == group.protocol_name
    ):
        assignments = {each.member_id: each.assignment for each in group.members.values()}
        replaced = Replaced(member_id, parked, group.generation_id, old.member_id, *before)
        step.append(group.group_id, group.record(assignments), replaced)
    else:
        named = f"{member_id} with instance id {old.group_instance_id}"
        reason = f"static member {named} is back; {client_reason(request.reason)}"
        rebalance_or_complete(step, group, lambda: reason)


def _fence_and_rename(step: Step, group: Group, old: Member, member_id: str) -> Member:
    """Fence what is parked under the old id; the new one has a session, and no SyncGroup pending."""
    join = group.parked_joins.take(old.member_id)
    if join is not None:
        step.reply(join, JoinGroupReply(ErrorCode.FENCED_INSTANCE_ID, member_id=old.member_id))
    sync = group.parked_syncs.take(old.member_id)
    if sync is not None:
        step.reply(sync, SyncGroupReply(ErrorCode.FENCED_INSTANCE_ID))
    stop_timer(step, group, old)
    member = group.rename(old, member_id)
    restart_session(step, group, member)
    return member


def replacement_answered(step: Step, group: Group, entry: Replaced, error_code: int) -> None:
    """The log has answered the record of a new incarnation; `error_code` is the response's.

    Nothing happens if that is gone, or was replaced itself. (A broker then lets the counts of supporters
    drift if the log failed; here they stay right.)
    """
    member = group.members.get(entry.member_id)
    if member is None:
        return
    if error_code == ErrorCode.NONE:
        _stored(step, group, member, entry)
    else:
        _failed(step, group, member, entry, error_code)


def _stored(step: Step, group: Group, member: Member, entry: Replaced) -> None:
    """Answer the JoinGroup with the current generation, unless that has been done.

    A leader skips the assignment, where its version can say so. In an older version it gets the old leader's
    id, which may be its own old one, so that it takes itself for a follower.

    If a rebalance has begun meanwhile the answer still comes, with the old generation, and the member has to
    join again; a leader that would be given the list goes on waiting, since a broker trips over the list.
    """
    version = entry.parked.version
    leads = group.leader == member.member_id
    if version >= SKIP_ASSIGNMENT_SINCE and leads and group.state is GroupState.PREPARING_REBALANCE:
        return
    waiting = group.parked_joins.take(member.member_id)
    if waiting is None:
        return
    if version >= SKIP_ASSIGNMENT_SINCE:
        step.reply(waiting, replace(generation_reply(group, member), skip_assignment=leads))
    else:
        reply = generation_reply(group, member, with_members=False)
        step.reply(waiting, replace(reply, leader=entry.old_leader or ""))


def _failed(step: Step, group: Group, member: Member, entry: Replaced, error_code: int) -> None:
    """The old id is back, with its list and timeouts, and with what has become of the group since.

    The answer names the generation and the old leader, unlike that to any other error, and no member id. If
    there is another generation by now the JoinGroup has been answered: what the new id has waiting since is
    dropped, or fenced if it is a SyncGroup. Mended, the new id stays then.

    (If the new id, which its client does not know yet, has sent a second JoinGroup, a broker answers the
    first and not the second. And it restores the list even if the members then have no protocol in common,
    and is stuck; here the new one is kept in that case.)
    """
    late = group.generation_id != entry.generation_id
    if late and not step.config.mends.late_failure_undoes:
        return
    waiting = group.parked_joins.take(member.member_id)
    if waiting is not None and not late:
        step.reply(
            waiting,
            JoinGroupReply(
                error_code,
                group.generation_id,
                group.protocol_type,
                group.protocol_name,
                entry.old_leader or "",
            ),
        )
    else:
        step.dismiss(waiting)
    new_protocols, timeouts = member.protocols, (entry.old_session_timeout_ms, entry.old_rebalance_timeout_ms)
    group.update(member, entry.old_protocols, *timeouts)
    if not _have_a_protocol(group):
        group.update(member, new_protocols, *timeouts)
    _fence_and_rename(step, group, member, entry.old_member_id)


def _have_a_protocol(group: Group) -> bool:
    """Whether all members list the protocol of the generation, or any in common if there is to be another."""
    common = voting.candidate_protocols(group)
    return bool(common) if group.state is GroupState.PREPARING_REBALANCE else group.protocol_name in common
