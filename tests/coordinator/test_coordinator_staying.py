"""Heartbeats and sessions, and leaving: one by one, in a batch, in every state."""

import pytest

from rota.coordinator import ErrorCode as E
from rota.coordinator import (
    GroupState,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeaveGroupReplyMember,
    SyncGroupReply,
)

UNKNOWN = JoinGroupReply(E.UNKNOWN_MEMBER_ID)


def errors(reply):
    assert reply.error_code == E.NONE
    return [member.error_code for member in reply.members]


# -- heartbeat -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"group_instance_id": "i", "generation_id": 7}, E.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, E.INVALID_GROUP_ID),
        ({"group_id": "missing"}, E.UNKNOWN_MEMBER_ID),
        ({"member_id": "x", "generation_id": 7}, E.UNKNOWN_MEMBER_ID),
        ({"generation_id": 0}, E.ILLEGAL_GENERATION),
        ({"generation_id": 2}, E.ILLEGAL_GENERATION),
    ],
)
@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Stable"])
def test_a_refused_heartbeat_does_not_extend_the_session(world, state, changes, error):
    a, b = world.client("a"), world.client("b")
    (world.generation if state == "CompletingRebalance" else world.stable)(a, b)
    if state == "PreparingRebalance":
        a.join()
    world.advance(4_000)
    assert b.heartbeat(**changes) == error
    assert (world.state(), world.left("session", b.member_id)) == (state, 6_000)


@pytest.mark.parametrize(
    ("state", "error"),
    [("PreparingRebalance", E.REBALANCE_IN_PROGRESS), ("CompletingRebalance", E.NONE), ("Stable", E.NONE)],
)
def test_heartbeat_extends_the_session_in_every_state_with_members(world, state, error):
    a, b = world.client("a"), world.client("b")
    (world.generation if state == "CompletingRebalance" else world.stable)(a, b)
    if state == "PreparingRebalance":
        a.join()
    world.advance(4_000)
    assert b.heartbeat() == error
    assert world.left("session", b.member_id) == 10_000


def test_heartbeat_of_a_member_that_has_rejoined_and_waits(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    waiting = a.join()
    assert a.heartbeat() == E.REBALANCE_IN_PROGRESS
    assert waiting.parked


def test_heartbeat_in_an_empty_and_in_a_dead_group(world):
    a = world.client("a")
    world.stable(a)
    world.group().state = GroupState.EMPTY
    assert a.heartbeat() == E.UNKNOWN_MEMBER_ID
    world.group().state = GroupState.DEAD
    assert a.heartbeat(member_id="x") == E.COORDINATOR_NOT_AVAILABLE


def test_a_member_that_falls_silent_is_removed(world):
    a, b = world.client("a", session=20_000), world.client("b")
    world.stable(a, b)
    world.advance(9_999)
    assert b.member_id in world.group().members
    world.advance(1)
    assert (world.state(), b.heartbeat(), a.heartbeat()) == (
        "PreparingRebalance",
        E.UNKNOWN_MEMBER_ID,
        E.REBALANCE_IN_PROGRESS,
    )
    assert a.join().reply.generation_id == 2


def test_all_fall_silent_after_the_sync(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    world.advance(10_000)
    assert (world.state(), world.group().leader) == ("Empty", None)
    assert world.group().generation_id == 2
    assert (world.group().protocol_type, world.group().protocol_name) == ("consumer", None)


def test_the_first_heartbeat_of_a_new_member_leaves_it_only_its_session_timeout(world):
    """It can guess generation 0 while it waits in the very first join phase."""
    slow = type(world)(group_initial_rebalance_delay_ms=60_000)
    joined = slow.client("a").enter()
    assert slow.client("a", member_id="a-1").heartbeat(generation_id=0) == E.REBALANCE_IN_PROGRESS
    assert (slow.left("new_member", "a-1"), slow.left("session", "a-1")) == (10_000, None)
    slow.advance(10_000)
    assert joined.reply == UNKNOWN
    assert slow.state() == "Empty"


def test_the_leader_is_replaced_when_its_session_ends(world):
    a, b, c = world.client("a"), world.client("b", session=30_000), world.client("c", session=30_000)
    world.stable(a, b, c)
    world.advance(10_000)
    assert world.picks.asked[-1] == ("leader", ("b-2", "c-3"))
    assert world.group().leader == "b-2"


# -- leave -----------------------------------------------------------------------------------------


def test_a_member_leaves_a_stable_group(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    assert b.leave() == E.NONE
    assert (world.state(), world.left("session", b.member_id)) == ("PreparingRebalance", None)
    assert b.heartbeat() == E.UNKNOWN_MEMBER_ID
    assert a.heartbeat() == E.REBALANCE_IN_PROGRESS
    assert a.join().reply.generation_id == 2


def test_the_leader_leaves_and_assignments_go_on(world):
    a, b, c = (world.client(name) for name in "abc")
    world.stable(a, b, c)
    a.leave()
    b.join()
    assert c.join().reply.leader == b.member_id
    waiting = c.sync()
    assert b.sync({b: b"B2", c: b"C2"}).reply.assignment == b"B2"
    assert waiting.reply.assignment == b"C2"


@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_the_last_member_leaves(world, state):
    a = world.client("a")
    (world.generation if state == "CompletingRebalance" else world.stable)(a)
    assert a.leave() == E.NONE
    assert (world.state(), world.group().generation_id) == ("Empty", 2)
    record = world.records[-1]
    assert (record.generation_id, record.protocol_type, record.protocol_name) == (2, "consumer", None)
    assert (record.leader, record.members) == (None, ())
    assert world.due == {}


@pytest.mark.parametrize("error", [E.NONE, E.REQUEST_TIMED_OUT])
def test_the_answer_to_the_record_of_an_empty_group_changes_nothing_in_it(world, error):
    a, b = world.client("a"), world.client("b")
    world.stable(a)
    world.hold_log = True
    a.leave()
    world.log(error)
    assert (world.state(), world.group().generation_id) == ("Empty", 2)
    a.leave()
    joined = b.enter()
    world.advance(3_000)
    assert joined.reply.generation_id == 3


def test_the_last_member_leaves_while_an_id_is_handed_out(world):
    """The barrier waits for the id, but for no rebalance timeout: there is no member to have one."""
    a, b = world.client("a"), world.client("b")
    world.stable(a)
    b.join()
    a.leave()
    assert (world.state(), world.left("join")) == ("PreparingRebalance", 0)
    world.advance(0)
    assert (world.state(), world.group().generation_id) == ("Empty", 2)
    assert world.group().pending_members == {b.member_id}


@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_a_handed_out_id_that_leaves_starts_a_rebalance(world, state):
    a, b = world.client("a"), world.client("b")
    (world.generation if state == "CompletingRebalance" else world.stable)(a)
    b.join()
    assert b.leave() == E.NONE
    assert (world.state(), world.group().pending_members) == ("PreparingRebalance", set())
    assert world.left("pending", b.member_id) is None


def test_a_handed_out_id_that_leaves_an_empty_group_changes_nothing(world):
    b = world.client("b")
    b.join()
    assert b.leave() == E.NONE
    assert (world.state(), world.group().generation_id) == ("Empty", 0)
    assert b.join().error == E.UNKNOWN_MEMBER_ID


def test_leaving_can_complete_the_join_phase(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    waiting = a.join()
    b.leave()
    assert waiting.reply.generation_id == 2


def test_leaving_never_completes_the_initial_join_phase(world):
    a, b = world.client("a"), world.client("b")
    waiting = a.enter()
    b.enter()
    b.leave()
    world.advance(1_000)
    assert waiting.parked


def test_a_parked_join_of_a_leaving_member_is_answered_without_an_id(world):
    a, b, c = (world.client(name) for name in "abc")
    world.stable(a, b)
    newcomer = c.enter()
    waiting = a.join()
    c.leave()
    assert newcomer.reply == UNKNOWN
    assert waiting.parked, "b has not rejoined"


def test_a_parked_sync_of_a_leaving_member_is_never_answered(world):
    a, b, c = (world.client(name) for name in "abc")
    world.generation(a, b, c)
    leaving, staying = b.sync(), c.sync()
    b.leave()
    assert staying.reply == SyncGroupReply(E.REBALANCE_IN_PROGRESS)
    world.advance(600_000)
    assert leaving.parked


def test_a_batch_is_removed_first_and_looked_at_once(world):
    """In the older Scala coordinator b's join could have succeeded between the two removals."""
    a, b, c = (world.client(name) for name in "abc")
    world.stable(a, b)
    newcomer = c.enter()
    waiting = b.join()
    reply = world.leave(a.member_id, b.member_id)
    assert errors(reply) == [0, 0]
    assert waiting.reply == UNKNOWN
    assert (newcomer.reply.generation_id, newcomer.reply.leader) == (2, c.member_id)


def test_a_whole_group_and_a_handed_out_id_leave_in_one_batch_with_a_stranger(world):
    a, b, c = (world.client(name) for name in "abc")
    world.stable(a, b)
    c.join()
    calls = [a.join(), b.join()]
    reply = world.leave(a.member_id, b.member_id, c.member_id, "stranger")
    assert errors(reply) == [0, 0, 0, E.UNKNOWN_MEMBER_ID]
    assert [call.reply for call in calls] == [UNKNOWN, UNKNOWN]
    assert (world.state(), world.group().generation_id) == ("Empty", 2)


def test_a_batch_that_removes_nobody_changes_nothing(world):
    a = world.client("a")
    world.stable(a)
    reply = world.leave("x", ("", "some-instance"), ("", None), (a.member_id, "some-instance"))
    assert errors(reply) == [E.UNKNOWN_MEMBER_ID] * 4
    assert [(each.member_id, each.group_instance_id) for each in reply.members] == [
        ("x", None),
        ("", "some-instance"),
        ("", None),
        ("a-1", "some-instance"),
    ]
    assert (world.state(), world.leave()) == ("Stable", LeaveGroupReply())


def test_a_name_twice_in_a_batch(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    assert errors(world.leave(b.member_id, b.member_id)) == [0, E.UNKNOWN_MEMBER_ID]


def test_a_handed_out_id_leaves_whatever_instance_id_is_given(world):
    b = world.client("b")
    b.join()
    assert errors(world.leave((b.member_id, "some-instance"))) == [0]


def test_successor_among_those_that_stay_when_a_batch_takes_the_leader_along(world):
    clients = [world.client(name) for name in "abcd"]
    world.stable(*clients)
    world.leave(clients[0].member_id, clients[1].member_id)
    assert world.picks.asked[-1] == ("leader", ("c-3", "d-4"))
    assert [question for question, _ in world.picks.asked].count("leader") == 1


def test_leave_checks(world):
    assert world.leave("x", group_id="") == LeaveGroupReply(E.INVALID_GROUP_ID)
    missing = world.leave("x", ("", "i"), group_id="missing")
    assert missing == LeaveGroupReply(
        members=(
            LeaveGroupReplyMember("x", None, E.UNKNOWN_MEMBER_ID),
            LeaveGroupReplyMember("", "i", E.UNKNOWN_MEMBER_ID),
        )
    )
    a = world.client("a")
    world.stable(a)
    world.group().state = GroupState.DEAD
    assert world.leave(a.member_id, "x") == LeaveGroupReply(E.COORDINATOR_NOT_AVAILABLE)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_old_versions_name_one_member_and_have_its_error_on_top(world, version):
    a = world.client("a")
    world.stable(a)

    def leave(group_id, member_id):
        effects = world.core.leave_group(LeaveGroup(group_id, member_id=member_id), version, "t")
        for append in effects.appends:
            effects = world.core.appended(append.append_id)
        return effects.replies[0][1]

    assert leave("g", "x") == LeaveGroupReply(E.UNKNOWN_MEMBER_ID)
    assert leave("missing", "x") == LeaveGroupReply(E.UNKNOWN_MEMBER_ID)
    assert leave("", "x") == LeaveGroupReply(E.INVALID_GROUP_ID)
    assert leave("g", a.member_id) == LeaveGroupReply(E.NONE)
    assert world.state() == "Empty"
