"""Static members: who is who, restarts in each state, members that stay though they are absent."""

import pytest

from rota.coordinator import ErrorCode as E
from rota.coordinator import GroupState, JoinGroupReply, LeaveGroupReplyMember, SyncGroupReply, TimerId

MINUTE = 60_000
STATES = ("PreparingRebalance", "CompletingRebalance", "Stable")


def crew(world, *names, state="Stable", **fields):
    """A static member a, with instance id i, and dynamic ones, in a group in this state; a leads."""
    a = world.client("a", instance="i", **fields)
    others = [world.client(name) for name in names]
    (world.generation if state == "CompletingRebalance" else world.stable)(a, *others)
    if state == "PreparingRebalance":
        others[0].protocols = ("range:changed",)
        others[0].join()
    assert (world.state(), world.group().leader) == (state, a.member_id)
    return a, *others


def restart(a, **fields):
    """The same instance with no memory: a new client, and its JoinGroup."""
    again = a.world.client("elsewhere", *a.protocols, instance=a.instance)
    for name, value in fields.items():
        setattr(again, name, value)
    return again


def order_of_checks(world, client):
    """Errors of a heartbeat that is a little more right each time."""
    return [
        client.heartbeat(group_instance_id="j", generation_id=9),
        client.heartbeat(member_id="x", generation_id=9),
        client.heartbeat(member_id="", generation_id=9),
        client.heartbeat(generation_id=9),
    ]


# -- who is who ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [5, 9])
def test_a_static_member_is_admitted_at_once_under_an_id_made_of_its_instance_id(world, version):
    joined = world.client("a", instance="i").join(version=version)
    assert joined.parked
    assert world.picks.asked == [("new_member_id", "i")]
    assert world.group().static_members == {"i": "i-1"}
    world.advance(3_000)
    assert joined.reply.members[0].group_instance_id == "i"


def test_checks_of_a_heartbeat_are_in_order(world):
    a, _ = crew(world, "b")
    assert order_of_checks(world, a) == [
        E.UNKNOWN_MEMBER_ID,
        E.FENCED_INSTANCE_ID,
        E.FENCED_INSTANCE_ID,
        E.ILLEGAL_GENERATION,
    ]
    assert a.heartbeat() == E.NONE
    assert a.heartbeat(group_instance_id=None) == E.NONE


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("instance", "who", "error"),
    [
        ("j", "", None),
        ("j", "b", E.UNKNOWN_MEMBER_ID),
        ("j", "x", E.UNKNOWN_MEMBER_ID),
        ("i", "b", E.FENCED_INSTANCE_ID),
        ("i", "x", E.FENCED_INSTANCE_ID),
        (None, "x", E.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_join_under_which_ids(world, state, instance, who, error):
    a, b = crew(world, "b", state=state)
    member_id = b.member_id if who == "b" else who
    joined = world.client("c").join(member_id=member_id, group_instance_id=instance)
    if error is None:
        assert joined.parked
        assert world.group().static_members["j"] != a.member_id
    else:
        assert joined.reply == JoinGroupReply(error, member_id=member_id)


@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_who_may_sync_under_which_ids(world, state):
    a, b = crew(world, "b", state=state)
    for client, instance, error in [
        (b, "j", E.UNKNOWN_MEMBER_ID),
        (b, "i", E.FENCED_INSTANCE_ID),
        (a, "j", E.UNKNOWN_MEMBER_ID),
    ]:
        assert client.sync(group_instance_id=instance, generation_id=9).reply == SyncGroupReply(error)
    assert a.sync(group_instance_id=None).error == E.NONE


def test_a_handed_out_id_with_an_instance_id_trips_the_broker_and_stays_good(world):
    b = world.client("b")
    assert b.join().error == E.MEMBER_ID_REQUIRED
    assert b.join(group_instance_id="i").reply == JoinGroupReply(E.UNKNOWN_SERVER_ERROR)
    assert b.join(group_instance_id="i", protocols=()).error == E.INCONSISTENT_GROUP_PROTOCOL
    assert world.group().pending_members == {b.member_id}
    assert b.join().parked


@pytest.mark.parametrize("state", STATES)
def test_who_may_leave_under_which_ids(world, state):
    a, b = crew(world, "b", state=state)
    pairs = [
        ("", "j"),
        ("", None),
        ("x", "i"),
        (b.member_id, "i"),
        (b.member_id, "j"),
        ("", "i"),
        ("", "i"),
        (a.member_id, "i"),
    ]
    unknown, fenced = E.UNKNOWN_MEMBER_ID, E.FENCED_INSTANCE_ID
    wanted = [unknown, unknown, fenced, fenced, unknown, E.NONE, unknown, unknown]
    reply = world.leave(*pairs)
    assert reply.members == tuple(
        LeaveGroupReplyMember(*pair, error) for pair, error in zip(pairs, wanted, strict=True)
    )
    assert list(world.group().members) == [b.member_id]
    assert not world.group().static_members


@pytest.mark.parametrize("instance", ["i", None])
def test_a_static_member_leaves_under_its_own_id_too(world, instance):
    a, b = crew(world, "b")
    assert world.leave((a.member_id, instance)).members[0].error_code == E.NONE
    assert list(world.group().members) == [b.member_id]
    assert world.state() == "PreparingRebalance"


def test_a_new_static_member_rebalances_a_stable_group(world):
    crew(world, "b")
    joined = world.client("c", instance="j").join()
    assert (joined.parked, world.state()) == (True, "PreparingRebalance")


# -- restarts --------------------------------------------------------------------------------------


def test_a_followers_restart_in_stable_is_answered_when_the_log_has_it(world):
    a = world.client("a")
    b = world.client("b", "range:1", instance="i", session=10_000)
    world.stable(a, b)
    world.advance(4_000)
    world.hold_log = True
    again = restart(b, protocols=("range:2", "sticky"), session=20_000, rebalance=90_000)
    joined = again.join()
    (record,) = world.records[1:]
    assert joined.parked
    assert (world.state(), world.group().generation_id) == ("Stable", 1)
    assert [(m.member_id, m.group_instance_id, m.assignment, m.subscription) for m in record.members] == [
        (a.member_id, None, b"a", b""),
        ("i-3", "i", b"b", b"2"),
    ]
    assert [(m.client_id, m.session_timeout_ms, m.rebalance_timeout_ms) for m in record.members] == [
        ("a", 10_000, 60_000),
        ("b", 20_000, 90_000),
    ]
    # The session that runs is the old one's, counted anew.
    assert (world.left("session", "i-3"), world.left("session", b.member_id)) == (10_000, None)
    world.log()
    assert joined.reply == JoinGroupReply(E.NONE, 1, "consumer", "range", leader=a.member_id, member_id="i-3")
    assert (world.state(), a.heartbeat()) == ("Stable", E.NONE)
    assert again.sync().reply.assignment == b"b"
    assert again.heartbeat() == E.NONE
    assert world.left("session", "i-3") == 20_000
    assert b.heartbeat() == E.FENCED_INSTANCE_ID
    assert b.heartbeat(group_instance_id=None) == E.UNKNOWN_MEMBER_ID


def test_a_leader_is_told_to_skip_the_assignment(world):
    a, b = crew(world, "b")
    joined = restart(a).join(version=9)
    new_id = world.group().leader
    assert (joined.reply.leader, joined.reply.member_id, joined.reply.skip_assignment) == (
        new_id,
        new_id,
        True,
    )
    assert {each.member_id for each in joined.reply.members} == {new_id, b.member_id}


@pytest.mark.parametrize("version", [5, 8])
def test_a_leader_of_an_older_version_is_told_of_a_leader_that_is_gone(world, version):
    a, _ = crew(world, "b")
    joined = restart(a).join(version=version)
    assert (joined.reply.leader, joined.reply.members) == (a.member_id, ())
    assert not joined.reply.skip_assignment
    assert world.group().leader == joined.reply.member_id != a.member_id


def test_a_restart_that_changes_the_vote_rebalances(world):
    a, b = world.client("a", "range", "sticky", instance="i"), world.client("b", "range", "sticky")
    world.stable(a, b)
    joined = restart(a, protocols=("sticky",)).join()
    assert (joined.parked, world.state()) == (True, "PreparingRebalance")
    assert b.join().reply.protocol_name == "sticky"
    assert joined.reply.leader == joined.reply.member_id


@pytest.mark.parametrize("winner", [0, 1])
def test_a_tied_vote_decides_whether_a_restart_rebalances(world, winner):
    a, b = world.client("a", "range", "sticky", instance="i"), world.client("b", "range", "sticky")
    world.stable(a, b)
    world.picks.take = winner
    joined = restart(a, protocols=("sticky", "range")).join()
    assert world.picks.asked[-1] == ("protocol", ("range", "sticky"))
    assert joined.parked == bool(winner)
    assert world.state() == ("PreparingRebalance" if winner else "Stable")


def test_a_restart_while_completing_rebalances_and_fences_the_old_sync(world):
    a, b, c = crew(world, "b", "c", state="CompletingRebalance")
    waiting = [a.sync(), b.sync()]  # a leads: its assignment is under way
    assert world.state() == "Stable"
    c.protocols = ("range:changed",)
    c.join(), a.join(), b.join()
    assert world.state() == "CompletingRebalance"
    world.hold_log = True
    waiting = [a.sync(), b.sync()]
    joined = restart(a).join()
    assert waiting[0].reply == SyncGroupReply(E.FENCED_INSTANCE_ID)
    assert waiting[1].reply == SyncGroupReply(E.REBALANCE_IN_PROGRESS)
    assert (joined.parked, world.state(), world.group().leader) == (True, "PreparingRebalance", "i-4")
    world.log()
    assert world.state() == "PreparingRebalance"


def test_a_restart_while_preparing_fences_the_old_join_and_opens_the_barrier(world):
    a, b = crew(world, "b", state="PreparingRebalance")
    first = restart(a).join()
    assert world.state() == "CompletingRebalance"
    assert (first.reply.generation_id, first.reply.leader) == (2, first.reply.member_id)
    world.client("c").join()  # its id holds up the barrier from now on
    b.protocols = ("range:again",)
    b.join()
    second = restart(a).join()
    old_id = world.group().static_members["i"]
    third = restart(a).join()
    assert second.reply == JoinGroupReply(E.FENCED_INSTANCE_ID, member_id=old_id)
    assert third.parked


def test_a_restart_in_the_first_phase_is_no_newcomer_and_not_new(world):
    """The delay is not extended; the parked join outlives the session, and the five minutes too."""
    a = world.client("a", instance="i", rebalance=20 * MINUTE)
    first = a.join()
    assert world.left("new_member", "i-1") == 5 * MINUTE
    again = restart(a, rebalance=20 * MINUTE).join()
    assert first.reply == JoinGroupReply(E.FENCED_INSTANCE_ID, member_id="i-1")
    assert (world.left("new_member", "i-1"), world.left("session", "i-2")) == (None, 10_000)
    assert not world.group().new_member_added
    world.advance(3_000)
    assert (again.reply.generation_id, again.reply.leader) == (1, "i-2")


def test_a_restarted_new_member_cannot_expire_while_it_is_parked(world):
    world = type(world)(group_initial_rebalance_delay_ms=10 * MINUTE)
    a = world.client("a", instance="i", rebalance=20 * MINUTE)
    a.join()
    again = restart(a).join()
    world.advance(9 * MINUTE)
    assert (again.parked, list(world.group().members)) == (True, ["i-2"])
    world.advance(MINUTE)
    assert again.reply.generation_id == 1


def test_the_protocols_are_checked_before_the_restart(world):
    a, _ = crew(world, "b")
    refused = restart(a).join(protocols=())
    assert refused.reply == JoinGroupReply(E.INCONSISTENT_GROUP_PROTOCOL)
    assert world.group().static_members == {"i": a.member_id}


def test_a_static_member_joins_again_under_its_own_id_like_any_other(world):
    a = world.client("a")
    b = world.client("b", instance="i")
    world.stable(a, b)
    assert b.join().reply.generation_id == 1
    assert world.state() == "Stable"
    b.protocols = ("range:changed",)
    assert b.join().parked
    assert world.state() == "PreparingRebalance"


# -- while the restart's record is under way -------------------------------------------------------


@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize("version", [8, 9])
def test_a_restart_that_is_not_stored_is_undone(world, leads, version):
    a, b = world.client("a", instance="i"), world.client("b", instance="j")
    world.stable(a, b)
    one = a if leads else b
    world.hold_log = True
    joined = restart(one, protocols=("range:new", "sticky"), session=20_000).join(version=version)
    member = world.group().members[world.group().static_members[one.instance]]
    assert (member.session_timeout_ms, member.protocol_names) == (20_000, ("range", "sticky"))
    world.advance(1_000)
    world.log(E.REQUEST_TIMED_OUT)
    assert joined.reply == JoinGroupReply(
        E.COORDINATOR_NOT_AVAILABLE, 1, "consumer", "range", leader=a.member_id
    )
    member = world.group().members[one.member_id]
    assert (member.session_timeout_ms, member.protocol_names) == (10_000, ("range",))
    assert (world.state(), world.group().leader) == ("Stable", a.member_id)
    assert world.left("session", one.member_id) == 10_000
    assert one.heartbeat() == E.NONE
    assert one.sync().reply.assignment == one.name.encode()


def test_a_second_restart_fences_the_first_whose_record_then_matters_no_more(world):
    a, b = crew(world, "b")
    world.hold_log = True
    first, second = restart(a), restart(a)
    calls = [first.join(), second.join()]
    assert calls[0].reply == JoinGroupReply(E.FENCED_INSTANCE_ID, member_id="i-3")
    world.log(E.REQUEST_TIMED_OUT)
    assert calls[1].parked
    assert sorted(world.group().members) == [b.member_id, "i-4"]
    world.log()
    assert (calls[1].reply.member_id, calls[1].reply.leader) == ("i-4", "i-4")


def test_a_rebalance_takes_the_parked_restart_in(world):
    a, b = crew(world, "b")
    world.hold_log = True
    joined = restart(a).join()
    b.protocols = ("range:changed",)
    assert b.join().reply.generation_id == 2
    assert (joined.reply.generation_id, joined.reply.member_id) == (2, "i-3")
    world.log()
    assert world.state() == "CompletingRebalance"


@pytest.mark.parametrize(("version", "leads"), [(9, False), (8, True), (8, False)])
def test_the_record_is_stored_during_the_next_phase(world, version, leads):
    """The old generation is told; its SyncGroup then says that there is a rebalance."""
    a, b, c = world.client("a", instance="i"), world.client("b", instance="j"), world.client("c")
    world.stable(a, b, c)
    world.hold_log = True
    again = restart(a if leads else b)
    joined = again.join(version=version)
    c.protocols = ("range:changed",)
    c.join()
    assert world.state() == "PreparingRebalance"
    world.log()
    assert (joined.reply.generation_id, joined.reply.members) == (1, ())
    assert again.sync().error == E.REBALANCE_IN_PROGRESS
    assert world.state() == "PreparingRebalance"


def test_a_leader_whose_record_is_stored_during_the_next_phase_waits_for_its_end(world):
    a, b, c = world.client("a", instance="i"), world.client("b"), world.client("c")
    world.stable(a, b, c)
    world.hold_log = True
    joined = restart(a).join()
    c.protocols = ("range:changed",)
    c.join()
    world.log()
    assert joined.parked
    assert b.join().reply.generation_id == 2
    assert joined.reply.leader == joined.reply.member_id


def test_a_restart_is_undone_in_the_next_phase_too(world):
    a, b, c = world.client("a", instance="i"), world.client("b"), world.client("c")
    world.stable(a, b, c)
    world.hold_log = True
    joined = restart(a).join()
    c.protocols = ("range:changed",)
    c.join()
    world.log(E.NOT_LEADER_OR_FOLLOWER)
    assert (joined.error, joined.reply.member_id) == (E.NOT_COORDINATOR, "")
    assert world.group().static_members == {"i": a.member_id}
    assert b.join().parked
    assert a.join().reply.generation_id == 2


def test_a_list_that_would_leave_nothing_in_common_is_not_restored(world):
    """A broker does restore it, and then cannot choose a protocol."""
    a, b = world.client("a", "range", instance="i"), world.client("b", "range", "sticky")
    world.stable(a, b)
    world.hold_log = True
    restart(a, protocols=("range", "sticky")).join()
    c = world.client("c", "sticky")
    call = c.enter()
    world.log(E.REQUEST_TIMED_OUT)
    b.join(), a.join(protocols=())
    world.advance(a.rebalance)
    assert call.reply.protocol_name == "sticky"


def test_a_restarted_member_that_leaves_is_not_brought_back(world):
    a, b = crew(world, "b")
    world.hold_log = True
    joined = restart(a).join()
    assert world.leave(("", "i")).members[0].error_code == E.NONE
    assert joined.reply == JoinGroupReply(E.UNKNOWN_MEMBER_ID)
    world.log(E.REQUEST_TIMED_OUT)
    assert list(world.group().members) == [b.member_id]


def test_a_parked_restart_outlives_its_session(world):
    a, b = crew(world, "b")
    world.hold_log = True
    joined = restart(a).join()
    for _ in range(3):
        world.advance(9_000)
        b.heartbeat()
    assert world.state() == "Stable"
    world.log()
    assert joined.error == E.NONE
    assert world.left("session", joined.reply.member_id) is None


# -- absent static members -------------------------------------------------------------------------


def test_an_absent_static_member_stays_and_is_listed_and_owes_its_sync(world):
    a = world.client("a", session=300_000)
    b = world.client("b", "range:b", instance="i", session=300_000)
    world.stable(a, b)
    joined = a.join()
    world.advance(a.rebalance)
    assert [(each.member_id, each.group_instance_id) for each in joined.reply.members] == [
        (a.member_id, None),
        (b.member_id, "i"),
    ]
    assert world.left("session", b.member_id) == 300_000
    assert world.group().pending_sync_members == {a.member_id, b.member_id}
    assert b.heartbeat() == E.ILLEGAL_GENERATION
    assert a.sync({a: b"A", b: b"B"}).error == E.NONE
    assert world.records[-1].members[1].assignment == b"B"
    world.advance(a.rebalance)  # the sync phase is over: it is out though its session runs
    assert list(world.group().members) == [a.member_id]
    assert world.state() == "PreparingRebalance"


def test_an_absent_leader_loses_its_place_to_one_that_waits(world):
    _a, b = crew(world, "b", session=300_000)
    b.protocols = ("range:changed",)
    joined = b.join()
    world.advance(60_000)
    assert (joined.reply.leader, len(joined.reply.members)) == (b.member_id, 2)


def test_an_absent_members_list_goes_on_counting(world):
    a = world.client("a", "range", instance="i", session=300_000)
    b = world.client("b", "range", "sticky")
    world.stable(a, b)
    b.protocols = ("sticky", "range")
    joined = b.join()
    world.advance(60_000)
    assert joined.reply.protocol_name == "range"
    assert world.client("c", "sticky").join().error == E.INCONSISTENT_GROUP_PROTOCOL


def test_nobody_joins_but_static_members_are_left_so_the_phase_goes_on(world):
    a = world.client("a", instance="i", session=200_000)
    b = world.client("b", instance="j", session=100_000)
    c = world.client("c", session=300_000)
    world.stable(a, b, c)
    c.leave()
    world.advance(60_000)
    assert (world.state(), world.group().generation_id) == ("PreparingRebalance", 1)
    assert world.left("join") == 60_000
    assert len(world.records) == 1
    world.advance(60_000)  # one session has ended meanwhile
    assert list(world.group().members) == [a.member_id]
    joined = a.join()
    assert (joined.reply.generation_id, world.state()) == (2, "CompletingRebalance")


def test_the_phase_ends_empty_when_the_last_absent_members_session_ends(world):
    a = world.client("a", instance="i", session=90_000)
    b = world.client("b")
    world.stable(a, b)
    b.leave()
    world.advance(90_000)
    assert (world.state(), world.group().generation_id) == ("Empty", 2)
    assert world.left("join") is None


def test_a_dynamic_leader_goes_and_only_absent_static_members_are_left(world):
    a = world.client("a", session=200_000)
    b = world.client("b", instance="i", session=200_000)
    c = world.client("c", instance="j", session=200_000)
    world.stable(a, b, c)
    a.leave()
    world.advance(60_000)
    assert world.group().leader in {b.member_id, c.member_id}


def test_the_id_of_a_replaced_member_that_owed_its_sync_cannot_be_settled(world):
    """As in the broker: nobody can send that SyncGroup, so the timer ends in a rebalance."""
    a = world.client("a")
    b = world.client("b", instance="i")
    world.generation(a, b)
    a.sync({a: b"A", b: b"B"})
    assert world.state() == "Stable"
    again = restart(b)
    again.join()
    assert again.sync().reply.assignment == b"B"
    assert world.group().pending_sync_members == {b.member_id}
    assert world.left("sync") == 60_000
    for _ in range(7):
        a.heartbeat(), again.heartbeat()
        world.advance(9_000)
    assert world.state() == "PreparingRebalance"
    assert len(world.group().members) == 2


def test_a_static_member_expires_like_any_other(world):
    _a, b = crew(world, "b")
    for _ in range(2):
        world.advance(6_000)
        b.heartbeat()
    assert list(world.group().members) == [b.member_id]
    assert world.group().static_members == {}
    assert TimerId("join", "g") in world.due
    assert world.group().state is GroupState.PREPARING_REBALANCE


def test_describe_tells_instance_ids_and_where_the_first_incarnation_came_from(world):
    a, _b = crew(world, "b")
    restart(a).join()
    (answer,) = world.core.describe_groups(["g"], 5, "t").replies
    assert [(m.group_instance_id, m.client_id, m.member_assignment) for m in answer[1].groups[0].members] == [
        (None, "b", b"b"),
        ("i", "a", b"a"),
    ]
