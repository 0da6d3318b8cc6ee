"""Every switch of a profile is read by a rule; those of the membership are shown on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

import rota.spec
from harness.by_id import DELAY, REBALANCE, SESSION, ById
from rota.spec import KAFKA_4, PROFILES, ErrorCode, GroupState, Profile, RecordKind, TimerKind
from rota.spec.effects import timer
from rota.spec.vocabulary import AppendError

SOURCES = {str(path): path.read_text() for path in Path(rota.spec.__path__[0]).rglob("*.py")}
DESCRIPTIONS = {"name", "title", "versions", "omitted"}
SWITCHES = [field.name for field in fields(Profile) if field.name not in DESCRIPTIONS]

PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
STABLE, EMPTY = GroupState.STABLE, GroupState.EMPTY


def reads(sources: dict[str, str], switch: str) -> list[str]:
    """The modules with rules that read a switch."""
    return [
        name
        for name, text in sources.items()
        if f"profile.{switch}" in text and not name.endswith("profiles.py")
    ]


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_rule_reads_the_switch(switch: str) -> None:
    assert reads(SOURCES, switch)


def test_a_switch_that_nothing_reads_is_noticed() -> None:
    unread = {name: text.replace("profile.sync_timer", "profile.other") for name, text in SOURCES.items()}
    assert reads(unread, "sync_timer") == []


@pytest.mark.parametrize("switch", SWITCHES)
def test_the_switch_is_described_and_some_profile_differs_in_it(switch: str) -> None:
    assert f"{switch}" in (Profile.__doc__ or "")
    assert len({getattr(profile, switch) for profile in PROFILES.values()}) > 1


def of(switch: str, value: object) -> Callable[..., ById]:
    """A stage under the newest profile with one switch set."""

    def make(**config: int) -> ById:
        return ById(replace(KAFKA_4, **{switch: value}), **config)  # type: ignore[arg-type]

    return make


@pytest.mark.parametrize("on", [True, False])
def test_member_id_handshake(on: bool) -> None:
    stage = of("member_id_handshake", on)()
    address = stage.join(version=9)
    assert stage.waits(address) is not on
    assert bool(stage.live.pending) is on


@pytest.mark.parametrize("on", [True, False])
def test_size_limit(on: bool) -> None:
    stage = of("size_limit", on)(group_max_size=1)
    stage.stable(a=None)
    assert stage.waits(stage.join(version=3)) is not on


@pytest.mark.parametrize("on", [True, False])
def test_new_member_timer(on: bool) -> None:
    """Without it a parked newcomer is kept by its request alone, however long it is silent."""
    stage = of("new_member_timer", on)(group_initial_rebalance_delay_ms=600_000)
    first = stage.join(version=3, rebalance=900_000)
    assert (timer(TimerKind.NEW_MEMBER, "m1") in stage.due) is on
    assert stage.heartbeat("m1") is ErrorCode.REBALANCE_IN_PROGRESS
    stage.wait(500_000, keep_alive=False)
    assert stage.waits(first) is not on


@pytest.mark.parametrize("on", [True, False])
def test_new_member_timer_and_what_a_removed_member_is_told(on: bool) -> None:
    stage = of("new_member_timer", on)()
    stage.stable(a=None, b=None)
    again = stage.join("a")
    stage.leave("a")
    assert stage.waits(again) is not on


@pytest.mark.parametrize("on", [True, False])
def test_heartbeats_while_completing(on: bool) -> None:
    stage = of("heartbeats_while_completing", on)()
    stage.join(version=3)
    stage.wait(DELAY)
    due = dict(stage.due)
    stage.now += 1
    told = ErrorCode.NONE if on else ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.heartbeat("m1") is told
    assert (stage.due == due) is not on
    assert stage.heartbeat("m1", generation=7) is (ErrorCode.ILLEGAL_GENERATION if on else told)
    assert stage.heartbeat("nobody") is ErrorCode.UNKNOWN_MEMBER_ID
    stage.sync_all()
    assert stage.heartbeat("m1") is ErrorCode.NONE
    assert stage.heartbeat("m1", generation=7) is ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize("on", [True, False])
def test_rejoin_sets_timeouts(on: bool) -> None:
    stage = of("rejoin_sets_timeouts", on)()
    stage.stable(a=None, b=None)
    stage.join("a", session=20_000, rebalance=1)
    member = stage.live.members["a"]
    expected = (20_000, 1) if on else (SESSION, REBALANCE)
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == expected


@pytest.mark.parametrize("on", [True, False])
def test_sync_timer(on: bool) -> None:
    stage = of("sync_timer", on)()
    stage.join(version=3)
    stage.wait(DELAY)
    assert (timer(TimerKind.SYNC) in stage.due, stage.live.pending_sync) == (on, {"m1"} if on else set())
    stage.wait(DELAY + REBALANCE)
    assert stage.state is (EMPTY if on else COMPLETING)
    if not on:
        stage.sync_all()


@pytest.mark.parametrize("fits", [True, False])
def test_unnamed_protocol_fits(fits: bool) -> None:
    stage = of("unnamed_protocol_fits", fits)()
    stage.join(version=3)
    error = stage.synced(stage.sync("m1", version=5, name="range")).error_code
    assert error is (ErrorCode.REBALANCE_IN_PROGRESS if fits else ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert stage.synced(stage.sync("m1", version=4)).error_code is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("on", [True, False])
def test_sync_restarts_session(on: bool) -> None:
    stage = of("sync_restarts_session", on)()
    stage.stable(a=None)
    begun = stage.now
    stage.now += 1_000
    stage.sync("a")
    assert stage.due[timer(TimerKind.SESSION, "a")] == begun + SESSION + 1_000 * on


@pytest.mark.parametrize("on", [True, False])
def test_pending_leave_rebalances(on: bool) -> None:
    stage = of("pending_leave_rebalances", on)()
    stage.stable(a=None)
    stage.join(session=SESSION)
    stage.leave("m1")
    assert stage.state is (PREPARING if on else STABLE)


@pytest.mark.parametrize("on", [True, False])
def test_a_pending_leave_may_complete_a_phase_in_either_case(on: bool) -> None:
    stage = of("pending_leave_rebalances", on)()
    stage.stable(a=None)
    stage.join(session=SESSION)
    again = stage.join("a")
    stage.leave("m1")
    assert stage.joined(again).generation_id == 2


@pytest.mark.parametrize("on", [True, False])
def test_leaves_one_by_one(on: bool) -> None:
    """Who is named last may be answered a JoinGroup first, and is removed then."""
    stage = of("leaves_one_by_one", on)()
    stage.stable(a=None, b=None, c=None)
    stage.join("a")
    again = stage.join("b")
    stage.leave("c", "b")
    reply = stage.joined(again)
    assert (reply.error_code, reply.generation_id) == (
        (ErrorCode.NONE, 2) if on else (ErrorCode.UNKNOWN_MEMBER_ID, -1)
    )
    assert set(stage.live.members) == {"a"}
    assert (stage.state, stage.live.generation_id) == ((PREPARING, 2) if on else (COMPLETING, 2))


def test_one_by_one_a_batch_may_empty_the_group_twice_over() -> None:
    stage = ById(PROFILES["kafka-3.x"])
    stage.stable(a=None, b=None)
    outcomes = stage.left(stage.leave("a", "b", "a")).members
    assert [one.error_code for one in outcomes] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert (stage.state, stage.live.generation_id) == (EMPTY, 2)


@pytest.mark.parametrize("on", [True, False])
def test_refusal_completes_phase(on: bool) -> None:
    stage = of("refusal_completes_phase", on)(group_max_size=2)
    stage.stable(a=None, b=None)
    again = stage.join("a")
    stage.join(version=3)
    stage.join("b")
    assert stage.waits(again) is not on


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("kind", [TimerKind.PENDING, TimerKind.NEW_MEMBER])
def test_expiry_ends_initial_delay(on: bool, kind: TimerKind) -> None:
    stage = of("expiry_ends_initial_delay", on)()
    first = stage.join(version=3)
    stage.join(version=9 if kind is TimerKind.PENDING else 3)
    stage.fire(kind, "m2")
    assert stage.waits(first) is not on
    while stage.waits(first):
        stage.fire(TimerKind.INITIAL_JOIN)
    assert stage.joined(first).generation_id == 1


@pytest.mark.parametrize("on", [True, False])
def test_extends_first_generation_only(on: bool) -> None:
    stage = of("extends_first_generation_only", on)()
    stage.stable(a=None)
    stage.leave("a")
    begun, first = stage.now, stage.join(version=3)
    stage.join(version=3)
    stage.wait(begun + DELAY)
    assert stage.waits(first) is not on


@pytest.mark.parametrize("on", [True, False])
def test_extends_first_generation_only_and_in_it_always(on: bool) -> None:
    stage = of("extends_first_generation_only", on)()
    first = stage.join(version=3)
    stage.join(version=3)
    stage.wait(DELAY)
    assert stage.waits(first)


@pytest.mark.parametrize("on", [True, False])
def test_replaced_member_stays_new(on: bool) -> None:
    """If so its parked JoinGroup runs out with the former session timeout."""
    stage = of("replaced_member_stays_new", on)(group_initial_rebalance_delay_ms=60_000)
    stage.join(instance="i", session=7_000)
    again = stage.join(instance="i", session=20_000)
    kind = TimerKind.NEW_MEMBER if on else TimerKind.SESSION
    assert stage.due[timer(kind, "m2")] == 7_000
    stage.wait(8_000, keep_alive=False)
    assert stage.waits(again) is not on


@pytest.mark.parametrize("on", [True, False])
def test_failed_replacement_keeps_protocols(on: bool) -> None:
    """If so the former id that joins with the new list is unchanged."""
    stage = of("failed_replacement_keeps_protocols", on)()
    stage.stable(a="i", b="j")
    stage.join(instance="j", protocols={"range": b"new"})
    stage.stored(AppendError.NOT_ENOUGH_REPLICAS)
    again = stage.join("b", "j", protocols={"range": b"new"})
    assert stage.waits(again) is not on


@pytest.mark.parametrize("told", [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.REBALANCE_IN_PROGRESS])
def test_append_timeout_told(told: ErrorCode) -> None:
    stage = of("append_timeout_error", told)()
    stage.stable(a="i")
    stage.join("a")
    waiting = stage.sync("a")
    stage.stored(AppendError.REQUEST_TIMED_OUT)
    assert stage.synced(waiting).error_code is told
    stage.join("a")
    stage.sync_all()
    again = stage.join(instance="i")
    stage.stored(AppendError.REQUEST_TIMED_OUT)
    assert stage.joined(again).error_code is told


@pytest.mark.parametrize("on", [True, False])
def test_creation_recorded(on: bool) -> None:
    stage = of("creation_recorded", on)()
    stage.join()
    assert [record.kind for record in stage.log] == [RecordKind.CREATION] * on


@pytest.mark.parametrize("on", [True, False])
def test_leave_waits_for_record(on: bool) -> None:
    stage = of("leave_waits_for_record", on)()
    stage.stable(a=None)
    address = stage.leave("a")
    assert stage.waits(address) is on
    (record,) = stage.log
    assert (record.kind, record.answer is None) == (RecordKind.EMPTIED, not on)
