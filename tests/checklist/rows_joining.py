"""What upstream's coordinator tests establish, as far as the spec goes: one row for each situation.

A row says in the words of `checklist_words` from where, what is done, and what is expected. Timeouts are
those of `DEFAULTS`, not always upstream's, so that the rows read alike.
"""

from __future__ import annotations

from checklist.checklist_words import (
    J,
    Row,
    S,
    Then,
    both,
    client,
    enter,
    join,
    joined,
    leave,
    nothing,
    row,
    stable,
    sync,
    wait,
)

UNKNOWN = "A UNKNOWN_MEMBER_ID"

waiting_for_c = both(client("A", session=60_000), stable("A"), join("C"), enter("B"), join("A"))
"""A and B have joined, C was given an id and has not used it: the barrier is closed."""

REQUESTS: tuple[Row, ...] = (
    row(
        S("testInvalidGroupId"),
        given=nothing,
        steps=[(join("A", group_id=""), Then("A INVALID_GROUP_ID", "absent"))],
    ),
    row(
        S("testJoinGroupSessionTimeoutTooLarge"),
        given=client("A", session=600_001),
        steps=[(join("A"), Then("A INVALID_SESSION_TIMEOUT", "absent"))],
    ),
    row(
        S("testJoinGroupUnknownConsumerNewGroup"),
        J("testJoinGroupUnknownMemberNewGroup"),
        given=nothing,
        steps=[
            (join("A", member_id="made up"), Then(UNKNOWN, "absent", records=0)),
            (join("L", member_id="made up"), Then("L UNKNOWN_MEMBER_ID", "absent", records=0)),
        ],
    ),
    row(
        J("testJoinGroupProtocolTypeIsNotProvidedWhenAnErrorOccurs"),
        given=nothing,
        steps=[
            (
                join("A", member_id="made up"),
                Then(UNKNOWN, "absent", records=0, said={"A": {"protocol_type": None, "generation_id": -1}}),
            )
        ],
    ),
    row(
        S("testJoinGroupInconsistentProtocolType"),
        J("testClassicGroupJoinInconsistentProtocolType"),
        given=enter("A"),
        steps=[
            (
                join("B", protocol_type="connect"),
                Then("B INCONSISTENT_GROUP_PROTOCOL", "PreparingRebalance 0", members="A", pending=""),
            )
        ],
    ),
    row(
        S("testJoinGroupWithEmptyGroupProtocol"),
        J("testJoinGroupWithEmptyGroupProtocol"),
        given=nothing,
        steps=[(join("A", protocols=()), Then("A INCONSISTENT_GROUP_PROTOCOL", members="", pending=""))],
    ),
    row(
        S("testJoinGroupUnknownConsumerExistingGroup"),
        J("testJoinGroupUnknownConsumerExistingGroup"),
        given=stable("A"),
        steps=[
            (join("B", member_id="made up"), Then("B UNKNOWN_MEMBER_ID", "Stable 1", members="A", records=0))
        ],
    ),
)

JOINING: tuple[Row, ...] = (
    row(
        S("testNewMemberJoinExpiration"),
        J("testNewMemberJoinExpiration"),
        given=both(client("A", session=600_000, rebalance=600_000), stable("A"), enter("B")),
        steps=[
            (wait(299_999), Then("", "PreparingRebalance 1", members="A B", timers={"new_member B": 1})),
            (wait(1), Then("B UNKNOWN_MEMBER_ID", "PreparingRebalance 1", members="A")),
        ],
    ),
    row(
        S("testNewMemberFailureAfterSyncGroupCompletion"),
        given=joined("A", "B"),
        steps=[
            (sync("B"), Then("", "CompletingRebalance 1")),
            (sync("A"), Then("A NONE, B NONE", "Stable 1")),
            (wait(4_999), Then("", "Stable 1")),
            (wait(1), Then("", "Empty 2", members="", timers={"session A": None, "session B": None})),
        ],
    ),
    row(
        J("testHeartbeatExpirationShouldRemoveMember"),
        given=enter("A"),
        steps=[
            (wait(299_999), Then("", "PreparingRebalance 0", members="A")),
            (wait(1), Then(UNKNOWN, "Empty 1", members="", timers={"initial_join": None}, records=1)),
        ],
        delay=600_000,
    ),
    row(
        S("shouldDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup"),
        J("testDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup"),
        given=both(client("A", rebalance=2_000), enter("A")),
        steps=[
            (wait(1_500), Then("", timers={"initial_join": 1_500})),
            (wait(1_500), Then("A NONE", "CompletingRebalance 1")),
        ],
    ),
    row(
        S("shouldDelayRebalanceUptoRebalanceTimeout"),
        J("testDelayRebalanceUptoRebalanceTimeout"),
        given=both(*(client(name, rebalance=6_000) for name in "ABC"), enter("A", "B"), wait(3_001)),
        steps=[
            (enter("C"), Then("C MEMBER_ID_REQUIRED", timers={"initial_join": 2_999})),
            (wait(2_998), Then("", "PreparingRebalance 0")),
            (wait(1), Then("A NONE, B NONE, C NONE", "CompletingRebalance 1")),
        ],
    ),
    row(
        S("testSecondMemberPartiallyJoinAndTimeout"),
        J("testSecondMemberPartiallyJoinAndTimeout"),
        given=both(client("A", session=60_000), stable("A")),
        steps=[
            (join("B"), Then("B MEMBER_ID_REQUIRED", "Stable 1", "A", "B", timers={"pending B": 5_000})),
            (wait(5_000), Then("", "Stable 1", members="A", pending="", timers={"session A": 55_000})),
        ],
    ),
    row(
        S("testJoinGroupCompletionWhenPendingMemberTimesOut"),
        J("testJoinGroupCompletionWhenPendingMemberTimesOut"),
        given=waiting_for_c,
        steps=[
            (wait(4_999), Then("", "PreparingRebalance 1", members="A B", pending="C")),
            (wait(1), Then("A NONE, B NONE", "CompletingRebalance 2", members="A B", pending="")),
        ],
    ),
    row(
        S("testPendingMemberBatchLeaveGroup"),
        J("testPendingMemberBatchLeaveGroup"),
        given=waiting_for_c,
        steps=[
            (
                leave("X", ("", "unknown instance"), "C"),
                Then("A NONE, B NONE, X UNKNOWN_MEMBER_ID/NONE", pending="", timers={"pending C": None}),
            )
        ],
    ),
    row(
        J("testJoinedMemberPendingMemberBatchLeaveGroupWithUnknownMember"),
        given=waiting_for_c,
        steps=[
            (
                leave("X", "A", "B", "C", "made up"),
                Then(
                    "A UNKNOWN_MEMBER_ID, B UNKNOWN_MEMBER_ID, X NONE/NONE/NONE/UNKNOWN_MEMBER_ID",
                    members="",
                    pending="",
                ),
            )
        ],
    ),
    row(
        J("testGenerateRecordsOnNewClassicGroup"),
        given=nothing,
        steps=[(join("A"), Then("A MEMBER_ID_REQUIRED", "Empty 0", pending="A", records=1))],
    ),
)
