"""OffsetDelete: what may be deleted under whom, and when it is gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.keeper_bench import BOTH, JAVA, SCALA, KeeperBench, group, subscription, topics
from rota.spec import ErrorCode, Group, GroupState, Hosting
from rota.spec.offset_messages import (
    OffsetDeleteReply,
    OffsetDeleteRequest,
    TopicPartitions,
    TxnOffsetCommitRequest,
)
from rota.spec.vocabulary import AppendError

E = ErrorCode
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
FREE, SUBSCRIBED = {"t": E.NONE}, {"t": E.GROUP_SUBSCRIBED_TO_TOPIC}


def unknown(state: GroupState, subscriptions: tuple[bytes, ...] | None) -> Group:
    return replace(group(state), subscriptions=subscriptions)


UNDER_WHOM = [
    (None, E.GROUP_ID_NOT_FOUND, "offsets.delete-unknown-group"),
    (group(EMPTY), FREE, "offsets.delete"),
    (group(EMPTY, kind="connect"), FREE, "offsets.delete"),
    (Group(), FREE, "offsets.delete"),
    (group(STABLE, kind="connect"), E.NON_EMPTY_GROUP, "offsets.delete-non-empty-group"),
    (group(PREPARING, kind="connect"), E.NON_EMPTY_GROUP, "offsets.delete-non-empty-group"),
    *[
        (group(state, *names), answer, "offsets.delete")
        for state in (STABLE, PREPARING, COMPLETING)
        for names, answer in (((), FREE), (("u",), FREE), (("u", "t"), SUBSCRIBED))
    ],
    # Not known: before the first generation, or one that cannot be read
    (unknown(PREPARING, None), SUBSCRIBED, "offsets.delete"),
    (unknown(STABLE, (subscription("u"), b"?")), SUBSCRIBED, "offsets.delete"),
    # A group of consumers that begins anew after it was Empty
    (unknown(PREPARING, ()), FREE, "offsets.delete"),
]


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize(("there", "told", "rule"), UNDER_WHOM)
def test_under_whom(profile: str, there: Group | None, told: Any, rule: str) -> None:
    bench = KeeperBench(profile, there).stored(t=5)
    answer = bench.delete("t")
    if answer is None:
        assert bench.fetch() == 5
        answer = bench.store()
        answer = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert answer == told
    assert rule in bench.rules
    unused = profile == SCALA and there is not None and there.state is EMPTY
    assert bench.group == (None if unused else there)
    assert bench.committed == ({} if told == FREE else {"t": 5})


@pytest.mark.parametrize(
    ("there", "stored", "deleted", "left"),
    [
        (group(EMPTY), {}, ("t",), {JAVA: "Empty", SCALA: None}),
        (group(EMPTY), {"t": 5}, ("t",), {JAVA: "Empty", SCALA: None}),
        (group(EMPTY), {"t": 5, "u": 6}, ("t",), {JAVA: "Empty", SCALA: "Empty"}),
        (group(EMPTY), {"t": 5, "u": 6}, ("u", "t"), {JAVA: "Empty", SCALA: None}),
        (group(EMPTY), {}, (), {JAVA: "Empty", SCALA: "Empty"}),
        (group(STABLE), {"t": 5}, ("t",), {JAVA: "Stable", SCALA: "Stable"}),
    ],
)
@pytest.mark.parametrize("profile", BOTH)
def test_what_becomes_of_a_group_that_is_left_without_offsets(
    profile: str, there: Group, stored: dict[str, int], deleted: tuple[str, ...], left: dict[str, str | None]
) -> None:
    """Where the Scala coordinator deletes anything, it looks at once whether anybody needs the group."""
    bench = KeeperBench(profile, there).stored(**stored)
    if bench.delete(*deleted) is None:
        bench.store()
    assert (bench.group.state.value if bench.group else None) == left[profile]
    assert ("expiry.group-removed" in bench.rules) == (left[profile] is None)


def test_each_topic_for_itself() -> None:
    bench = KeeperBench(group=group(STABLE, "bar")).stored(foo=1, bar=2)
    assert bench.delete("foo", "bar", "none") is None
    reply = bench.store()
    assert [(t.name, t.partitions[0].error_code) for t in reply.topics] == [
        ("foo", E.NONE),
        ("bar", E.GROUP_SUBSCRIBED_TO_TOPIC),
        ("none", E.NONE),
    ]
    assert bench.committed == {"bar": 2}


@pytest.mark.parametrize("profile", BOTH)
def test_the_empty_group_id_is_refused(profile: str) -> None:
    bench = KeeperBench(profile, group(EMPTY))
    assert bench.call(OffsetDeleteRequest("", ()), 0) == OffsetDeleteReply(E.INVALID_GROUP_ID)


@pytest.mark.parametrize(
    ("profile", "told"), [(JAVA, E.COORDINATOR_NOT_AVAILABLE), (SCALA, E.INVALID_GROUP_ID)]
)
def test_a_broker_whose_coordinator_does_not_run_and_the_empty_group_id(
    profile: str, told: ErrorCode
) -> None:
    bench = KeeperBench(profile, group(EMPTY))
    reply = bench.call(OffsetDeleteRequest("", ()), 0, hosting=Hosting.INACTIVE)
    assert reply == OffsetDeleteReply(told)
    assert (
        bench.call(TxnOffsetCommitRequest("", 1, topics(t=5)), 3, hosting=Hosting.INACTIVE).error_code is told
    )


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize(
    ("hosting", "told"),
    [(Hosting.LOADING, E.COORDINATOR_LOAD_IN_PROGRESS), (Hosting.ELSEWHERE, E.NOT_COORDINATOR)],
)
def test_a_broker_that_is_not_the_coordinator(profile: str, hosting: Hosting, told: ErrorCode) -> None:
    bench = KeeperBench(profile, group(EMPTY)).stored(t=5)
    reply = bench.call(OffsetDeleteRequest("g", (TopicPartitions("t", (0,)),)), 0, hosting=hosting)
    assert reply == OffsetDeleteReply(told)
    assert bench.committed == {"t": 5}


@pytest.mark.parametrize("profile", BOTH)
def test_where_there_is_nothing_no_tombstone_is_written(profile: str) -> None:
    bench = KeeperBench(profile, group(EMPTY))
    assert bench.delete("t") == FREE
    assert "offsets.nothing-to-delete" in bench.rules
    assert not bench.kept.line


def test_what_is_only_in_flight_or_pending_is_deleted_too() -> None:
    flying = KeeperBench(group=group(EMPTY))
    flying.commit()
    assert flying.delete("t") is None
    flying.store()
    assert flying.committed == {}
    pending = KeeperBench(group=group(EMPTY))
    pending.txn()
    pending.store()
    assert pending.delete("t") is None
    pending.end()
    pending.store()
    assert pending.committed == {}


def test_scala_deletes_at_once_and_ignores_what_was_in_flight() -> None:
    bench = KeeperBench(SCALA, group(EMPTY)).stored(t=3)
    bench.commit()
    assert bench.delete("t") == FREE
    assert "offsets.deleted-at-once" in bench.rules
    assert bench.fetch() == -1
    assert bench.store().error_code is E.NONE, "the commit was stored"
    assert bench.fetch() == -1, "and forgotten"


def test_scala_counts_a_commit_after_the_deletion() -> None:
    bench = KeeperBench(SCALA, group(EMPTY)).stored(t=3)
    bench.delete("t")
    bench.commit()
    bench.store()
    assert bench.fetch() == 5


def test_java_deletes_with_the_log_and_tells_its_error() -> None:
    bench = KeeperBench(JAVA, group(EMPTY)).stored(t=3)
    assert bench.delete("t") is None
    assert bench.fetch() == 3
    assert bench.store(AppendError.NOT_ENOUGH_REPLICAS) == OffsetDeleteReply(E.COORDINATOR_NOT_AVAILABLE)
    assert bench.fetch() == 3
    bench.delete("t")
    assert bench.store().error_code is E.NONE
    assert bench.fetch() == -1


def test_java_keeps_the_order_of_the_log() -> None:
    bench = KeeperBench(JAVA, group(EMPTY)).stored(t=3)
    bench.delete("t")
    bench.commit(topics=topics(t=9))
    bench.delete("t")
    bench.commit(topics=topics(t=8))
    bench.store()
    assert bench.fetch() == 8


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        (subscription(), frozenset()),
        (subscription("a", "b"), {"a", "b"}),
        (subscription("a") + b"\0\0\0\0 whatever later versions add", {"a"}),
        (b"\0\7" + subscription("a")[2:], {"a"}),
        (b"\0\0\0\0\0\1\0\1a\0\0\0\2xy", {"a"}),
        (b"", None),
        (b"\0", None),
        (b"\0\0\0\0\0\2\0\1a", None),
        (b"\0\0\0\0\0\1\0\1a", None),
        (b"\0\0\0\0\0\1\0\1a\0\0\0\2x", None),
        (b"\0\0\0\0\0\1\xff\xffa\0\0\0\0", None),
        (b"\0\0\xff\xff\xff\xff\0\0\0\0", None),
        (b"\0\0\x7f\xff\xff\xff\0\1a", None),
    ],
)
def test_topics_of(metadata: bytes, found: Any) -> None:
    assert KeeperBench().spec.ask("offsets.topics-of", metadata) == found
