"""group.max.size: who finds a place in which state, and what becomes of who does not."""

import pytest

from rota.coordinator import ErrorCode as E
from rota.coordinator import JoinGroupReply

FULL = JoinGroupReply(E.GROUP_MAX_SIZE_REACHED)


@pytest.fixture
def pair(world):
    """A world whose groups have two places."""
    return type(world)(group_max_size=2)


@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
@pytest.mark.parametrize("version", [3, 9])
def test_a_full_group_takes_nobody_of_any_kind(pair, state, version):
    a, b = pair.client("a", instance="i"), pair.client("b")
    (pair.stable if state == "Stable" else pair.generation)(a, b)
    none = "" if version < 7 else None
    full = JoinGroupReply(E.GROUP_MAX_SIZE_REACHED, protocol_name=none)
    for changes in (
        {},
        {"protocols": (), "protocol_type": "other"},
        {"member_id": "x"},
        {"group_instance_id": "j"},
        {"group_instance_id": "i"},  # it would only take its own place
    ):
        assert pair.client("c").join(version=version, **changes).reply == full
    assert pair.picks.asked[2:] == []
    assert (pair.state(), len(pair.group().members)) == (state, 2)
    b.protocols = ("range:changed",)
    assert b.join().parked


def test_a_handed_out_id_is_no_place_and_is_gone_when_it_is_refused(pair):
    a, b, c = (pair.client(name) for name in "abc")
    pair.generation(a)
    assert [client.join().error for client in (b, c)] == [E.MEMBER_ID_REQUIRED] * 2
    joined = b.join()
    a.join()
    assert joined.parked  # c's id holds up the barrier
    assert c.join().reply == FULL
    assert pair.group().pending_members == set()
    assert pair.left("pending", c.member_id) is None
    assert joined.parked
    pair.advance(60_000)
    assert joined.reply.generation_id == 2
    assert c.join().reply == FULL  # the group is full again, and that comes first
    b.leave()
    assert c.join().error == E.UNKNOWN_MEMBER_ID


def test_newcomers_push_out_who_has_not_rejoined(pair):
    a, b, c = (pair.client(name) for name in "abc")
    pair.stable(a, b)
    a.leave()
    assert pair.state() == "PreparingRebalance"
    first = [c.enter(), pair.client("d", instance="j").join()]
    assert len(pair.group().members) == 3
    assert b.join().reply == FULL
    assert list(pair.group().members) == [c.member_id, "j-4"]
    assert pair.left("session", b.member_id) is None
    assert [call.parked for call in first] == [True, True]  # nobody looks at the barrier
    assert b.heartbeat() == E.UNKNOWN_MEMBER_ID
    pair.advance(60_000)
    assert {call.reply.generation_id for call in first} == {2}


def test_a_leader_that_is_refused_has_a_successor(pair):
    a, b, c = (pair.client(name) for name in "abc")
    pair.stable(a, b)
    b.leave()
    joined = [c.enter(), pair.client("d").enter()]
    assert pair.group().leader == a.member_id
    assert a.join().reply == FULL
    pair.advance(60_000)
    assert {call.reply.leader for call in joined} == {c.member_id}


def test_who_waits_may_ask_again_and_a_restart_needs_a_place(pair):
    a, b = pair.client("a", instance="i"), pair.client("b")
    calls = [a.join(), b.enter()]
    assert a.join(member_id="i-1").parked
    assert pair.client("a", instance="i").join().reply == FULL
    assert pair.client("c").join().reply == FULL
    pair.advance(6_000)
    assert [calls[0].parked, calls[1].parked] == [True, False]


def test_an_empty_group_is_never_full(pair):
    a, b, c = (pair.client(name) for name in "abc")
    assert [client.join().error for client in (a, b, c)] == [E.MEMBER_ID_REQUIRED] * 3
    assert a.join().parked
    assert b.join().parked
    assert c.join().reply == FULL
