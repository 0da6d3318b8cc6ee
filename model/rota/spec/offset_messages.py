"""Requests and replies about committed offsets, with the field names of Kafka's message schemas.

One group per request: OffsetFetch from version 8 on asks for several, which is as many requests at once (each
group is read by itself, and the answers are put side by side). Topics have names; the ids of the newest
versions stand for them. Authorisation and unknown topics are dealt with before a coordinator is asked.
"""

from __future__ import annotations

from collections.abc import Callable

from rota.kernel import frozen, replace
from rota.spec.messages import ReplyMessage, Request
from rota.spec.vocabulary import ErrorCode


@frozen
class OffsetCommitPartition:
    """An offset to commit. committed_leader_epoch: -1 for none; commit_timestamp: of version 1, else -1."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""
    commit_timestamp: int = -1


@frozen
class OffsetCommitTopic:
    """What a commit says of one topic."""

    name: str
    partitions: tuple[OffsetCommitPartition, ...]


@frozen
class OffsetCommitRequest(Request):
    """OffsetCommit. A generation below 0 comes from outside of group management.

    retention_time_ms: of versions 2 to 4, else -1.
    """

    group_id: str
    topics: tuple[OffsetCommitTopic, ...]
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1


@frozen
class TxnOffsetCommitRequest(Request):
    """TxnOffsetCommit: offsets that count when the producer's transaction is committed.

    Below version 3 there is neither generation nor member. The transaction coordinator has verified the
    transaction (its refusals change nothing here); transactional_id and producer_epoch serve only that.
    """

    group_id: str
    producer_id: int
    topics: tuple[OffsetCommitTopic, ...]
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


@frozen
class PartitionOutcome:
    """What became of one partition."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen
class TopicOutcome:
    """What became of one topic's partitions, in the order of the request."""

    name: str
    partitions: tuple[PartitionOutcome, ...]


def with_errors(
    topics: tuple[TopicOutcome, ...], change: Callable[[ErrorCode], ErrorCode]
) -> tuple[TopicOutcome, ...]:
    """The same outcomes with other errors."""
    return tuple(
        replace(
            topic,
            partitions=tuple(replace(one, error_code=change(one.error_code)) for one in topic.partitions),
        )
        for topic in topics
    )


def first_error(topics: tuple[TopicOutcome, ...]) -> ErrorCode:
    """The error of the first partition that has one, else NONE."""
    errors = (one.error_code for topic in topics for one in topic.partitions)
    return next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE)


@frozen
class OffsetCommitReply(ReplyMessage):
    """The answer to OffsetCommit: there is no error for the whole."""

    topics: tuple[TopicOutcome, ...]

    @property
    def error_code(self) -> ErrorCode:
        """The error of the first partition that has failed, by which clients judge the whole answer."""
        return first_error(self.topics)


@frozen
class TxnOffsetCommitReply(ReplyMessage):
    """The answer to TxnOffsetCommit: there is no error for the whole."""

    topics: tuple[TopicOutcome, ...]

    @property
    def error_code(self) -> ErrorCode:
        """The error of the first partition that has failed, by which clients judge the whole answer."""
        return first_error(self.topics)


CommitRequest = OffsetCommitRequest | TxnOffsetCommitRequest
CommitReply = OffsetCommitReply | TxnOffsetCommitReply


def commit_reply(
    request: CommitRequest, error_of: Callable[[OffsetCommitPartition], ErrorCode]
) -> CommitReply:
    """The answer that gives each partition of a commit its error."""
    topics = tuple(
        TopicOutcome(
            topic.name,
            tuple(PartitionOutcome(each.partition_index, error_of(each)) for each in topic.partitions),
        )
        for topic in request.topics
    )
    return (
        OffsetCommitReply(topics)
        if isinstance(request, OffsetCommitRequest)
        else TxnOffsetCommitReply(topics)
    )


@frozen
class TopicPartitions:
    """Partitions of a topic, as OffsetFetch and OffsetDelete name them."""

    name: str
    partition_indexes: tuple[int, ...]


@frozen
class OffsetFetchRequest(Request):
    """OffsetFetch, of one group. topics: None asks for all that there is (version 2 and later)."""

    group_id: str
    topics: tuple[TopicPartitions, ...] | None
    require_stable: bool = False


@frozen
class FetchedPartition:
    """The offset of a partition; the defaults say that none was committed, which is no error."""

    partition_index: int
    committed_offset: int = -1
    committed_leader_epoch: int = -1
    metadata: str = ""
    error_code: ErrorCode = ErrorCode.NONE


@frozen
class FetchedTopic:
    """The offsets of one topic."""

    name: str
    partitions: tuple[FetchedPartition, ...]


@frozen
class OffsetFetchReply(ReplyMessage):
    """The answer to OffsetFetch, for one group. Version 1 tells an error of each partition asked for."""

    error_code: ErrorCode
    topics: tuple[FetchedTopic, ...] = ()


@frozen
class OffsetDeleteRequest(Request):
    """OffsetDelete (KIP-496)."""

    group_id: str
    topics: tuple[TopicPartitions, ...]


@frozen
class OffsetDeleteReply(ReplyMessage):
    """The answer to OffsetDelete: an error for the whole and no topics, or an error for each partition."""

    error_code: ErrorCode
    topics: tuple[TopicOutcome, ...] = ()


OffsetRequest = OffsetCommitRequest | TxnOffsetCommitRequest | OffsetFetchRequest | OffsetDeleteRequest
OffsetReply = OffsetCommitReply | TxnOffsetCommitReply | OffsetFetchReply | OffsetDeleteReply


def refused_offsets(request: OffsetRequest, error: ErrorCode) -> OffsetReply:
    """The answer to a request about offsets that fails as a whole.

    Source: upstream OffsetCommitRequest, TxnOffsetCommitRequest, OffsetFetchRequest and OffsetDeleteRequest
    (#getErrorResponse).
    """
    if isinstance(request, OffsetFetchRequest):
        return OffsetFetchReply(error)
    if isinstance(request, OffsetDeleteRequest):
        return OffsetDeleteReply(error)
    return commit_reply(request, lambda each: error)
