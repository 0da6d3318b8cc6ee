"""Known members join again: what starts a rebalance, how the join phase ends, who leads, the vote."""

import pytest

from rota.coordinator import ErrorCode as E
from rota.coordinator import JoinGroupReply

UNKNOWN = JoinGroupReply(E.UNKNOWN_MEMBER_ID)


def test_a_second_consumer_joins_a_stable_group(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a)
    newcomer = b.enter()
    assert newcomer.parked
    assert a.heartbeat() == E.REBALANCE_IN_PROGRESS
    again = a.join()
    assert [again.reply.generation_id, newcomer.reply.generation_id] == [2, 2]
    assert [len(call.reply.members) for call in (again, newcomer)] == [2, 0]


def test_a_second_consumer_joins_before_the_first_has_synced(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a)
    newcomer = b.enter()
    assert a.sync({a: b"x"}).error == E.REBALANCE_IN_PROGRESS
    assert a.join().reply.generation_id == 2
    assert newcomer.reply.generation_id == 2


def test_the_last_expected_join_never_comes(world):
    a, b, c = world.client("a", rebalance=8_000), world.client("b", rebalance=9_000), world.client("c")
    world.stable(a, b)
    newcomer = c.enter()
    assert world.left("join") == 60_000, "the newcomer's own rebalance timeout counts too"
    again = a.join()
    for _ in range(9):
        world.advance(6_000)
        assert b.heartbeat() == E.REBALANCE_IN_PROGRESS
    assert again.parked
    world.advance(6_000)
    assert [again.reply.generation_id, newcomer.reply.generation_id] == [2, 2]
    assert b.heartbeat() == E.UNKNOWN_MEMBER_ID
    assert set(world.group().members) == {a.member_id, c.member_id}


def test_the_join_timer_is_set_once_by_the_members_of_that_moment(world):
    a, b = world.client("a", rebalance=8_000), world.client("b", rebalance=8_000)
    world.stable(a)
    b.enter()
    world.advance(1_000)
    world.client("c", rebalance=60_000).enter()
    assert world.left("join") == 7_000


def test_who_does_not_rejoin_is_dropped_and_a_newcomer_leads(world):
    a, b = world.client("a", rebalance=8_000), world.client("b", rebalance=8_000)
    world.stable(a)
    newcomer = b.enter()
    world.advance(8_000)
    assert (newcomer.reply.leader, len(newcomer.reply.members)) == (b.member_id, 1)
    assert newcomer.reply.generation_id == 2
    assert a.heartbeat() == E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("take", "leader"), [(0, "b-2"), (-1, "d-4")])
def test_any_waiting_member_may_follow_an_absent_leader(world, take, leader):
    a, b, c, d = (world.client(name, rebalance=8_000) for name in "abcd")
    world.stable(a, b, c)
    world.picks.take = take
    newcomer = d.enter()
    b.join()
    world.advance(8_000)
    assert newcomer.reply.leader == leader
    assert world.picks.asked[-1] == ("leader", ("b-2", "d-4"))


def test_the_leader_goes_on_leading_while_it_rejoins(world):
    z, a = world.client("z"), world.client("a")
    world.stable(z, a)
    for generation in (2, 3, 4):
        calls = [z.join(), a.join()]
        assert [call.reply.leader for call in calls] == [z.member_id] * 2
        assert calls[0].reply.generation_id == generation
        z.sync(), a.sync()
    assert not [question for question, _ in world.picks.asked if question == "leader"]


def test_an_unchanged_leader_in_stable_gets_a_rebalance(world):
    a = world.client("a")
    world.stable(a)
    again = a.join()
    assert (again.reply.generation_id, world.state()) == (2, "CompletingRebalance")
    assert len(world.records) == 1, "no record for a join phase that ends with members"


def test_an_unchanged_follower_in_stable_is_told_the_generation_again(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    world.advance(1_000)
    before = dict(world.due)
    again = b.join(session_timeout_ms=99_000, rebalance_timeout_ms=1)
    assert again.reply == JoinGroupReply(
        generation_id=1, protocol_type="consumer", protocol_name="range", leader="a-1", member_id="b-2"
    )
    assert world.state() == "Stable"
    assert (world.due, world.group().members["b-2"].session_timeout_ms) == (before, 10_000)


@pytest.mark.parametrize("protocols", [("range:new",), ("range", "sticky"), ("sticky", "range")])
def test_a_changed_follower_in_stable_starts_a_rebalance(world, protocols):
    a, b = world.client("a", "range", "sticky"), world.client("b", "range", "sticky:old")
    world.stable(a, b)
    b.protocols = protocols
    again = b.join()
    assert again.parked
    assert a.join().reply.generation_id == 2
    assert again.error == 0


def test_a_lost_join_reply_is_repeated_while_completing(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a, b)
    before = dict(world.due)
    again = [a.join(), b.join()]
    assert [(call.reply.generation_id, len(call.reply.members)) for call in again] == [(1, 2), (1, 0)]
    assert (world.state(), world.due) == ("CompletingRebalance", before)


def test_changed_metadata_while_completing_starts_a_rebalance(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a, b)
    waiting = b.sync()
    a.protocols = ("range:new", "sticky")
    again = a.join()
    assert (again.parked, waiting.error) == (True, E.REBALANCE_IN_PROGRESS)
    b.join()
    assert (again.reply.generation_id, again.reply.members[0].metadata) == (2, b"new")


def test_a_sole_member_that_changes_while_completing_is_answered_at_once(world):
    a = world.client("a")
    world.generation(a)
    a.protocols = ("range", "sticky")
    assert a.join().reply.generation_id == 2
    assert world.state() == "CompletingRebalance"


def test_the_later_of_two_joins_replaces_the_earlier_for_good(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    first = a.join()
    a.session = 20_000
    second = a.join()
    b.join()
    assert second.reply.generation_id == 2
    assert world.group().members[a.member_id].session_timeout_ms == 20_000
    world.advance(600_000)
    assert first.parked


def test_rejoining_while_preparing_takes_over_list_and_timeouts(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    a.join()
    b.protocols, b.session, b.rebalance = ("range:new",), 7_000, 70_000
    b.join()
    member = world.group().members[b.member_id]
    assert (member.metadata("range"), member.session_timeout_ms, member.rebalance_timeout_ms) == (
        b"new",
        7_000,
        70_000,
    )
    assert world.left("sync") == 70_000


def test_rejoining_does_not_touch_the_session_but_the_end_of_the_phase_does(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    world.advance(4_000)
    a.join()
    assert world.left("session", a.member_id) == 6_000
    b.join()
    assert world.left("session", a.member_id) == 10_000


def test_a_member_parked_in_join_outlives_its_session(world):
    a, b = world.client("a", session=6_000), world.client("b", session=30_000)
    world.stable(a, b)
    waiting = a.join()
    world.advance(7_000)
    assert waiting.parked
    assert a.member_id in world.group().members
    assert world.left("session", a.member_id) is None
    b.join()
    assert waiting.reply.generation_id == 2
    assert world.left("session", a.member_id) == 6_000


def test_a_member_that_is_silent_while_preparing_expires_before_the_join_timer(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a)
    newcomer = b.enter()
    assert a.heartbeat() == E.REBALANCE_IN_PROGRESS
    world.advance(10_000)
    assert a.heartbeat() == E.UNKNOWN_MEMBER_ID
    assert (newcomer.reply.generation_id, newcomer.reply.leader) == (2, b.member_id)


def test_rebalance_timeout_zero_is_admitted_and_dropped_for_not_having_synced(world):
    a = world.client("a", rebalance=-1)
    joined = a.enter()
    world.advance(3_000)
    assert joined.error == 0
    assert (world.state(), world.group().generation_id) == ("Empty", 2)


# -- vote ------------------------------------------------------------------------------------------


def elected(world, *lists):
    clients = [world.client(f"m{number}", *names) for number, names in enumerate(lists)]
    world.generation(*clients)
    return world.group().protocol_name


@pytest.mark.parametrize(
    ("lists", "winner"),
    [
        ([("range", "sticky"), ("sticky", "range"), ("sticky", "range")], "sticky"),
        ([("a", "b", "c"), ("a", "c"), ("c", "b")], "c"),
        ([("x", "b", "c"), ("y", "c", "b"), ("z", "c", "b")], "c"),
        ([("only", "b"), ("b",)], "b"),
    ],
)
def test_each_votes_for_its_first_common_protocol_and_most_votes_win(world, lists, winner):
    assert elected(world, *lists) == winner
    assert not [question for question, _ in world.picks.asked if question == "protocol"]


@pytest.mark.parametrize(("take", "winner"), [(0, "range"), (-1, "sticky")])
def test_a_tie_is_decided_from_outside(world, take, winner):
    world.picks.take = take
    lists = [("range", "sticky", "other"), ("sticky", "range", "other")]
    assert elected(world, *lists) == winner
    assert world.picks.asked[-1] == ("protocol", ("range", "sticky"))


def test_the_metadata_told_to_the_leader_is_the_chosen_protocols(world):
    a, b = world.client("a", "range:ar", "sticky:as"), world.client("b", "sticky:bs")
    joined = a.enter()
    b.enter()
    world.advance(6_000)
    assert [each.metadata for each in joined.reply.members] == [b"as", b"bs"]


def test_a_protocol_listed_twice_counts_once_with_its_first_metadata(world):
    a, b = world.client("a", "range:1", "range:2"), world.client("b", "sticky", "range")
    joined = a.enter()
    b.enter()
    world.advance(6_000)
    assert joined.reply.protocol_name == "range"
    assert joined.reply.members[0].metadata == b"1"


def test_members_that_left_have_no_vote(world):
    a, b, c = (world.client(n, *p) for n, p in [("a", ("x", "y")), ("b", ("y", "x")), ("c", ("y", "x"))])
    world.stable(a, b, c)
    assert world.group().protocol_name == "y"
    world.leave(b.member_id, c.member_id)
    assert a.join().reply.protocol_name == "x"
