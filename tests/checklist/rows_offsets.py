"""Rows of committed offsets: who may commit, what transactions do, what is read, what is deleted."""

from __future__ import annotations

from checklist.checklist_words import (
    Row,
    S,
    Then,
    both,
    by,
    client,
    end,
    heartbeat,
    joined,
    leave,
    nothing,
    row,
    stable,
    wait,
)
from rota.spec import ErrorCode
from rota.spec.offset_messages import FetchedPartition, FetchedTopic
from rota.stage import Stage

GENERATION = "generation_id_or_member_epoch"
TOO_LONG = "m" * 4_097
PENDING = ("t", 0)
"""The partition that a transaction commits to; the other one is t-1."""

opened = by("X", "commit_in", 7, ("t", 0, 25))


def stable_fetch(expected: int | tuple[int, str]) -> tuple[object, Then]:
    """A fetch of stable offsets: of the pending partition, and of one that nobody has committed to."""
    told = {"X": {"t-0": expected, "t-1": -1}}
    return by("X", "fetch", PENDING, ("t", 1), stable=True), Then("X NONE", offsets=told)


def nameless(stage: Stage) -> None:
    """The group's id is empty."""
    stage.group_id = ""


COMMITTING: tuple[Row, ...] = (
    row(
        S("staticMemberCommitOffsetWithInvalidMemberId"),
        given=stable("L", "F"),
        steps=[
            (by("L", "commit"), Then("L NONE")),
            (by("L", "commit", member_id="made up"), Then("L FENCED_INSTANCE_ID")),
        ],
    ),
    row(
        S("testCommitMaintainsSession"),
        given=both(stable("A"), wait(2_500)),
        steps=[
            (by("A", "commit"), Then("A NONE", timers={"session A": 5_000})),
            (both(wait(4_999), heartbeat("A")), Then("A NONE", "Stable 1")),
        ],
    ),
    row(
        S("testCommitOffsetFromUnknownGroup"),
        given=nothing,
        steps=[
            (
                by("A", "commit", member_id="made up", **{GENERATION: 1}),
                Then("A ILLEGAL_GENERATION", "absent"),
            )
        ],
    ),
    row(
        S("testCommitOffsetWithDefaultGeneration"),
        given=nothing,
        steps=[(by("X", "commit"), Then("X NONE", "Empty 0"))],
    ),
    row(
        S("testCommitOffsetsAfterGroupIsEmpty"),
        given=both(stable("A"), leave("A")),
        steps=[
            (by("X", "commit", ("t", 0, 5)), Then("X NONE", "Empty 2")),
            (by("X", "fetch", ("t", 0)), Then("X NONE", offsets={"X": {"t-0": 5}})),
        ],
    ),
    row(
        S("testCommitOffsetInCompletingRebalanceFromUnknownMemberId"),
        given=joined("A"),
        steps=[(by("A", "commit", member_id=""), Then("A UNKNOWN_MEMBER_ID", "CompletingRebalance 1"))],
    ),
    row(
        S("testCommitOffsetInCompletingRebalanceFromIllegalGeneration"),
        given=joined("A"),
        steps=[(by("A", "commit", **{GENERATION: 2}), Then("A ILLEGAL_GENERATION", "CompletingRebalance 1"))],
    ),
    row(
        S("testManualCommitOffsetShouldNotValidateMemberIdAndInstanceId"),
        given=nothing,
        steps=[
            (by("X", "commit", group_instance_id="instance"), Then("X NONE", "Empty 0")),
            (by("X", "commit", member_id="made up"), Then("X NONE", "Empty 0")),
        ],
    ),
)

TRANSACTIONS: tuple[Row, ...] = (
    row(
        S("testFetchTxnOffsetsWithAbort"),
        given=nothing,
        steps=[
            (opened, Then("X NONE", "Empty 0")),
            (by("X", "fetch", PENDING), Then("X NONE", offsets={"X": {"t-0": -1}})),
            (end(7, committed=False), Then("")),
            (by("X", "fetch", PENDING), Then("X NONE", offsets={"X": {"t-0": -1}})),
        ],
    ),
    row(
        S("testFetchPendingTxnOffsetsWithAbort"),
        given=opened,
        steps=[
            stable_fetch((-1, "UNSTABLE_OFFSET_COMMIT")),
            (end(7, committed=False), Then("")),
            stable_fetch(-1),
        ],
    ),
    row(
        S("testFetchPendingTxnOffsetsWithCommit"),
        given=opened,
        steps=[
            stable_fetch((-1, "UNSTABLE_OFFSET_COMMIT")),
            (end(7, committed=True), Then("")),
            stable_fetch(25),
        ],
    ),
    row(
        S("testFetchTxnOffsetsMultipleProducersOneGroup"),
        given=both(opened, by("X", "commit_in", 8, ("t", 1, 26))),
        steps=[
            (end(7, committed=True), Then("")),
            (by("X", "fetch"), Then("X NONE", offsets={"X": {"t-0": 25}})),
            (end(8, committed=True), Then("")),
            (by("X", "fetch"), Then("X NONE", offsets={"X": {"t-0": 25, "t-1": 26}})),
        ],
    ),
    row(
        S("testTxnCommitOffsetWithFencedInstanceId"),
        given=stable("L"),
        steps=[
            (by("L", "commit_in", 7, member_id=""), Then("L FENCED_INSTANCE_ID")),
            (by("L", "commit_in", 7, member_id="made up"), Then("L FENCED_INSTANCE_ID")),
            (by("L", "commit_in", 7), Then("L NONE")),
        ],
    ),
    row(
        S("testTxnCommitOffsetWithKnownMemberId"),
        given=joined("A"),
        steps=[(by("A", "commit_in", 7), Then("A NONE", "CompletingRebalance 1"))],
    ),
    row(
        S("testTxnCommitOffsetWithIllegalGeneration"),
        given=joined("A"),
        steps=[(by("A", "commit_in", 7, generation_id=6), Then("A ILLEGAL_GENERATION"))],
    ),
    row(
        S("testTxnCommitOffsetWithLegalGeneration"),
        given=joined("A"),
        steps=[(by("A", "commit_in", 7, generation_id=1), Then("A NONE"))],
    ),
    row(
        S("testTxnOffsetMetadataTooLarge"),
        given=nothing,
        steps=[(by("X", "commit_in", 7, ("t", 0, 1, TOO_LONG)), Then("X OFFSET_METADATA_TOO_LARGE"))],
    ),
)

FETCHED = (FetchedTopic("t", (FetchedPartition(0, 97, 15, "some metadata"),)),)

READING: tuple[Row, ...] = (
    row(
        S("testFetchOffsets"),
        given=by("X", "commit", ("t", 0, 97, "some metadata", 15)),
        steps=[(by("X", "fetch", ("t", 0)), Then("X NONE", said={"X": {"topics": FETCHED}}))],
    ),
    row(
        S("testCommitAndFetchOffsetsWithEmptyGroup"),
        given=nameless,
        steps=[
            (by("X", "commit", ("t", 0, 5)), Then("X NONE", "Empty 0")),
            (by("X", "fetch", ("t", 0)), Then("X NONE", offsets={"X": {"t-0": 5}})),
            (by("X", "describe"), Then("X NONE", said={"X": {"group_state": "Empty"}})),
            (by("X", "delete_group"), Then("X NONE", "absent")),
            (by("X", "fetch", ("t", 0)), Then("X NONE", offsets={"X": {"t-0": -1}})),
        ],
    ),
    row(
        S("testFetchAllOffsets"),
        given=nothing,
        steps=[
            (by("X", "fetch"), Then("X NONE", "absent", offsets={"X": {}})),
            (by("X", "commit", ("t", 0, 15), ("t", 1, 16), ("u", 0, 17)), Then("X NONE/NONE/NONE")),
            (by("X", "fetch"), Then("X NONE", offsets={"X": {"t-0": 15, "t-1": 16, "u-0": 17}})),
        ],
    ),
)

both_topics = by("A", "commit", ("bar", 0, 1), ("foo", 0, 2))
fetch_both = by("X", "fetch", ("bar", 0), ("foo", 0))

DELETING: tuple[Row, ...] = (
    row(
        S("testDeleteOffsetOfNonExistingGroup"),
        given=nothing,
        steps=[
            (
                by("X", "delete_offsets", ("t", 0)),
                Then("X GROUP_ID_NOT_FOUND", "absent", said={"X": {"topics": ()}}),
            )
        ],
    ),
    row(
        S("testDeleteOffsetOfEmptyNonConsumerGroup"),
        given=both(client("A", protocol_type="other"), stable("A"), both_topics, leave("A")),
        steps=[
            (by("X", "delete_offsets", ("bar", 0)), Then("X NONE")),
            (
                by("X", "fetch", ("bar", 0), ("foo", 0)),
                Then("X NONE", offsets={"X": {"bar-0": -1, "foo-0": 2}}),
            ),
        ],
    ),
    row(
        S("testDeleteOffsetOfConsumerGroupWithUnparsableProtocol"),
        given=both(stable("A"), both_topics),
        steps=[
            (by("X", "delete_offsets", ("bar", 0)), Then("X GROUP_SUBSCRIBED_TO_TOPIC")),
            (by("X", "fetch", ("bar", 0)), Then("X NONE", offsets={"X": {"bar-0": 1}})),
        ],
    ),
    row(
        S("testDeleteOffsetOfStableConsumerGroup"),
        given=both(client("A", topics=("bar",)), stable("A"), both_topics),
        steps=[
            (
                by("X", "delete_offsets", ("foo", 0), ("bar", 0)),
                Then("X NONE/GROUP_SUBSCRIBED_TO_TOPIC", said={"X": {"error_code": ErrorCode.NONE}}),
            ),
            (
                by("X", "fetch", ("bar", 0), ("foo", 0)),
                Then("X NONE", offsets={"X": {"bar-0": 1, "foo-0": -1}}),
            ),
        ],
    ),
)

OFFSETS = (*COMMITTING, *TRANSACTIONS, *READING, *DELETING)
