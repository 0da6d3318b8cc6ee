"""Which requests are recorded, and which answers tell clients where to go."""

from __future__ import annotations

RECORDED = frozenset({
    "AddOffsetsToTxn", "ApiVersions", "DeleteGroups", "DescribeGroups", "EndTxn", "FindCoordinator",
    "Heartbeat", "InitProducerId", "JoinGroup", "LeaveGroup", "ListGroups", "Metadata", "OffsetCommit",
    "OffsetDelete", "OffsetFetch", "SyncGroup", "TxnOffsetCommit",
})  # fmt: skip
"""Requests that are recorded with their answers. Nothing else ever is: no payload and no authentication."""

ADDRESSING = {"FindCoordinator": 0, "Metadata": 0, "DescribeCluster": 0, "Produce": 10, "Fetch": 16}
"""Requests whose answers may name brokers' addresses → the first version that does."""

OF_OTHER_PROTOCOLS = {
    68: "ConsumerGroupHeartbeat", 69: "ConsumerGroupDescribe", 76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe", 88: "StreamsGroupHeartbeat", 89: "StreamsGroupDescribe",
}  # fmt: skip
"""Numbers and names of requests about groups of other protocols: told once, not recorded."""

HIDDEN = {78: "ShareFetch", 79: "ShareAcknowledge"}
"""Requests whose answers name addresses that cannot be rewritten in any version: clients do not see them."""

DESCRIBE_CLUSTER = 60

NAMES = {DESCRIBE_CLUSTER: "DescribeCluster"} | OF_OTHER_PROTOCOLS | HIDDEN
"""Names of numbers that the codec does not have."""

SASL_HANDSHAKE = 17
PRODUCE = 0
