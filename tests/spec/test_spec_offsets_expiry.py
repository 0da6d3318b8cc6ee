"""Expiry: which offsets go when, and groups that have become of no use."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from harness.keeper_bench import (
    BOTH,
    JAVA,
    OLD,
    RETENTION,
    SCALA,
    KeeperBench,
    group,
    record_of,
)
from rota.spec import ErrorCode, Group, GroupState
from rota.spec.vocabulary import AppendError

E = ErrorCode
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
ALL = (JAVA, SCALA, OLD)


def at(bench: KeeperBench, topic: str, at_ms: int, expires_ms: int | None = None) -> KeeperBench:
    """With one more offset stored, committed at a time."""
    offsets = bench.kept.offsets.stored(record_of(topic, 5, at_ms, expires_ms))
    bench.kept = replace(bench.kept, offsets=offsets)
    return bench


def after(bench: KeeperBench, now: int, since: int | None = None) -> set[str]:
    """The topics whose offsets are left when the check has been made and the log has answered."""
    bench.check(now, since)
    bench.store()
    return set(bench.committed)


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
    bench = at(at(KeeperBench(profile, group(EMPTY, kind="any")), "t", 0), "u", 100)
    assert after(bench, now, since) == left
    assert (bench.group is None) is (not left)


@pytest.mark.parametrize("profile", ALL)
def test_a_simple_group_counts_from_each_commit(profile: str) -> None:
    bench = at(at(KeeperBench(profile, Group()), "t", 0), "u", 100)
    assert after(bench, RETENTION, since=50) == {"u"}
    assert after(bench, RETENTION + 100, since=RETENTION) == set()
    assert bench.group is None


@pytest.mark.parametrize(("profile", "left"), [(JAVA, {"t"}), (SCALA, {"t"}), (OLD, {"t", "u"})])
def test_a_stable_group_keeps_what_it_is_subscribed_to(profile: str, left: set[str]) -> None:
    bench = KeeperBench(profile, group(STABLE, "t")).stored(t=1, u=2)
    assert after(bench, RETENTION - 1, since=0) == {"t", "u"}
    assert after(bench, RETENTION, since=RETENTION) == left
    assert bench.group == group(STABLE, "t")


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
    bench = KeeperBench(profile, there).stored(t=1)
    assert after(bench, 10 * RETENTION, since=0) == {"t"}
    assert bench.rules[-1] == "expiry.nothing-expires"


@pytest.mark.parametrize("profile", ALL)
def test_an_expiry_of_its_own_counts_instead(profile: str) -> None:
    bench = at(at(KeeperBench(profile, group(EMPTY)), "t", 0, 50), "u", 0, 2 * RETENTION)
    assert after(bench, 49, since=0) == {"t", "u"}
    assert after(bench, 50, since=49) == {"u"}
    assert after(bench, 2 * RETENTION - 1, since=0) == {"u"}
    assert after(bench, 2 * RETENTION, since=0) == set()


def test_but_not_in_a_group_where_nothing_expires() -> None:
    assert after(at(KeeperBench(group=group(PREPARING)), "t", 0, 50), 51) == {"t"}


def test_the_retention_is_a_setting() -> None:
    bench = KeeperBench(JAVA, group(EMPTY), offsets_retention_ms=7).stored(t=1)
    assert after(bench, 6, since=0) == {"t"}
    assert after(bench, 7, since=0) == set()


@pytest.mark.parametrize("profile", ALL)
def test_a_partition_with_a_commit_in_flight_waits(profile: str) -> None:
    bench = KeeperBench(profile, Group()).stored(t=1, u=1)
    bench.commit(now=RETENTION)
    bench.check(RETENTION)
    bench.store()
    assert bench.committed == {"t": 5}


@pytest.mark.parametrize(("profile", "left"), [(JAVA, {"t"}), (SCALA, set()), (OLD, set())])
def test_an_open_transaction_keeps_an_offset_in_java_only(profile: str, left: set[str]) -> None:
    bench = KeeperBench(profile, group(EMPTY)).stored(t=1)
    bench.txn()
    bench.store()
    assert after(bench, RETENTION, since=0) == left
    assert bench.group == group(EMPTY), "the transaction keeps the group in either case"
    bench.end()
    bench.store()
    assert bench.fetch() == 5


def test_a_group_with_offsets_of_open_transactions_alone_stays() -> None:
    for profile, committed in product(BOTH, (True, False)):
        bench = KeeperBench(profile)
        bench.txn()
        bench.store()
        bench.check(0)
        bench.store()
        assert bench.group is not None
        assert bench.fetch(stable=True) is E.UNSTABLE_OFFSET_COMMIT
        bench.end(committed=committed)
        bench.store()
        assert bench.fetch() == (5 if committed else -1)
        bench.check(0)
        bench.store()
        assert (bench.group is not None) is committed


def test_scala_expires_at_once_and_java_with_the_log() -> None:
    for profile, left in ((SCALA, {"u"}), (JAVA, {"t", "u"})):
        bench = at(KeeperBench(profile, group(EMPTY)).stored(t=1), "u", 0, 2 * RETENTION)
        bench.check(RETENTION, since=0)
        assert set(bench.committed) == left
        bench.store()
        assert set(bench.committed) == {"u"}


def test_java_keeps_what_it_could_not_store_the_end_of() -> None:
    bench = at(KeeperBench(JAVA, group(EMPTY)).stored(t=1), "u", 0, 2 * RETENTION)
    bench.check(RETENTION, since=0)
    bench.store(AppendError.NOT_ENOUGH_REPLICAS)
    assert set(bench.committed) == {"t", "u"}
    bench = KeeperBench(JAVA, group(EMPTY)).stored(t=1)
    bench.check(RETENTION, since=0)
    assert bench.group is None
    bench.store(AppendError.NOT_ENOUGH_REPLICAS)
    assert bench.group == group(EMPTY)
    assert bench.committed == {"t": 1}
    assert bench.told == []
