"""Rows of static members: who holds an instance, what becomes of a member whose process starts anew.

L and F are the static pair, in a Stable group of generation 1 unless said otherwise; D is another process
with the instance id of F, E one with that of L.
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
    heartbeat,
    held,
    id_of,
    instead_of,
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
from rota.spec.vocabulary import AppendError

LONG = 60_000
"""A session that outlasts several rebalances."""

pair = stable("L", "F")
patient_pair = both(client("L", session=LONG), client("F", session=LONG), stable("L", "F"))
with_a_third = both(client("A", "range", "roundrobin", session=LONG), enter("A"))

only_the_absent_leader_is_left = both(
    patient_pair,
    with_a_third,
    wait(10_000),
    leave("F"),
    wait(10_000),
)
"""A led generation 2 and was dropped, F has left: L, which did not join again, is the only member."""

REPLACED = {"kind": "replacement", "generation": 1, "leader": "E", "instances": {"E": "leader"}}
"""The record of a leader's restart: the new id stands for its instance, and leads."""

FENCING: tuple[Row, ...] = (
    row(
        S("testJoinGroupProtocolTypeIsNotProvidedWhenAnErrorOccurs"),
        given=nothing,
        steps=[
            (
                join("L", member_id="made up"),
                Then(
                    "L UNKNOWN_MEMBER_ID", "absent", said={"L": {"protocol_type": None, "generation_id": -1}}
                ),
            )
        ],
    ),
    row(
        J("testJoinGroupExistingPendingMemberWithGroupInstanceIdThrowsException"),
        given=join("A"),
        steps=[
            (join("A", group_instance_id="new"), Then("A UNKNOWN_SERVER_ERROR", "Empty 0", pending="A")),
        ],
    ),
    row(
        S("staticMemberReJoinWithExplicitUnknownMemberId"),
        J("testStaticMemberRejoinWithExplicitUnknownMemberId"),
        given=pair,
        steps=[(join("F", member_id="made up"), Then("F FENCED_INSTANCE_ID", "Stable 1", "F L", records=0))],
    ),
    row(
        S("staticMemberRejoinAsLeaderWithMismatchedMemberId"),
        J("testStaticMemberRejoinAsLeaderWithMismatchedInstanceId"),
        given=pair,
        steps=[(join("F", member_id=id_of("L")), Then("F FENCED_INSTANCE_ID", "Stable 1", "F L"))],
    ),
    row(
        S("staticMemberHeartbeatLeaderWithInvalidMemberId"),
        J("testStaticMemberHeartbeatLeaderWithInvalidMemberId"),
        given=pair,
        steps=[
            (sync("L", group_instance_id=None), Then("L NONE", "Stable 1")),
            (heartbeat("L", group_instance_id=None), Then("L NONE")),
            (heartbeat("L", member_id="made up"), Then("L FENCED_INSTANCE_ID", "Stable 1")),
        ],
    ),
    row(
        S("staticMemberJoinWithUnknownInstanceIdAndKnownMemberId"),
        J("testStaticMemberJoinWithUnknownInstanceIdAndKnownMemberId"),
        given=pair,
        steps=[(join("L", group_instance_id="unknown"), Then("L UNKNOWN_MEMBER_ID", "Stable 1", "F L"))],
    ),
    row(
        S("staticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged"),
        J("testStaticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged"),
        given=both(pair, join("L"), join("F"), sync("F")),
        steps=[
            (instead_of("D", "F"), Then("F FENCED_INSTANCE_ID", "PreparingRebalance 2", members="D L")),
            (
                wait(5_000),
                Then("D NONE", "CompletingRebalance 3", "D", leader="D", said={"D": {"members": "D"}}),
            ),
        ],
    ),
    row(
        J("testJoinGroupReplaceStaticMember"),
        given=enter("L"),
        steps=[
            (instead_of("E", "L"), Then("L FENCED_INSTANCE_ID", "PreparingRebalance 0", members="E")),
            (wait(3_000), Then("E NONE", "CompletingRebalance 1", members="E", leader="E")),
        ],
    ),
)

COMING_BACK: tuple[Row, ...] = (
    row(
        S("staticMemberRejoinWithKnownMemberId"),
        J("testStaticMemberRejoinWithKnownMemberId"),
        given=joined("L"),
        steps=[
            (join("L"), Then("L NONE", "CompletingRebalance 1", records=0)),
            (sync("L"), Then("L NONE", "Stable 1")),
        ],
    ),
    row(
        S("staticMemberRejoinWithLeaderIdAndKnownMemberId"),
        J("testStaticMemberRejoinWithLeaderIdAndKnownMemberId"),
        given=pair,
        steps=[
            (join("L"), Then("", "PreparingRebalance 1", members="F L")),
            (wait(5_000), Then("L NONE", "CompletingRebalance 2", "L", said={"L": {"members": "L"}})),
        ],
    ),
    row(
        S("staticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange"),
        J("testStaticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange"),
        given=pair,
        steps=[
            (
                join("F"),
                Then(
                    "F NONE",
                    "Stable 1",
                    records=0,
                    said={"F": {"generation_id": 1, "leader": "L", "member_id": "F", "members": ""}},
                ),
            )
        ],
    ),
    row(
        S("staticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeOfProtocol"),
        J("testStaticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeofProtocol"),
        given=pair,
        steps=[
            (join("L"), Then("", "PreparingRebalance 1")),
            (join("F"), Then("F NONE, L NONE", "CompletingRebalance 2", protocol="range")),
            (relist("F", "roundrobin"), Then("", "PreparingRebalance 2", members="F L")),
            (wait(4_999), Then("", "PreparingRebalance 2", members="F L")),
            (wait(1), Then("F NONE", "CompletingRebalance 3", "F", leader="F", protocol="roundrobin")),
        ],
    ),
    row(
        S("testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout"),
        J("testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout"),
        given=both(patient_pair, with_a_third, join("L")),
        steps=[
            (wait(9_999), Then("", "PreparingRebalance 1", members="A F L")),
            (
                wait(1),
                Then(
                    "A NONE, L NONE",
                    "CompletingRebalance 2",
                    members="A F L",
                    leader="L",
                    said={"L": {"members": "A F L"}, "A": {"members": ""}},
                ),
            ),
        ],
    ),
    row(
        J("testCompleteJoinPhaseNoMembersRejoinedExtendsJoinPhase"),
        given=both(
            client("L", session=LONG),
            client("F", session=LONG),
            client("A", "range", "roundrobin"),
            stable("L", "F", "A"),
            leave("A"),
        ),
        steps=[
            (wait(10_000), Then("", "PreparingRebalance 1", "F L", timers={"join": 10_000}, records=0)),
            (wait(10_000), Then("", "PreparingRebalance 1", "F L", timers={"join": 10_000})),
            (
                both(join("L"), join("F")),
                Then("F NONE, L NONE", "CompletingRebalance 2", timers={"join": None}),
            ),
        ],
    ),
    row(
        S("testLeaderFailToRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout"),
        given=both(patient_pair, with_a_third),
        steps=[
            (
                wait(10_000),
                Then(
                    "A NONE",
                    "CompletingRebalance 2",
                    members="A F L",
                    leader="A",
                    said={"A": {"members": "A F L"}},
                ),
            ),
            (leave("F"), Then("F NONE", "PreparingRebalance 2", members="A L")),
            (
                wait(10_000),
                Then("", "PreparingRebalance 2", members="L", leader="L", timers={"join": 10_000}),
            ),
            (wait(LONG - 10_001), Then("", "PreparingRebalance 2", members="L")),
            (wait(1), Then("", "Empty 3", members="", records=1, timers={"join": None, "session L": None})),
        ],
    ),
    row(
        S("testLeaderRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout"),
        given=only_the_absent_leader_is_left,
        steps=[
            (wait(5_000), Then("", "PreparingRebalance 2", members="L")),
            (
                instead_of("E", "L"),
                Then("E NONE", "CompletingRebalance 3", "E", leader="E", said={"E": {"members": "E"}}),
            ),
        ],
    ),
)

DOUBLED = {"session": 10_000, "rebalance": 20_000}

RESTARTING: tuple[Row, ...] = (
    row(
        S("staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWithSelectedProtocolChanged"),
        J("testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWithSelectedProtocolChanged"),
        given=patient_pair,
        steps=[
            (instead_of("D", "F", "roundrobin"), Then("", "PreparingRebalance 1", members="D L", records=0)),
            (
                wait(10_000),
                Then(
                    "D NONE",
                    "CompletingRebalance 2",
                    members="D L",
                    leader="D",
                    protocol="roundrobin",
                    said={"D": {"members": "D L"}},
                ),
            ),
        ],
    ),
    row(
        S("staticMemberRejoinWithUpdatedSessionAndRebalanceTimeoutsButCannotPersistChange"),
        given=both(pair, held),
        steps=[
            (instead_of("D", "F", **DOUBLED), Then("", "Stable 1", members="D L", records=1)),
            (
                log(AppendError.RECORD_LIST_TOO_LARGE),
                Then("D UNKNOWN_SERVER_ERROR", "Stable 1", members="F L", timeouts={"F": (5_000, 10_000)}),
            ),
        ],
    ),
    row(
        S("staticMemberRejoinWithUpdatedSessionAndRebalanceTimeoutsAndPersistChange"),
        given=pair,
        steps=[
            (
                instead_of("D", "F", **DOUBLED),
                Then(
                    "D NONE",
                    "Stable 1",
                    members="D L",
                    said={"D": {"generation_id": 1, "members": "", "skip_assignment": False}},
                    timeouts={"D": (10_000, 20_000)},
                ),
            ),
            (
                instead_of("E", "L", **DOUBLED),
                Then(
                    "E NONE",
                    "Stable 1",
                    members="D E",
                    leader="E",
                    said={"E": {"members": "D E", "leader": "E", "skip_assignment": True}},
                    timeouts={"E": (10_000, 20_000)},
                ),
            ),
        ],
    ),
    row(
        J("testReplaceStaticMemberInStableStateNoError"),
        J("testReplaceStaticMemberInStableStateSucceeds"),
        given=both(client("L", "range"), stable("L"), held),
        steps=[
            (
                instead_of("E", "L", "range", "roundrobin", **DOUBLED),
                Then("", "Stable 1", members="E", written=(REPLACED,)),
            ),
            (
                log(),
                Then(
                    "E NONE",
                    "Stable 1",
                    members="E",
                    said={
                        "E": {
                            "generation_id": 1,
                            "member_id": "E",
                            "leader": "E",
                            "members": "E",
                            "skip_assignment": True,
                        }
                    },
                    lists={"E": ("range", "roundrobin")},
                    timeouts={"E": (10_000, 20_000)},
                ),
            ),
            (
                both(instead_of("M", "E", version=8), log()),
                Then("M NONE", "Stable 1", members="M", records=1),
            ),
            (
                both(instead_of("N", "M", version=8), log()),
                Then("N NONE", said={"N": {"leader": "M", "members": "", "skip_assignment": False}}),
            ),
        ],
    ),
    row(
        J("testReplaceStaticMemberInStableStateWithUpdatedProtocolTriggersRebalance"),
        given=stable("L"),
        steps=[
            (
                instead_of("E", "L", "roundrobin"),
                Then("E NONE", "CompletingRebalance 2", "E", protocol="roundrobin", records=0),
            )
        ],
    ),
    row(
        J("testReplaceStaticMemberInCompletingRebalanceStateTriggersRebalance"),
        given=joined("L"),
        steps=[(instead_of("E", "L"), Then("E NONE", "CompletingRebalance 2", "E", leader="E"))],
    ),
)

LEAVING: tuple[Row, ...] = (
    row(
        S("testLeaveGroupStaticMemberWithUnknownMemberId"),
        J("testLeaveGroupStaticMemberWithUnknownMemberId"),
        given=stable("L"),
        steps=[(leave("X", ("", "leader")), Then("X NONE", "Empty 2", members=""))],
    ),
    row(
        S("testStaticMembersUnknownInstanceBatchLeaveGroup"),
        J("testStaticMembersUnknownInstanceBatchLeaveGroup"),
        given=pair,
        steps=[
            (
                leave("X", ("", "unknown instance"), ("", "leader")),
                Then("X UNKNOWN_MEMBER_ID/NONE", "PreparingRebalance 1", members="F", records=0),
            )
        ],
    ),
)

STATIC = (*FENCING, *COMING_BACK, *RESTARTING, *LEAVING)
