"""Records of groups: when a group is created, when it empties, and groups that are loaded and unloaded."""

from dataclasses import dataclass, field

import pytest

from rota.coordinator import (
    ErrorCode,
    GroupRecord,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeaveGroupReplyMember,
    MemberRecord,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchReply,
    OffsetFetchReplyGroup,
    OffsetRecord,
    SyncGroupReply,
    UnknownAppendError,
)

E = ErrorCode

CREATED = GroupRecord(0, "", None, None)


@dataclass(eq=False)
class Asked:
    """A request that no client's method sends."""

    client: object = None
    replies: list = field(default_factory=list)


@pytest.fixture
def slow(world):
    """A world in which every append waits for its answer."""
    world.hold_log = world.hold_creations = True
    return world


# -- creation --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, E.MEMBER_ID_REQUIRED),
        ({"protocols": ()}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_instance_id": "i"}, None),
    ],
)
def test_a_join_that_makes_a_group_writes_it_and_waits_for_nothing(slow, changes, error):
    joined = slow.client("a").join(**changes)
    assert (slow.records, slow.state()) == ([CREATED], "PreparingRebalance" if error is None else "Empty")
    if error is not None:
        assert joined.error == error
    assert slow.client("b").join().error == E.MEMBER_ID_REQUIRED or error is None
    assert slow.records == [CREATED]
    slow.log()
    assert "g" in slow.core.groups


@pytest.mark.parametrize(
    "changes", [{"group_id": ""}, {"session_timeout_ms": 1}, {"member_id": "x"}], ids=str
)
def test_a_join_that_is_refused_before_the_group_is_looked_up_writes_nothing(slow, changes):
    slow.client("a").join(**changes)
    assert (slow.records, dict(slow.core.groups)) == ([], {})


def test_a_creation_that_fails_is_undone_and_who_waits_is_told(slow):
    a, b = slow.client("a", instance="i"), slow.client("b")
    calls = [a.join(), b.enter()]
    slow.log(E.REQUEST_TIMED_OUT)
    assert [call.reply for call in calls] == [JoinGroupReply(E.COORDINATOR_NOT_AVAILABLE)] * 2
    assert (dict(slow.core.groups), slow.due) == ({}, {})
    assert b.join().error == E.UNKNOWN_MEMBER_ID


def test_an_id_from_a_creation_that_failed_is_unknown(slow):
    a = slow.client("a")
    assert a.join().error == E.MEMBER_ID_REQUIRED
    slow.log(E.NOT_LEADER_OR_FOLLOWER)
    assert a.join().error == E.UNKNOWN_MEMBER_ID
    assert (dict(slow.core.groups), slow.due) == ({}, {})


def test_a_group_that_has_had_a_generation_stays(slow):
    a = slow.client("a", instance="i")
    a.join()
    slow.advance(3_000)
    synced = a.sync({a: b"A"})
    slow.log(E.REQUEST_TIMED_OUT)
    assert (slow.state(), synced.replies) == ("CompletingRebalance", [])
    slow.log()
    assert (slow.state(), synced.reply.assignment) == ("Stable", b"A")


def test_records_of_a_group_that_is_undone_are_not_those_of_a_later_one(slow):
    a, b = slow.client("a", instance="i"), slow.client("b")
    a.join()
    slow.log(E.REQUEST_TIMED_OUT)
    b.join()
    assert slow.core.groups["g"].pending_members
    slow.log(E.REQUEST_TIMED_OUT)
    assert not slow.core.groups


def test_the_creation_of_a_group_that_was_deleted_is_not_that_of_a_later_one(slow):
    slow.client("a").join()
    slow.do(slow.core.delete_groups(["g"], 2, slow.token(Asked())))
    slow.client("b").join()
    first, *_ = slow.appends
    slow.do(slow.core.appended(first.append_id, E.REQUEST_TIMED_OUT))
    assert len(slow.group().pending_members) == 1


# -- the end of the last member --------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 5])
@pytest.mark.parametrize("error", [E.NONE, E.REQUEST_TIMED_OUT])
def test_leaving_that_empties_the_group_is_answered_by_the_log(world, version, error):
    a, b = world.client("a"), world.client("b", instance="i")
    world.stable(*((a,) if version == 2 else (a, b)))
    world.hold_log = True
    if version == 2:
        call = Asked(a)
        request = LeaveGroup("g", member_id=a.member_id)
        world.do(world.core.leave_group(request, 2, world.token(call)))
    else:
        call = world.leaving(a.member_id, ("", "i"), "x")
    assert (call.replies, world.state(), world.group().generation_id) == ([], "Empty", 2)
    assert world.records[-1] == GroupRecord(2, "consumer", None, None)
    world.log(error)
    (reply,) = call.replies
    if error != E.NONE:
        assert reply == LeaveGroupReply(E.COORDINATOR_NOT_AVAILABLE)
    elif version == 2:
        assert reply == LeaveGroupReply(E.NONE)
    else:
        assert [each.error_code for each in reply.members] == [0, 0, E.UNKNOWN_MEMBER_ID]
    assert a.heartbeat() == E.UNKNOWN_MEMBER_ID


def test_leaving_that_leaves_somebody_is_answered_at_once(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    world.hold_log = True
    assert world.leaving("x").reply.members == (LeaveGroupReplyMember("x", None, E.UNKNOWN_MEMBER_ID),)
    assert a.leave() == E.NONE


def test_leaving_is_answered_though_the_group_is_deleted_meanwhile(world):
    a = world.client("a")
    world.stable(a)
    world.hold_log = True
    call = world.leaving(a.member_id)
    world.do(world.core.delete_groups(["g"], 2, world.token(Asked())))
    assert call.parked
    world.log()
    assert call.reply.members[0].error_code == E.NONE


def test_nobody_waits_for_the_record_of_a_group_that_a_session_emptied(world):
    world.stable(world.client("a"))
    world.hold_log = True
    world.advance(10_000)
    assert (world.state(), len(world.appends)) == ("Empty", 1)
    world.log(E.REQUEST_TIMED_OUT)
    assert world.state() == "Empty"


# -- loading ---------------------------------------------------------------------------------------


def members(*names, **fields):
    return tuple(
        MemberRecord(name, name.encode(), b"meta", "client", "/host", 60_000, 10_000, **fields)
        for name in names
    )


def test_a_group_with_members_is_loaded_stable_with_fresh_sessions(world):
    record = GroupRecord(7, "consumer", "range", "b", members("a") + members("b", group_instance_id="i"))
    world.do(world.core.load("g", record))
    assert (world.state(), world.group().generation_id, world.group().leader) == ("Stable", 7, "b")
    assert (world.left("session", "a"), world.left("session", "b")) == (10_000, 10_000)
    assert world.group().subscriptions == (b"meta", b"meta")
    a, b = world.client("a", member_id="a", generation=7), world.client("b", instance="i", generation=7)
    assert (a.heartbeat(), a.sync().reply.assignment) == (E.NONE, b"a")
    assert b.heartbeat() == E.FENCED_INSTANCE_ID
    joined = b.join()
    assert (joined.reply.generation_id, joined.reply.skip_assignment) == (7, True)
    assert world.records[-1].members[0].assignment == b"a"
    a.protocols = ("range:meta", "sticky")  # only the protocol of the generation is in the record
    assert a.join().parked


def test_a_group_whose_record_has_no_members_is_loaded_empty(world):
    world.do(world.core.load("g", GroupRecord(3, "consumer", None, None)))
    world.do(world.core.load("h", CREATED))
    world.do(world.core.load("simple", None, [OffsetRecord("t", 0, 5, -1, "", 1)]))
    assert [(str(g.state), g.generation_id, g.protocol_type) for g in world.core.groups.values()] == [
        ("Empty", 3, "consumer"),
        ("Empty", 0, None),
        ("Empty", 0, None),
    ]
    assert (world.group("g").subscriptions, world.due) == ((), {})
    joined = world.client("a").enter()
    world.advance(3_000)
    assert joined.reply.generation_id == 4
    (answer,) = world.core.offset_fetch(OffsetFetch((OffsetFetchGroup("simple", None),)), 8, "t").replies
    assert answer[1].groups[0].topics[0].partitions[0].committed_offset == 5


def test_without_a_rebalance_timeout_the_session_timeout_stands_in(world):
    record = MemberRecord("a", b"", b"", "client", "/host", -1, 10_000)
    world.do(world.core.load("g", GroupRecord(1, "consumer", "range", "a", (record,))))
    assert world.group().members["a"].rebalance_timeout_ms == 10_000


def test_a_group_above_the_limit_rebalances_when_it_is_loaded(world):
    world = type(world)(group_max_size=1)
    world.do(world.core.load("g", GroupRecord(1, "consumer", "range", "a", members("a", "b"))))
    assert (world.state(), world.left("join")) == ("PreparingRebalance", 60_000)
    a, b = (world.client(name, "range:meta", member_id=name, generation=1) for name in "ab")
    joined = b.join()
    assert a.join().reply == JoinGroupReply(E.GROUP_MAX_SIZE_REACHED)
    world.advance(60_000)
    assert (joined.reply.leader, joined.reply.generation_id) == ("b", 2)


def test_a_group_is_loaded_once(world):
    world.do(world.core.load("g", None))
    with pytest.raises(ValueError, match="'g' is loaded already"):
        world.core.load("g", None)


# -- unloading -------------------------------------------------------------------------------------


def test_who_waits_is_told_that_this_is_not_the_coordinator(world):
    a, b = world.client("a"), world.client("b", instance="i")
    world.stable(a, b)
    world.client("p").join()
    a.join()
    joined = b.join()
    c = world.client("c", group_id="h")
    c.enter()
    world.advance(3_000)
    world.hold_log = True
    synced = c.sync({c: b"C"})
    world.do(world.core.unload())
    assert joined.reply == JoinGroupReply(E.NOT_COORDINATOR, member_id=b.member_id)
    assert synced.reply == SyncGroupReply(E.NOT_COORDINATOR)
    assert (dict(world.core.groups), world.due) == ({}, {})
    (append,) = world.appends
    with pytest.raises(UnknownAppendError):
        world.core.appended(append.append_id)
    world.do(world.core.load("h", GroupRecord(1, "consumer", "range", "a", members("a"))))
    assert world.group("h").generation_id == 1


def test_what_is_under_way_fails_when_all_is_unloaded(world):
    a, b = world.client("a", instance="i"), world.client("b", group_id="h")
    c = world.client("c", group_id="k")
    for client in (a, b):
        client.enter()
        world.advance(3_000)
        client.sync({client: b"X"})
    world.hold_log = world.hold_creations = True
    restarted = world.client("a", instance="i").join()
    left = world.leaving(b.member_id, group_id="h")
    created = c.join(version=3)
    topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, 1),)),)
    waiting = []
    for make in (
        lambda token: world.core.offset_commit(OffsetCommit("s", topics), 8, token, 0),
        lambda token: world.core.offset_fetch(OffsetFetch((OffsetFetchGroup("s", None),), True), 8, token),
        lambda token: world.core.delete_groups(["s"], 2, token),
    ):
        waiting.append(Asked(a))
        world.do(make(world.token(waiting[-1])))
    world.do(world.core.unload())
    assert restarted.reply == JoinGroupReply(E.NOT_COORDINATOR, 1, "consumer", "range", leader=a.member_id)
    assert left.reply == LeaveGroupReply(E.NOT_COORDINATOR)
    assert created.reply == JoinGroupReply(E.NOT_COORDINATOR, protocol_name="")
    commit, fetch, deletion = (call.replies[0] for call in waiting)
    assert commit.topics[0].partitions[0].error_code == E.NOT_COORDINATOR
    assert fetch == OffsetFetchReply((OffsetFetchReplyGroup("s", (), E.NOT_COORDINATOR),))
    assert deletion.results[0].error_code == E.NOT_COORDINATOR
    assert (dict(world.core.groups), world.due) == ({}, {})
    assert world.core.offset_fetch(OffsetFetch((OffsetFetchGroup("s", None),)), 8, "t").replies
