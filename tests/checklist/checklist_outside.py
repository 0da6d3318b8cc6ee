"""Upstream's tests that no row mirrors, and why the spec is not about them."""

from __future__ import annotations

from checklist.checklist_words import J, S

OUTSIDE: dict[str, tuple[str, ...]] = {
    "a null group id, which a message of the spec cannot have": (S("testDeleteGroupWithInvalidGroupId"),),
    "how a broker reads its settings": (S("testOffsetsRetentionMsIntegerOverflow"),),
    "several groups, each of which is a state by itself: the end of a transaction is told to each": (
        S("testFetchTxnOffsetsOneProducerMultipleGroups"),
    ),
    "states that no request reaches: the test puts a member into an Empty group by hand": (
        J("testJoinGroupExistingMemberInEmptyState"),
        S("testHeartbeatEmptyGroup"),
        J("testHeartbeatEmptyGroup"),
        S("staticMemberRejoinWithLeaderIdAndUnexpectedEmptyGroup"),
        J("testStaticMemberRejoinWithLeaderIdAndUnexpectedEmptyGroup"),
    ),
    "states that no request finds: the test makes a group Dead, which is gone once unlocked": (
        J("testExistingMemberJoinDeadGroup"),
        J("testCompleteJoinPhaseInEmptyStateSkipsRebalance"),
        S("testBatchLeaveDeadGroup"),
        S("testDeleteOffsetOfDeadConsumerGroup"),
    ),
    "counters of a broker": (J("testClassicGroupCompletedRebalanceSensor"),),
    "groups of other kinds: the consumer and share protocols": (
        J("testConsumerGroupHeartbeatWithNonEmptyClassicGroup"),
        J("testConsumerGroupHeartbeatWithEmptyClassicGroup"),
        J("testClassicGroupJoinOnShareGroup"),
        J("testClassicGroupSyncOnShareGroup"),
        J("testClassicGroupLeaveOnShareGroup"),
    ),
}
"""Reason → tests."""
