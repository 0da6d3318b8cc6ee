"""OffsetDelete, DescribeGroups, ListGroups and DeleteGroups in dialogues.

Answers were compared with a broker of Kafka 4.4.0. It answers members and groups in no certain order, and
tells of a group that exists only because of a commit none of whose offsets was stored as absent.
"""

from dataclasses import dataclass, field, replace

from rota.coordinator import (
    DescribedGroup,
    DescribedGroupMember,
    ErrorCode,
    GroupState,
    GroupTombstone,
    ListGroups,
    OffsetBatch,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetDelete,
    OffsetDeleteTopic,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetTombstone,
)

GONE = ErrorCode.GROUP_ID_NOT_FOUND
KEPT = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


@dataclass(eq=False)
class Call:
    """One request and what was answered to it."""

    replies: list = field(default_factory=list)

    @property
    def reply(self):
        assert len(self.replies) == 1, f"answered {len(self.replies)} times"
        return self.replies[0]


def ask(world, method, *arguments, version=9):
    """A request to the core; what follows the token is last."""
    call = Call()
    request, *rest = arguments
    world.do(getattr(world.core, method)(request, version, world.token(call), *rest))
    return call


def commit(world, *indexes, group_id="g", topic="t"):
    partitions = tuple(OffsetCommitPartition(index, index) for index in indexes)
    return ask(world, "offset_commit", OffsetCommit(group_id, (OffsetCommitTopic(topic, partitions),)), 0)


def stored(world, group_id="g"):
    reply = ask(world, "offset_fetch", OffsetFetch((OffsetFetchGroup(group_id, None),))).reply
    topics = reply.groups[0].topics
    return [(topic.name, each.partition_index) for topic in topics for each in topic.partitions]


def topics_of(metadata):
    """Subscriptions are names with commas between them; "?" is none."""
    return None if metadata == b"?" else metadata.decode().split(",")


def delete(world, *topics, group_id="g"):
    request = OffsetDelete(group_id, tuple(OffsetDeleteTopic(*topic) for topic in topics))
    return ask(world, "offset_delete", request, topics_of, version=0)


def deleted(world, *names, group_id="g"):
    """OffsetDelete of partition 0 of these topics; the errors, or the one for the whole."""
    reply = delete(world, *((name, (0,)) for name in names), group_id=group_id).reply
    return [each.error_code for topic in reply.topics for each in topic.partitions] or reply.error_code


def described(world, *group_ids, version=6):
    return ask(world, "describe_groups", group_ids, version=version).reply.groups


def listed(world, **filters):
    return [each.group_id for each in ask(world, "list_groups", ListGroups(**filters)).reply.groups]


def remove(world, *group_ids):
    return ask(world, "delete_groups", group_ids, version=2)


def results(call):
    return {each.group_id: each.error_code for each in call.reply.results}


# -- OffsetDelete -----------------------------------------------------------------------------------------
def test_offsets_of_nobody_are_deleted(world):
    commit(world, 0, 1, 2)
    call = delete(world, ("t", (0, 2, 7)), ("u", (0,)))
    told = {topic.name: [each.partition_index for each in topic.partitions] for topic in call.reply.topics}
    assert told == {"t": [0, 2, 7], "u": [0]}
    assert world.records[-1] == OffsetBatch((OffsetTombstone("t", 0), OffsetTombstone("t", 2)))
    assert stored(world) == [("t", 1)]
    assert deleted(world, "t", "u") == [0, 0]
    assert world.records[-1] == OffsetBatch((OffsetTombstone("t", 0), OffsetTombstone("t", 2)))


def test_offsets_of_no_group(world):
    assert deleted(world, "t") == GONE
    assert deleted(world, "t", group_id="") == ErrorCode.INVALID_GROUP_ID
    commit(world, 0)
    world.group().state = GroupState.DEAD
    assert deleted(world, "t") == GONE


def test_who_is_no_consumer_keeps_all_its_offsets_while_it_lives(world):
    one = world.client("one", "range:t", protocol_type="connect")
    commit(world, 0)
    one.enter()
    for _ in range(2):
        assert deleted(world, "t") == ErrorCode.NON_EMPTY_GROUP
        world.advance(3_000)  # the initial delay ends, the sync timer does not
    assert stored(world) == [("t", 0)]
    one.leave()
    assert deleted(world, "t") == [0]
    assert stored(world) == []


def test_consumers_keep_the_offsets_of_topics_that_their_generation_subscribes_to(world):
    one, two = world.client("one", "range:t,u"), world.client("two", "range:u,v")
    commit(world, 0)
    one.join()
    assert deleted(world, "t") == [0]
    commit(world, 0)
    one.join()
    assert deleted(world, "t", "x") == [KEPT, KEPT], "before the first generation nobody knows"
    two.enter()
    world.advance_to("initial_join")
    world.advance_to("initial_join")
    assert deleted(world, "t", "u", "v", "x") == [KEPT, KEPT, KEPT, 0]
    one.protocols = ("range:x",)
    one.leave()
    assert deleted(world, "t", "x") == [KEPT, 0], "who has left still counts"
    two.join()
    assert deleted(world, "t", "u") == [0, KEPT]
    two.leave()
    assert deleted(world, "t", "u", "v") == [0, 0, 0]
    assert stored(world) == []


def test_a_member_that_cannot_be_read_may_subscribe_to_anything(world):
    world.stable(world.client("one", "range:t"), world.client("two", "range:?"))
    assert deleted(world, "t", "x") == [KEPT, KEPT]


def test_a_deletion_waits_for_the_log_and_stands_behind_commits_under_way(world):
    world.hold_log = True
    commit(world, 0)
    call = delete(world, ("t", (0,)))
    assert world.appends[-1].record == OffsetBatch((OffsetTombstone("t", 0),))
    world.log()
    assert (stored(world), call.replies) == ([("t", 0)], [])
    world.log()
    assert (stored(world), call.reply.error_code) == ([], 0)


def test_a_deletion_that_the_log_refuses(world):
    commit(world, 0)
    world.hold_log = True
    call = delete(world, ("t", (0,)))
    world.log(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (call.reply.error_code, call.reply.topics) == (ErrorCode.NOT_COORDINATOR, ())
    assert stored(world) == [("t", 0)]


# -- DescribeGroups and ListGroups ------------------------------------------------------------------------
def test_a_group_that_does_not_exist_is_described_as_dead(world):
    dead = DescribedGroup("g", GONE, "Group g not found.", "Dead")
    assert described(world, "g") == (dead,)
    assert described(world, "g", version=5) == (replace(dead, error_code=0, error_message=None),)
    commit(world, 0)
    world.group().state = GroupState.DEAD
    assert described(world, "g", "g") == (dead, dead)


def test_a_group_is_described_through_its_life(world):
    one = world.client("one", "range:a", "other")
    commit(world, 0)
    one.join()
    assert described(world, "g") == (DescribedGroup("g", group_state="Empty"),)
    one.join()
    about = DescribedGroupMember(one.member_id, None, "one", "/127.0.0.1", b"", b"")
    group = DescribedGroup("g", 0, None, "PreparingRebalance", "consumer", "", (about,))
    assert described(world, "g") == (group,)
    world.advance_to("initial_join")
    assert described(world, "g") == (replace(group, group_state="CompletingRebalance"),)
    one.sync({one: b"work"})
    has_work = replace(about, member_assignment=b"work")
    working = (replace(has_work, member_metadata=b"a"),)
    assert described(world, "g") == (
        replace(group, group_state="Stable", protocol_data="range", members=working),
    )
    two = world.client("two")
    two.enter()
    other = replace(about, member_id=two.member_id, client_id="two")
    assert described(world, "g") == (replace(group, members=(has_work, other)),)
    one.leave()
    two.leave()
    assert described(world, "g") == (replace(group, group_state="Empty", members=()),)


def test_groups_are_listed_by_state_and_type(world):
    assert listed(world) == []
    world.stable(world.client("one"))
    commit(world, 0, group_id="e")
    (stable, empty) = ask(world, "list_groups", ListGroups()).reply.groups
    assert (stable.group_id, stable.protocol_type, stable.group_state) == ("g", "consumer", "Stable")
    assert (empty.group_id, empty.protocol_type, empty.group_state) == ("e", "", "Empty")
    assert stable.group_type == empty.group_type == "classic"
    assert listed(world, states_filter=(" EMPTY ",)) == ["e"]
    assert listed(world, states_filter=("bogus",)) == []
    assert listed(world, states_filter=("bogus", "stable", "Empty")) == ["g", "e"]
    assert listed(world, types_filter=("consumer",)) == listed(world, types_filter=(" classic ",)) == []
    assert listed(world, types_filter=("Classic", "consumer"), states_filter=("Stable",)) == ["g"]


# -- DeleteGroups -----------------------------------------------------------------------------------------
def test_groups_are_deleted_while_nobody_is_in_them(world):
    one = world.client("one", group_id="live")
    commit(world, 0, group_id="live")
    one.enter()
    commit(world, 0)
    commit(world, 0, group_id="")
    call = remove(world, "g", "live", "none", "g", "")
    assert results(call) == {"g": 0, "live": ErrorCode.NON_EMPTY_GROUP, "none": GONE, "": 0}
    assert world.records[-2:] == [GroupTombstone((OffsetTombstone("t", 0),))] * 2
    assert (stored(world), stored(world, "live"), stored(world, "")) == ([], [("t", 0)], [])
    assert listed(world) == ["live"]
    world.advance_to("initial_join", group_id="live")
    assert results(remove(world, "live")) == {"live": ErrorCode.NON_EMPTY_GROUP}
    one.sync({})
    assert results(remove(world, "live")) == {"live": ErrorCode.NON_EMPTY_GROUP}
    one.leave()
    assert results(remove(world, "live")) == {"live": 0}
    assert results(remove(world)) == {}
    commit(world, 0)
    world.group().state = GroupState.DEAD
    assert results(remove(world, "g")) == {"g": GONE}


def test_ids_that_were_handed_out_go_with_the_group(world):
    one = world.client("one")
    one.join()
    remove(world, "g")
    assert world.due == {}
    assert one.join().error == ErrorCode.UNKNOWN_MEMBER_ID
    world.stable(world.client("two"))
    assert world.group().generation_id == 1


def test_a_deleted_group_is_gone_before_its_offsets_and_does_not_take_later_ones_along(world):
    world.hold_log = True
    commit(world, 0)
    call = remove(world, "g")
    assert (listed(world), call.replies) == ([], [])
    commit(world, 5)
    world.log()
    assert stored(world) == [("t", 0)]
    world.log()
    assert (stored(world), results(call)) == ([], {"g": 0})
    world.log()
    assert (stored(world), listed(world)) == ([("t", 5)], ["g"])


def test_a_group_comes_back_if_the_log_refuses_its_deletion(world):
    one = world.client("one")
    for name in ("g", "h"):
        commit(world, 0, group_id=name)
    one.join()
    world.hold_log = True
    call = remove(world, "g", "h")
    world.log(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert call.replies == []
    world.log()
    assert results(call) == {"g": ErrorCode.COORDINATOR_NOT_AVAILABLE, "h": 0}
    assert (listed(world), stored(world), stored(world, "h")) == (["g"], [("t", 0)], [])
    assert one.join().error == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_assignment_under_way_is_not_that_of_a_later_group(world):
    one, two = world.client("one"), world.client("two")
    world.generation(one)
    world.hold_log = True
    parked = one.sync({one: b"old"})
    one.leave()
    remove(world, "g")
    world.generation(two)
    assert two.generation == one.generation
    later = two.sync({two: b"new"})
    for _ in range(4):
        assert (parked.replies, later.replies) == ([], [])
        world.log()
    assert (parked.replies, later.reply.assignment) == ([], b"new")
