"""Records that say that a group is there, and that it is empty; what a generation has subscribed to."""

from __future__ import annotations

import pytest

from harness.by_id import ById
from rota.spec import PROFILES, ErrorCode, Group, GroupState, JoinGroupReply, LeaveGroupReply, RecordKind
from rota.spec.vocabulary import AppendError

EMPTY, PREPARING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE
FAILED = AppendError.NOT_ENOUGH_REPLICAS


# Creation


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"version": 3},
        {"instance": "i"},
        {"protocols": ()},
    ],
    ids=["id handed out", "admitted at once", "static", "refused"],
)
def test_a_join_that_creates_a_group_writes_it(asked: dict[str, object]) -> None:
    stage = ById()
    stage.join(**asked)  # type: ignore[arg-type]
    (record,) = stage.log
    assert (record.kind, record.generation_id, record.members) == (RecordKind.CREATION, 0, ())
    assert (record.protocol_type, record.protocol_name, record.leader) == (None, None, None)
    assert record.answer is None
    group, told = stage.live, dict(stage.told)
    stage.stored()
    assert (stage.live, stage.told) == (group, told)


def test_only_the_first_join_creates_it() -> None:
    stage = ById()
    for _ in range(2):
        stage.join()
        stage.join(version=3)
    assert [record.kind for record in stage.log] == [RecordKind.CREATION]


def test_an_unknown_group_is_not_created_by_a_member_id() -> None:
    stage = ById()
    stage.join("m0")
    assert (stage.group, stage.log) == (None, [])


def test_a_creation_that_cannot_be_stored_is_undone_and_who_waits_is_told() -> None:
    stage = ById()
    handed, waiting = stage.join(), stage.join(version=3)
    stage.stored(FAILED)
    assert (stage.group, stage.due) == (None, {})
    assert stage.joined(waiting) == JoinGroupReply(
        ErrorCode.COORDINATOR_NOT_AVAILABLE, protocol_name="", member_id=""
    )
    assert stage.joined(handed).error_code is ErrorCode.MEMBER_ID_REQUIRED
    assert stage.joined(stage.join("m1")).error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_has_had_a_generation_outlives_the_failure() -> None:
    stage = ById()
    first = stage.join(version=3)
    stage.wait(3_000)
    assert stage.joined(first).generation_id == 1
    group = stage.live
    stage.stored(FAILED)
    assert stage.live == group


# The end


@pytest.mark.parametrize("version", [2, 5])
def test_the_leave_that_empties_a_group_waits_for_the_record(version: int) -> None:
    stage = ById()
    stage.stable(a=None)
    address = stage.leave("a", version=version)
    assert (stage.state, stage.waits(address)) == (EMPTY, True)
    (record,) = stage.log
    assert (record.kind, record.generation_id, record.members) == (RecordKind.EMPTIED, 2, ())
    assert (record.protocol_type, record.protocol_name, record.leader) == ("consumer", None, None)
    stage.stored()
    assert stage.left(address).error_code is ErrorCode.NONE


def test_it_is_answered_whatever_has_become_of_the_group() -> None:
    stage = ById()
    stage.stable(a=None)
    address = stage.leave("a")
    stage.join(version=3)
    stage.stored()
    assert stage.left(address).error_code is ErrorCode.NONE
    stage.on.group = None
    other = ById()
    other.stable(a=None)
    address = other.leave("a")
    other.on.group = None
    other.stored()
    assert other.left(address).error_code is ErrorCode.NONE


def test_where_the_record_cannot_be_stored_it_is_told_at_the_top_level_and_the_member_is_gone() -> None:
    stage = ById()
    stage.stable(a=None)
    address = stage.leave("a")
    stage.stored(AppendError.NOT_LEADER_OR_FOLLOWER)
    assert stage.left(address) == LeaveGroupReply(ErrorCode.NOT_COORDINATOR)
    assert stage.state is EMPTY


def test_a_leave_that_empties_nothing_waits_for_nothing() -> None:
    stage = ById()
    stage.stable(a=None, b=None)
    address = stage.leave("b", "nobody")
    assert (len(stage.left(address).members), stage.log) == (2, [])


@pytest.mark.parametrize("error", [None, FAILED])
def test_a_group_that_a_timer_empties_is_answered_to_nobody(error: AppendError | None) -> None:
    stage = ById()
    stage.stable(a=None)
    stage.wait(stage.now + 100_000, keep_alive=False)
    (record,) = stage.log
    assert (record.kind, record.answer) == (RecordKind.EMPTIED, None)
    told = dict(stage.told)
    stage.stored(error)
    assert (stage.told, stage.state) == (told, EMPTY)


def test_an_initial_delay_that_ends_with_nobody_is_answered_to_nobody() -> None:
    stage = ById()
    stage.join(version=3)
    address = stage.leave("m1")
    assert stage.left(address).error_code is ErrorCode.NONE
    stage.log.clear()
    stage.wait(3_000)
    assert stage.state is EMPTY
    assert [(record.kind, record.answer) for record in stage.log] == [(RecordKind.EMPTIED, None)]


# What an append that fails tells


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (AppendError.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (AppendError.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (AppendError.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (AppendError.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (AppendError.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (AppendError.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (AppendError.INVALID_FETCH_SIZE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_who_waits_for_a_group_record_is_told(profile: str, error: AppendError, told: ErrorCode) -> None:
    stage = ById(PROFILES[profile])
    stage.stable(a=None)
    stage.join("a", version=3)
    waiting = stage.sync("a", version=2)
    stage.stored(error)
    assert stage.synced(waiting).error_code is told
    assert stage.state is PREPARING


# Subscriptions


def test_subscriptions_are_known_from_the_first_generation_on() -> None:
    stage = ById()
    stage.join(version=3, protocols={"range": b"x"})
    assert stage.live.subscriptions is None
    stage.join(version=3, protocols={"range": b"w"})
    stage.join(version=3, protocols={"range": b"x"})
    stage.wait(60_000)
    assert stage.live.subscriptions == (b"w", b"x")
    stage.join("m2", protocols={"range": b"y"})
    assert stage.live.subscriptions == (b"w", b"x"), "of the generation that began last"


def test_an_empty_group_of_consumers_has_subscribed_to_nothing() -> None:
    stage = ById()
    stage.stable(a=None)
    stage.leave("a")
    assert stage.live.subscriptions == ()


def test_of_other_groups_nothing_is_known() -> None:
    stage = ById()
    stage.join(version=3, protocol_type="connect")
    stage.wait(3_000)
    assert (stage.live.generation_id, stage.live.subscriptions) == (1, None)
    stage.leave("m1")
    assert (stage.live.generation_id, stage.live.subscriptions) == (2, None)


def test_a_group_that_is_not_there_has_none() -> None:
    assert Group().subscriptions is None
