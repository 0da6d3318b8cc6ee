"""What refutes a claim about time happens in the spec, with the very figures of the counterexample."""

from __future__ import annotations

from typing import Any

import pytest

from harness.by_id import ById
from rota.proofs import prove, select
from rota.spec import ErrorCode, GroupState, Profile, TimerKind
from rota.spec.effects import timer
from rota.spec.profiles import KAFKA_3, KAFKA_4

INITIAL = timer(TimerKind.INITIAL_JOIN)


def figures(name: str) -> dict[str, Any]:
    (obligation,) = select([f"timers.{name}"])
    example = prove(obligation).counterexample
    assert example is not None
    assert list(example.as_lines())
    return example.as_json()


def stage(delay: int = 0, profile: Profile = KAFKA_4, **config: int) -> ById:
    return ById(profile, group_min_session_timeout_ms=1, group_initial_rebalance_delay_ms=delay, **config)


def test_the_delay_may_be_longer_than_the_rebalance_timeout() -> None:
    of = figures("initial.within-rebalance-timeout")
    on = stage(of["delay"])
    on.join(rebalance=of["rebalance_timeout"], version=3)
    on.fire(TimerKind.INITIAL_JOIN)
    assert on.state is GroupState.COMPLETING_REBALANCE
    assert on.now == of["spent"] > of["rebalance_timeout"]


def test_with_no_delay_newcomers_spend_nothing() -> None:
    of = figures("initial.ends-without-delay")
    on = stage(of["delay"])
    on.join(rebalance=of["remaining"], version=3)
    for _ in range(3):
        on.join(version=3)
        on.fire(TimerKind.INITIAL_JOIN)
        initial = on.live.initial_join
        assert initial is not None
        assert (on.now, initial.remaining_ms) == (0, of["after"])
    on.fire(TimerKind.INITIAL_JOIN)
    assert on.state is GroupState.COMPLETING_REBALANCE


def test_a_newcomer_of_an_earlier_phase_lengthens_a_later_one() -> None:
    of = figures("initial.extended-for-newcomers")
    on = stage(of["delay"])
    for timeout in (of["first_timeout"], 1):
        on.join(rebalance=timeout, version=3)
    on.fire(TimerKind.INITIAL_JOIN)
    assert on.state is GroupState.COMPLETING_REBALANCE
    on.leave(*on.live.members)
    assert on.state is GroupState.EMPTY
    begun = on.now
    on.join(rebalance=of["timeout"], version=3)
    while INITIAL in on.due:
        on.fire(TimerKind.INITIAL_JOIN)
    assert on.now - begun == of["spent"] > of["delay"]


def test_a_newcomer_is_expired_though_its_join_is_parked() -> None:
    limit = figures("session.parked-stay")["new_member_timeout"]
    on = stage(limit + 1, new_member_join_timeout_ms=limit)
    address = on.join(version=3)
    on.wait(limit)
    assert on.joined(address).error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert not on.live.members


def restarted(on: ById, former: int, asked: int) -> str:
    """A static member is alone in a Stable group and restarts; returns the address of its JoinGroup."""
    on.join(instance="i", session=former)
    on.fire(TimerKind.INITIAL_JOIN)
    on.sync_all()
    return on.join(instance="i", session=asked)


def test_a_restarted_member_has_its_former_timeout() -> None:
    of = figures("session.timeout-of-now")
    on = stage()
    address = restarted(on, of["former"], of["asked"])
    since = on.now
    on.stored()
    assert not on.waits(address)
    (member_id,) = on.live.members
    assert on.live.members[member_id].session_timeout_ms == of["asked"] < of["silent"]
    assert on.due[timer(TimerKind.SESSION, member_id)] == since + of["former"] >= since + of["silent"]


def test_a_late_log_leaves_a_member_without_a_timer() -> None:
    of = figures("session.stored-late")
    on = stage()
    address = restarted(on, of["session"], of["session"])
    (member_id,) = on.live.members
    on.fire(TimerKind.SESSION, member_id)
    on.stored()
    assert not on.waits(address)
    assert timer(TimerKind.SESSION, member_id) not in on.due
    assert list(on.live.members) == [member_id]
    on.heartbeat(member_id, "i")
    assert timer(TimerKind.SESSION, member_id) in on.due


@pytest.mark.parametrize(("profile", "waits"), [(KAFKA_4, True), (KAFKA_3, False)], ids=["java", "scala"])
def test_who_is_refused_opens_a_barrier_that_only_one_coordinator_looks_at(
    profile: Profile, waits: bool
) -> None:
    of = figures("barrier.refused")
    assert set(of["group"].split(", ")) == {of["waiting"], of["refused"]} == {"alice", "bob"}
    on = stage(profile=profile, group_max_size=2)
    on.stable(**{of["refused"]: None, of["waiting"]: None})
    parked = [on.join(of["waiting"], protocols={"range": b"changed"}), on.join(version=3)]
    assert on.waits(parked[0])
    refused = on.join(of["refused"], version=3)
    assert on.joined(refused).error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (set(on.live.awaiting_join) == set(on.live.members)) is waits
    assert [on.waits(address) for address in parked] == [waits, waits]
