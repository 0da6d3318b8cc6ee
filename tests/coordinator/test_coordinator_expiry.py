"""Cleaning: offsets that expire, and groups that are of no use any more."""

from dataclasses import dataclass, field, replace

import pytest

from rota.coordinator import (
    ErrorCode,
    GroupRecord,
    GroupTombstone,
    MemberRecord,
    OffsetBatch,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetRecord,
    OffsetTombstone,
    expiry,
)

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
WEEK = 7 * DAY
NOW = 100 * WEEK


@dataclass(eq=False)
class Asked:
    client: object = None
    replies: list = field(default_factory=list)


def offset(topic="t", age=0, index=0, expires=-1):
    """An offset that was committed so long ago."""
    return OffsetRecord(topic, index, 5, -1, "", NOW - age, expires)


def loaded(world, record, *offsets, pending=()):
    world.do(world.core.load("g", record, offsets, pending))


def clean(world, now=NOW):
    """One cleaning; topics are the metadata's words."""
    world.do(world.core.clean(now, lambda data: None if data == b"?" else data.decode().split()))


def left(world):
    stored = world.core._offsets.committed.get("g", {})
    return {(topic, index) for topic, partitions in stored.items() for index in partitions}


def managed(*subscriptions, kind="consumer"):
    """A record of a Stable group whose members subscribe to this."""
    members = (
        MemberRecord(f"m{index}", b"", data, "c", "/h", 60_000, 10_000)
        for index, data in enumerate(subscriptions)
    )
    return GroupRecord(1, kind, "range", "m0", tuple(members))


EMPTY = GroupRecord(1, "consumer", None, None)


def empty_since(age):
    """A record of a group that the last one has left so long ago."""
    return replace(EMPTY, state_timestamp_ms=NOW - age)


@pytest.mark.parametrize(("age", "stays"), [(WEEK - 1, True), (WEEK, False)])
def test_the_offsets_of_a_simple_group_expire_by_their_own_commits(world, age, stays):
    loaded(world, None, offset("t", age), offset("u"))
    clean(world)
    assert left(world) == ({("t", 0), ("u", 0)} if stays else {("u", 0)})
    assert "g" in world.core.groups


def test_a_group_goes_with_its_last_offset(world):
    loaded(world, None, offset("t", WEEK), offset("t", WEEK, 1))
    clean(world)
    tombstones = (OffsetTombstone("t", 0), OffsetTombstone("t", 1))
    assert world.records == [OffsetBatch(tombstones), GroupTombstone(tombstones)]
    assert (dict(world.core.groups), left(world)) == ({}, set())


@pytest.mark.parametrize(("committed", "gone"), [(True, []), (False, [GroupTombstone()])])
def test_a_group_that_has_only_what_transactions_have_pending_stays_until_they_end(world, committed, gone):
    loaded(world, None, pending=[(9, offset("t"))])
    clean(world)
    assert world.records == []
    world.do(world.core.end_transaction(9, committed))
    world.records.clear()
    clean(world)
    assert world.records == gone
    assert left(world) == ({("t", 0)} if committed else set())


def test_a_group_is_deleted_with_what_transactions_have_pending(world):
    loaded(world, None, offset("u"), pending=[(9, offset("t"))])
    world.do(world.core.delete_groups(["g"], 2, world.token(Asked())))
    assert world.records == [GroupTombstone((OffsetTombstone("t", 0), OffsetTombstone("u", 0)))]
    world.do(world.core.end_transaction(9, True))
    assert left(world) == set()


@pytest.mark.parametrize(("age", "stays"), [(WEEK - 1, True), (WEEK, False)])
def test_the_offsets_of_a_group_that_members_have_left_expire_together_and_from_then_on(world, age, stays):
    loaded(world, empty_since(age), offset("t", 50 * WEEK), offset("u", 1))
    clean(world)
    assert left(world) == ({("t", 0), ("u", 0)} if stays else set())


def test_where_it_is_not_known_when_they_left_each_commit_counts(world):
    loaded(world, EMPTY, offset("t", WEEK), offset("u", WEEK - 1))
    clean(world)
    assert left(world) == {("u", 0)}


def test_the_time_counts_anew_when_somebody_was_there_meanwhile(world):
    loaded(world, empty_since(WEEK - 1), offset("t", 50 * WEEK))
    a = world.client("a")
    world.stable(a)
    world.picks.now = NOW
    a.leave()
    assert world.records[-1].state_timestamp_ms == NOW
    clean(world, NOW + WEEK - 1)
    assert left(world) == {("t", 0)}
    clean(world, NOW + WEEK)
    assert left(world) == set()


def test_what_a_commit_asked_for_overrides_the_retention(world):
    loaded(world, EMPTY, offset("t", 1, expires=NOW), offset("u", 2 * WEEK, expires=NOW + 1))
    clean(world)
    assert left(world) == {("u", 0)}


def test_in_a_stable_group_topics_that_nobody_reads_expire(world):
    loaded(world, managed(b"t u", b"v"), *(offset(topic, WEEK) for topic in "tuvw"), offset("x", WEEK - 1))
    clean(world)
    assert left(world) == {("t", 0), ("u", 0), ("v", 0), ("x", 0)}
    assert world.state() == "Stable"


@pytest.mark.parametrize(
    "record", [managed(b"t", b"?"), managed(b"t", kind="connect")], ids=["unreadable", "no consumers"]
)
def test_where_it_is_not_known_what_is_read_nothing_expires(world, record):
    loaded(world, record, offset("w", 50 * WEEK))
    clean(world)
    assert left(world) == {("w", 0)}


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_while_a_group_rebalances_nothing_expires(world, state):
    loaded(world, EMPTY, offset("t", 50 * WEEK, expires=1))
    a = world.client("a")
    a.enter()
    if state == "CompletingRebalance":
        world.advance(3_000)
    assert world.state() == state
    clean(world)
    assert left(world) == {("t", 0)}


def test_an_empty_group_without_offsets_goes_at_once_with_its_handed_out_ids(world):
    a = world.client("a")
    a.join()
    clean(world)
    assert (dict(world.core.groups), world.due) == ({}, {})
    assert a.join().error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_comes_back_if_the_log_refuses(world):
    loaded(world, None, offset("t", WEEK))
    world.hold_log = True
    clean(world)
    assert "g" not in world.core.groups
    world.log(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.log(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert (left(world), "g" in world.core.groups) == ({("t", 0)}, True)


def test_a_group_stays_gone_where_nobody_knows_what_the_log_has(world):
    loaded(world, None, offset("t", WEEK))
    world.hold_log = True
    clean(world)
    world.log(ErrorCode.REQUEST_TIMED_OUT)
    world.log(ErrorCode.REQUEST_TIMED_OUT)
    assert (left(world), "g" in world.core.groups) == (set(), False)


def commit(world, *topics):
    """A commit from outside of group management."""
    asked = Asked()
    lines = tuple(OffsetCommitTopic(topic, (OffsetCommitPartition(0, 6),)) for topic in topics)
    world.do(world.core.offset_commit(OffsetCommit("g", lines), 8, world.token(asked), NOW))
    return asked


def test_while_the_log_owes_answers_nothing_is_cleaned(world):
    """The commit that is under way is accepted in the end, and would be gone with the group or its offset."""
    loaded(world, None, offset("t", WEEK), offset("u", WEEK))
    world.hold_log = True
    committing = commit(world, "t")
    clean(world)
    assert (len(world.appends), "g" in world.core.groups) == (1, True)
    world.log()
    assert [topic.partitions[0].error_code for topic in committing.replies[0].topics] == [ErrorCode.NONE]
    clean(world)
    world.log()
    assert (left(world), "g" in world.core.groups) == ({("t", 0)}, True)


def test_the_first_commit_of_a_group_keeps_it_while_it_is_under_way(world):
    """There is no offset yet, so the group looks as if nobody needed it."""
    world.hold_log = True
    commit(world, "t")
    clean(world)
    assert "g" in world.core.groups
    world.log()
    assert left(world) == {("t", 0)}


def test_a_cleaning_waits_for_the_one_before(world):
    """What goes already does not go again, in a group that stays."""
    loaded(world, managed(b"t"), offset("w", WEEK))
    world.hold_log = True
    clean(world)
    clean(world)
    assert world.records == [OffsetBatch((OffsetTombstone("w", 0),))]


BUGS = {
    "retention-is-exclusive": (
        (
            expiry,
            "is_expired",
            lambda group, record, now, retention: now - record.commit_timestamp_ms > retention,
        ),
        lambda world: test_the_offsets_of_a_simple_group_expire_by_their_own_commits(world, WEEK, False),
    ),
    "rebalancing-groups-expire": (
        (expiry, "expires", lambda group: True),
        lambda world: test_while_a_group_rebalances_nothing_expires(world, "PreparingRebalance"),
    ),
    "nothing-ever-expires": (
        (expiry, "expires", lambda group: False),
        test_in_a_stable_group_topics_that_nobody_reads_expire,
    ),
    "subscriptions-do-not-count": (
        (expiry.offsets, "is_subscribed", lambda group, topics_of: lambda topic: False),
        test_in_a_stable_group_topics_that_nobody_reads_expire,
    ),
}


@pytest.mark.parametrize(("place", "dialogue"), BUGS.values(), ids=list(BUGS))
def test_a_planted_bug_is_noticed(world, monkeypatch, place, dialogue):
    monkeypatch.setattr(*place)
    with pytest.raises(AssertionError):
        dialogue(world)
