"""Offsets of transactions: who may commit them, when they count, and what readers are told meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.keeper_bench import BOTH, JAVA, OLD, SCALA, KeeperBench, group, record_of, topics
from rota.spec import ErrorCode, Group, GroupState, Hosting
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetFetchRequest,
    TxnOffsetCommitReply,
    TxnOffsetCommitRequest,
)
from rota.spec.versions import as_sent
from rota.spec.vocabulary import AppendError

E = ErrorCode
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
MEMBER = {"generation_id": 2, "member_id": "m1"}


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize(
    ("state", "fields", "told", "rule"),
    [
        *[(state, MEMBER, None, "transactions.commit") for state in (STABLE, PREPARING, COMPLETING)],
        *[(s, {}, None, "transactions.commit-without-membership") for s in (*GroupState, None)],
        (EMPTY, {"member_id": "any"}, None, "transactions.commit-without-membership"),
        (
            STABLE,
            {**MEMBER, "generation_id": 7},
            E.ILLEGAL_GENERATION,
            "transactions.commit-illegal-generation",
        ),
        (STABLE, {"member_id": "m1"}, E.ILLEGAL_GENERATION, "transactions.commit-illegal-generation"),
        (STABLE, {**MEMBER, "member_id": "x"}, E.UNKNOWN_MEMBER_ID, "transactions.commit-unknown-member"),
        (EMPTY, MEMBER, E.UNKNOWN_MEMBER_ID, "transactions.commit-unknown-member"),
    ],
)
def test_who_may_commit(profile: str, state: GroupState | None, fields: Any, told: Any, rule: str) -> None:
    bench = KeeperBench(profile, None if state is None else group(state))
    assert bench.txn(**fields) == told
    assert bench.rules[0] == rule
    assert bench.timers == [], "no sign of life"
    if told is None:
        assert bench.store().error_code is E.NONE


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize(
    ("member_id", "told"), [("m1", None), ("", E.FENCED_INSTANCE_ID), ("m2", E.FENCED_INSTANCE_ID)]
)
def test_static_members(profile: str, member_id: str, told: ErrorCode | None) -> None:
    bench = KeeperBench(profile, group(STABLE, instance="i"))
    assert bench.txn(generation_id=2, member_id=member_id, group_instance_id="i") == told


def test_with_a_generation_to_no_group() -> None:
    java = KeeperBench(JAVA)
    assert java.txn(**MEMBER) is E.ILLEGAL_GENERATION
    assert java.group is None
    scala = KeeperBench(SCALA)
    assert scala.txn(**MEMBER) is E.UNKNOWN_MEMBER_ID
    assert scala.group == Group()


@pytest.mark.parametrize("profile", [*BOTH, OLD])
def test_the_empty_group_id_is_refused(profile: str) -> None:
    assert KeeperBench(profile).txn(version=0, group_id="") is E.INVALID_GROUP_ID


@pytest.mark.parametrize(("version", "told"), [(0, 15), (1, 15), (2, 14), (3, 14)])
def test_old_versions_are_not_told_of_loading(version: int, told: int) -> None:
    bench = KeeperBench(group=group(STABLE))
    reply = bench.call(TxnOffsetCommitRequest("g", 1, topics(t=5)), version, hosting=Hosting.LOADING)
    sent = as_sent(reply, version)
    assert isinstance(sent, TxnOffsetCommitReply)
    assert sent.error_code.value == told


def test_metadata_too_large() -> None:
    long = OffsetCommitPartition(0, 1, committed_metadata="x" * 4_097)
    assert KeeperBench().txn(topics=topics(t=long)) is E.OFFSET_METADATA_TOO_LARGE


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize(("committed", "found"), [(True, 25), (False, 3)])
def test_the_end_decides(profile: str, committed: bool, found: int) -> None:
    bench = KeeperBench(profile, Group()).stored(t=3, u=4)
    bench.txn(topics=topics(t=25))
    bench.store()
    assert bench.fetch() == 3, "a plain reader sees what counts now"
    assert bench.fetch(stable=True) is E.UNSTABLE_OFFSET_COMMIT
    assert bench.fetch("u", stable=True) == 4
    bench.end(committed=committed)
    assert bench.fetch() == 3, "the marker is not there yet"
    bench.store()
    assert bench.fetch(stable=True) == found
    assert ("transactions.ended" if committed else "transactions.aborted") in bench.rules
    assert not bench.kept.offsets.pending


def test_all_there_are_tells_of_unstable_ones_but_not_of_those_only_pending() -> None:
    bench = KeeperBench(group=Group()).stored(t=3)
    bench.txn(topics=topics(t=4, u=5))
    bench.store()
    reply = bench.call(OffsetFetchRequest("g", None, require_stable=True), 8)
    assert {t.name: t.partitions[0].error_code for t in reply.topics} == {"t": E.UNSTABLE_OFFSET_COMMIT}


@pytest.mark.parametrize("profile", BOTH)
def test_a_commit_after_an_abort_is_ignored(profile: str) -> None:
    bench = KeeperBench(profile, Group()).stored(t=3)
    bench.txn()
    bench.end(committed=False)
    bench.end(committed=True)
    bench.store()
    assert bench.fetch() == 3


@pytest.mark.parametrize("profile", BOTH)
def test_the_later_record_in_the_log_wins(profile: str) -> None:
    bench = KeeperBench(profile, Group())
    bench.txn(topics=topics(t=1))
    bench.commit(topics=topics(t=2))
    bench.end()
    bench.store()
    assert bench.fetch() == 2, "the commit came after the transaction's record, though before its end"
    bench.commit(topics=topics(t=3))
    bench.txn(topics=topics(t=4))
    bench.end()
    bench.store()
    assert bench.fetch() == 4


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize(("ends", "found"), [((1, 2), 2), ((2, 1), 2)])
def test_two_producers(profile: str, ends: tuple[int, int], found: int) -> None:
    """Whichever ends first: the place of the offset counts."""
    bench = KeeperBench(profile, Group())
    bench.txn(1, topics=topics(t=1, u=7))
    bench.txn(2, topics=topics(t=2))
    for producer in ends:
        bench.end(producer)
    bench.store()
    assert bench.committed == {"t": found, "u": 7}


@pytest.mark.parametrize("profile", BOTH)
def test_a_producers_second_offset_takes_the_place_of_its_first(profile: str) -> None:
    bench = KeeperBench(profile, Group())
    bench.txn(1, topics=topics(t=1))
    bench.commit(topics=topics(t=2))
    bench.txn(1, topics=topics(t=3))
    bench.end(1)
    bench.store()
    assert bench.fetch() == 3


@pytest.mark.parametrize("profile", BOTH)
def test_a_marker_ends_its_own_producers_transaction_only(profile: str) -> None:
    bench = KeeperBench(profile, Group())
    bench.txn(1, topics=topics(t=1))
    bench.txn(2, topics=topics(u=2))
    bench.end(2)
    bench.store()
    assert bench.committed == {"u": 2}
    assert [one.record.producer_id for one in bench.kept.offsets.pending] == [1]


def test_a_failed_append_takes_the_producers_earlier_offset_with_it_in_scala_only() -> None:
    for profile, found in ((JAVA, 1), (SCALA, -1)):
        bench = KeeperBench(profile, Group())
        bench.txn(topics=topics(t=1))
        bench.store()
        bench.txn(topics=topics(t=2))
        assert bench.store(AppendError.NOT_ENOUGH_REPLICAS).error_code is E.COORDINATOR_NOT_AVAILABLE
        bench.end()
        bench.store()
        assert bench.fetch() == found


@pytest.mark.parametrize("profile", BOTH)
def test_a_deletion_takes_what_is_pending_with_it_an_expiry_does_not(profile: str) -> None:
    bench = KeeperBench(profile)
    offsets = bench.kept.offsets.stored(record_of("t", 1))
    pending = replace(record_of("t", 2), producer_id=1)
    offsets = offsets.stored(pending).stored(record_of("t", 3))
    assert [one.overtaken for one in offsets.pending] == [True]
    assert offsets.without([("t", 0)], expired=False).pending == ()
    (one,) = offsets.without([("t", 0)], expired=True).pending
    assert not one.overtaken, "nothing is later than it any more"
