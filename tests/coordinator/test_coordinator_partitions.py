"""What waits for one partition of the log holds up nobody whose group is in another."""

import pytest

from rota.coordinator import (
    CoordinatorConfig,
    GroupCoordinator,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetFetch,
    OffsetFetchGroup,
    TxnOffsetCommit,
)
from rota.coordinator.deferred import Deferred
from rota.coordinator.ledger import DeferredEvent


class Nothing:
    """Choices of a coordinator that is asked for none but the time."""

    def now_ms(self):
        return 0


class World:
    """A coordinator; a group is in the partition of its id's first letter. told: the tokens answered."""

    def __init__(self, partition_of=lambda group_id: ord(group_id[:1] or " ")):
        self.core = GroupCoordinator(CoordinatorConfig(partition_of=partition_of), Nothing())
        self.told = []
        self.appends = {}

    def do(self, token, effects):
        self.told += [each for each, _ in effects.replies]
        for append in effects.appends:
            self.appends[token] = append.append_id

    def commit(self, token, group_id, offset=1):
        topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, offset),)),)
        self.do(token, self.core.offset_commit(OffsetCommit(group_id, topics), 8, token, 0))

    def commit_in_transaction(self, token, group_id, offset=1, producer_id=7):
        topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, offset),)),)
        request = TxnOffsetCommit("x", group_id, producer_id, 0, topics)
        self.do(token, self.core.txn_offset_commit(request, 3, token, 0))

    def end(self, token, producer_id=7):
        self.do(token, self.core.end_transaction(producer_id, is_commit=True))

    def fetch(self, token, *group_ids):
        asked = tuple(OffsetFetchGroup(each, None) for each in group_ids)
        self.do(token, self.core.offset_fetch(OffsetFetch(asked, require_stable=True), 8, token))

    def answer(self, *tokens):
        for token in tokens:
            self.do(token, self.core.appended(self.appends.pop(token)))

    def offset(self, group_id):
        return self.core._offsets.get(group_id, "t", 0).committed_offset


def test_a_slow_partition_holds_up_its_own_groups_alone():
    world = World()
    world.commit("slow", "a1")
    world.commit("behind", "a2")
    world.commit("other", "b")
    world.answer("other", "behind")
    assert world.told == ["other"]
    world.answer("slow")
    assert world.told == ["other", "slow", "behind"]


def test_planted_bug_all_groups_are_in_one_line():
    world = World(lambda group_id: 0)
    world.commit("slow", "a1")
    world.commit("other", "b")
    world.answer("other")
    assert world.told == []


def test_a_fetch_waits_for_the_partitions_of_its_groups():
    world = World()
    world.commit("slow", "a")
    world.commit("quick", "b")
    world.fetch("of c", "c")
    world.fetch("of b", "b")
    world.fetch("of both", "a", "b")
    assert world.told == ["of c"]
    world.commit("later", "b")
    world.answer("quick", "later")
    assert world.told == ["of c", "quick", "of b"]  # the later commit is behind the fetch of both
    world.answer("slow")
    assert world.told == ["of c", "quick", "of b", "slow", "of both", "later"]


def test_the_end_of_a_transaction_is_in_every_line_and_in_those_to_come():
    world = World()
    world.commit_in_transaction("pending", "a", 1)
    world.commit("before", "b")
    world.end("end")
    world.commit_in_transaction("next", "c", 5)
    world.commit("after", "b")
    world.answer("after", "next", "end", "pending")
    assert world.told == ["pending"]
    world.answer("before")
    assert world.told[:2] == ["pending", "before"]
    assert sorted(world.told[2:]) == ["after", "next"]
    assert world.offset("a") == 1
    assert world.core._offsets.has_pending("c")  # of the transaction that has begun since


def test_everything_ends_with_the_coordinator():
    world = World()
    for number, group_id in enumerate("abcab"):
        world.commit(number, group_id)
    world.fetch("both", "a", "b")
    world.end("end")
    world.do("unload", world.core.unload())
    assert sorted(map(str, world.told)) == ["0", "1", "2", "3", "4", "both"]


@pytest.mark.parametrize("partitions", [None, frozenset({1, 2})])
def test_lines_go_when_nobody_is_in_them(partitions):
    deferred = Deferred()
    event = DeferredEvent(lambda reply_to, error_code: None, partitions=partitions)
    deferred.add(event)
    assert deferred
    assert deferred.next_answered() is None
    event.error_code = 0
    assert deferred.next_answered() is event
    assert not deferred
    assert not deferred.waits((0, 1, 2))
