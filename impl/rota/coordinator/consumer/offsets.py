"""OffsetCommit and OffsetFetch of a consumer group's members, fenced by their epochs.

Source: upstream's ConsumerGroup#validateOffsetCommit and #validateOffsetFetch; KIP-1251.
"""

from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import CurrentAssignment
from rota.coordinator.consumer.topics import TopicImage
from rota.coordinator.messages import ErrorCode
from rota.coordinator.offset_messages import (
    OffsetCommit,
    OffsetCommitPartition,
    OffsetFetchGroup,
    TxnOffsetCommit,
)
from rota.coordinator.offsets import metadata_error

MEMBER_EPOCH_SINCE = 9
"""First OffsetCommit version that has a member's epoch where a generation was before."""

STALE_SINCE = 6
"""First TxnOffsetCommit version that knows of a stale epoch."""


def commit_error(
    config: CoordinatorConfig, topics: TopicImage, group: ConsumerGroup, request: OffsetCommit, version: int
) -> int:
    """The first check that an OffsetCommit fails, or NONE.

    At the member's epoch nobody asks whose partitions they are. One at an older epoch is of partitions that
    the member has had since then.
    """
    if request.generation_id_or_member_epoch < 0 and not group.members:
        return ErrorCode.NONE
    if request.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version < MEMBER_EPOCH_SINCE:
        return ErrorCode.UNSUPPORTED_VERSION
    current = group.current_of(request.member_id)
    return _epoch_error(config, topics, current, request)


def txn_commit_error(
    config: CoordinatorConfig,
    topics: TopicImage,
    group: ConsumerGroup,
    request: TxnOffsetCommit,
    version: int,
) -> int:
    """The same for a TxnOffsetCommit: one that names nobody passes, old versions know one error less."""
    unnamed = request.generation_id < 0 and not request.member_id and request.group_instance_id is None
    if unnamed or (request.generation_id < 0 and not group.members):
        return ErrorCode.NONE
    if request.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    plain = OffsetCommit(request.group_id, request.topics, request.generation_id, request.member_id)
    error = _epoch_error(config, topics, group.current_of(request.member_id), plain)
    is_stale = error == ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.ILLEGAL_GENERATION if is_stale and version < STALE_SINCE else error


def _epoch_error(
    config: CoordinatorConfig, topics: TopicImage, current: CurrentAssignment, request: OffsetCommit
) -> int:
    epoch = request.generation_id_or_member_epoch
    if epoch == current.epoch:
        return ErrorCode.NONE
    limit = config.offset_metadata_max_bytes
    had = epoch < current.epoch and all(
        _had_since(topics, current, topic.name, each, epoch)
        for topic in request.topics
        for each in topic.partitions
        if metadata_error(each, limit) == ErrorCode.NONE
    )
    return ErrorCode.NONE if had else ErrorCode.STALE_MEMBER_EPOCH


def _had_since(
    topics: TopicImage, current: CurrentAssignment, name: str, partition: OffsetCommitPartition, epoch: int
) -> bool:
    """Whether the member has had the partition since an epoch, or an earlier one."""
    topic_id = topics.id_of(name)
    since = None if topic_id is None else current.owned.get((topic_id, partition.partition_index))
    return since is not None and since <= epoch


def fetch_error(group: ConsumerGroup | None, asked: OffsetFetchGroup) -> int:
    """Whether a fetch that names a member names it rightly; `group` is None if it is not of this protocol."""
    if group is None or (asked.member_id is None and asked.member_epoch < 0):
        return ErrorCode.NONE
    if asked.member_id is None or asked.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    at = group.current_of(asked.member_id).epoch
    return ErrorCode.NONE if asked.member_epoch == at else ErrorCode.STALE_MEMBER_EPOCH
