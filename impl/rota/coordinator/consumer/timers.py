"""The two timers of a member: its session, and the time that it has to give up what it was told to.

Source: upstream's GroupMetadataManager#scheduleConsumerGroupSessionTimeout and
#scheduleConsumerGroupRebalanceTimeout.
"""

from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import CurrentAssignment, MemberState
from rota.coordinator.step import Step

RETRY_MS = 500
"""When a removal that the log refused is tried again."""


def watch(step: Step, group: ConsumerGroup, member_id: str, delay_ms: int | None = None) -> None:
    """Give a member a full session from now on, or so much of one."""
    session = step.config.group_consumer_session_timeout_ms
    step.arm("consumer_session", group.group_id, session if delay_ms is None else delay_ms, member_id)


def watch_revocation(step: Step, group: ConsumerGroup, member_id: str, current: CurrentAssignment) -> None:
    """What a member has was written: its clock runs from now on if it has to give anything up, else not."""
    if current.state is MemberState.UNREVOKED:
        group.revoking[member_id] = current.epoch
        limit = max(0, group.members[member_id].rebalance_timeout_ms)
        step.arm("consumer_rebalance", group.group_id, limit, member_id)
    elif group.revoking.pop(member_id, None) is not None:
        step.cancel("consumer_rebalance", group.group_id, member_id)


def stop(step: Step, group: ConsumerGroup, member_id: str) -> None:
    """A member goes."""
    step.cancel("consumer_session", group.group_id, member_id)
    if group.revoking.pop(member_id, None) is not None:
        step.cancel("consumer_rebalance", group.group_id, member_id)


def is_late(group: ConsumerGroup, member_id: str) -> bool:
    """The time to give up partitions is over: whether the member is where it was when that began."""
    began = group.revoking.pop(member_id, None)
    return member_id in group.members and group.current_of(member_id).epoch == began
