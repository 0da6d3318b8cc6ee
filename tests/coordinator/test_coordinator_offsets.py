"""Committed offsets: who may commit, what is stored and when it is seen.

Answers were compared with a broker of Kafka 4.4.0. It differs in two things: there, a group that exists only
because of a commit none of whose offsets was stored is told to DescribeGroups as absent; and a fetch of all
offsets has no certain order.
"""

from dataclasses import astuple, dataclass, field

import pytest

from rota.coordinator import (
    ErrorCode,
    GroupState,
    OffsetBatch,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchTopic,
    OffsetRecord,
    UnknownAppendError,
)

NONE = (-1, -1, "")
STORED = [ErrorCode.NONE]
WALL = 1_700_000_000_000


@dataclass(eq=False)
class Call:
    """One request and what was answered to it."""

    replies: list = field(default_factory=list)

    @property
    def reply(self):
        assert len(self.replies) == 1, f"answered {len(self.replies)} times"
        return self.replies[0]

    @property
    def errors(self):
        return [each.error_code for topic in self.reply.topics for each in topic.partitions]


def commit(world, offset=5, client=None, version=10, partitions=None, **changes):
    """OffsetCommit of t-0, or of these partitions, by a client or from outside of group management."""
    place = (client.group_id, client.generation, client.member_id) if client else ("g", -1, "")
    names = ("group_id", "generation_id_or_member_epoch", "member_id")
    topics = (OffsetCommitTopic("t", partitions or (OffsetCommitPartition(0, offset),)),)
    request = OffsetCommit(**dict(zip(names, place, strict=True)) | {"topics": topics} | changes)
    call = Call()
    world.do(world.core.offset_commit(request, version, world.token(call), WALL + world.now))
    return call


def ask(world, *groups, require_stable=False, version=10):
    """OffsetFetch of all offsets of these groups."""
    call = Call()
    request = OffsetFetch(tuple(OffsetFetchGroup(name, None) for name in groups), require_stable)
    world.do(world.core.offset_fetch(request, version, world.token(call)))
    return call


def seen(call):
    """Offsets in an answer to `ask`, by group and partition."""
    return {
        group.group_id: {
            (topic.name, each.partition_index): each.committed_offset
            for topic in group.topics
            for each in topic.partitions
        }
        for group in call.reply.groups
    }


def stored(world, group_id="g"):
    return seen(ask(world, group_id))[group_id]


# -- who may commit ---------------------------------------------------------------------------------------
def test_a_consumer_outside_of_groups_commits_and_makes_an_empty_group(world):
    partitions = (OffsetCommitPartition(0, 7, 3, "note"), OffsetCommitPartition(2, -9, -1, None))
    assert commit(world, partitions=partitions).errors == [ErrorCode.NONE, ErrorCode.NONE]
    group = world.group()
    assert (group.state, group.generation_id, group.protocol_type) == (GroupState.EMPTY, 0, None)
    records = (OffsetRecord("t", 0, 7, 3, "note", WALL), OffsetRecord("t", 2, -9, -1, "", WALL))
    assert world.records == [OffsetBatch(records)]
    assert stored(world) == {("t", 0): 7, ("t", 2): -9}


@pytest.mark.parametrize(("version", "error"), [(2, 22), (8, 22), (9, 69), (10, 69)])
def test_a_generation_of_a_group_that_does_not_exist(world, version, error):
    assert commit(world, version=version, generation_id_or_member_epoch=0, member_id="x").errors == [error]
    assert "g" not in world.core.groups


def test_while_nobody_is_in_the_group_anybody_may_commit_without_a_generation(world):
    one = world.client("one")
    world.stable(one)
    assert one.leave() == ErrorCode.NONE
    assert commit(world, 1, member_id=one.member_id).errors == STORED
    assert commit(world, 2, member_id="anybody", generation_id_or_member_epoch=-5).errors == STORED
    assert stored(world) == {("t", 0): 2}


def test_nobody_may_commit_with_a_generation_while_nobody_is_in_the_group(world):
    one = world.client("one")
    world.stable(one)
    one.leave()
    for generation in (one.generation, world.group().generation_id):
        for member_id in (one.member_id, ""):
            call = commit(world, generation_id_or_member_epoch=generation, member_id=member_id)
            assert call.errors == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_in_a_stable_group_only_members_commit_and_only_in_its_generation(world):
    one, late = world.client("one"), world.client("late")
    world.stable(one)
    handed_out = late.join().reply.member_id
    assert commit(world, 4, one).errors == STORED
    for member_id in ("", "unknown", handed_out):
        for generation in (-1, one.generation):
            call = commit(world, generation_id_or_member_epoch=generation, member_id=member_id)
            assert call.errors == [ErrorCode.UNKNOWN_MEMBER_ID]
    for generation in (-1, 0, one.generation + 1):
        call = commit(world, 9, one, generation_id_or_member_epoch=generation)
        assert call.errors == [ErrorCode.ILLEGAL_GENERATION]
    assert stored(world) == {("t", 0): 4}


def test_members_that_owe_a_sync_are_told_that_a_rebalance_is_going_on(world):
    one = world.client("one")
    world.generation(one)
    world.advance(1_000)
    assert commit(world, 4, one).errors == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert commit(world, 4, one, generation_id_or_member_epoch=0).errors == [ErrorCode.ILLEGAL_GENERATION]
    assert commit(world, 4, one, member_id="x").errors == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert stored(world) == {}
    assert world.left("session", one.member_id) == one.session - 1_000


def test_the_old_generation_commits_until_the_next_one_begins(world):
    one, two = world.client("one"), world.client("two")
    world.stable(one)
    two.enter()
    assert world.state() == "PreparingRebalance"
    assert commit(world, 4, one).errors == STORED
    old = one.generation
    one.join()
    call = commit(world, 5, one, generation_id_or_member_epoch=old)
    assert call.errors == [ErrorCode.ILLEGAL_GENERATION]
    assert stored(world) == {("t", 0): 4}


def test_a_new_member_in_the_first_join_phase_may_commit_in_generation_zero(world):
    one = world.client("one")
    one.enter()
    assert commit(world, 4, one, generation_id_or_member_epoch=0).errors == STORED
    assert world.left("new_member", one.member_id) == one.session


def test_a_dead_group_does_not_take_offsets(world):
    commit(world)
    world.group().state = GroupState.DEAD
    for generation in (-1, 0):
        call = commit(world, generation_id_or_member_epoch=generation)
        assert call.errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_an_instance_id_is_looked_at_unless_it_comes_from_outside_of_an_empty_group(world):
    assert commit(world, group_instance_id="i").errors == STORED
    one, two = world.client("one", instance="i"), world.client("two")
    world.stable(one, two)
    fenced, unknown = [ErrorCode.FENCED_INSTANCE_ID], [ErrorCode.UNKNOWN_MEMBER_ID]
    assert commit(world, 1, one, group_instance_id="i").errors == STORED
    assert commit(world, 1, one, group_instance_id=None).errors == STORED
    assert commit(world, 1, two, group_instance_id="i").errors == fenced
    assert commit(world, 1, two, group_instance_id="j").errors == unknown
    assert commit(world, 1, group_instance_id="i").errors == fenced


def test_the_empty_group_id_is_as_good_as_any(world):
    assert commit(world, 3, group_id="").errors == STORED
    assert stored(world, "") == {("t", 0): 3}


def test_a_group_that_a_commit_has_made_is_joined_like_any_other(world):
    one = world.client("one")
    commit(world, 3)
    world.stable(one)
    assert one.generation == 1
    assert commit(world, 8).errors == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert commit(world, 2, one).errors == STORED  # backwards is no mistake
    assert stored(world) == {("t", 0): 2}


# -- the session ------------------------------------------------------------------------------------------
def test_a_commit_is_a_sign_of_life_from_its_member(world):
    one, two = world.client("one"), world.client("two")
    world.stable(one, two)
    world.advance(4_000)
    left = one.session - 4_000
    commit(world, 4, one, generation_id_or_member_epoch=9)
    assert world.left("session", one.member_id) == left
    commit(world, 4, one)
    assert world.left("session", one.member_id) == one.session
    assert world.left("session", two.member_id) == left
    world.client("three").enter()
    world.advance(1_000)
    commit(world, 4, two, partitions=(OffsetCommitPartition(0, 1, -1, "x" * 5_000),))
    assert world.left("session", two.member_id) == two.session


# -- what is stored ---------------------------------------------------------------------------------------
def test_metadata_that_is_too_long_keeps_out_its_partition_alone(world):
    texts = ("x" * 4_096, "é" * 4_096, "\U0001f600" * 2_048, "\ud800" * 4_096)
    fits = [OffsetCommitPartition(index, 1, -1, text) for index, text in enumerate(texts)]
    long = [OffsetCommitPartition(9, 1, -1, f"{text}x") for text in texts]
    call = commit(world, partitions=(*fits, *long))
    assert call.errors == [ErrorCode.NONE] * 4 + [ErrorCode.OFFSET_METADATA_TOO_LARGE] * 4
    assert stored(world) == {("t", index): 1 for index in range(4)}


def test_nothing_to_store_is_answered_at_once(world):
    world.hold_log = True
    call = commit(world, partitions=(OffsetCommitPartition(0, 1, -1, "x" * 4_097),))
    assert call.errors == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert world.appends == []
    assert world.state() == "Empty"


def test_a_retention_is_written_down(world):
    commit(world, version=2, retention_time_ms=0)
    commit(world, version=4, retention_time_ms=60_000)
    commit(world, version=4, retention_time_ms=-1)
    kept = [each.expire_timestamp_ms for batch in world.records for each in batch.records]
    assert kept == [WALL, WALL + 60_000, -1]


# -- the log ----------------------------------------------------------------------------------------------
def test_the_answer_comes_with_the_logs_and_not_before_it_is_anything_seen(world):
    one = world.client("one")
    world.stable(one)
    world.hold_log = True
    call = commit(world, 4, one)
    assert call.replies == []
    assert stored(world) == {}
    one.leave()  # what was accepted stays accepted
    append_id = world.appends[0].append_id
    world.log()
    assert call.errors == STORED
    assert stored(world) == {("t", 0): 4}
    with pytest.raises(UnknownAppendError):
        world.core.appended(append_id)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(3, 15), (19, 15), (7, 15), (6, 16), (56, 16), (10, -1), (18, -1), (4, -1), (29, 29)],
)
def test_the_log_refuses(world, answer, error):
    commit(world, 1)
    world.hold_log = True
    too_long = OffsetCommitPartition(1, 9, -1, "x" * 4_097)
    call = commit(world, partitions=(OffsetCommitPartition(0, 9), too_long))
    world.log(answer)
    assert call.errors == [error, error]
    assert stored(world) == {("t", 0): 1}


def test_answers_take_effect_in_the_order_of_the_log(world):
    world.hold_log = True
    calls = [commit(world, 1), commit(world, 2), commit(world, 3, group_id="h"), commit(world, 4)]
    world.appends.sort(key=lambda append: append.append_id, reverse=True)
    for answered, error in enumerate((ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_COORDINATOR)):
        world.log(error)
        assert [call.replies for call in calls] == [[]] * 4, f"after {answered + 1} answers"
    assert stored(world) == {}
    world.log()
    assert [call.errors for call in calls] == [STORED, [ErrorCode.NOT_COORDINATOR], STORED, STORED]
    assert stored(world) == {("t", 0): 4}
    assert stored(world, "h") == {("t", 0): 3}


def test_the_last_entry_of_a_batch_counts(world):
    call = commit(world, partitions=(OffsetCommitPartition(0, 7), OffsetCommitPartition(0, 6)))
    assert call.errors == STORED * 2
    assert stored(world) == {("t", 0): 6}


# -- reading ----------------------------------------------------------------------------------------------
def test_offsets_are_answered_as_they_are_asked_for(world):
    commit(world, partitions=(OffsetCommitPartition(0, 7, 3, "note"),))
    names = (OffsetFetchTopic("u", (0,)), OffsetFetchTopic("t", (1, 0, 0)), OffsetFetchTopic("v", ()))
    asked = tuple(OffsetFetchGroup(each, names) for each in ("g", "absent", "g"))
    call = Call()
    world.do(world.core.offset_fetch(OffsetFetch(asked), 8, world.token(call)))
    assert [each.group_id for each in call.reply.groups] == ["g", "absent", "g"]
    assert all(each.error_code == ErrorCode.NONE for each in call.reply.groups)
    told = [
        (group.group_id, topic.name, *astuple(each))
        for group in call.reply.groups
        for topic in group.topics
        for each in topic.partitions
    ]
    note = (7, 3, "note")
    has = [("g", "u", 0, *NONE, 0), ("g", "t", 1, *NONE, 0), ("g", "t", 0, *note, 0), ("g", "t", 0, *note, 0)]
    has_not = [("absent", name, index, *NONE, 0) for name, index in (("u", 0), ("t", 1), ("t", 0), ("t", 0))]
    assert told == has + has_not + has
    assert [topic.name for topic in call.reply.groups[1].topics] == ["u", "t", "v"]
    assert list(world.core.groups) == ["g"]


def test_no_topics_are_all_topics(world):
    for name, index in (("u", 3), ("t", 10), ("t", 9)):
        commit(world, topics=(OffsetCommitTopic(name, (OffsetCommitPartition(index, index),)),))
    commit(world, 1, group_id="other")
    assert list(stored(world).items()) == [(("t", 9), 9), (("t", 10), 10), (("u", 3), 3)]
    assert stored(world, "absent") == {}


@pytest.mark.parametrize("answer", [ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS])
def test_stable_offsets_wait_for_what_is_under_way(world, answer):
    commit(world, 1)
    world.hold_log = True
    commit(world, 2)
    impatient, first = ask(world, "g"), ask(world, "g", require_stable=True)
    commit(world, 3)
    second, elsewhere = ask(world, "g", require_stable=True), ask(world, "h", require_stable=True)
    last = commit(world, 4)
    assert seen(impatient) == {"g": {("t", 0): 1}}
    assert first.replies == []
    world.log(answer)
    assert seen(first) == {"g": {("t", 0): 1 if answer else 2}}
    assert second.replies == elsewhere.replies == []
    world.log(answer)
    assert seen(second) == {"g": {("t", 0): 1 if answer else 3}}
    assert seen(elsewhere) == {"h": {}}
    world.log()
    assert last.errors == STORED
    assert seen(ask(world, "g", require_stable=True)) == {"g": {("t", 0): 4}}
