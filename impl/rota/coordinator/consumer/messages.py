"""Requests and replies of ConsumerGroupHeartbeat and ConsumerGroupDescribe, as frozen values.

Field names are Kafka's schema names in snake_case, as in `rota.coordinator.messages`.
"""

from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

NO_ERROR: Final = 0
CONSUMER_TYPE: Final = 1
"""The member type of who speaks this protocol, in ConsumerGroupDescribe."""

LEAVING: Final = -1
"""The member epoch of who leaves."""


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: UUID
    partitions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedPartitions:
    """Partitions of one topic, with its name."""

    topic_id: UUID
    topic_name: str
    partitions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeat:
    """ConsumerGroupHeartbeat request; None says nothing, and so does a rebalance timeout of -1."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None

    @property
    def is_full(self) -> bool:
        """Whether it says all that the broker wants to know."""
        subscribes = self.subscribed_topic_names is not None or self.subscribed_topic_regex is not None
        return self.rebalance_timeout_ms != -1 and subscribes and self.topic_partitions is not None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a member may use."""

    topic_partitions: tuple[TopicPartitions, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerGroupHeartbeatReply:
    """ConsumerGroupHeartbeat response; the defaults are what an error answer carries."""

    error_code: int = NO_ERROR
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None

    def for_version(self, version: int) -> "ConsumerGroupHeartbeatReply":
        """This reply: its meaning is the same in every version."""
        return self


@dataclass(frozen=True, slots=True)
class NamedAssignment:
    """What a member has, or shall have, with the topics' names."""

    topic_partitions: tuple[NamedPartitions, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedConsumer:
    """A member in a ConsumerGroupDescribe response."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str
    assignment: NamedAssignment
    target_assignment: NamedAssignment
    member_type: int = CONSUMER_TYPE


@dataclass(frozen=True, slots=True)
class DescribedConsumerGroup:
    """One group of a ConsumerGroupDescribe response; the defaults are those of one that is not there."""

    group_id: str
    error_code: int = NO_ERROR
    error_message: str | None = None
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[DescribedConsumer, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescribeReply:
    """ConsumerGroupDescribe response: each group as often as it was asked for."""

    groups: tuple[DescribedConsumerGroup, ...] = field(default=())

    def for_version(self, version: int) -> "ConsumerGroupDescribeReply":
        """This reply: an older version lacks the member's type."""
        return self


ConsumerReply = ConsumerGroupHeartbeatReply | ConsumerGroupDescribeReply
