"""The table of rules of the consumer protocol, and the order in which each handler tries its own.

It is a table by itself: no slug stands in that of `rota.spec.RULES`.
"""

from __future__ import annotations

from collections.abc import Mapping

from rota.kernel.rules import RuleTable, collect
from rota.spec.consumer import (
    admin,
    epochs,
    heartbeat,
    leave,
    membership,
    offsets,
    persistence,
    target,
    timers,
    topics,
)
from rota.spec.consumer.assignors import ASSIGNORS
from rota.spec.consumer.context import Assignor, ConsumerConfig, ConsumerSpec

CONSUMER_RULES = collect(
    membership, heartbeat, epochs, topics, target, leave, timers, persistence, offsets, admin
)

CONSUMER_HANDLERS: dict[str, tuple[str, ...]] = {
    "ConsumerGroupHeartbeatRequest": membership.HEARTBEAT_HANDLER,
    "LeaveGroupRequest": leave.BATCH_HANDLER,
    "ClassicRequest": admin.CLASSIC_HANDLER,
    "OffsetCommitRequest": offsets.COMMIT_HANDLER,
    "OffsetFetchRequest": offsets.FETCH_HANDLER,
    "OffsetDeleteRequest": offsets.DELETE_HANDLER,
    "DeleteGroupsRequest": admin.DELETE_HANDLER,
    "DescribeGroupsRequest": admin.CLASSIC_DESCRIBE_HANDLER,
    "ConsumerGroupDescribeRequest": admin.DESCRIBE_HANDLER,
    "ListGroupsRequest": admin.LIST_HANDLER,
    **timers.HANDLERS,
}


def consumer(
    config: ConsumerConfig | None = None,
    *,
    rules: RuleTable = CONSUMER_RULES,
    assignors: Mapping[str, Assignor] = ASSIGNORS,
) -> ConsumerSpec:
    """The consumer protocol. rules: the table, with entries replaced for a mutant or a variant."""
    return ConsumerSpec(config or ConsumerConfig(), rules, CONSUMER_HANDLERS, assignors)
