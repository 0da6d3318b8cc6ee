"""Expiry: which offsets go when, and groups that have become of no use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.offset_stage import (
    BOTH,
    JAVA,
    OLD,
    RETENTION,
    SCALA,
    Stage,
    group,
    record_of,
    subscription,
    topics,
)
from rota.spec import ErrorCode, Group, GroupState, JoinGroupRequest, ProtocolMetadata, TimerKind
from rota.spec.classic.vocabulary import RecordKind
from rota.spec.effects import timer
from rota.spec.vocabulary import AppendError

E = ErrorCode
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
ALL = (JAVA, SCALA, OLD)


def at(stage: Stage, topic: str, at_ms: int, expires_ms: int | None = None) -> Stage:
    """With one more offset stored, committed at a time."""
    offsets = stage.kept.offsets.stored(record_of(topic, 5, at_ms, expires_ms))
    stage.kept = replace(stage.kept, offsets=offsets)
    return stage


def after(stage: Stage, now: int, since: int | None = None) -> set[str]:
    """The topics whose offsets are left when the check has been made and the log has answered."""
    stage.check(now, since)
    stage.store()
    return set(stage.committed)


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize(
    ("since", "now", "left"),
    [
        (0, RETENTION - 1, {"t", "u"}),
        (0, RETENTION, set()),
        (10, RETENTION + 9, {"t", "u"}),
        (10, RETENTION + 10, set()),
        (None, RETENTION, {"u"}),
        (None, RETENTION + 99, {"u"}),
        (None, RETENTION + 100, set()),
    ],
)
def test_an_empty_group_counts_from_when_it_became_so(
    profile: str, since: int | None, now: int, left: set[str]
) -> None:
    """Where that is not known, from each commit."""
    stage = at(at(Stage(profile, group(EMPTY, kind="any")), "t", 0), "u", 100)
    assert after(stage, now, since) == left
    assert (stage.group is None) is (not left)


@pytest.mark.parametrize("profile", ALL)
def test_a_simple_group_counts_from_each_commit(profile: str) -> None:
    stage = at(at(Stage(profile, Group()), "t", 0), "u", 100)
    assert after(stage, RETENTION, since=50) == {"u"}
    assert after(stage, RETENTION + 100, since=RETENTION) == set()
    assert stage.group is None


@pytest.mark.parametrize(("profile", "left"), [(JAVA, {"t"}), (SCALA, {"t"}), (OLD, {"t", "u"})])
def test_a_stable_group_keeps_what_it_is_subscribed_to(profile: str, left: set[str]) -> None:
    stage = Stage(profile, group(STABLE, "t")).stored(t=1, u=2)
    assert after(stage, RETENTION - 1, since=0) == {"t", "u"}
    assert after(stage, RETENTION, since=RETENTION) == left
    assert stage.group == group(STABLE, "t")


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize(
    "there",
    [
        group(PREPARING, "other"),
        group(COMPLETING, "other"),
        group(STABLE, kind="connect"),
        replace(group(STABLE, "other"), subscriptions=(b"?",)),
        replace(group(STABLE, "other"), subscriptions=None),
    ],
)
def test_else_nothing_expires(profile: str, there: Group) -> None:
    stage = Stage(profile, there).stored(t=1)
    assert after(stage, 10 * RETENTION, since=0) == {"t"}
    assert stage.rules[-1] == "expiry.nothing-expires"


@pytest.mark.parametrize("profile", ALL)
def test_an_expiry_of_its_own_counts_instead(profile: str) -> None:
    stage = at(at(Stage(profile, group(EMPTY)), "t", 0, 50), "u", 0, 2 * RETENTION)
    assert after(stage, 49, since=0) == {"t", "u"}
    assert after(stage, 50, since=49) == {"u"}
    assert after(stage, 2 * RETENTION - 1, since=0) == {"u"}
    assert after(stage, 2 * RETENTION, since=0) == set()


def test_but_not_in_a_group_where_nothing_expires() -> None:
    assert after(at(Stage(group=group(PREPARING)), "t", 0, 50), 51) == {"t"}


def test_the_retention_is_a_setting() -> None:
    stage = Stage(JAVA, group(EMPTY), offsets_retention_ms=7).stored(t=1)
    assert after(stage, 6, since=0) == {"t"}
    assert after(stage, 7, since=0) == set()


@pytest.mark.parametrize("profile", ALL)
def test_a_partition_with_a_commit_in_flight_waits(profile: str) -> None:
    stage = Stage(profile, Group()).stored(t=1, u=1)
    stage.commit(now=RETENTION)
    stage.check(RETENTION)
    stage.store()
    assert stage.committed == {"t": 5}


@pytest.mark.parametrize(("profile", "left"), [(JAVA, {"t"}), (SCALA, set()), (OLD, set())])
def test_an_open_transaction_keeps_an_offset_in_java_only(profile: str, left: set[str]) -> None:
    stage = Stage(profile, group(EMPTY)).stored(t=1)
    stage.txn()
    stage.store()
    assert after(stage, RETENTION, since=0) == left
    assert stage.group == group(EMPTY), "the transaction keeps the group in either case"
    stage.end()
    stage.store()
    assert stage.fetch() == 5


def test_a_group_with_offsets_of_open_transactions_alone_goes_in_java_only() -> None:
    for profile in BOTH:
        stage = Stage(profile)
        stage.txn()
        stage.store()
        stage.check(0)
        stage.store()
        assert (stage.group is None) is (profile == JAVA)
        if profile == JAVA:
            assert stage.fetch(stable=True) is E.UNSTABLE_OFFSET_COMMIT
        stage.end()
        stage.store()
        assert stage.committed == {"t": 5}
        assert stage.fetch() == (-1 if profile == JAVA else 5)
        stage.commit(topics=topics(u=6))
        stage.store()
        assert stage.fetch() == 5, "with a group they can be seen"


@pytest.mark.parametrize("profile", ALL)
def test_an_empty_group_without_offsets_goes_at_the_next_look(profile: str) -> None:
    stage = Stage(profile, replace(group(EMPTY), pending=frozenset({"m9"})))
    stage.check(1, since=1)
    assert stage.group is None
    assert stage.log[0].kind is RecordKind.DELETION
    assert stage.timers[0].timer == timer(TimerKind.PENDING, "m9")
    stage.store()
    assert stage.told == []


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize("state", [STABLE, PREPARING, COMPLETING])
def test_a_group_with_members_stays_without_offsets(profile: str, state: GroupState) -> None:
    stage = Stage(profile, group(state, "t"))
    stage.check(10 * RETENTION, since=0)
    assert stage.group == group(state, "t")


@pytest.mark.parametrize("profile", ALL)
def test_who_joins_later_begins_with_generation_1(profile: str) -> None:
    stage = Stage(profile, group(EMPTY, generation=7))
    stage.check(0, since=0)
    stage.store()
    join = JoinGroupRequest("g", 10_000, 10_000, "", "consumer", (ProtocolMetadata("range", subscription()),))
    stage.call(join, 3)
    assert stage.group is not None
    (step,) = stage.spec.fire(stage.group, timer(TimerKind.INITIAL_JOIN))
    assert step.live.generation_id == 1


def test_scala_expires_at_once_and_java_with_the_log() -> None:
    for profile, left in ((SCALA, {"u"}), (JAVA, {"t", "u"})):
        stage = at(Stage(profile, group(EMPTY)).stored(t=1), "u", 0, 2 * RETENTION)
        stage.check(RETENTION, since=0)
        assert set(stage.committed) == left
        stage.store()
        assert set(stage.committed) == {"u"}


def test_java_keeps_what_it_could_not_store_the_end_of() -> None:
    stage = at(Stage(JAVA, group(EMPTY)).stored(t=1), "u", 0, 2 * RETENTION)
    stage.check(RETENTION, since=0)
    stage.store(AppendError.NOT_ENOUGH_REPLICAS)
    assert set(stage.committed) == {"t", "u"}
    stage = Stage(JAVA, group(EMPTY)).stored(t=1)
    stage.check(RETENTION, since=0)
    assert stage.group is None
    stage.store(AppendError.NOT_ENOUGH_REPLICAS)
    assert stage.group == group(EMPTY)
    assert stage.committed == {"t": 1}
    assert stage.told == []
