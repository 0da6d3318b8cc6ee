"""Static members: whom a request may speak for, and what a restart does in every state."""

from __future__ import annotations

import pytest

from harness.by_id import REBALANCE, SESSION, ById
from rota.spec import ErrorCode, Group, GroupState, JoinGroupReply, RecordKind, SyncGroupReply, TimerKind
from rota.spec.classic.static import validate
from rota.spec.effects import timer
from rota.spec.vocabulary import AppendError

NONE, UNKNOWN, FENCED = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE

OTHER = {"range": b"other"}


def staged(**members: str | None) -> ById:
    stage = ById()
    stage.stable(**members)
    return stage


# Whom a request may speak for


@pytest.mark.parametrize(
    ("member_id", "instance", "error"),
    [
        ("a", "i", NONE),
        ("a", None, NONE),
        ("d", None, NONE),
        ("d", "i", FENCED),
        ("nobody", "i", FENCED),
        ("", "i", FENCED),
        ("a", "nobody's", UNKNOWN),
        ("d", "nobody's", UNKNOWN),
        ("nobody", None, UNKNOWN),
        ("", None, UNKNOWN),
    ],
)
def test_validate(member_id: str, instance: str | None, error: ErrorCode) -> None:
    stage = staged(a="i", d=None)
    assert validate(stage.live, member_id, instance) is error
    assert validate(None, member_id, instance) is UNKNOWN
    if member_id:
        asked = stage.join(member_id, instance, protocols=OTHER)
        assert stage.waits(asked) if error is NONE else stage.joined(asked).error_code is error


@pytest.mark.parametrize(
    ("member_id", "instance", "error"),
    [("a", "i", NONE), ("a", None, NONE), ("d", "i", FENCED), ("", "i", FENCED), ("a", "nobody's", UNKNOWN)],
)
def test_sync_and_heartbeat_ask_it(member_id: str, instance: str | None, error: ErrorCode) -> None:
    stage = staged(a="i", d=None)
    assert stage.heartbeat(member_id, instance) is error
    assert stage.synced(stage.sync(member_id, instance)).error_code is error


@pytest.mark.parametrize(
    ("member_id", "instance", "error"),
    [
        ("a", "i", NONE),
        ("a", None, NONE),
        ("", "i", NONE),
        ("d", "i", FENCED),
        ("", "nobody's", UNKNOWN),
        ("", None, UNKNOWN),
        ("a", "nobody's", UNKNOWN),
    ],
)
def test_leave_asks_it_but_for_an_instance_id_alone(
    member_id: str, instance: str | None, error: ErrorCode
) -> None:
    stage = staged(a="i", d=None)
    (outcome,) = stage.left(stage.leave((member_id, instance))).members
    assert (outcome.error_code, outcome.member_id, outcome.group_instance_id) == (error, member_id, instance)
    assert ("a" in stage.live.members) is (error is not NONE)
    assert stage.state is (STABLE if error is not NONE else PREPARING)


def test_fenced_is_looked_at_before_the_generation() -> None:
    stage = staged(a="i", d=None)
    assert stage.heartbeat("d", "i", generation=7) is FENCED
    assert stage.synced(stage.sync("d", "i", generation=7)).error_code is FENCED
    assert stage.heartbeat("a", "i", generation=7) is ErrorCode.ILLEGAL_GENERATION


def test_no_check_that_fails_touches_a_timer() -> None:
    stage = staged(a="i", d=None)
    stage.now += 5
    due = dict(stage.due)
    stage.heartbeat("d", "i")
    stage.sync("d", "i")
    stage.join("d", "i")
    assert stage.due == due


def test_a_pending_id_cannot_become_a_static_members_and_stays_pending() -> None:
    stage = ById()
    stage.join()
    reply = stage.joined(stage.join("m1", "i"))
    assert (reply.error_code, reply.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")
    assert stage.live.pending == {"m1"}
    assert stage.waits(stage.join("m1"))


def test_a_static_newcomer_extends_the_initial_delay_a_restart_does_not() -> None:
    stage = ById()
    stage.join(instance="i")
    stage.join(instance="i")
    assert not stage.live.new_member_added
    stage.join(instance="j")
    assert stage.live.new_member_added


# A restart in every state


def test_what_a_replaced_member_keeps_and_what_it_brings() -> None:
    stage = staged(a="i", b="j")
    stage.now = 1_000
    stage.join(instance="i", protocols={"range": b"new", "sticky": b""}, session=20_000, rebalance=90_000)
    member = stage.live.members["m1"]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (20_000, 90_000)
    assert (member.names, member.assignment) == (("range", "sticky"), b"A")
    assert stage.live.leader == "m1"
    assert stage.due[timer(TimerKind.SESSION, "m1")] == 1_000 + SESSION, "the former timeout"
    assert timer(TimerKind.SESSION, "a") not in stage.due
    stage.stored()
    stage.heartbeat("m1")
    assert stage.due[timer(TimerKind.SESSION, "m1")] == 1_000 + 20_000


def test_the_record_of_a_replacement_has_the_new_id_and_the_assignments() -> None:
    stage = staged(a="i", b="j")
    stage.join(instance="j", protocols=OTHER, session=20_000)
    (record,) = stage.log
    assert (record.kind, record.generation_id, record.leader) == (RecordKind.REPLACEMENT, 1, "a")
    line = next(member for member in record.members if member.group_instance_id == "j")
    assert (line.member_id, line.assignment, line.subscription) == ("m1", b"B", b"other")
    assert line.session_timeout_ms == 20_000


def test_while_preparing_the_last_one_missing_opens_the_barrier() -> None:
    stage = staged(a="i", b="j")
    waiting = stage.join("a", "i")
    again = stage.join(instance="j")
    assert stage.joined(waiting).generation_id == stage.joined(again).generation_id == 2
    assert {line.member_id for line in stage.joined(waiting).members} == {"a", "m1"}


def test_while_completing_a_member_that_is_alone_rebalances_at_once() -> None:
    stage = staged(a="i")
    stage.join("a", "i")
    reply = stage.joined(stage.join(instance="i"))
    assert (reply.generation_id, reply.leader, stage.state) == (3, "m1", COMPLETING)


def two_lists(stage: ById) -> None:
    """Stable with `range`: two of three votes, one for `sticky`."""
    for names in (["range", "sticky"], ["range", "sticky"], ["sticky", "range"]):
        stage.join(instance=f"i{len(names)}{stage.now}", protocols=names)
        stage.now += 1
    while stage.state is PREPARING:
        stage.fire(TimerKind.INITIAL_JOIN)
    assert stage.live.protocol_name == "range"
    stage.sync_all()


def test_in_stable_a_changed_vote_rebalances() -> None:
    stage = ById()
    two_lists(stage)
    again = stage.join(instance="i20", protocols=["sticky", "range"])
    assert stage.waits(again)
    assert (stage.state, stage.log, len(stage.outcomes)) == (PREPARING, [], 1)


def test_in_stable_a_tied_vote_may_or_may_not_rebalance() -> None:
    stage = ById()
    for instance in "ij":
        stage.join(instance=instance, protocols=["range", "sticky"])
    while stage.state is PREPARING:
        stage.fire(TimerKind.INITIAL_JOIN)
    stage.sync_all()
    stage.join(instance="j", protocols=["sticky", "range"])
    assert {step.live.state for step in stage.outcomes} == {STABLE, PREPARING}
    assert {bool(step.records) for step in stage.outcomes} == {True, False}


def test_a_former_id_that_had_not_synced_still_must_and_ends_the_generation() -> None:
    """Everybody has synced, and yet the group rebalances when the sync timer is due."""
    stage = staged(a="i", b="j")
    stage.join("a", "i")
    stage.join("b", "j")
    stage.sync("a", "i")
    stage.stored()
    stage.join(instance="j")
    stage.stored()
    assert stage.synced(stage.sync("m1", "j")).error_code is NONE
    assert stage.live.pending_sync == {"b"}
    stage.fire(TimerKind.SYNC)
    assert (stage.state, set(stage.live.members)) == (PREPARING, {"a", "m1"})


# The log's answer


def test_a_replacement_is_answered_only_when_the_log_answers() -> None:
    stage = staged(a="i", b="j")
    again = stage.join(instance="j", version=9)
    assert stage.waits(again)
    stage.stored()
    assert stage.joined(again) == JoinGroupReply(
        NONE, 1, "consumer", "range", leader="a", skip_assignment=False, member_id="m1"
    )
    assert stage.live.members["m1"].awaiting_join is None


def test_the_answer_tells_what_the_group_is_by_then() -> None:
    """A rebalance is prepared and the leader has gone: the member learns of both, in the old generation."""
    stage = staged(a="i", b="j", c="k")
    again = stage.join(instance="j")
    stage.join(version=3)
    stage.on.chooses(leader="c")
    stage.leave(("", "i"))
    stage.stored()
    reply = stage.joined(again)
    assert (reply.generation_id, reply.leader, reply.skip_assignment) == (1, "c", False)
    assert stage.state is PREPARING
    assert stage.live.members["m1"].awaiting_join is None, "it must join again"


def test_who_leads_by_then_is_answered_only_when_the_rebalance_is_over() -> None:
    stage = staged(a="i", b="j", c="k")
    again = stage.join(instance="j")
    stage.join(version=3)
    stage.on.chooses(leader="m1")
    stage.leave(("", "i"))
    stage.stored()
    assert stage.waits(again)
    stage.join("c", "k")
    reply = stage.joined(again)
    assert (reply.generation_id, reply.leader, reply.skip_assignment) == (2, "m1", False)


def test_who_was_answered_by_a_join_phase_meanwhile_is_not_answered_again() -> None:
    stage = staged(a="i", b="j")
    again = stage.join(instance="j")
    stage.join("a", "i")
    assert stage.joined(again).generation_id == 2
    stage.stored()
    assert len(stage.told[again]) == 1


@pytest.mark.parametrize("error", [None, AppendError.NOT_ENOUGH_REPLICAS])
def test_who_has_gone_meanwhile_is_not_answered_and_not_brought_back(error: AppendError | None) -> None:
    stage = staged(a="i", b="j")
    again = stage.join(instance="j")
    stage.leave(("", "j"))
    group = stage.live
    stage.stored(error)
    assert [one.error_code for one in stage.told[again]] == [UNKNOWN]
    assert stage.live == group


@pytest.mark.parametrize("error", [None, AppendError.NOT_ENOUGH_REPLICAS])
def test_of_two_restarts_in_a_row_the_second_ones_record_answers(error: AppendError | None) -> None:
    stage = staged(a="i", b="j")
    first, second = stage.join(instance="j"), stage.join(instance="j")
    assert stage.joined(first) == JoinGroupReply(FENCED, member_id="m1")
    stage.stored(error)
    assert stage.waits(second)
    stage.stored()
    assert stage.joined(second).member_id == "m2"


def test_a_replacement_that_cannot_be_stored_is_undone() -> None:
    stage = staged(a="i", b="j")
    stage.now = 500
    before = stage.live
    again = stage.join(instance="i", protocols=OTHER, session=20_000, rebalance=1)
    stage.now = 900
    stage.stored(AppendError.NOT_ENOUGH_REPLICAS)
    assert stage.live == before
    assert stage.joined(again) == JoinGroupReply(
        ErrorCode.COORDINATOR_NOT_AVAILABLE, 1, "consumer", "range", leader="a", member_id=""
    )
    assert stage.due[timer(TimerKind.SESSION, "a")] == 900 + SESSION
    assert timer(TimerKind.SESSION, "m1") not in stage.due
    assert stage.heartbeat("a", "i") is NONE


def test_a_failure_that_comes_late_fences_the_living() -> None:
    """The member has been answered with a later generation and syncs in it: it is thrown out all the same."""
    stage = staged(a="i", b="j")
    stage.join(instance="j")
    stage.join("a", "i")
    waiting = stage.sync("m1", "j")
    stage.stored(AppendError.REQUEST_TIMED_OUT)
    assert stage.synced(waiting) == SyncGroupReply(FENCED)
    assert (set(stage.live.members), stage.state) == ({"a", "b"}, COMPLETING)


def test_a_failure_that_comes_later_still_leaves_a_join_unanswered() -> None:
    stage = staged(a="i", b="j")
    again = stage.join(instance="j")
    stage.join("a", "i")
    rejoined = stage.join("m1", "j", protocols=OTHER)
    assert stage.state is PREPARING
    stage.stored(AppendError.REQUEST_TIMED_OUT)
    assert len(stage.told[again]) == 1
    assert stage.waits(rejoined)
    assert stage.live.members["b"].awaiting_join is None


def test_a_session_that_runs_out_while_the_log_is_asked_is_not_started_anew() -> None:
    """The restarted member has no session until its first heartbeat."""
    stage = staged(a="i", b="j")
    stage.join(instance="j")
    stage.fire(TimerKind.SESSION, "m1")
    stage.stored()
    assert "m1" in stage.live.members
    assert timer(TimerKind.SESSION, "m1") not in stage.due
    stage.heartbeat("m1", "j")
    assert timer(TimerKind.SESSION, "m1") in stage.due


# Absent ones


def test_where_only_absent_static_members_are_left_the_join_phase_goes_on() -> None:
    stage = staged(a=None, b="j", c="k")
    stage.join("a", protocols=OTHER)
    stage.leave("a")
    assert (stage.state, set(stage.live.members)) == (PREPARING, {"b", "c"})
    begun = stage.now
    stage.wait(begun + REBALANCE)
    assert (stage.state, stage.live.generation_id) == (PREPARING, 1)
    assert stage.due[timer(TimerKind.JOIN)] == begun + 2 * REBALANCE
    stage.wait(begun + REBALANCE + SESSION, keep_alive=False)
    assert (stage.state, stage.live.generation_id) == (GroupState.EMPTY, 2)


def test_a_leader_that_is_dropped_then_hands_the_lead_to_an_absent_one() -> None:
    stage = staged(a=None, b="j", c="k")
    stage.join(version=3, session=SESSION)
    stage.leave("m1")
    assert stage.state is PREPARING
    stage.fire(TimerKind.JOIN)
    assert set(stage.live.members) == {"b", "c"}
    assert {step.live.leader for step in stage.outcomes} == {"b", "c"}


def test_an_absent_member_votes_has_a_session_and_must_sync_in_time() -> None:
    stage = staged(a=None, b="j")
    stage.join("a", protocols=OTHER)
    stage.fire(TimerKind.JOIN)
    ended = stage.now
    assert stage.live.pending_sync == {"a", "b"}
    assert stage.due[timer(TimerKind.SESSION, "b")] == ended + SESSION
    stage.sync("a", b=b"share")
    stage.stored()
    assert stage.heartbeat("b", "j", generation=1) is ErrorCode.ILLEGAL_GENERATION
    stage.wait(ended + REBALANCE)
    assert (set(stage.live.members), stage.state) == ({"a"}, PREPARING)


def test_a_group_without_members_has_no_holder() -> None:
    assert Group().holder("i") is None
    assert Group().holder(None) is None
