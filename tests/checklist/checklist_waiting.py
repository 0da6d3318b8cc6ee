"""Upstream's tests that are not mirrored: by the feature they wait for, or why the spec is not about them.

`WAITING` goes by features that the profile omits; who models one takes its tests from here to the rows.
"""

from __future__ import annotations

from checklist_words import J, S

WAITING: dict[str, tuple[str, ...]] = {
    "OffsetCommit, OffsetFetch and the other offset requests": (
        S("testCommitMaintainsSession"),
        S("testCommitOffsetFromUnknownGroup"),
        S("testCommitOffsetWithDefaultGeneration"),
        S("testCommitOffsetsAfterGroupIsEmpty"),
        S("testCommitOffsetInCompletingRebalanceFromUnknownMemberId"),
        S("testCommitOffsetInCompletingRebalanceFromIllegalGeneration"),
        S("testManualCommitOffsetShouldNotValidateMemberIdAndInstanceId"),
        S("testFetchTxnOffsetsWithAbort"),
        S("testFetchPendingTxnOffsetsWithAbort"),
        S("testFetchPendingTxnOffsetsWithCommit"),
        S("testFetchTxnOffsetsOneProducerMultipleGroups"),
        S("testFetchTxnOffsetsMultipleProducersOneGroup"),
        S("testTxnCommitOffsetWithFencedInstanceId"),
        S("testTxnCommitOffsetWithKnownMemberId"),
        S("testTxnCommitOffsetWithIllegalGeneration"),
        S("testTxnCommitOffsetWithLegalGeneration"),
        S("testTxnOffsetMetadataTooLarge"),
        S("testFetchOffsets"),
        S("testCommitAndFetchOffsetsWithEmptyGroup"),
        S("testFetchAllOffsets"),
        S("testDeleteOffsetOfNonExistingGroup"),
        S("testDeleteOffsetOfEmptyNonConsumerGroup"),
        S("testDeleteOffsetOfConsumerGroupWithUnparsableProtocol"),
        S("testDeleteOffsetOfStableConsumerGroup"),
        S("testOffsetsRetentionMsIntegerOverflow"),
        S("staticMemberCommitOffsetWithInvalidMemberId"),
        S("testRequestHandlingWhileLoadingInProgress"),
    ),
    "DescribeGroups, ListGroups, DeleteGroups, expiry of empty groups": (
        S("testDeleteGroupWithInvalidGroupId"),
        S("testListGroupsIncludesStableGroups"),
        S("testListGroupsIncludesRebalancingGroups"),
        S("testListGroupsWithTypes"),
        J("testListGroups"),
        S("testDescribeGroupStableForDynamicMember"),
        S("testDescribeGroupStableForStaticMember"),
        J("testDescribeGroupStable"),
        J("testDescribeGroupRebalancing"),
        S("testDeleteNonEmptyGroup"),
        S("testDeleteEmptyGroup"),
        J("testClassicGroupDelete"),
        J("testClassicGroupMaybeDelete"),
        S("testDescribeGroupWrongCoordinator"),
        S("testDeleteGroupWithWrongCoordinator"),
        J("testOnClassicGroupStateTransitionOnLoading"),
    ),
}
"""Feature → tests."""

OUTSIDE: dict[str, tuple[str, ...]] = {
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
