"""The coordinator gains a group from the log, or loses all that it has.

Source: Kafka's Java coordinator, GroupMetadataManager#replay of a group's record, #onLoaded and #onUnloaded;
CoordinatorRuntime#unload.
"""

from rota.coordinator.effects import GroupRecord
from rota.coordinator.group import Group, GroupState, Member
from rota.coordinator.messages import JoinGroupProtocol, JoinGroupReply, SyncGroupReply
from rota.coordinator.rebalance import prepare_rebalance
from rota.coordinator.session_timers import restart_session, stop_timer
from rota.coordinator.step import Step


def load(step: Step, group_id: str, record: GroupRecord | None) -> Group:
    """The group as its last record has it, its time too; without a record, one that only has offsets.

    It is Stable if it has members, and their sessions begin. Of each member's list only the protocol of the
    generation is left. A group above the size limit begins a rebalance, in which some are refused.
    """
    if record is None:
        group = Group(group_id)
        step.note("loading", group)
        return group
    group = Group(
        group_id,
        state=GroupState.STABLE if record.members else GroupState.EMPTY,
        generation_id=record.generation_id,
        protocol_type=record.protocol_type or None,
        protocol_name=record.protocol_name,
        leader=record.leader,
        state_since_ms=record.state_timestamp_ms,
    )
    for entry in record.members:
        has_timeout = entry.rebalance_timeout_ms != -1
        member = Member(
            member_id=entry.member_id,
            client_id=entry.client_id,
            client_host=entry.client_host,
            session_timeout_ms=entry.session_timeout_ms,
            rebalance_timeout_ms=entry.rebalance_timeout_ms if has_timeout else entry.session_timeout_ms,
            protocols=(JoinGroupProtocol(record.protocol_name or "", entry.subscription),),
            group_instance_id=entry.group_instance_id,
            assignment=entry.assignment,
            is_new=False,
        )
        group.add(member, group.protocol_type)
        restart_session(step, group, member)
    group.note_subscriptions()
    step.note("loading", group)
    if len(group.members) > step.config.group_max_size:
        most = step.config.group_max_size
        prepare_rebalance(step, group, f"the loaded group is over capacity ({most})")
    return group


def close(step: Step, group: Group, error_code: int, with_ids: bool) -> None:
    """The group goes: its timers are cancelled, and its parked requests get the error.

    with_ids: whether the response to a JoinGroup has the member id under which it is parked.
    """
    for member_id, parked in sorted(group.parked_joins.take_all().items()):
        step.reply(parked, JoinGroupReply(error_code, member_id=member_id if with_ids else ""))
    for _, parked in sorted(group.parked_syncs.take_all().items()):
        step.reply(parked, SyncGroupReply(error_code))
    for member in group.members_by_id():
        stop_timer(step, group, member)
    for member_id in sorted(group.pending_members):
        step.cancel("pending", group.group_id, member_id)
    if group.join_timer is not None:
        step.cancel(group.join_timer, group.group_id)
    if group.sync_timer:
        step.cancel("sync", group.group_id)
