"""Which epochs a member may come with, and what raises the group's.

Source: upstream's GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid,
#hasMemberSubscriptionChanged, #hasPreferredServerAssignorChanged and #updateSubscriptionMetadata.
"""

from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.messages import ConsumerGroupHeartbeat
from rota.coordinator.consumer.records import GROUP, CurrentAssignment, GroupEpoch, MemberMetadata
from rota.coordinator.consumer.topics import TopicImage, metadata_hash
from rota.coordinator.consumer.writing import Writing
from rota.coordinator.messages import ErrorCode


def epoch_error(current: CurrentAssignment, request: ConsumerGroupHeartbeat) -> int:
    """FENCED_MEMBER_EPOCH or NONE: a member comes with its epoch, or with 0 to begin anew.

    With the previous one too, since an answer may have been lost, if it says what it owns and has all that.
    """
    epoch = request.member_epoch
    if epoch in (0, current.epoch):
        return ErrorCode.NONE
    if epoch < current.epoch and epoch == current.previous_epoch and _owns_assigned(current, request):
        return ErrorCode.NONE
    return ErrorCode.FENCED_MEMBER_EPOCH


def _owns_assigned(current: CurrentAssignment, request: ConsumerGroupHeartbeat) -> bool:
    """Whether it says what it owns, and is assigned all of it; of each topic that it names, something."""
    if request.topic_partitions is None:
        return False
    topics = {topic_id for topic_id, _ in current.assigned}
    return all(
        each.topic_id in topics
        and all((each.topic_id, index) in current.assigned for index in each.partitions)
        for each in request.topic_partitions
    )


def raise_epoch(writing: Writing, topics: TopicImage) -> None:
    """The group's epoch is one more from now on."""
    group = writing.group
    group.seen_version = topics.version
    found = metadata_hash(topics, group.subscribers)
    writing.put(GROUP, GroupEpoch(group.epoch.epoch + 1, found))


def topics_changed(group: ConsumerGroup, topics: TopicImage) -> bool:
    """Whether a subscribed topic is another one, or larger, than when the epoch was last raised."""
    if group.seen_version == topics.version:
        return False
    group.seen_version = topics.version
    return metadata_hash(topics, group.subscribers) != group.epoch.metadata_hash


def subscription_changed(before: MemberMetadata | None, told: MemberMetadata) -> bool:
    """Whether a member subscribes to other topics than before; a new one, whether to any."""
    return told.topics != (() if before is None else before.topics)
