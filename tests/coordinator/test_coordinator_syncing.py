"""SyncGroup: assignments, the log's answer and what happens before it, members that owe theirs."""

import pytest

from rota.coordinator import ErrorCode as E
from rota.coordinator import GroupState, SyncGroupAssignment, SyncGroupReply


def ok(assignment):
    return SyncGroupReply(E.NONE, "consumer", "range", assignment)


def held(world, *clients):
    """A generation whose log is slow: nothing is acknowledged before `world.log`."""
    world.generation(*clients)
    world.hold_log = True


def answered(world):
    """Names of the clients in the order in which they are answered from now on."""
    names, do = [], world.do

    def doing(effects):
        names.extend(world.calls[token].client.name for token, _ in effects.replies)
        do(effects)

    world.do = doing
    return names


def test_followers_are_released_with_their_own_bytes_by_the_leader(world):
    a, b, c = world.client("a"), world.client("b"), world.client("c")
    world.generation(a, b, c)
    waiting = [b.sync(), c.sync()]
    assert all(call.parked for call in waiting)
    leader = a.sync({a: b"A", b: b"B", c: b"C"})
    assert [call.reply for call in (leader, *waiting)] == [ok(b"A"), ok(b"B"), ok(b"C")]


def test_parked_requests_are_answered_in_order_of_member_ids(world):
    """Not in the order in which they came, which would do as well: what a step sends is foreseeable."""
    a, b, c = world.client("a"), world.client("b"), world.client("c")
    world.generation(c, b, a)
    assert sorted((a.member_id, b.member_id, c.member_id)) == ["a-3", "b-2", "c-1"]
    told = answered(world)
    b.sync()
    a.sync()
    c.sync(dict.fromkeys((a, b, c), b"x"))
    assert told == ["a", "b", "c"], "SyncGroups, when the log has the assignment"
    told.clear()
    b.protocols = ("range:new",)
    for client in (b, c, a):
        client.join()
    assert told == ["a", "b", "c"], "JoinGroups, when the barrier opens"


def test_the_record_holds_the_generation_with_everybodys_assignment(world):
    a, b = world.client("a", "range:am"), world.client("b", "range:bm", session=20_000, rebalance=50_000)
    world.generation(a, b)
    a.sync({a: b"A", b: b"B"})
    (record,) = world.records
    assert (record.generation_id, record.protocol_type, record.protocol_name) == (1, "consumer", "range")
    assert record.leader == a.member_id
    assert [(each.member_id, each.subscription, each.assignment) for each in record.members] == [
        ("a-1", b"am", b"A"),
        ("b-2", b"bm", b"B"),
    ]
    second = record.members[1]
    assert (second.client_id, second.client_host) == ("b", "/127.0.0.1")
    assert (second.session_timeout_ms, second.rebalance_timeout_ms) == (20_000, 50_000)


def test_a_follower_that_comes_after_stable_gets_what_is_stored(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a, b)
    a.sync({a: b"A", b: b"B"})
    assert b.sync().reply == ok(b"B")


def test_in_stable_the_leaders_new_assignments_are_ignored(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    assert a.sync({a: b"other", b: b"other"}).reply == ok(b"a")
    assert b.sync().reply == ok(b"b")
    assert len(world.records) == 1


def test_a_sync_in_stable_leaves_the_session_alone(world):
    a = world.client("a")
    world.stable(a)
    world.advance(4_000)
    a.sync()
    assert world.left("session", a.member_id) == 6_000


def test_a_member_that_the_leader_omits_gets_nothing(world):
    a, b, stranger = world.client("a"), world.client("b"), world.client("s", member_id="stranger")
    world.generation(a, b)
    waiting = b.sync()
    assert a.sync({a: b"A", stranger: b"S"}).reply == ok(b"A")
    assert waiting.reply == ok(b"")
    assert [each.member_id for each in world.records[0].members] == ["a-1", "b-2"]


def test_no_assignments_at_all_is_fine(world):
    a = world.client("a")
    world.generation(a)
    assert a.sync().reply == ok(b"")
    assert a.heartbeat() == 0


def test_of_two_assignments_for_one_member_the_last_counts(world):
    a = world.client("a")
    world.generation(a)
    twice = tuple(SyncGroupAssignment(a.member_id, data) for data in (b"1", b"2"))
    assert a.sync(entries=twice).reply == ok(b"2")


def test_a_followers_assignments_are_ignored(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a, b)
    waiting = b.sync({a: b"bad", b: b"bad"})
    assert waiting.parked
    a.sync({b: b"B"})
    assert waiting.reply == ok(b"B")


def test_the_later_of_two_syncs_replaces_the_earlier_for_good(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a, b)
    first, second = b.sync(), b.sync()
    a.sync({b: b"B"})
    assert second.reply == ok(b"B")
    assert first.parked


# -- checks and their order ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"group_instance_id": "i", "generation_id": 9}, E.UNKNOWN_MEMBER_ID),
        ({"group_id": "", "protocol_type": None}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_id": "", "protocol_name": None}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_id": ""}, E.INVALID_GROUP_ID),
        ({"group_id": "missing"}, E.UNKNOWN_MEMBER_ID),
        ({"member_id": "x", "generation_id": 9}, E.UNKNOWN_MEMBER_ID),
        ({"generation_id": 0, "protocol_type": "connect"}, E.ILLEGAL_GENERATION),
        ({"generation_id": 2}, E.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": ""}, E.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_checks_in_order(world, state, changes, error):
    a, b = world.client("a"), world.client("b")
    (world.stable if state == "Stable" else world.generation)(a, b)
    for client in (a, b):
        assert client.sync(**changes).reply == SyncGroupReply(error)
    assert world.state() == state


def test_type_and_name_need_not_be_given_before_version_five(world):
    a = world.client("a")
    world.generation(a)
    assert a.sync({a: b"A"}, version=4, protocol_type=None, protocol_name=None).reply == ok(b"A")


def test_while_preparing_everybody_is_told_to_rejoin(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    world.client("c").enter()
    assert a.sync().reply == SyncGroupReply(E.REBALANCE_IN_PROGRESS)
    assert a.sync(protocol_name="sticky").error == E.INCONSISTENT_GROUP_PROTOCOL


def test_a_name_given_before_there_is_one_passes(world):
    a = world.client("a")
    a.enter()
    assert a.sync(member_id="a-1", generation_id=0, protocol_name="anything").error == E.REBALANCE_IN_PROGRESS


def test_an_empty_and_a_dead_group(world):
    a = world.client("a")
    world.stable(a)
    world.group().state = GroupState.EMPTY
    assert a.sync().error == E.UNKNOWN_MEMBER_ID
    world.group().state = GroupState.DEAD
    assert a.sync().error == E.COORDINATOR_NOT_AVAILABLE


# -- the log's answer ------------------------------------------------------------------------------


def test_stable_only_when_the_log_has_it(world):
    a, b = world.client("a"), world.client("b")
    held(world, a, b)
    calls = [a.sync({a: b"A", b: b"B"}), b.sync()]
    assert all(call.parked for call in calls)
    assert world.state() == "CompletingRebalance"
    assert a.heartbeat() == 0
    world.log()
    assert [call.reply for call in calls] == [ok(b"A"), ok(b"B")]
    assert world.state() == "Stable"


def test_the_session_starts_anew_with_the_assignment(world):
    a, b = world.client("a"), world.client("b")
    held(world, a, b)
    a.sync({a: b"A"})
    world.advance(7_000)
    b.heartbeat()
    world.advance(7_000)
    assert a.member_id in world.group().members, "parked in sync, its session ran out unnoticed"
    assert world.left("session", a.member_id) is None
    world.log()
    assert world.left("session", a.member_id) == 10_000
    assert world.left("session", b.member_id) == 3_000, "its heartbeat counts: it was not parked"


@pytest.mark.parametrize(
    ("append_error", "error"),
    [
        (E.UNKNOWN_TOPIC_OR_PARTITION, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.REQUEST_TIMED_OUT, E.COORDINATOR_NOT_AVAILABLE),
        (20, 20),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.KAFKA_STORAGE_ERROR, E.NOT_COORDINATOR),
        (E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
        (E.RECORD_LIST_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
        (E.INVALID_FETCH_SIZE, E.UNKNOWN_SERVER_ERROR),
        (E.UNKNOWN_SERVER_ERROR, E.UNKNOWN_SERVER_ERROR),
    ],
)
def test_storing_the_assignment_fails(world, append_error, error):
    a, b = world.client("a"), world.client("b")
    held(world, a, b)
    calls = [a.sync({a: b"A", b: b"B"}), b.sync()]
    world.advance(3_000)
    world.log(append_error)
    assert [call.reply for call in calls] == [SyncGroupReply(error)] * 2
    assert world.state() == "PreparingRebalance"
    assert [member.assignment for member in world.group().members.values()] == [b"", b""]
    assert world.left("session", a.member_id) == 10_000
    assert world.left("join") == 60_000
    assert [a.join().parked, b.join().reply.generation_id] == [True, 2]


def test_earlier_assignments_are_taken_back_when_a_later_one_fails(world):
    a, b = world.client("a"), world.client("b")
    world.stable(a, b)
    a.join(), b.join()
    assert world.group().members[b.member_id].assignment == b"b", "kept until then, as in the broker"
    world.hold_log = True
    a.sync({a: b"new"})
    world.log(E.REQUEST_TIMED_OUT)
    assert world.group().members[b.member_id].assignment == b""


@pytest.mark.parametrize("error", [E.NONE, E.REQUEST_TIMED_OUT])
def test_a_member_joins_while_the_store_is_in_flight(world, error):
    a, b = world.client("a"), world.client("b")
    held(world, a)
    waiting = a.sync({a: b"A"})
    newcomer = b.enter()
    assert waiting.reply == SyncGroupReply(E.REBALANCE_IN_PROGRESS)
    world.log(error)
    assert world.state() == "PreparingRebalance"
    assert world.group().members[a.member_id].assignment == b""
    assert newcomer.parked


@pytest.mark.parametrize("error", [E.NONE, E.REQUEST_TIMED_OUT])
def test_an_answer_about_an_old_generation_changes_nothing_in_the_next(world, error):
    a, b = world.client("a"), world.client("b")
    held(world, a)
    a.sync({a: b"old"})
    b.enter()
    a.join()
    waiting = a.sync({a: b"new", b: b"B"})
    assert (world.state(), world.group().generation_id) == ("CompletingRebalance", 2)
    world.log(error)
    assert (world.state(), waiting.parked) == ("CompletingRebalance", True)
    world.log()
    assert (world.state(), waiting.reply) == ("Stable", ok(b"new"))


def test_of_two_assignments_under_way_the_first_acknowledged_wins(world):
    a, b = world.client("a"), world.client("b")
    held(world, a, b)
    first = a.sync({b: b"1"})
    second = a.sync({b: b"2"})
    assert len(world.appends) == 2
    world.log()
    world.log()
    assert (first.parked, second.error) == (True, 0)
    assert b.sync().reply == ok(b"1")


def test_a_failure_then_a_success_of_the_same_generation_leaves_it_preparing(world):
    a = world.client("a")
    held(world, a)
    a.sync({a: b"1"}), a.sync({a: b"2"})
    world.log(E.REQUEST_TIMED_OUT)
    world.log()
    assert world.state() == "PreparingRebalance"


# -- members that owe their SyncGroup --------------------------------------------------------------


def beat_until(world, clients, ms):
    for _ in range(ms // 5_000):
        assert {client.heartbeat() for client in clients} == {0}
        world.advance(5_000)


def test_nobody_syncs_though_all_heartbeat(world):
    clients = [world.client(name) for name in "abc"]
    world.generation(*clients)
    beat_until(world, clients, 60_000)
    assert {client.heartbeat() for client in clients} == {E.UNKNOWN_MEMBER_ID}
    assert (world.state(), world.group().generation_id) == ("Empty", 2)
    assert [record.members for record in world.records] == [()]


def test_the_leader_never_syncs_though_it_heartbeats(world):
    a, b, c = (world.client(name) for name in "abc")
    world.generation(a, b, c)
    waiting = [b.sync(), c.sync()]
    beat_until(world, [a, b, c], 60_000)
    assert [call.error for call in waiting] == [E.REBALANCE_IN_PROGRESS] * 2
    assert (world.state(), a.heartbeat()) == ("PreparingRebalance", E.UNKNOWN_MEMBER_ID)
    assert {b.heartbeat(), c.heartbeat()} == {E.REBALANCE_IN_PROGRESS}
    assert [b.join().parked, c.join().reply.leader] == [True, b.member_id]


def test_a_follower_that_never_syncs_is_removed_in_stable(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a, b)
    a.sync({a: b"A", b: b"B"})
    beat_until(world, [a, b], 55_000)
    assert world.state() == "Stable"
    a.heartbeat()
    world.advance(5_000)
    assert (world.state(), b.heartbeat()) == ("PreparingRebalance", E.UNKNOWN_MEMBER_ID)
    assert a.heartbeat() == E.REBALANCE_IN_PROGRESS


def test_the_sync_timer_is_the_longest_rebalance_timeout_and_ends_with_the_last_sync(world):
    a, b = world.client("a", rebalance=8_000), world.client("b", rebalance=9_000)
    world.generation(a, b)
    assert world.left("sync") == 9_000
    a.sync({})
    assert world.left("sync") == 9_000
    b.sync()
    assert world.left("sync") is None


def test_a_new_rebalance_ends_the_sync_timer(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a, b)
    world.client("c").enter()
    assert (world.left("sync"), world.group().pending_sync_members) == (None, set())


def test_nobody_is_removed_from_a_dead_group(world):
    a = world.client("a", session=100_000)
    world.generation(a)
    world.group().state = GroupState.DEAD
    world.advance(100_000)
    assert (world.state(), list(world.group().members)) == ("Dead", [a.member_id])


def test_the_leader_dies_before_it_syncs(world):
    a, b = world.client("a"), world.client("b")
    world.generation(a, b)
    waiting = b.sync()
    world.advance(10_000)
    assert waiting.reply == SyncGroupReply(E.REBALANCE_IN_PROGRESS)
    assert (world.state(), list(world.group().members)) == ("PreparingRebalance", [b.member_id])
    assert b.join().reply.leader == b.member_id
