"""The target: what each member shall have, made anew when the group's epoch has risen.

Source: upstream's TargetAssignmentBuilder#build, GroupMetadataManager#maybeUpdateTargetAssignment and
#canComputeNextTargetAssignment.
"""

from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.consumer.assignors import ASSIGNORS, Subscriptions, Targets
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import (
    TARGET,
    TargetAssignment,
    TargetEpoch,
    target_key,
)
from rota.coordinator.consumer.topics import TopicImage, ids_of
from rota.coordinator.consumer.writing import Writing


def is_due(config: CoordinatorConfig, group: ConsumerGroup, now_ms: int) -> bool:
    """Whether there is to be a new target: the group's epoch is ahead, and the assignment interval is over.

    Nothing has to be waited for in a group that has no target yet.
    """
    last, epoch = group.target_epoch.timestamp_ms, group.target_epoch.epoch
    interval = config.group_consumer_assignment_interval_ms
    return epoch < group.epoch.epoch and (not last or not interval or now_ms >= last + interval)


def update_target(writing: Writing, topics: TopicImage, assignor: str, now_ms: int) -> None:
    """Make the target for the group's epoch; a record for each member whose part is another than it was."""
    group = writing.group
    for member_id, places in sorted(_computed(group, topics, assignor).items()):
        if group.targets.get(member_id) != places:
            writing.put(target_key(member_id), TargetAssignment(places))
    writing.put(TARGET, TargetEpoch(group.epoch.epoch, now_ms))


def assignor_of(config: CoordinatorConfig, group: ConsumerGroup) -> str:
    """The assignor that the group's members want, the broker's first one if they want none."""
    return group.wished_assignor or config.group_consumer_assignors[0]


def _computed(group: ConsumerGroup, topics: TopicImage, assignor: str) -> Targets:
    names = [name for name in group.subscribers if topics.partition_count(name)]
    counts = {topics.id_of(name): topics.partition_count(name) for name in names}
    return ASSIGNORS[assignor](
        Subscriptions(
            topics={member_id: ids_of(topics, told.topics) for member_id, told in group.members.items()},
            targets=group.targets,
            partitions={topic_id: count for topic_id, count in counts.items() if topic_id is not None},
            homogeneous=group.is_homogeneous,
            instances={
                member_id: told.instance_id for member_id, told in group.members.items() if told.instance_id
            },
        )
    )
