"""What is told of a group of the consumer protocol, with the key words that Kafka's log has."""

from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.notices import Event, Notice
from rota.coordinator.step import Step

UNNAMED = "without an id"
"""Who wants to be given one."""

SESSION_ENDED = "its session expired"
TOO_LATE = "it has not given up its partitions within its rebalance timeout"


def note(
    step: Step,
    event: Event,
    group: ConsumerGroup,
    member_id: str = "",
    *,
    removed: tuple[str, ...] = (),
    reason: str = "",
    client_id: str = "",
) -> None:
    """Tell what happens to a group, as it is now."""
    now = str(group.state), group.epoch.epoch, len(group.members)
    step.tell(
        Notice(event, group.group_id, *now, 0, member_id, removed=removed, reason=reason, client_id=client_id)
    )
