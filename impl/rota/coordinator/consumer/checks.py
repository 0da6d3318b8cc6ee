"""What a heartbeat has to say, checked before anything about its group is.

Source: upstream's GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid.
"""

from collections.abc import Iterator

from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.consumer.messages import (
    LEAVING,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatReply,
)
from rota.coordinator.messages import ErrorCode

ID_SINCE = 1
"""First version in which a member comes with an id of its own."""

LEAVING_FOR_A_WHILE = -2


def refusal(
    config: CoordinatorConfig, request: ConsumerGroupHeartbeat, version: int
) -> ConsumerGroupHeartbeatReply | None:
    """The answer to a request that nothing about the group could make good, or None."""
    for problem in _problems(request, version):
        return ConsumerGroupHeartbeatReply(ErrorCode.INVALID_REQUEST, problem)
    known = config.group_consumer_assignors
    if request.server_assignor is not None and request.server_assignor not in known:
        text = f"ServerAssignor has to be one of {', '.join(known)}"
        return ConsumerGroupHeartbeatReply(ErrorCode.UNSUPPORTED_ASSIGNOR, text)
    for problem in _problems_of_what_is_not_served(request):
        return ConsumerGroupHeartbeatReply(ErrorCode.INVALID_REQUEST, problem)
    return None


def _problems(request: ConsumerGroupHeartbeat, version: int) -> Iterator[str]:
    """What is wrong with a request, the first thing first."""
    epoch = request.member_epoch
    if (version >= ID_SINCE or epoch > 0 or epoch == LEAVING) and _blank(request.member_id):
        yield "MemberId is empty; give the id that the member has made for itself"
    if _blank(request.group_id):
        yield "GroupId is empty"
    for name, value in (("InstanceId", request.instance_id), ("RackId", request.rack_id)):
        if value is not None and _blank(value):
            yield f"{name} is empty; give one or leave it out"
    if epoch == 0:
        yield from _problems_of_joining(request)
    if epoch == LEAVING_FOR_A_WHILE and request.instance_id is None:
        yield "a member without InstanceId cannot leave for a while; MemberEpoch -1 leaves"
    if epoch < LEAVING_FOR_A_WHILE:
        yield f"MemberEpoch is {epoch}; the least is -2"


def _problems_of_joining(request: ConsumerGroupHeartbeat) -> Iterator[str]:
    if request.rebalance_timeout_ms == -1:
        yield "RebalanceTimeoutMs has to be given by a member that joins"
    if request.topic_partitions is None or request.topic_partitions:
        yield "TopicPartitions of a member that joins has to be an empty list"
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        yield "SubscribedTopicNames has to be given by a member that joins"


def _problems_of_what_is_not_served(request: ConsumerGroupHeartbeat) -> Iterator[str]:
    if request.instance_id is not None:
        yield "rota has no static members in groups of the consumer protocol; leave out group.instance.id"
    if request.subscribed_topic_regex:
        yield "rota has no subscriptions by regular expression; subscribe to topics by name"


def _blank(text: str) -> bool:
    return not text.strip()
