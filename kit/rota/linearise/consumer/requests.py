"""Requests of a history by the consumer protocol that the spec has no words for, and their answers.

The spec decides who may commit and fetch; what is committed is followed here. A topic is changed by requests
too, of whoever makes topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rota.kernel import frozen
from rota.spec.consumer.context import ConsumerConfig
from rota.spec.consumer.messages import Topics

CREATED, GROWN, DELETED = "CreateTopics", "CreatePartitions", "DeleteTopics"
"""By which requests topics are changed."""


@dataclass(frozen=True)
class ConsumerTerms:
    """What is known of a coordinator of the consumer protocol.

    Parameters: config; topics, that there are at first; sees_within, seconds in which it sees that a topic
    was changed, once that was answered; looks_every, seconds between two looks for groups that nobody uses,
    None where nobody looks so often; refuses, whether it refuses static members and regular expressions, as
    the spec does, and can be asked for the offsets of nobody at an epoch; ties, whether as many members may
    wish for one assignor as for another. At both Kafka 4.4.0 fails (docs/findings.md).
    """

    config: ConsumerConfig
    topics: Topics
    sees_within: float = 2.0
    looks_every: float | None = None
    refuses: bool = False
    ties: bool = False


@frozen(order=True)
class Offset:
    """The offset of a partition, and what was said with it."""

    topic: str
    index: int
    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


@frozen
class Commit:
    """OffsetCommit, with what is committed."""

    group_id: str
    member_id: str
    member_epoch: int
    offsets: tuple[Offset, ...]


@frozen
class Fetch:
    """OffsetFetch of these partitions: (topic, index). member_id: None, and an epoch below 0, name nobody."""

    group_id: str
    partitions: tuple[tuple[str, int], ...]
    member_id: str | None = None
    member_epoch: int = -1


@frozen
class DeleteOffsets:
    """OffsetDelete of partitions of one topic."""

    group_id: str
    topic: str
    indexes: tuple[int, ...]


@frozen
class ChangeTopic:
    """A topic is made, grown or deleted, by the API that does it. topic_id: of the topic that is made."""

    api: str
    name: str
    partitions: int = 0
    topic_id: str = ""


@frozen
class Committed:
    """The answer to OffsetCommit or OffsetDelete: (topic, index, error code) of each partition."""

    error_code: Any
    partitions: tuple[tuple[str, int, int], ...] = ()


@frozen
class Fetched:
    """The answer to OffsetFetch: of each partition its offset, -1 for none."""

    error_code: Any
    offsets: tuple[Offset, ...] = ()


@frozen
class Changed:
    """The answer to who changes a topic."""

    error_code: int
