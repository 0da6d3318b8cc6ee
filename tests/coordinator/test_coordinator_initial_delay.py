"""The delay of a rebalance that starts from Empty: its extensions, and what ends it."""

from rota.coordinator import MENDED, GroupState, JoinGroupReply
from rota.coordinator import ErrorCode as E

UNKNOWN = JoinGroupReply(E.UNKNOWN_MEMBER_ID)


def test_the_first_delay_is_whole_even_if_the_rebalance_timeout_is_shorter(world):
    joined = world.client("a", rebalance=1_000).enter()
    world.advance(2_999)
    assert joined.parked
    world.advance(1)
    assert joined.error == 0


def test_newcomers_extend_the_delay_up_to_the_rebalance_timeout(world):
    calls = [world.client(name, rebalance=6_000).enter() for name in "ab"]
    world.advance(3_001)
    calls.append(world.client("c", rebalance=6_000).enter())
    world.advance(2_998)
    assert all(call.parked for call in calls)
    world.advance(1)
    assert [call.error for call in calls] == [0, 0, 0]


def test_each_window_with_a_newcomer_adds_a_whole_window(world):
    calls = [world.client("a").enter()]
    world.advance(1_500)
    calls.append(world.client("b").enter())
    world.advance(3_300)
    calls.append(world.client("c").enter())
    world.advance(4_199)
    assert all(call.parked for call in calls)
    world.advance(1)
    assert [call.error for call in calls] == [0, 0, 0]


def test_the_last_extension_is_cut_to_what_is_left(world):
    calls = [world.client(name, rebalance=4_000).enter() for name in "ab"]
    world.advance(3_999)
    assert all(call.parked for call in calls)
    world.advance(1)
    assert [call.error for call in calls] == [0, 0]


def test_no_newcomer_no_extension(world):
    joined = world.client("a", rebalance=30_000).enter()
    world.advance(3_000)
    assert joined.error == 0


def test_what_is_left_shrinks_by_the_delay_that_just_ended(world):
    """10 s in all with windows of 4 s: 4, 4, then 2."""
    late = type(world)(group_initial_rebalance_delay_ms=4_000)
    calls = [late.client("a", rebalance=10_000).enter()]
    ends = []
    for name in "bcd":
        calls.append(late.client(name, rebalance=10_000).enter())
        late.advance_to("initial_join")
        ends.append((late.now, late.left("initial_join")))
    assert ends == [(4_000, 4_000), (8_000, 2_000), (10_000, None)]
    assert [call.error for call in calls] == [0] * 4


def test_a_mark_left_over_gives_one_free_extension_after_empty(world):
    calls = [world.client(name, rebalance=3_500).enter() for name in "ab"]
    world.advance(3_200)
    calls.append(world.client("c", rebalance=3_500).enter())
    world.advance(300)
    assert [call.error for call in calls] == [0, 0, 0]
    world.leave("a-1", "b-2", "c-3")
    assert world.state() == "Empty"
    alone = world.client("d", rebalance=6_000).enter()
    world.advance(5_999)
    assert alone.parked
    world.advance(1)
    assert alone.reply.generation_id == 3


def test_the_delay_applies_again_after_the_group_was_empty(world):
    a = world.client("a")
    world.stable(a)
    a.leave()
    again = a.enter()
    world.advance(2_999)
    assert again.parked
    world.advance(1)
    assert (again.error, again.reply.generation_id) == (0, 3)


def test_without_delay_the_first_tick_completes(world):
    quick = type(world)(group_initial_rebalance_delay_ms=0)
    joined = quick.client("a").enter()
    assert joined.parked
    quick.advance(0)
    assert joined.error == 0


def test_an_id_handed_out_does_not_hold_up_the_very_first_generation(world):
    joined = world.client("a").enter()
    b = world.client("b")
    b.join()
    world.advance(3_000)
    assert joined.error == 0
    assert world.group().pending_members == {b.member_id}


def test_the_second_consumer_arrives_before_the_first_is_answered(world):
    first = world.client("a").enter()
    world.advance(1_000)
    second = world.client("b").enter()
    world.advance(5_000)
    assert (first.reply.generation_id, second.reply.generation_id) == (1, 1)


def test_the_only_member_leaves_during_the_delay(world):
    a = world.client("a")
    joined = a.enter()
    assert a.leave() == 0
    assert joined.reply == UNKNOWN
    assert (world.state(), world.group().generation_id) == ("PreparingRebalance", 0)
    world.advance(3_000)
    assert (world.state(), world.group().generation_id) == ("Empty", 1)


def test_a_new_member_during_the_delay_after_all_have_left_may_bring_any_names(world):
    a = world.client("a", "range")
    a.enter()
    a.leave()
    assert world.client("b", "sticky", protocol_type="connect").join().error == E.INCONSISTENT_GROUP_PROTOCOL
    joined = world.client("c", "sticky").enter()
    world.advance(6_000)
    assert (joined.error, joined.reply.protocol_name) == (0, "sticky")


def test_a_dead_group_starts_no_generation(world):
    world.client("a").enter()
    world.group().state = GroupState.DEAD
    world.advance(3_000)
    assert (world.state(), world.group().generation_id) == ("Dead", 0)


def test_mended_who_is_long_gone_does_not_lengthen_the_delay(world):
    mended = type(world)(mends=MENDED)
    calls = [mended.client(name, rebalance=3_000).enter() for name in "ab"]
    mended.advance(3_000)
    assert [call.error for call in calls] == [0, 0]
    mended.leave("a-1", "b-2")
    alone = mended.client("c").enter()
    mended.advance(3_000)
    assert not alone.parked
