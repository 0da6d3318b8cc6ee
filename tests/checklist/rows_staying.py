"""More rows of the checklist: to join again, to sync, to stay, to leave."""

from __future__ import annotations

from checklist.checklist_words import (
    J,
    Row,
    S,
    Then,
    both,
    client,
    enter,
    heartbeat,
    held,
    join,
    joined,
    leave,
    log,
    nothing,
    relist,
    row,
    stable,
    sync,
    wait,
)
from rota.spec import ErrorCode
from rota.spec.vocabulary import AppendError

UNKNOWN = "A UNKNOWN_MEMBER_ID"
REFUSED = {"A": {"protocol_type": None, "protocol_name": None, "assignment": b""}}

ASSIGNED = {"kind": "assignment", "generation": 1, "leader": "A", "parts": {"A": "left", "B": "right"}}
EMPTIED = {"kind": "emptied", "generation": 2, "leader": None, "protocol": None, "parts": {}}
"""Records: what the leader has assigned; what is left of a group that everybody has left."""

REJOINING: tuple[Row, ...] = (
    row(
        S("testJoinGroupFromUnchangedLeaderShouldRebalance"),
        J("testJoinGroupFromUnchangedLeaderShouldRebalance"),
        J("testJoinGroupAsExistingLeaderTriggersRebalanceInStableState"),
        given=stable("A"),
        steps=[
            (
                join("A"),
                Then("A NONE", "CompletingRebalance 2", records=0, said={"A": {"generation_id": 2}}),
            )
        ],
    ),
    row(
        S("testSessionTimeoutDuringRebalance"),
        J("testClassicGroupMemberSessionTimeoutDuringRebalance"),
        given=both(stable("A"), enter("B")),
        steps=[
            (heartbeat("A"), Then("A REBALANCE_IN_PROGRESS", timers={"session A": 5_000})),
            (wait(5_000), Then("B NONE", "CompletingRebalance 2", members="B", leader="B")),
            (heartbeat("A"), Then(UNKNOWN)),
        ],
    ),
    row(
        J("testJoinGroupExistingMemberUpdatedMetadataTriggersRebalance"),
        given=joined("A"),
        steps=[
            (
                relist("A", "range", "roundrobin"),
                Then("A NONE", "CompletingRebalance 2", lists={"A": ("range", "roundrobin")}),
            )
        ],
    ),
    row(
        J("testJoinGroupAsExistingMemberWithUpdatedMetadataTriggersRebalanceInStableState"),
        given=stable("A", "B"),
        steps=[
            (relist("B", "range", "roundrobin"), Then("", "PreparingRebalance 1", timers={"join": 10_000})),
            (join("A"), Then("A NONE, B NONE", "CompletingRebalance 2", timers={"join": None})),
        ],
    ),
    row(
        J("testCompleteJoinRemoveNotYetRejoinedDynamicMembers"),
        given=both(client("A", session=60_000), stable("A"), enter("B")),
        steps=[
            (wait(9_999), Then("", "PreparingRebalance 1", members="A B", leader="A")),
            (wait(1), Then("B NONE", "CompletingRebalance 2", "B", leader="B", timers={"session A": None})),
        ],
    ),
)

SYNCING: tuple[Row, ...] = (
    row(
        S("testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent"),
        J("testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent"),
        given=joined("A", "B"),
        steps=[
            (sync("A", protocol_type="whatever"), Then("A INCONSISTENT_GROUP_PROTOCOL", said=REFUSED)),
            (
                sync("B", protocol_type="whatever"),
                Then("B INCONSISTENT_GROUP_PROTOCOL", "CompletingRebalance 1", said={"B": REFUSED["A"]}),
            ),
        ],
    ),
    row(
        S("testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided"),
        J("testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided"),
        given=joined("A"),
        steps=[
            (
                sync("A", version=4),
                Then(
                    "A NONE", "Stable 1", said={"A": {"protocol_type": "consumer", "protocol_name": "range"}}
                ),
            )
        ],
    ),
    row(
        S("testSyncGroupEmptyAssignment"),
        J("testSyncGroupEmptyAssignment"),
        given=joined("A"),
        steps=[
            (sync("A"), Then("A NONE", "Stable 1", said={"A": {"assignment": b""}})),
            (heartbeat("A"), Then("A NONE")),
        ],
    ),
    row(
        S("testSyncGroupFromUnknownMember"),
        J("testSyncGroupFromUnknownMember"),
        given=stable("A"),
        steps=[
            (
                sync("B", member_id="made up", generation_id=1),
                Then("B UNKNOWN_MEMBER_ID", "Stable 1", said={"B": {"assignment": b""}}),
            )
        ],
    ),
    row(
        S("testLeaderFailureInSyncGroup"),
        J("testLeaderFailureInSyncGroup"),
        given=both(joined("A", "B"), sync("B"), wait(1_000), heartbeat("A")),
        steps=[
            # B's own session is over, but its SyncGroup waits.
            (wait(4_000), Then("", "CompletingRebalance 1", members="A B", timers={"session B": None})),
            (wait(1_000), Then("B REBALANCE_IN_PROGRESS", "PreparingRebalance 1", members="B")),
        ],
    ),
    row(
        S("testSyncGroupLeaderAfterFollower"),
        J("testSyncGroupLeaderAfterFollower"),
        given=joined("A", "B"),
        steps=[
            (sync("B"), Then("", "CompletingRebalance 1", records=0)),
            (
                sync("A", {"A": "left", "B": "right"}),
                Then(
                    "A NONE, B NONE",
                    "Stable 1",
                    written=(ASSIGNED,),
                    said={"A": {"assignment": b"left"}, "B": {"assignment": b"right"}},
                ),
            ),
        ],
    ),
    row(
        J("testSyncGroupAsLeaderAppendFailureTransformsError"),
        given=both(joined("A"), held),
        steps=[
            (sync("A"), Then("", "CompletingRebalance 1", records=1)),
            (log(AppendError.NOT_LEADER_OR_FOLLOWER), Then("A NOT_COORDINATOR", "PreparingRebalance 1")),
        ],
    ),
    row(
        S("testRebalanceTimesOutWhenSyncRequestIsNotReceived"),
        J("testRebalanceTimesOutWhenSyncRequestIsNotReceived"),
        given=joined("A", "B", "C"),
        steps=[
            (both(wait(4_000), heartbeat("A", "B", "C")), Then("A NONE, B NONE, C NONE")),
            (both(wait(4_000), heartbeat("A", "B", "C")), Then("A NONE, B NONE, C NONE")),
            (wait(1_999), Then("", "CompletingRebalance 1", members="A B C")),
            (wait(1), Then("", "Empty 2", members="", records=1)),
            (
                heartbeat("A", "B", "C"),
                Then("A UNKNOWN_MEMBER_ID, B UNKNOWN_MEMBER_ID, C UNKNOWN_MEMBER_ID"),
            ),
        ],
    ),
    row(
        S("testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromLeaders"),
        J("testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromLeaders"),
        given=both(joined("A", "B", "C"), sync("B"), sync("C")),
        steps=[
            (both(wait(4_000), heartbeat("A")), Then("A NONE")),
            (
                both(wait(4_000), heartbeat("A")),
                Then("A NONE", "CompletingRebalance 1", timers={"sync": 2_000}),
            ),
            (
                wait(2_000),
                Then("B REBALANCE_IN_PROGRESS, C REBALANCE_IN_PROGRESS", "PreparingRebalance 1", "B C"),
            ),
            (heartbeat("B", "C"), Then("B REBALANCE_IN_PROGRESS, C REBALANCE_IN_PROGRESS")),
        ],
    ),
)

STAYING: tuple[Row, ...] = (
    row(
        S("testHeartbeatUnknownGroup"),
        J("testHeartbeatUnknownGroup"),
        given=nothing,
        steps=[(heartbeat("A", member_id="made up", generation_id=1), Then(UNKNOWN, "absent"))],
    ),
    row(
        S("testHeartbeatRebalanceInProgress"),
        J("testHeartbeatDuringCompletingRebalance"),
        given=both(joined("A"), wait(1_000)),
        steps=[(heartbeat("A"), Then("A NONE", "CompletingRebalance 1", timers={"session A": 5_000}))],
    ),
    row(
        S("testHeartbeatIllegalGeneration"),
        J("testHeartbeatIllegalGeneration"),
        given=both(stable("A"), wait(1_000)),
        steps=[
            (heartbeat("A", ahead=1), Then("A ILLEGAL_GENERATION", "Stable 1", timers={"session A": 4_000}))
        ],
    ),
    row(
        S("testSessionTimeout"),
        J("testClassicGroupMemberSessionTimeout"),
        given=stable("A"),
        steps=[
            (wait(4_999), Then("", "Stable 1", members="A")),
            (wait(1), Then("", "Empty 2", members="")),
            (heartbeat("A"), Then(UNKNOWN)),
        ],
    ),
    row(
        S("testHeartbeatDuringRebalanceCausesRebalanceInProgress"),
        J("testHeartbeatDuringRebalanceCausesRebalanceInProgress"),
        given=both(stable("A"), enter("B"), wait(1_000)),
        steps=[
            (
                heartbeat("A"),
                Then("A REBALANCE_IN_PROGRESS", "PreparingRebalance 1", timers={"session A": 5_000}),
            )
        ],
    ),
    row(
        S("testCompleteHeartbeatWithMemberAlreadyRemoved"),
        given=stable("A"),
        steps=[
            (leave("A"), Then("A NONE", "Empty 2", timers={"session A": None})),
            (wait(10_000), Then("", "Empty 2")),
        ],
    ),
    row(
        S("testLeaveGroupUnknownGroup"),
        J("testLeaveGroupUnknownGroup"),
        given=nothing,
        steps=[(leave("A", "made up"), Then(UNKNOWN, "absent", said={"A": {"error_code": ErrorCode.NONE}}))],
    ),
    row(
        S("testLeaveGroupUnknownConsumerExistingGroup"),
        J("testLeaveGroupUnknownMemberIdExistingGroup"),
        given=stable("A"),
        steps=[
            (
                leave("X", "made up"),
                Then(
                    "X UNKNOWN_MEMBER_ID",
                    "Stable 1",
                    members="A",
                    records=0,
                    said={"X": {"error_code": ErrorCode.NONE}},
                ),
            )
        ],
    ),
    row(
        S("testValidLeaveGroup"),
        J("testValidLeaveGroup"),
        given=joined("A"),
        steps=[(leave("A"), Then("A NONE", "Empty 2", members="", written=(EMPTIED,)))],
    ),
    row(
        S("testStaticMembersUnknownGroupBatchLeaveGroup"),
        J("testStaticMembersLeaveUnknownGroup"),
        given=nothing,
        steps=[
            (
                leave("X", ("", "leader instance"), ("", "follower instance")),
                Then(
                    "X UNKNOWN_MEMBER_ID/UNKNOWN_MEMBER_ID",
                    "absent",
                    said={"X": {"error_code": ErrorCode.NONE}},
                ),
            )
        ],
    ),
)
