"""Joining: checks in order, the member-id handshake, handed-out ids, new members that vanish."""

import pytest

from rota.coordinator import ErrorCode as E
from rota.coordinator import GroupState, JoinGroupReply

MINUTE = 60_000
UNKNOWN = JoinGroupReply(E.UNKNOWN_MEMBER_ID)


def test_first_consumer_alone_becomes_leader_of_generation_one(world):
    a = world.client("a", "range:topics")
    joined = a.enter()
    assert joined.parked
    assert world.state() == "PreparingRebalance"
    world.advance(3_000)
    assert joined.reply == JoinGroupReply(
        error_code=0,
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader="a-1",
        member_id="a-1",
        members=(*joined.reply.members,),
    )
    assert [(each.member_id, each.group_instance_id, each.metadata) for each in joined.reply.members] == [
        ("a-1", None, b"topics")
    ]
    assert world.state() == "CompletingRebalance"
    synced = a.sync({a: b"all"})
    assert (synced.error, synced.reply.assignment) == (0, b"all")
    assert world.state() == "Stable"
    assert a.heartbeat() == 0


def test_several_consumers_within_the_delay_share_one_generation_and_the_first_leads(world):
    a, b, c = world.client("a"), world.client("b"), world.client("c")
    calls = [a.enter(), b.enter(), c.enter()]
    world.advance(6_000)
    assert [call.reply.generation_id for call in calls] == [1, 1, 1]
    assert {call.reply.leader for call in calls} == {a.member_id}
    assert [len(call.reply.members) for call in calls] == [3, 0, 0]
    assert {each.member_id for each in calls[0].reply.members} == {"a-1", "b-2", "c-3"}


def test_replies_of_one_step_go_out_in_order_of_member_ids(world):
    b, a = world.client("b"), world.client("a")
    b.enter(), a.enter()
    world.advance_to("initial_join")
    effects = world.core.fire(next(timer for timer in world.due if timer.kind == "initial_join"))
    assert [reply.member_id for _, reply in effects.replies] == ["a-2", "b-1"]


# -- handshake ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", [4, 5, 9])
def test_handshake_hands_out_an_id_and_remembers_nothing_else(world, version):
    a = world.client("a")
    first = a.join(version=version)
    none = "" if version < 7 else None
    assert first.reply == JoinGroupReply(E.MEMBER_ID_REQUIRED, member_id="a-1", protocol_name=none)
    assert world.state() == "Empty"
    assert (world.group().pending_members, dict(world.group().members)) == ({"a-1"}, {})
    assert world.left("pending", "a-1") == a.session


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_old_versions_are_admitted_at_once(world, version):
    a = world.client("a")
    joined = a.join(version=version)
    assert joined.parked
    assert list(world.group().members) == ["a-1"]
    world.advance(3_000)
    assert (joined.error, joined.reply.member_id) == (0, "a-1")


def test_asking_again_gives_another_id(world):
    a = world.client("a")
    ids = [a.join(member_id="").reply.member_id for _ in range(3)]
    assert len(set(ids)) == 3
    assert world.group().pending_members == set(ids)


def test_an_id_is_asked_for_only_when_it_is_handed_out(world):
    a = world.client("a")
    assert a.join(protocols=()).error == E.INCONSISTENT_GROUP_PROTOCOL
    assert world.client("b", session=1).join().error == E.INVALID_SESSION_TIMEOUT
    assert world.picks.asked == []


def test_the_version_without_rebalance_timeout_takes_the_session_timeout(world):
    a = world.client("a", session=20_000, rebalance=77)
    a.join(version=0)
    assert world.group().members["a-1"].rebalance_timeout_ms == 20_000
    b = world.client("b", rebalance=77)
    b.join(version=1)
    assert world.group().members["b-2"].rebalance_timeout_ms == 77


def test_no_client_id_counts_as_an_empty_one(world):
    a = world.client(None)
    assert a.join().reply.member_id == "-1"


# -- checks and their order ---------------------------------------------------------------


def test_group_id_is_checked_before_the_session_timeout(world):
    refused = world.client("a").join(group_id="", session_timeout_ms=0, member_id="x")
    assert refused.reply == JoinGroupReply(E.INVALID_GROUP_ID, member_id="x")


@pytest.mark.parametrize(
    ("session", "error"),
    [
        (5_999, E.INVALID_SESSION_TIMEOUT),
        (6_000, E.MEMBER_ID_REQUIRED),
        (1_800_000, E.MEMBER_ID_REQUIRED),
        (1_800_001, E.INVALID_SESSION_TIMEOUT),
    ],
)
def test_session_timeout_bounds_are_inclusive(world, session, error):
    assert world.client("a", session=session).join().error == error


def test_session_timeout_is_checked_before_the_member_id_and_echoes_it(world):
    refused = world.client("a").join(member_id="x", session_timeout_ms=1)
    assert refused.reply == JoinGroupReply(E.INVALID_SESSION_TIMEOUT, member_id="x")


def test_unknown_member_of_a_missing_group_does_not_create_it(world):
    assert world.client("a").join(member_id="x").reply == JoinGroupReply(E.UNKNOWN_MEMBER_ID, member_id="x")
    assert not world.core.groups


def test_unknown_member_of_an_existing_group(world):
    world.stable(world.client("a"))
    assert world.client("b").join(member_id="x").reply == JoinGroupReply(E.UNKNOWN_MEMBER_ID, member_id="x")


@pytest.mark.parametrize("changes", [{"protocols": ()}, {"protocol_type": ""}])
def test_empty_list_or_type_is_refused_and_leaves_an_empty_group(world, changes):
    refused = world.client("a").join(**changes)
    assert refused.reply == JoinGroupReply(E.INCONSISTENT_GROUP_PROTOCOL)
    assert world.state() == "Empty"
    assert not world.group().pending_members


def test_another_protocol_type_is_refused_at_once(world):
    world.client("a").enter()
    assert world.client("b", protocol_type="connect").join().error == E.INCONSISTENT_GROUP_PROTOCOL


def test_no_common_protocol_is_refused(world):
    world.stable(world.client("a", "range", "sticky"), world.client("b", "range"))
    assert world.client("c", "sticky").join().error == E.INCONSISTENT_GROUP_PROTOCOL
    assert world.client("c", "sticky", "range").join().error == E.MEMBER_ID_REQUIRED


def test_bad_protocols_win_over_an_unknown_member_id(world):
    world.stable(world.client("a", "range"))
    refused = world.client("b", "sticky").join(member_id="x")
    assert refused.reply == JoinGroupReply(E.INCONSISTENT_GROUP_PROTOCOL, member_id="x")


def test_a_sole_member_cannot_switch_to_a_disjoint_list(world):
    a = world.client("a", "range")
    world.stable(a)
    a.protocols = ("sticky",)
    assert a.join().error == E.INCONSISTENT_GROUP_PROTOCOL
    a.protocols = ("sticky", "range")
    assert a.join().reply.generation_id == 2
    a.protocols = ("sticky",)
    assert a.join().reply.protocol_name == "sticky"


def test_a_handed_out_id_survives_a_failed_attempt(world):
    world.stable(world.client("a"))
    b = world.client("b")
    b.join()
    refused = b.join(protocol_type="connect")
    assert refused.reply == JoinGroupReply(E.INCONSISTENT_GROUP_PROTOCOL, member_id=b.member_id)
    assert world.group().pending_members == {b.member_id}
    assert b.join().parked


def test_a_dead_group_is_not_available(world):
    a = world.client("a")
    world.stable(a)
    world.group().state = GroupState.DEAD
    assert a.join().reply == JoinGroupReply(E.COORDINATOR_NOT_AVAILABLE, member_id=a.member_id)
    assert world.client("b").join().reply == JoinGroupReply(E.COORDINATOR_NOT_AVAILABLE)


def test_a_member_of_a_group_forced_empty_is_unknown(world):
    a = world.client("a")
    world.stable(a)
    world.group().state = GroupState.EMPTY
    assert a.join().reply == JoinGroupReply(E.UNKNOWN_MEMBER_ID, member_id=a.member_id)


# -- handed-out ids and new members -------------------------------------------------------


def test_an_id_not_used_in_time_is_forgotten(world):
    a, b = world.client("a"), world.client("b", session=6_000)
    world.stable(a)
    b.join()
    assert (world.state(), world.group().generation_id) == ("Stable", 1)
    world.advance(5_999)
    assert world.group().pending_members == {b.member_id}
    world.advance(1)
    assert world.group().pending_members == set()
    assert (world.state(), world.group().generation_id) == ("Stable", 1)
    assert b.join().reply == JoinGroupReply(E.UNKNOWN_MEMBER_ID, member_id=b.member_id)


def test_an_id_that_is_not_used_in_an_empty_group_changes_nothing(world):
    world.client("a", session=6_000).join()
    world.advance(6_000)
    assert world.group().pending_members == set()
    assert (world.state(), world.group().generation_id, world.records) == ("Empty", 0, [])


def test_an_id_does_not_expire_in_a_dead_group(world):
    a = world.client("a", session=6_000)
    a.join()
    world.group().state = GroupState.DEAD
    world.check_books = lambda: None  # the timer is gone, the id is not
    world.advance(6_000)
    assert world.group().pending_members == {a.member_id}


def rebalance_waits_for_pending(world):
    """A Stable group of two rebalances while an id is handed out; both have rejoined and wait."""
    a, b, c = world.client("a"), world.client("b"), world.client("c", session=6_000)
    world.stable(a, b)
    c.join()
    return a, b, c, a.join(), b.join()


def test_a_handed_out_id_holds_up_the_barrier_until_it_expires(world):
    *_, first, second = rebalance_waits_for_pending(world)
    assert first.parked
    assert second.parked
    world.advance(6_000)
    assert [first.reply.generation_id, second.reply.generation_id] == [2, 2]
    assert world.group().pending_members == set()


def test_a_handed_out_id_holds_up_the_barrier_until_it_is_used(world):
    _, _, c, first, second = rebalance_waits_for_pending(world)
    third = c.join()
    assert [call.reply.generation_id for call in (first, second, third)] == [2, 2, 2]


def test_a_handed_out_id_holds_up_the_barrier_until_it_leaves(world):
    _, _, c, first, second = rebalance_waits_for_pending(world)
    reply = world.leave(("", "some-instance"), c.member_id)
    assert [each.error_code for each in reply.members] == [E.UNKNOWN_MEMBER_ID, 0]
    assert [first.reply.generation_id, second.reply.generation_id] == [2, 2]


def test_a_handed_out_id_outlives_the_join_timer(world):
    a, b = world.client("a", rebalance=6_000), world.client("b", session=60_000)
    world.stable(a)
    b.join()
    joined = a.join()
    assert joined.parked
    world.advance(6_000)
    assert joined.reply.generation_id == 2
    assert world.group().pending_members == {b.member_id}


@pytest.mark.parametrize("request_", ["heartbeat", "sync"])
def test_a_handed_out_id_is_no_member_yet(world, request_):
    world.stable(world.client("a"))
    b = world.client("b")
    b.join()
    error = b.heartbeat() if request_ == "heartbeat" else b.sync().error
    assert error == E.UNKNOWN_MEMBER_ID


def test_a_new_member_is_not_expired_by_its_session_but_after_five_minutes(world):
    a = world.client("a", session=10 * MINUTE, rebalance=10 * MINUTE)
    b = world.client("b", session=6_000, rebalance=6_000)
    world.stable(a)
    joined = b.enter()
    world.advance(5 * MINUTE - 1)
    assert joined.parked
    world.advance(1)
    assert joined.reply == UNKNOWN
    assert list(world.group().members) == [a.member_id]
    assert world.state() == "PreparingRebalance"


def test_a_new_member_in_a_long_initial_delay_ends_it_by_expiring(world):
    slow = type(world)(group_initial_rebalance_delay_ms=10 * MINUTE)
    joined = slow.client("a").enter()
    slow.advance(5 * MINUTE)
    assert joined.reply == UNKNOWN
    assert (slow.state(), slow.group().generation_id) == ("Empty", 1)
    assert [record.members for record in slow.records] == [()]


def test_an_expired_handed_out_id_ends_the_initial_delay_if_all_others_are_there(world):
    slow = type(world)(group_initial_rebalance_delay_ms=MINUTE)
    joined = slow.client("a").enter()
    slow.client("b", session=6_000).join()
    slow.advance(6_000)
    assert joined.reply.generation_id == 1


def test_a_repeated_join_of_a_new_member_changes_no_timer(world):
    a = world.client("a", session=10 * MINUTE, rebalance=10 * MINUTE)
    b = world.client("b")
    world.stable(a)
    first = b.enter()
    world.advance(4 * MINUTE)
    second = b.join()
    world.advance(MINUTE)
    assert second.reply == UNKNOWN
    assert first.parked


def test_a_new_member_whose_client_is_gone_takes_part_until_it_misses_its_sync(world):
    a = world.client("a", session=60_000, rebalance=60_000)
    ghost = world.client("ghost", session=6_000, rebalance=6_000)
    world.stable(a)
    ghost.enter()
    world.advance(20_000)
    assert a.join().reply.generation_id == 2
    assert a.sync({a: b"x"}).error == 0
    world.advance(6_000)
    assert ghost.member_id not in world.group().members
