"""A group that is read from the log, and one that is given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.kernel import FrozenMap
from rota.spec import (
    PROFILES,
    BrokerConfig,
    Call,
    Cancel,
    ErrorCode,
    Group,
    GroupRecord,
    GroupState,
    HeartbeatReply,
    HeartbeatRequest,
    InitialJoin,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    Member,
    MemberRecord,
    ProtocolMetadata,
    RecordKind,
    Reply,
    Step,
    SyncGroupReply,
    Timer,
    TimerKind,
    classic,
)
from rota.spec.effects import timer

SPEC = classic()
BOTH = (ProtocolMetadata("range", b"r"), ProtocolMetadata("sticky", b"s"))

RECORD = GroupRecord(
    generation_id=4,
    protocol_type="consumer",
    protocol_name="sticky",
    leader="m2",
    members=(
        MemberRecord("m1", b"a1", b"s1", "host-1", 60_000, 10_000),
        MemberRecord("m2", b"a2", b"s2", None, -1, 20_000),
    ),
)


def only(steps: tuple[Step, ...]) -> Step:
    (step,) = steps
    return step


def test_members_come_back_with_the_protocol_that_was_chosen() -> None:
    step = only(SPEC.load(RECORD))
    assert step.live == Group(
        state=GroupState.STABLE,
        generation_id=4,
        protocol_type="consumer",
        protocol_name="sticky",
        leader="m2",
        members=FrozenMap(
            {
                "m1": Member(
                    60_000, 10_000, (ProtocolMetadata("sticky", b"s1"),), b"a1", None, None, False, "host-1"
                ),
                "m2": Member(20_000, 20_000, (ProtocolMetadata("sticky", b"s2"),), b"a2"),
            }
        ),
        subscriptions=(b"s1", b"s2"),
    )
    assert [(t.timer, t.delay_ms) for t in step.timers if not isinstance(t, Cancel)] == [
        (timer(TimerKind.SESSION, "m1"), 10_000),
        (timer(TimerKind.SESSION, "m2"), 20_000),
    ]
    assert step.rules == ("loading.load",)


def test_without_a_record_there_is_no_group() -> None:
    assert only(SPEC.load(None)) == Step(None, rules=("loading.load",))


@pytest.mark.parametrize(("profile", "writes"), [("kafka-4.x", True), ("kafka-3.x", False)])
def test_what_comes_back_of_a_first_join_phase(profile: str, writes: bool) -> None:
    """An Empty group of generation 0 where the creation is written, else nothing; the id is lost in both."""
    spec = classic(profile=PROFILES[profile])
    request = JoinGroupRequest("g", 10_000, 60_000, "", "consumer", BOTH)
    created = only(spec.handle(None, Call(request, "a", 9, "m1")))
    assert [record.kind for record in created.records] == [RecordKind.CREATION] * writes
    loaded = only(spec.load(created.records[-1] if writes else None))
    assert loaded.group == (Group() if writes else None)
    again = only(spec.handle(loaded.group, Call(replace(request, member_id="m1"), "a", 9)))
    assert again.replies[0].message == JoinGroupReply(ErrorCode.UNKNOWN_MEMBER_ID, member_id="m1")


def test_an_empty_group_comes_back_empty() -> None:
    record = GroupRecord(5, "consumer", None, None, kind=RecordKind.EMPTIED)
    group = only(SPEC.load(record)).live
    assert (group.state, group.generation_id, group.protocol_type) == (GroupState.EMPTY, 5, "consumer")
    assert group.subscriptions == ()
    assert only(SPEC.load(replace(record, protocol_type="other"))).live.subscriptions is None


def test_members_of_the_lost_generation_go_on_in_the_one_that_was_stored() -> None:
    group = only(SPEC.load(RECORD)).live
    lost, stored = (Call(HeartbeatRequest("g", n, "m2"), "a", 4) for n in (5, 4))
    assert only(SPEC.handle(group, lost)).replies[0].message == HeartbeatReply(ErrorCode.ILLEGAL_GENERATION)
    assert only(SPEC.handle(group, stored)).replies[0].message == HeartbeatReply(ErrorCode.NONE)


def test_the_first_rejoin_with_a_longer_list_is_a_change() -> None:
    group = only(SPEC.load(RECORD)).live
    request = JoinGroupRequest("g", 10_000, 60_000, "m1", "consumer", BOTH, "host-1")
    step = only(SPEC.handle(group, Call(request, "a", 9)))
    assert step.live.state is GroupState.PREPARING_REBALANCE


def test_newcomers_must_support_the_protocol_that_was_chosen() -> None:
    """The members' other protocols are not written, so nobody can say that all support them."""
    group = only(SPEC.load(RECORD)).live
    request = JoinGroupRequest("g", 10_000, 60_000, "", "consumer", (ProtocolMetadata("range"),))
    step = only(SPEC.handle(group, Call(request, "a", 9, "m3")))
    assert step.replies[0].message == JoinGroupReply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@pytest.mark.parametrize(("limit", "state"), [(1, GroupState.PREPARING_REBALANCE), (2, GroupState.STABLE)])
def test_a_group_over_the_limit_rebalances_at_once(limit: int, state: GroupState) -> None:
    step = only(classic(BrokerConfig(group_max_size=limit)).load(RECORD))
    assert step.live.state is state
    assert set(step.live.members) == {"m1", "m2"}
    assert ("loading.over-capacity" in step.rules) == (limit == 1)


def test_brokers_before_the_size_limit_know_no_limit() -> None:
    step = only(classic(BrokerConfig(group_max_size=1), profile=PROFILES["kafka-2.1"]).load(RECORD))
    assert step.live.state is GroupState.STABLE


def parked(state: GroupState, **who: Member) -> Group:
    return Group(state, 4, "consumer", "sticky", min(who), FrozenMap(who))


def member(**what: object) -> Member:
    return replace(Member(60_000, 10_000, BOTH), **what)  # type: ignore[arg-type]


def test_parked_joins_are_told_with_their_id() -> None:
    group = parked(
        GroupState.PREPARING_REBALANCE, m1=member(awaiting_join="a"), m2=member(), m3=member(awaiting_join="")
    )
    step = only(SPEC.unload(group, ()))
    told = [
        Reply(to, JoinGroupReply(ErrorCode.NOT_COORDINATOR, member_id=i))
        for to, i in (("a", "m1"), ("", "m3"))
    ]
    assert (step.group, list(step.replies), step.records) == (None, told, ())


def test_parked_syncs_are_told() -> None:
    group = parked(GroupState.COMPLETING_REBALANCE, m1=member(awaiting_sync="a"), m2=member())
    step = only(SPEC.unload(group, ()))
    assert (step.group, step.replies) == (None, (Reply("a", SyncGroupReply(ErrorCode.NOT_COORDINATOR)),))


def test_all_timers_stop() -> None:
    group = replace(
        parked(GroupState.PREPARING_REBALANCE, m1=member(awaiting_join="a", is_new=True)),
        pending=frozenset({"m2"}),
        initial_join=InitialJoin(3_000, 0),
    )
    step = only(SPEC.unload(group, ()))
    armed = {Timer("initial_join"), Timer("new_member", "m1"), Timer("pending", "m2")}
    assert armed <= {effect.timer for effect in step.timers if isinstance(effect, Cancel)}
    assert len(step.timers) == len([effect for effect in step.timers if isinstance(effect, Cancel)])


def test_there_may_be_no_group_to_give_up() -> None:
    assert only(SPEC.unload(None, ())) == Step(None, rules=("loading.unload",))


def test_a_leave_that_waits_for_its_record_is_told_in_one_word() -> None:
    waiting = Reply("a", LeaveGroupReply(ErrorCode.NONE))
    record = GroupRecord(5, "consumer", None, None, kind=RecordKind.EMPTIED, answer=waiting)
    step = only(SPEC.unload(Group(generation_id=5, protocol_type="consumer"), (record,)))
    assert step.replies == (Reply("a", LeaveGroupReply(ErrorCode.NOT_COORDINATOR)),)
    assert step.rules == ("persistence.emptied-failed", "loading.unload")


def test_a_parked_sync_is_told_once_though_its_assignment_is_in_flight() -> None:
    group = parked(GroupState.COMPLETING_REBALANCE, m1=member(awaiting_sync="a"))
    record = GroupRecord(4, "consumer", "sticky", "m1", (MemberRecord("m1", b"x"),))
    step = only(SPEC.unload(group, (record,)))
    assert step.replies == (Reply("a", SyncGroupReply(ErrorCode.NOT_COORDINATOR)),)
