"""OffsetCommit and OffsetFetch: who may commit, what is stored, what is read. A table of sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.keeper_bench import BOTH, JAVA, OLD, SCALA, KeeperBench, group, topics
from rota.spec import Arm, Call, ErrorCode, Group, GroupState, Hosting, TimerKind
from rota.spec.classic.vocabulary import kind_of
from rota.spec.offset_messages import (
    FetchedPartition,
    OffsetCommitPartition,
    OffsetCommitReply,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetFetchRequest,
    PartitionOutcome,
    TopicOutcome,
    TopicPartitions,
)
from rota.spec.vocabulary import AppendError

E = ErrorCode
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
ALL = (JAVA, SCALA, OLD)

LATE = {"generation": 2, "member_id": "m1"}
"""What a member of the group of the bench says."""

WHO_MAY = [
    # A live group, and who is no member of its generation
    (STABLE, {"generation": 1, "member_id": "m1"}, E.ILLEGAL_GENERATION, "offsets.illegal-generation"),
    (STABLE, {"generation": 3, "member_id": "m1"}, E.ILLEGAL_GENERATION, "offsets.illegal-generation"),
    (STABLE, {"generation": -1, "member_id": "m1"}, E.ILLEGAL_GENERATION, "offsets.illegal-generation"),
    (STABLE, {"generation": 2, "member_id": "other"}, E.UNKNOWN_MEMBER_ID, "offsets.unknown-member"),
    (STABLE, {"generation": -1, "member_id": ""}, E.UNKNOWN_MEMBER_ID, "offsets.unknown-member"),
    (PREPARING, {"generation": -1, "member_id": ""}, E.UNKNOWN_MEMBER_ID, "offsets.unknown-member"),
    # The old generation may commit while a rebalance is prepared
    (STABLE, LATE, None, "offsets.commit"),
    (PREPARING, LATE, None, "offsets.commit"),
    (COMPLETING, LATE, E.REBALANCE_IN_PROGRESS, "offsets.rebalance-in-progress"),
    # Nobody there
    (None, {"generation": -1}, None, "offsets.commit-without-membership"),
    (EMPTY, {"generation": -1}, None, "offsets.commit-without-membership"),
    (EMPTY, {"generation": -1, "member_id": "any"}, None, "offsets.commit-without-membership"),
    (EMPTY, {"generation": -1, "group_instance_id": "any"}, None, "offsets.commit-without-membership"),
    (EMPTY, {"generation": 2, "member_id": "m1"}, E.UNKNOWN_MEMBER_ID, "offsets.unknown-member"),
]


@pytest.mark.parametrize("profile", [JAVA, SCALA])
@pytest.mark.parametrize(("state", "fields", "told", "rule"), WHO_MAY)
def test_who_may_commit(profile: str, state: GroupState | None, fields: Any, told: Any, rule: str) -> None:
    bench = KeeperBench(profile, None if state is None else group(state))
    before = bench.group
    assert bench.commit(**fields) == told
    assert bench.rules[0] == rule
    assert bench.group == (before or Group()), "a commit changes nothing but a session"
    if told is None:
        assert bench.store().error_code is E.NONE
        assert bench.fetch() == 5
    else:
        assert not bench.kept.line
        assert bench.fetch() == -1


def test_completing_is_told_before_membership_by_old_brokers_only() -> None:
    stranger = {"generation": 7, "member_id": "other"}
    assert KeeperBench(OLD, group(COMPLETING)).commit(6, **stranger) is E.REBALANCE_IN_PROGRESS
    assert KeeperBench(SCALA, group(COMPLETING)).commit(6, **stranger) is E.UNKNOWN_MEMBER_ID
    known = {"generation": 7, "member_id": "m1"}
    assert KeeperBench(OLD, group(COMPLETING)).commit(6, **known) is E.REBALANCE_IN_PROGRESS
    assert KeeperBench(JAVA, group(COMPLETING)).commit(6, **known) is E.ILLEGAL_GENERATION
    assert KeeperBench(OLD, group(STABLE)).commit(6, **stranger) is E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("profile", "version", "told"),
    [
        (JAVA, 10, E.GROUP_ID_NOT_FOUND),
        (JAVA, 9, E.GROUP_ID_NOT_FOUND),
        (JAVA, 8, E.ILLEGAL_GENERATION),
        (SCALA, 9, E.ILLEGAL_GENERATION),
        (SCALA, 1, E.ILLEGAL_GENERATION),
        (OLD, 6, E.ILLEGAL_GENERATION),
    ],
)
def test_a_commit_with_a_generation_to_no_group(profile: str, version: int, told: ErrorCode) -> None:
    bench = KeeperBench(profile)
    assert bench.commit(version, generation=0, member_id="m1") is told
    assert bench.group is None
    assert bench.rules == ["offsets.unknown-group"]


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize(
    ("member_id", "instance", "told"),
    [
        ("m1", "i", None),
        ("m1", None, None),
        ("", "i", E.FENCED_INSTANCE_ID),
        ("m2", "i", E.FENCED_INSTANCE_ID),
        ("m1", "unknown", E.UNKNOWN_MEMBER_ID),
    ],
)
def test_static_members(profile: str, member_id: str, instance: str | None, told: ErrorCode | None) -> None:
    bench = KeeperBench(profile, group(STABLE, instance="i"))
    assert bench.commit(generation=2, member_id=member_id, group_instance_id=instance) == told


@pytest.mark.parametrize("state", [STABLE, PREPARING])
def test_a_commit_is_a_sign_of_life(state: GroupState) -> None:
    bench = KeeperBench(group=group(state))
    bench.commit(generation=2, member_id="m1")
    (armed,) = bench.timers
    assert isinstance(armed, Arm)
    assert (kind_of(armed.timer), armed.timer.member_id, armed.delay_ms) == (TimerKind.SESSION, "m1", 10_000)


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        (STABLE, {"generation": 1, "member_id": "m1"}),
        (COMPLETING, LATE),
        (EMPTY, {"generation": -1}),
    ],
)
def test_a_refused_commit_and_one_from_outside_are_none(state: GroupState, fields: Any) -> None:
    bench = KeeperBench(group=group(state))
    bench.commit(**fields)
    assert bench.timers == []


def test_a_new_member_that_commits_gives_its_five_minutes_for_a_session() -> None:
    """It is parked in its first join phase: a timer is a member's, whatever it is for."""
    fresh = group(PREPARING)
    fresh = fresh.with_member("m1", replace(fresh.members["m1"], is_new=True))
    bench = KeeperBench(group=fresh)
    bench.commit(generation=2, member_id="m1")
    assert kind_of(bench.timers[0].timer) is TimerKind.NEW_MEMBER


LONG = OffsetCommitPartition(0, 7, committed_metadata="x" * 4_097)


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ("x" * 4_096, E.NONE),
        ("x" * 4_097, E.OFFSET_METADATA_TOO_LARGE),
        ("\N{GRINNING FACE}" * 2_048, E.NONE),
        ("\N{GRINNING FACE}" * 2_048 + "x", E.OFFSET_METADATA_TOO_LARGE),
        ("\N{EURO SIGN}" * 4_096, E.NONE),
        (None, E.NONE),
    ],
)
def test_metadata_are_measured_in_utf_16(metadata: str | None, told: ErrorCode) -> None:
    bench = KeeperBench()
    line = OffsetCommitPartition(0, 7, committed_metadata=metadata)
    first = bench.commit(topics=(OffsetCommitTopic("t", (line,)),))
    assert (first or bench.store().error_code) is told


@pytest.mark.parametrize("profile", ALL)
def test_a_partition_with_too_much_metadata_is_told_so_and_the_others_are_stored(profile: str) -> None:
    bench = KeeperBench(profile)
    assert bench.commit(topics=topics(t=LONG, u=5)) is None
    assert bench.store() == OffsetCommitReply(
        (
            TopicOutcome("t", (PartitionOutcome(0, E.OFFSET_METADATA_TOO_LARGE),)),
            TopicOutcome("u", (PartitionOutcome(0, E.NONE),)),
        )
    )
    assert bench.committed == {"u": 5}


def test_if_no_other_is_left_nothing_waits_for_the_log() -> None:
    bench = KeeperBench(group=group(STABLE))
    assert bench.commit(topics=topics(t=LONG), **LATE) is E.OFFSET_METADATA_TOO_LARGE
    assert not bench.kept.line
    assert bench.timers, "still a sign of life"


def test_what_is_stored() -> None:
    bench = KeeperBench()
    line = OffsetCommitPartition(0, 7, 3, None, commit_timestamp=40)
    bench.commit(now=50, retention_time_ms=100, topics=(OffsetCommitTopic("t", (line,)),))
    bench.store()
    value = bench.kept.offsets.committed["t", 0]
    assert (value.committed_offset, value.committed_leader_epoch, value.metadata) == (7, 3, "")
    assert (value.commit_timestamp_ms, value.expire_timestamp_ms) == (40, 150)
    bench.commit(now=60)
    bench.store()
    value = bench.kept.offsets.committed["t", 0]
    assert (value.commit_timestamp_ms, value.expire_timestamp_ms) == (60, None)


def test_the_last_commit_in_the_log_wins_not_the_highest() -> None:
    bench = KeeperBench()
    for offset in (9, -3, 4):
        bench.commit(topics=topics(t=offset))
    assert bench.fetch() == -1, "nothing is stored yet"
    bench.store()
    assert bench.fetch() == 4


@pytest.mark.parametrize("state", [STABLE, PREPARING, COMPLETING, EMPTY, None])
def test_an_accepted_commit_is_stored_whatever_becomes_of_the_group(state: GroupState | None) -> None:
    bench = KeeperBench(group=group(STABLE))
    bench.commit(**LATE)
    bench.group = None if state is None else group(state)
    assert bench.store().error_code is E.NONE
    assert bench.committed == {"t": 5}


BASE = {
    AppendError.UNKNOWN_TOPIC_OR_PARTITION: E.COORDINATOR_NOT_AVAILABLE,
    AppendError.NOT_ENOUGH_REPLICAS: E.COORDINATOR_NOT_AVAILABLE,
    AppendError.NOT_LEADER_OR_FOLLOWER: E.NOT_COORDINATOR,
    AppendError.KAFKA_STORAGE_ERROR: E.NOT_COORDINATOR,
}
TOLD = {
    JAVA: {
        **BASE,
        AppendError.REQUEST_TIMED_OUT: E.COORDINATOR_NOT_AVAILABLE,
        AppendError.MESSAGE_TOO_LARGE: E.UNKNOWN_SERVER_ERROR,
        AppendError.RECORD_LIST_TOO_LARGE: E.UNKNOWN_SERVER_ERROR,
        AppendError.INVALID_FETCH_SIZE: E.UNKNOWN_SERVER_ERROR,
    },
    SCALA: {
        **BASE,
        AppendError.REQUEST_TIMED_OUT: E.REQUEST_TIMED_OUT,
        AppendError.MESSAGE_TOO_LARGE: E.INVALID_COMMIT_OFFSET_SIZE,
        AppendError.RECORD_LIST_TOO_LARGE: E.INVALID_COMMIT_OFFSET_SIZE,
        AppendError.INVALID_FETCH_SIZE: E.INVALID_COMMIT_OFFSET_SIZE,
    },
}
TOLD[OLD] = TOLD[SCALA]


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize("error", AppendError)
def test_what_is_told_when_the_log_fails(profile: str, error: AppendError) -> None:
    bench = KeeperBench(profile).stored(t=3)
    bench.group = Group()
    bench.commit()
    assert bench.store(error).error_code is TOLD[profile][error]
    assert bench.rules[-1] == "offsets.failed"
    assert bench.fetch() == 3
    assert not bench.kept.offsets.appended


def test_a_failed_commit_tells_of_large_metadata_in_scala_only() -> None:
    told = {}
    for profile in BOTH:
        bench = KeeperBench(profile)
        bench.commit(topics=topics(t=LONG, u=5))
        reply = bench.store(AppendError.NOT_ENOUGH_REPLICAS)
        told[profile] = [topic.partitions[0].error_code for topic in reply.topics]
    assert told == {
        JAVA: [E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_NOT_AVAILABLE],
        SCALA: [E.OFFSET_METADATA_TOO_LARGE, E.COORDINATOR_NOT_AVAILABLE],
    }


def test_a_commit_that_timed_out_may_count_after_all_in_java_only() -> None:
    for profile, outcomes in ((JAVA, {-1, 5}), (SCALA, {-1}), (OLD, {-1})):
        bench = KeeperBench(profile)
        bench.commit()
        steps = bench.spec.offsets_appended(
            bench.kept.offsets, bench.kept.line[0], AppendError.REQUEST_TIMED_OUT
        )
        found = {step.offsets.committed.get(("t", 0)) for step in steps}
        assert {-1 if one is None else one.committed_offset for one in found} == outcomes
        assert len({step.replies for step in steps}) == 1


@pytest.mark.parametrize("profile", ALL)
def test_a_fetch_of_what_was_never_committed(profile: str) -> None:
    bench = KeeperBench(profile)
    reply = bench.call(OffsetFetchRequest("g", (TopicPartitions("t", (0, 1)),)), 5)
    assert reply.error_code is E.NONE
    assert reply.topics[0].partitions == (FetchedPartition(0, -1, -1, "", E.NONE), FetchedPartition(1))
    assert bench.fetch(None) == {}
    bench.group = group(STABLE)
    assert bench.fetch() == -1


@pytest.mark.parametrize("state", GroupState)
def test_a_fetch_looks_at_neither_state_nor_membership(state: GroupState) -> None:
    bench = KeeperBench(group=Group(state)).stored(t=5, u=6)
    assert bench.fetch() == 5
    assert bench.fetch(None) == {"t": 5, "u": 6}
    line = bench.call(OffsetFetchRequest("g", (TopicPartitions("t", (0, 1)),)), 8).topics[0].partitions
    assert [one.committed_offset for one in line] == [5, -1]


def test_a_fetch_without_a_group_finds_nothing_though_something_is_stored() -> None:
    bench = KeeperBench().stored(t=5)
    assert (bench.fetch(), bench.fetch(None)) == (-1, {})


@pytest.mark.parametrize("profile", ALL)
def test_a_plain_fetch_sees_what_is_acknowledged(profile: str) -> None:
    bench = KeeperBench(profile, Group()).stored(t=3)
    bench.commit()
    assert bench.fetch() == 3
    bench.store()
    assert bench.fetch() == 5


def test_a_stable_fetch_is_refused_by_scala_and_waits_in_java() -> None:
    scala = KeeperBench(SCALA, Group()).stored(t=3, u=4)
    scala.commit()
    assert scala.fetch(stable=True) is E.UNSTABLE_OFFSET_COMMIT
    assert scala.fetch("u", stable=True) == 4
    scala.store()
    assert scala.fetch(stable=True) == 5
    java = KeeperBench(JAVA, Group()).stored(t=3)
    assert java.fetch(stable=True) == 3, "nothing to wait for"
    java.commit()
    assert java.fetch(stable=True) is None
    assert "offsets.stable-fetch-waits" in java.rules
    java.commit(topics=topics(t=6))
    java.store()
    answers = [
        r.topics[0].partitions[0].committed_offset
        for r in java.told
        if hasattr(r.topics[0].partitions[0], "committed_offset")
    ]
    assert answers == [3, 5], "behind the first commit, before the second"


@pytest.mark.parametrize(
    ("hosting", "told"),
    [
        (Hosting.INACTIVE, E.COORDINATOR_NOT_AVAILABLE),
        (Hosting.LOADING, E.COORDINATOR_LOAD_IN_PROGRESS),
        (Hosting.ELSEWHERE, E.NOT_COORDINATOR),
    ],
)
@pytest.mark.parametrize("profile", ALL)
def test_brokers_that_are_not_the_coordinator(profile: str, hosting: Hosting, told: ErrorCode) -> None:
    bench = KeeperBench(profile, group(STABLE)).stored(t=5)
    assert bench.commit(hosting=hosting, **LATE) is told
    reply = bench.call(OffsetFetchRequest("g", None), 8, hosting=hosting)
    assert (reply.error_code, reply.topics) == (told, ())
    assert bench.timers == []


@pytest.mark.parametrize("profile", ALL)
def test_the_empty_group_id_can_commit_and_fetch(profile: str) -> None:
    spec = KeeperBench(profile).spec
    (step,) = spec.handle(None, Call(OffsetCommitRequest("", topics(t=5)), "a", 6))
    assert step.offsets
    (step,) = spec.handle(None, Call(OffsetFetchRequest("", None), "a", 5))
    assert step.offsets
