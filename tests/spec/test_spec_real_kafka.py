"""What running brokers of four versions were seen to do, sentence by sentence: the spec does it too."""

from __future__ import annotations

import pytest

from harness.by_id import DELAY, REBALANCE, SESSION, ById
from rota.spec import PROFILES, ErrorCode, Group, GroupState, JoinGroupReply, MemberMetadata, TimerKind

JAVA, SCALA = "kafka-4.x", "kafka-3.x"
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
STABLE, EMPTY = GroupState.STABLE, GroupState.EMPTY


@pytest.fixture(params=[JAVA, SCALA])
def stage(request: pytest.FixtureRequest) -> ById:
    return ById(PROFILES[request.param])


# Joining


@pytest.mark.parametrize("version", range(4))
def test_an_empty_id_below_v4_is_admitted_at_once(stage: ById, version: int) -> None:
    assert stage.waits(stage.join(version=version))
    assert set(stage.live.members) == {"m1"}


@pytest.mark.parametrize(("version", "nothing"), [(4, ""), (6, ""), (7, None), (9, None)])
def test_from_v4_on_a_newcomer_must_come_back_with_the_id_it_is_given(
    stage: ById, version: int, nothing: str | None
) -> None:
    reply = stage.joined(stage.join(version=version))
    assert reply == JoinGroupReply(
        ErrorCode.MEMBER_ID_REQUIRED, generation_id=-1, leader="", member_id="m1", protocol_name=nothing
    )


def test_the_group_then_exists_as_empty_and_asking_again_gives_a_second_id(stage: ById) -> None:
    stage.join()
    assert stage.live == Group(pending=frozenset({"m1"}))
    stage.join()
    assert stage.live == Group(pending=frozenset({"m1", "m2"}))


def test_a_static_newcomer_is_admitted_at_once(stage: ById) -> None:
    assert stage.waits(stage.join(instance="i"))
    assert stage.live.holder("i") == "m1"
    assert not stage.live.pending


def test_a_pending_id_is_good_for_the_session_timeout_of_its_request(stage: ById) -> None:
    stage.join(session=7_000)
    stage.wait(6_999)
    assert stage.waits(stage.join("m1", session=30_000))
    late = ById(stage.on.profile)
    late.join(session=7_000)
    late.wait(7_000)
    assert late.joined(late.join("m1")).error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_after_it_left_joining_with_a_pending_id_is_unknown(stage: ById) -> None:
    stage.join()
    stage.leave("m1")
    reply = stage.joined(stage.join("m1"))
    assert (reply.error_code, reply.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "m1")


def test_heartbeat_and_sync_with_a_pending_id_are_unknown(stage: ById) -> None:
    stage.join()
    assert stage.heartbeat("m1") is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.synced(stage.sync("m1")).error_code is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("way", ["used", "expired"])
def test_a_pending_id_holds_up_the_rebalance_of_the_others(stage: ById, way: str) -> None:
    stage.stable(a=None)
    stage.join(session=SESSION)
    again = stage.join("a")
    assert stage.waits(again)
    if way == "used":
        stage.join("m1")
    else:
        stage.fire(TimerKind.PENDING, "m1")
    assert stage.joined(again).generation_id == 2


def test_a_pending_id_does_not_hold_up_the_first_rebalance(stage: ById) -> None:
    stage.join(session=SESSION)
    first = stage.join(version=3)
    stage.wait(DELAY)
    assert stage.joined(first).generation_id == 1
    assert stage.live.pending == {"m1"}


def test_the_first_member_of_an_empty_group_leads_while_it_rejoins_in_time(stage: ById) -> None:
    stage.stable(b=None, a=None)
    assert stage.live.leader == "b"
    again = stage.join("a", protocols={"range": b"other"})
    stage.join("b")
    assert stage.joined(again).leader == "b"


@pytest.mark.parametrize("way", ["gone", "late"])
def test_after_the_leader_is_gone_or_late_another_that_has_rejoined_leads(stage: ById, way: str) -> None:
    stage.stable(a=None, b=None, c=None)
    stage.join("b", protocols={"range": b"other"})
    if way == "gone":
        stage.leave("a")
        assert {step.live.leader for step in stage.outcomes} == {"b", "c"}
    again = stage.join("c")
    if way == "late":
        stage.fire(TimerKind.JOIN)
    assert {step.live.leader for step in stage.outcomes} <= {"b", "c"}
    assert stage.joined(again).leader in {"b", "c"}


def test_only_the_leaders_answer_carries_the_member_list(stage: ById) -> None:
    first, second = stage.join(version=3), stage.join(version=3, protocols={"range": b"two"})
    stage.wait(2 * DELAY)
    assert set(stage.joined(first).members) == {MemberMetadata("m1", b"m"), MemberMetadata("m2", b"two")}
    assert stage.joined(second).members == ()


def test_the_first_generation_is_1_and_emptying_counts(stage: ById) -> None:
    stage.stable(a=None)
    assert stage.live.generation_id == 1
    stage.leave("a")
    assert (stage.state, stage.live.generation_id) == (EMPTY, 2)
    again = stage.join(version=3)
    stage.fire(TimerKind.INITIAL_JOIN)
    assert stage.joined(again).generation_id == 3


def test_group_id_then_session_bounds_then_the_group(stage: ById) -> None:
    assert stage.joined(stage.join(group_id="", session=1)).error_code is ErrorCode.INVALID_GROUP_ID
    for session in (5_999, 1_800_001):
        refused = stage.joined(stage.join("nobody", session=session))
        assert refused.error_code is ErrorCode.INVALID_SESSION_TIMEOUT
    for session in (6_000, 1_800_000):
        assert stage.joined(stage.join(session=session)).error_code is ErrorCode.MEMBER_ID_REQUIRED


def test_bad_protocols_win_over_an_unknown_id(stage: ById) -> None:
    stage.stable(a=None)
    reply = stage.joined(stage.join("nobody", protocols=["sticky"]))
    assert (reply.error_code, reply.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "nobody")


@pytest.mark.parametrize("bad", [{"protocols": ()}, {"protocol_type": ""}])
def test_an_empty_protocol_list_or_type_is_inconsistent_and_leaves_an_empty_group(
    stage: ById, bad: dict[str, object]
) -> None:
    reply = stage.joined(stage.join(**bad))  # type: ignore[arg-type]
    assert reply.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.live == Group()


# Rejoining


def test_a_stable_follower_with_the_same_protocols_gets_its_generation_at_once(stage: ById) -> None:
    stage.stable(a=None, b=None)
    due = dict(stage.due)
    reply = stage.joined(stage.join("b", session=20_000, rebalance=1))
    assert (reply.error_code, reply.generation_id, reply.members) == (ErrorCode.NONE, 1, ())
    assert (reply.leader, stage.state) == ("a", STABLE)
    assert (stage.live.members["b"].session_timeout_ms, stage.due) == (SESSION, due)


@pytest.mark.parametrize(
    "changed", [{"sticky": b"m", "range": b"m"}, {"range": b"m", "sticky": b"M"}, {"range": b"m"}]
)
def test_another_order_or_other_bytes_rebalance(stage: ById, changed: dict[str, bytes]) -> None:
    both = {"range": b"m", "sticky": b"m"}
    for _ in range(2):
        stage.join(version=3, protocols=both)
    stage.fire(TimerKind.INITIAL_JOIN)
    stage.fire(TimerKind.INITIAL_JOIN)
    stage.sync_all()
    assert stage.waits(stage.join("m2", protocols=changed))
    assert stage.state is PREPARING


def test_the_leader_that_rejoins_rebalances_even_unchanged(stage: ById) -> None:
    stage.stable(a=None, b=None)
    assert stage.waits(stage.join("a"))
    assert stage.state is PREPARING


def test_unchanged_in_completing_rebalance_gets_the_generation_again_and_the_leader_its_list(
    stage: ById,
) -> None:
    leader, follower = stage.join(version=3), stage.join(version=3)
    stage.wait(2 * DELAY)
    assert stage.joined(stage.join("m1")) == stage.joined(leader)
    assert stage.joined(stage.join("m2")) == stage.joined(follower)
    assert stage.joined(leader).members != () == stage.joined(follower).members
    assert stage.waits(stage.join("m2", protocols={"range": b"other"}))
    assert stage.state is PREPARING


def test_of_two_joins_of_an_id_that_wait_the_first_is_never_answered(stage: ById) -> None:
    stage.stable(a=None, b=None)
    first, second = stage.join("a"), stage.join("a")
    stage.join("b")
    assert stage.waits(first)
    assert stage.joined(second).generation_id == 2


def test_of_two_syncs_of_an_id_that_wait_the_first_is_never_answered(stage: ById) -> None:
    stage.stable(a=None, b=None)
    stage.join("a")
    stage.join("b")
    first, second = stage.sync("b"), stage.sync("b")
    stage.sync("a", b=b"share")
    stage.stored()
    assert stage.waits(first)
    assert stage.synced(second).assignment == b"share"


# Leaving


def test_leave_below_v3_tells_its_error_at_the_top_level(stage: ById) -> None:
    stage.stable(a=None)
    assert stage.left(stage.leave("b", version=2)).error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_leave_from_v3_on_tells_each_member_its_own_in_order(stage: ById) -> None:
    absent = stage.left(stage.leave("a", "b"))
    assert absent.error_code is ErrorCode.NONE
    assert [one.error_code for one in absent.members] == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    stage.stable(a=None, b=None)
    reply = stage.left(stage.leave("nobody", "a"))
    assert (reply.error_code, [one.member_id for one in reply.members]) == (ErrorCode.NONE, ["nobody", "a"])
    assert [one.error_code for one in reply.members] == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    nobody = stage.left(stage.leave())
    assert (nobody.error_code, nobody.members) == (ErrorCode.NONE, ())


def test_leave_by_instance_id_with_an_empty_member_id_removes(stage: ById) -> None:
    stage.stable(a="i", b="j")
    (outcome,) = stage.left(stage.leave(("", "i"))).members
    assert (outcome.error_code, outcome.member_id, set(stage.live.members)) == (ErrorCode.NONE, "", {"b"})


def test_leave_with_a_wrong_id_and_a_known_instance_is_fenced(stage: ById) -> None:
    stage.stable(a="i", b="j")
    (outcome,) = stage.left(stage.leave(("b", "i"))).members
    assert (outcome.error_code, len(stage.live.members)) == (ErrorCode.FENCED_INSTANCE_ID, 2)


@pytest.mark.parametrize("name", [("b", None), ("b", "j"), ("", "j")])
def test_of_a_name_that_leaves_twice_the_second_is_unknown(stage: ById, name: tuple[str, str]) -> None:
    stage.stable(a="i", b="j")
    outcomes = stage.left(stage.leave(name, name)).members
    assert [one.error_code for one in outcomes] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]


def test_leave_in_preparing_rebalance_can_complete_the_phase(stage: ById) -> None:
    stage.stable(a=None, b=None)
    again = stage.join("a")
    stage.leave("b")
    assert stage.joined(again).generation_id == 2


def test_leave_in_completing_rebalance_starts_again_and_waiting_syncs_are_told(stage: ById) -> None:
    stage.stable(a=None, b=None, c=None)
    for member_id in "abc":
        stage.join(member_id)
    waiting = stage.sync("b")
    stage.leave("c")
    assert stage.state is PREPARING
    assert stage.synced(waiting).error_code is ErrorCode.REBALANCE_IN_PROGRESS


# Timeouts


def test_the_join_phase_ends_at_the_largest_rebalance_timeout(stage: ById) -> None:
    stage.join(version=3, rebalance=20_000)
    stage.join(version=0, session=40_000)
    stage.wait(2 * DELAY)
    stage.sync_all()
    begun, again = stage.now, stage.join("m1", rebalance=20_000)
    stage.wait(begun + 39_999)
    assert stage.waits(again)
    stage.wait(begun + 40_000)
    assert stage.joined(again).generation_id == 2


def test_missing_the_sync_for_a_rebalance_timeout_drops_members_though_they_heartbeat(
    stage: ById,
) -> None:
    stage.stable(a=None, b=None)
    stage.join("a")
    stage.join("b")
    waiting, begun = stage.sync("b"), stage.now
    stage.wait(begun + REBALANCE - 1)
    assert stage.heartbeat("a") is ErrorCode.NONE
    stage.wait(begun + REBALANCE)
    assert stage.synced(waiting).error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert (set(stage.live.members), stage.state) == ({"b"}, PREPARING)


@pytest.mark.parametrize("rebalance", [0, -1])
def test_with_no_rebalance_timeout_a_member_is_admitted_and_dropped_at_once(
    stage: ById, rebalance: int
) -> None:
    first = stage.join(version=3, rebalance=rebalance)
    stage.wait(DELAY)
    assert stage.joined(first).generation_id == 1
    assert (stage.state, stage.live.generation_id) == (EMPTY, 2)


def test_a_new_member_that_waits_is_not_expired_by_its_session(stage: ById) -> None:
    stage.stable(a=None)
    waiting = stage.join(version=3, session=6_000)
    stage.wait(stage.now + 30_000)
    assert stage.waits(waiting)
    assert "m1" in stage.live.members


def test_a_newcomer_in_a_window_adds_a_whole_window() -> None:
    stage = ById(group_initial_rebalance_delay_ms=1_000)
    first = stage.join(version=3)
    stage.wait(500)
    stage.join(version=3)
    stage.wait(1_600)
    stage.join(version=3)
    stage.wait(2_999)
    assert stage.waits(first)
    stage.wait(3_000)
    assert len(stage.joined(first).members) == 3


@pytest.mark.parametrize(("rebalance", "end"), [(1_800, 1_800), (500, 1_000)])
def test_the_initial_delay_is_capped_by_the_rebalance_timeout_but_not_its_first_window(
    rebalance: int, end: int
) -> None:
    stage = ById(group_initial_rebalance_delay_ms=1_000)
    first = stage.join(version=3, rebalance=rebalance)
    stage.wait(500)
    stage.join(version=3, rebalance=rebalance)
    stage.wait(end - 1)
    assert stage.waits(first)
    stage.wait(end)
    assert not stage.waits(first)


def test_the_initial_delay_comes_again_after_the_group_has_emptied(stage: ById) -> None:
    stage.stable(a=None)
    stage.leave("a")
    begun, again = stage.now, stage.join(version=3)
    stage.wait(begun + DELAY - 1)
    assert stage.waits(again)
    stage.wait(begun + DELAY)
    assert not stage.waits(again)


def test_the_only_member_leaves_during_the_delay_and_nobody_is_left_until_it_is_over(
    stage: ById,
) -> None:
    first = stage.join(version=3)
    stage.leave("m1")
    assert stage.joined(first) == JoinGroupReply(ErrorCode.UNKNOWN_MEMBER_ID, member_id="", protocol_name="")
    assert (stage.state, len(stage.live.members)) == (PREPARING, 0)
    stage.wait(DELAY)
    assert stage.state is EMPTY
