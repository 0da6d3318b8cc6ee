"""Requests, replies and log records about committed offsets, as frozen values.

Field names are Kafka's schema names in snake_case, as in `messages`. Topics have names here; the ids of the
newest versions are translated by the server.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rota.coordinator.messages import ErrorCode

NO_PRODUCER_ID = -1
"""Stands for the producer of what belongs to no transaction."""


@dataclass(frozen=True, slots=True)
class OffsetCommitPartition:
    """An offset to commit, with what the client wants to keep beside it; no leader epoch is -1."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""


@dataclass(frozen=True, slots=True)
class OffsetCommitTopic:
    """The part of an OffsetCommit that is about one topic."""

    name: str
    partitions: tuple[OffsetCommitPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """OffsetCommit request. A generation below 0 and no member id: from outside of group management.

    `retention_time_ms` is what versions 2 to 4 can ask for, -1 for the broker's own.
    """

    group_id: str
    topics: tuple[OffsetCommitTopic, ...]
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1


@dataclass(frozen=True, slots=True)
class TxnOffsetCommit:
    """TxnOffsetCommit request; its response has the form of OffsetCommit's.

    Below version 3 there is no generation and nobody is named.
    """

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    topics: tuple[OffsetCommitTopic, ...]
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None

    def refused(self, error_code: int) -> "OffsetCommitReply":
        """The answer if every partition gets this error."""
        return OffsetCommitReply.to(OffsetCommit(self.group_id, self.topics), lambda _: error_code)


@dataclass(frozen=True, slots=True)
class OffsetCommitReplyPartition:
    """What became of one partition's offset."""

    partition_index: int
    error_code: int = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class OffsetCommitReplyTopic:
    """The part of an OffsetCommit response that is about one topic."""

    name: str
    partitions: tuple[OffsetCommitReplyPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetCommitReply:
    """OffsetCommit response: an error for each partition, in the request's order, none for the whole."""

    topics: tuple[OffsetCommitReplyTopic, ...]

    @staticmethod
    def to(request: OffsetCommit, error_of: Callable[[OffsetCommitPartition], int]) -> "OffsetCommitReply":
        """The reply that gives each partition of a request its error."""
        return OffsetCommitReply(
            tuple(
                OffsetCommitReplyTopic(
                    topic.name,
                    tuple(
                        OffsetCommitReplyPartition(each.partition_index, error_of(each))
                        for each in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )

    def failed(self, error_code: int) -> "OffsetCommitReply":
        """This reply with one error everywhere."""
        return OffsetCommitReply(
            tuple(
                replace(
                    topic, partitions=tuple(replace(each, error_code=error_code) for each in topic.partitions)
                )
                for topic in self.topics
            )
        )

    def for_version(self, version: int) -> "OffsetCommitReply":
        """This reply: its meaning is the same in every version."""
        return self


@dataclass(frozen=True, slots=True)
class OffsetFetchTopic:
    """The partitions of a topic whose offsets are asked for."""

    name: str
    partition_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OffsetFetchGroup:
    """What is asked of one group; null topics are all that it has offsets for.

    The member id and epoch of version 9 are checked in groups of the newer consumer protocol only.
    """

    group_id: str
    topics: tuple[OffsetFetchTopic, ...] | None
    member_id: str | None = None
    member_epoch: int = -1


@dataclass(frozen=True, slots=True)
class OffsetFetch:
    """OffsetFetch request; below version 8 there is one group."""

    groups: tuple[OffsetFetchGroup, ...]
    require_stable: bool = False


@dataclass(frozen=True, slots=True)
class OffsetFetchReplyPartition:
    """The offset of one partition; the defaults mean that none was committed, which is no error."""

    partition_index: int
    committed_offset: int = -1
    committed_leader_epoch: int = -1
    metadata: str = ""
    error_code: int = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class OffsetFetchReplyTopic:
    """The part of an OffsetFetch response that is about one topic of one group."""

    name: str
    partitions: tuple[OffsetFetchReplyPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetFetchReplyGroup:
    """The offsets of one group."""

    group_id: str
    topics: tuple[OffsetFetchReplyTopic, ...]
    error_code: int = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class OffsetFetchReply:
    """OffsetFetch response, its groups in the request's order; below version 8 the one group is the body."""

    groups: tuple[OffsetFetchReplyGroup, ...]

    def for_version(self, version: int) -> "OffsetFetchReply":
        """This reply: its meaning is the same in every version."""
        return self


@dataclass(frozen=True, slots=True)
class OffsetDeleteTopic:
    """The partitions of a topic whose offsets are to go."""

    name: str
    partition_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OffsetDelete:
    """OffsetDelete request."""

    group_id: str
    topics: tuple[OffsetDeleteTopic, ...]


@dataclass(frozen=True, slots=True)
class OffsetDeleteReplyPartition:
    """What became of one partition's offset; to have had none is no error."""

    partition_index: int
    error_code: int = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class OffsetDeleteReplyTopic:
    """The part of an OffsetDelete response that is about one topic."""

    name: str
    partitions: tuple[OffsetDeleteReplyPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetDeleteReply:
    """OffsetDelete response: an error for the whole request, or one for each partition."""

    error_code: int = ErrorCode.NONE
    topics: tuple[OffsetDeleteReplyTopic, ...] = ()

    def failed(self, error_code: int) -> "OffsetDeleteReply":
        """The reply when nothing could be written."""
        return OffsetDeleteReply(error_code)

    def for_version(self, version: int) -> "OffsetDeleteReply":
        """This reply: there is one version."""
        return self


@dataclass(frozen=True, slots=True)
class OffsetRecord:
    """A group's entry in the log for one partition.

    `expire_timestamp_ms` is the commit's time plus the retention that it asked for, -1 if it asked for none.
    """

    topic: str
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = -1


@dataclass(frozen=True, slots=True)
class OffsetTombstone:
    """The end of a group's entry for one partition."""

    topic: str
    partition_index: int


@dataclass(frozen=True, slots=True)
class OffsetBatch:
    """All entries of one OffsetCommit or OffsetDelete: they are written together or not at all.

    `producer_id`: whose transaction they belong to, if to any.
    """

    records: tuple[OffsetRecord | OffsetTombstone, ...]
    producer_id: int = NO_PRODUCER_ID


@dataclass(frozen=True, slots=True)
class TransactionMarker:
    """The end of a producer's transaction: what it committed counts, or does not."""

    producer_id: int
    is_commit: bool


@dataclass(frozen=True, slots=True)
class TransactionEnded:
    """The answer to who ended a producer's transaction: its offsets count or are forgotten, or an error."""

    error_code: int = ErrorCode.NONE

    def for_version(self, version: int) -> "TransactionEnded":
        """No request asks for it: it has one form."""
        return self


OffsetReply = OffsetCommitReply | OffsetFetchReply | OffsetDeleteReply | TransactionEnded
