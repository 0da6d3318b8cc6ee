"""Requests and replies about a group of the consumer protocol, with the field names of Kafka's schemas.

One group per request, as in `rota.spec.offset_messages`. Partitions are sets, topics in them ids; whoever
authorises has let the request pass, and topics of commits exist.
"""

from __future__ import annotations

from rota.kernel import FrozenMap, frozen
from rota.spec.consumer.state import Partition
from rota.spec.consumer.vocabulary import ErrorCode, GroupState
from rota.spec.vocabulary import Hosting

JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH = 0, -1, -2
UNCHANGED = -1
"""RebalanceTimeoutMs of who says nothing of it."""


@frozen(order=True)
class Topic:
    """What the coordinator knows of a topic; its id is another one when the topic is made anew."""

    topic_id: str
    partitions: int


Topics = FrozenMap[str, Topic]
"""Name of a topic that exists → what is known of it."""


@frozen
class ConsumerGroupHeartbeatRequest:
    """ConsumerGroupHeartbeat; None, and `UNCHANGED`, say nothing."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = UNCHANGED
    subscribed_topic_names: frozenset[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: frozenset[Partition] | None = None

    @property
    def full(self) -> bool:
        """Whether all is said that a broker asks for. Source: upstream
        GroupMetadataManager#consumerGroupHeartbeat.
        """
        said = (self.subscribed_topic_names, self.subscribed_topic_regex) != (None, None)
        return self.rebalance_timeout_ms != UNCHANGED and said and self.topic_partitions is not None


@frozen
class ConsumerGroupHeartbeatReply:
    """The answer to ConsumerGroupHeartbeat; assignment: None is no news."""

    error_code: ErrorCode
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: frozenset[Partition] | None = None


@frozen
class LeaveGroupRequest:
    """LeaveGroup of the classic protocol."""

    group_id: str
    member_ids: tuple[str, ...]


@frozen
class LeaveGroupReply:
    """The answer, an error for each member in the order of the request."""

    members: tuple[ErrorCode, ...]


@frozen
class ClassicRequest:
    """JoinGroup, SyncGroup or Heartbeat: an API of the classic protocol that does not fit such a group."""

    group_id: str
    api: str


@frozen
class OffsetCommitRequest:
    """OffsetCommit, of which only who and what for decides; the offsets are kept elsewhere."""

    group_id: str
    member_id: str
    member_epoch: int
    partitions: tuple[Partition, ...]


@frozen
class OffsetFetchRequest:
    """OffsetFetch; nobody is named by no member id and an epoch below 0, as before version 9."""

    group_id: str
    member_id: str | None = None
    member_epoch: int = -1


@frozen
class OffsetDeleteRequest:
    """OffsetDelete of one topic's offsets."""

    group_id: str
    topic: str


@frozen
class DeleteGroupsRequest:
    """DeleteGroups."""

    group_id: str


@frozen
class DescribeGroupsRequest:
    """DescribeGroups of the classic protocol."""

    group_id: str


@frozen
class ConsumerGroupDescribeRequest:
    """ConsumerGroupDescribe."""

    group_id: str


@frozen
class ListGroupsRequest:
    """ListGroups: what is said of this group. The filters: lower-case names, none lets all through."""

    group_id: str
    states_filter: frozenset[str] = frozenset()
    types_filter: frozenset[str] = frozenset()


@frozen
class ErrorReply:
    """An answer that is an error code, or NONE."""

    error_code: ErrorCode


@frozen
class Described:
    """A member as ConsumerGroupDescribe tells it."""

    member_id: str
    member_epoch: int
    subscribed_topic_names: frozenset[str]
    assignment: frozenset[Partition]
    target_assignment: frozenset[Partition]


@frozen
class ConsumerGroupDescribeReply:
    """The answer to ConsumerGroupDescribe."""

    group_state: GroupState
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: tuple[Described, ...]


@frozen
class Listed:
    """A group in the list, None for no entry."""

    group_state: GroupState | None
    group_type: str = "consumer"


Request = (
    ConsumerGroupHeartbeatRequest
    | LeaveGroupRequest
    | ClassicRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | OffsetDeleteRequest
    | DeleteGroupsRequest
    | DescribeGroupsRequest
    | ConsumerGroupDescribeRequest
    | ListGroupsRequest
)
ReplyMessage = (
    ConsumerGroupHeartbeatReply | LeaveGroupReply | ErrorReply | ConsumerGroupDescribeReply | Listed
)


@frozen
class Call:
    """A request as the coordinator gets it.

    Parameters: request; version, of the API; to, the opaque address of the answer; fresh_id, the member id
    that will be handed out if this request needs one; hosting, what the broker is to the group; topics, what
    it knows of them now.
    """

    request: Request
    version: int = 1
    to: str = ""
    fresh_id: str = ""
    hosting: Hosting = Hosting.ACTIVE
    topics: Topics = FrozenMap()
