"""Offsets that are committed in transactions: who may, when they count, and what sees them before."""

from dataclasses import dataclass, field, replace

import pytest

from rota.coordinator import ErrorCode as E
from rota.coordinator import (
    OffsetBatch,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetDelete,
    OffsetDeleteTopic,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchTopic,
    TransactionMarker,
    TxnOffsetCommit,
)
from rota.coordinator.offset_store import OffsetStore

WALL = 1_000_000
DAY = 86_400_000


@dataclass(eq=False)
class Call:
    client: object = None
    replies: list = field(default_factory=list)

    @property
    def errors(self):
        return [each.error_code for topic in self.replies[0].topics for each in topic.partitions]


def topics(offset, *indexes):
    parts = tuple(OffsetCommitPartition(index, offset) for index in indexes or (0,))
    return (OffsetCommitTopic("t", parts),)


def txn(world, offset=5, client=None, producer=7, indexes=(), group_id="g", **changes):
    """TxnOffsetCommit by a client as a member, or without a name as in old versions."""
    request = TxnOffsetCommit("x", group_id, producer, 0, topics(offset, *indexes))
    if client is not None:
        place = {"generation_id": client.generation, "member_id": client.member_id}
        request = replace(request, **place, group_instance_id=client.instance)
    call = Call()
    request = replace(request, **changes)
    world.do(world.core.txn_offset_commit(request, 3, world.token(call), WALL))
    return call


def commit(world, offset):
    """OffsetCommit from outside of group management."""
    world.do(world.core.offset_commit(OffsetCommit("g", topics(offset)), 8, world.token(Call()), WALL))


def end(world, producer=7, is_commit=True):
    world.do(world.core.end_transaction(producer, is_commit))


def fetch(world, index=0, stable=False, group_id="g"):
    """The offset of a partition, or the error in its place."""
    call = Call()
    asked = OffsetFetchGroup(group_id, (OffsetFetchTopic("t", (index,)),))
    world.do(world.core.offset_fetch(OffsetFetch((asked,), stable), 8, world.token(call)))
    (part,) = call.replies[0].groups[0].topics[0].partitions
    return told(part)


def fetch_all(world, stable):
    """The offset or the error of every partition there is, by index."""
    call = Call()
    asked = OffsetFetch((OffsetFetchGroup("g", None),), stable)
    world.do(world.core.offset_fetch(asked, 8, world.token(call)))
    parts = (part for topic in call.replies[0].groups[0].topics for part in topic.partitions)
    return {part.partition_index: told(part) for part in parts}


def told(part):
    return part.committed_offset if part.error_code == E.NONE else part.error_code


def test_what_a_transaction_commits_counts_when_it_ends(world):
    assert txn(world, 5).errors == [E.NONE]
    assert (fetch(world), fetch(world, stable=True)) == (-1, E.UNSTABLE_OFFSET_COMMIT)
    assert fetch(world, index=1, stable=True) == -1
    end(world)
    assert (fetch(world), fetch(world, stable=True)) == (5, 5)
    assert world.records[-1] == TransactionMarker(7, True)
    assert isinstance(world.records[0], OffsetBatch)
    assert world.records[0].producer_id == 7


def test_an_abort_forgets_it_and_a_later_commit_brings_nothing_back(world):
    commit(world, 3)
    txn(world, 5)
    assert (fetch(world), fetch(world, stable=True)) == (3, E.UNSTABLE_OFFSET_COMMIT)
    end(world, is_commit=False)
    end(world)
    assert fetch(world, stable=True) == 3


def test_transactions_end_one_by_one(world):
    txn(world, 5, producer=7)
    txn(world, 6, producer=8, indexes=(0, 1))
    end(world, 7)
    assert (fetch(world), fetch(world, stable=True)) == (5, E.UNSTABLE_OFFSET_COMMIT)
    end(world, 8)
    assert (fetch(world, stable=True), fetch(world, 1, stable=True)) == (6, 6)


def test_a_transaction_is_its_producers_whichever_began_first(world):
    """The higher producer id is open already when the lower one commits."""
    txn(world, 6, producer=8)
    txn(world, 5, producer=7, indexes=(1,))
    end(world, 8, is_commit=False)
    assert (fetch(world, stable=True), fetch(world, 1, stable=True)) == (-1, E.UNSTABLE_OFFSET_COMMIT)
    end(world, 7)
    assert (fetch(world, stable=True), fetch(world, 1, stable=True)) == (-1, 5)


def test_a_fetch_of_all_stable_offsets_is_told_what_is_pending(world):
    """Of what is stored already; what is only pending is not among all there are."""
    commit(world, 3)
    txn(world, 5, indexes=(0, 1))
    assert fetch_all(world, stable=False) == {0: 3}
    assert fetch_all(world, stable=True) == {0: E.UNSTABLE_OFFSET_COMMIT}
    end(world)
    assert fetch_all(world, stable=True) == {0: 5, 1: 5}


def test_the_later_record_wins_not_the_later_end(world):
    txn(world, 5)
    commit(world, 9)
    end(world)
    assert fetch(world, stable=True) == 9
    commit(world, 10)
    txn(world, 11)
    end(world)
    assert fetch(world) == 11


def test_nothing_counts_before_the_log_has_answered(world):
    world.hold_log = True
    call = txn(world, 5)
    end(world)
    assert call.replies == []
    world.log(E.REQUEST_TIMED_OUT)
    assert call.errors == [E.COORDINATOR_NOT_AVAILABLE]
    world.log()
    assert fetch(world) == -1
    txn(world, 6)
    world.log()
    end(world)
    world.log(E.REQUEST_TIMED_OUT)
    assert fetch(world, stable=True) == E.UNSTABLE_OFFSET_COMMIT


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, E.NONE),
        ({"group_instance_id": None}, E.NONE),
        ({"group_instance_id": "j"}, E.UNKNOWN_MEMBER_ID),
        ({"member_id": "x"}, E.FENCED_INSTANCE_ID),
        ({"member_id": "x", "group_instance_id": None}, E.UNKNOWN_MEMBER_ID),
        ({"generation_id": 2}, E.ILLEGAL_GENERATION),
        ({"generation_id": -1}, E.ILLEGAL_GENERATION),
        ({"generation_id": -1, "member_id": ""}, E.FENCED_INSTANCE_ID),
        ({"generation_id": -1, "member_id": "", "group_instance_id": None}, E.NONE),
    ],
)
@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Stable"])
def test_who_may_commit_in_a_transaction(world, state, changes, error):
    a, b = world.client("a", instance="i"), world.client("b")
    (world.generation if state == "CompletingRebalance" else world.stable)(a, b)
    if state == "PreparingRebalance":
        b.protocols = ("range:changed",)
        b.join()
    assert world.state() == state
    before = world.left("session", a.member_id)
    world.advance(1_000)
    assert txn(world, client=a, **changes).errors == [error]
    assert world.left("session", a.member_id) == before - 1_000  # no sign of life


def test_a_group_that_is_not_there_or_empty(world):
    assert txn(world, generation_id=0).errors == [E.ILLEGAL_GENERATION]
    assert txn(world, group_id="").errors == [E.INVALID_GROUP_ID]
    assert not world.core.groups
    assert txn(world, member_id="x", group_instance_id="i").errors == [E.NONE]
    assert world.state() == "Empty"
    assert txn(world, generation_id=0).errors == [E.UNKNOWN_MEMBER_ID]


def test_too_much_metadata(world):
    parts = (OffsetCommitPartition(0, 1, -1, "x" * 5_000), OffsetCommitPartition(1, 1))
    call = txn(world)
    call = Call()
    request = TxnOffsetCommit("x", "g", 7, 0, (OffsetCommitTopic("t", parts),))
    world.do(world.core.txn_offset_commit(request, 3, world.token(call), WALL))
    assert call.errors == [E.OFFSET_METADATA_TOO_LARGE, E.NONE]


def test_deleted_offsets_do_not_come_back_with_a_transactions_end(world):
    txn(world, 5, indexes=(0, 1))
    request = OffsetDelete("g", (OffsetDeleteTopic("t", (0,)),))
    world.do(world.core.offset_delete(request, 0, world.token(Call()), lambda data: ()))
    end(world)
    assert (fetch(world, 0), fetch(world, 1)) == (-1, 5)


def test_a_deleted_group_takes_what_is_pending_along(world):
    txn(world, 5)
    world.do(world.core.delete_groups(["g"], 2, world.token(Call())))
    end(world)
    assert fetch(world) == -1


def test_what_is_pending_keeps_an_expired_offset_and_its_group(world):
    commit(world, 3)
    txn(world, 5)
    world.do(world.core.clean(WALL + 8 * DAY, lambda data: ()))
    assert fetch(world) == 3
    end(world, is_commit=False)
    world.do(world.core.clean(WALL + 8 * DAY, lambda data: ()))
    assert not world.core.groups


def test_a_group_that_has_only_pending_offsets_stays_as_in_the_broker(world):
    txn(world, 5)
    world.do(world.core.clean(WALL, lambda data: ()))
    assert [*world.core.groups] == ["g"]


def always_commits(store, producer_id, is_commit):
    END(store, producer_id, True)


END = OffsetStore.end_transaction
BUGS = {
    "an abort commits": (
        "end_transaction",
        always_commits,
        test_an_abort_forgets_it_and_a_later_commit_brings_nothing_back,
    ),
    "the later end wins": (
        "next_position",
        lambda store: 1 if store.last_position else 0,
        test_the_later_record_wins_not_the_later_end,
    ),
    "what is pending holds nothing": (
        "has_pending",
        lambda *group: False,
        test_a_group_that_has_only_pending_offsets_stays_as_in_the_broker,
    ),
    "nothing is pending": ("is_pending", lambda *place: False, test_transactions_end_one_by_one),
    "deleted groups' transactions live on": (
        "forget",
        lambda store, group_id: store.committed.pop(group_id, None),
        test_a_deleted_group_takes_what_is_pending_along,
    ),
}


@pytest.mark.parametrize(("attribute", "instead", "dialogue"), BUGS.values(), ids=list(BUGS))
def test_a_planted_bug_is_noticed(world, monkeypatch, attribute, instead, dialogue):
    monkeypatch.setattr(OffsetStore, attribute, instead)
    with pytest.raises(AssertionError):
        dialogue(world)
