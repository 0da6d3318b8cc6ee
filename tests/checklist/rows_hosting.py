"""Rows of brokers that are not the coordinator, or not yet, and of groups that another broker takes over."""

from __future__ import annotations

from checklist.checklist_words import (
    J,
    Row,
    S,
    Then,
    both,
    by,
    configure,
    enter,
    given_up,
    heartbeat,
    held,
    hosts,
    join,
    joined,
    leave,
    loaded,
    log,
    row,
    stable,
    sync,
    wait,
)
from rota.spec import ErrorCode, Hosting
from rota.spec.vocabulary import AppendError

elsewhere = hosts(Hosting.ELSEWHERE)
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
TOP = {"X": {"error_code": ErrorCode.NOT_COORDINATOR, "members": ""}}

CREATED = {"kind": "creation", "generation": 0, "leader": None, "parts": {}}
"""The record of a group that a newcomer of old has made, before anybody is assigned anything."""

HOSTING: tuple[Row, ...] = (
    row(
        S("testJoinGroupWrongCoordinator"),
        given=elsewhere,
        steps=[
            (join("A"), Then("A NOT_COORDINATOR", "absent", said={"A": {"member_id": ""}})),
            (join("L"), Then("L NOT_COORDINATOR", "absent", said={"L": {"member_id": ""}})),
        ],
    ),
    row(
        S("testHeartbeatWrongCoordinator"),
        given=elsewhere,
        steps=[(heartbeat("A", member_id="made up", generation_id=1), Then("A NOT_COORDINATOR"))],
    ),
    row(
        S("testLeaveGroupWrongCoordinator"),
        given=elsewhere,
        steps=[(leave("X", "made up"), Then("X NOT_COORDINATOR", said=TOP))],
    ),
    row(
        S("testStaticMembersWrongCoordinatorBatchLeaveGroup"),
        given=elsewhere,
        steps=[(leave("X", ("", "leader"), ("", "follower")), Then("X NOT_COORDINATOR", said=TOP))],
    ),
)

MOVING: tuple[Row, ...] = (
    row(
        J("testOnLoadedExceedGroupMaxSizeTriggersRebalance"),
        given=both(stable("A", "B"), given_up, configure(group_max_size=1)),
        steps=[(loaded, Then("", "PreparingRebalance 1", members="A B", timers={"join": 10_000}))],
    ),
    row(
        J("testOnLoadedSchedulesClassicGroupMemberHeartbeats"),
        given=both(stable("A", "B"), wait(1_000), given_up),
        steps=[(loaded, Then("", "Stable 1", "A B", timers={"session A": 5_000, "session B": 5_000}))],
    ),
    row(
        J("testClassicGroupOnUnloadedEmptyAndPreparingRebalance"),
        given=both(stable("A", "B", "C"), join("A"), join("B")),
        steps=[
            (
                given_up,
                Then(
                    "A NOT_COORDINATOR, B NOT_COORDINATOR",
                    "absent",
                    said={name: {"member_id": name, "members": ""} for name in "AB"},
                    timers={"join": None, "session C": None},
                ),
            ),
            (both(hosts(Hosting.ACTIVE), join("D"), given_up), Then("D MEMBER_ID_REQUIRED", "absent")),
        ],
    ),
    row(
        J("testClassicGroupOnUnloadedCompletingRebalance"),
        given=both(joined("A", "B", "C"), sync("B"), sync("C")),
        steps=[
            (
                given_up,
                Then(
                    "B NOT_COORDINATOR, C NOT_COORDINATOR",
                    "absent",
                    said={name: {"assignment": b""} for name in "BC"},
                    timers={"sync": None, "session A": None},
                ),
            )
        ],
    ),
    row(
        J("testGenerateRecordsOnNewClassicGroupFailureTransformsError"),
        given=held,
        steps=[
            (enter("A", version=3), Then("", "PreparingRebalance 0", members="A", written=(CREATED,))),
            (log(AppendError.NOT_LEADER_OR_FOLLOWER), Then("A NOT_COORDINATOR", "absent")),
        ],
    ),
)

ASKED_ABOUT: tuple[Row, ...] = (
    row(
        S("testRequestHandlingWhileLoadingInProgress"),
        given=both(stable("A"), hosts(Hosting.LOADING)),
        steps=[
            (join("B"), Then(f"B {LOADING}")),
            (join("L"), Then(f"L {LOADING}")),
            (sync("A"), Then("A REBALANCE_IN_PROGRESS")),
            (by("A", "commit"), Then(f"A {LOADING}")),
            (both(wait(1_000), heartbeat("A")), Then("A NONE", timers={"session A": 4_000})),
            (by("A", "describe"), Then(f"A {LOADING}")),
            (by("A", "list_groups"), Then(f"A {LOADING}")),
            (by("A", "delete_group"), Then(f"A {LOADING}")),
            (both(hosts(Hosting.ACTIVE), by("A", "describe")), Then("A NONE")),
        ],
        lacks="groups of other partitions, which stay usable: a stage has one group",
    ),
    row(
        S("testDescribeGroupWrongCoordinator"),
        given=elsewhere,
        steps=[(by("A", "describe"), Then("A NOT_COORDINATOR"))],
    ),
    row(
        S("testDeleteGroupWithWrongCoordinator"),
        given=elsewhere,
        steps=[(by("A", "delete_group"), Then("A NOT_COORDINATOR"))],
    ),
    row(
        J("testOnClassicGroupStateTransitionOnLoading"),
        given=both(stable("A"), leave("A"), by("X", "delete_group"), given_up),
        alone=True,
        steps=[(loaded, Then("", "absent"))],
    ),
)
"""Rows with requests about offsets or of the administration."""
