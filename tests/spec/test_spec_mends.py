"""Mends: both sides of each switch in which rota alone differs from Kafka, and that codes stay Kafka's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from harness.by_id import DELAY, ById
from rota.spec import KAFKA_4, MENDS, PROFILES, ROTA, ErrorCode, GroupState, Profile, TimerKind
from rota.spec.effects import timer
from rota.spec.vocabulary import AppendError

BOTH = pytest.mark.parametrize("mended", [True, False])


def of(switch: str, mended: bool) -> Callable[..., ById]:
    """A stage under the newest profile, with one mend or none."""

    def make(**config: int) -> ById:
        return ById(replace(KAFKA_4, **{switch: getattr(ROTA if mended else KAFKA_4, switch)}), **config)

    return make


def test_rota_is_kafka_with_mends() -> None:
    plain = {one.name: getattr(KAFKA_4, one.name) for one in fields(Profile)}
    named = {"name": ROTA.name, "title": ROTA.title}
    assert Profile(**{**plain, **MENDS, **named}) == ROTA == PROFILES["rota"]
    assert (ROTA.versions, ROTA.omitted) == (KAFKA_4.versions, KAFKA_4.omitted)
    assert all(isinstance(value, bool) and value is not plain[name] for name, value in MENDS.items())


@BOTH
def test_a_replaced_join_is_told_to_try_again(mended: bool) -> None:
    stage = of("answers_replaced", mended)()
    stage.stable(a=None, b=None)
    earlier = stage.join("a", protocols={"range": b"new"})
    later = stage.join("a", protocols={"range": b"new"})
    assert stage.waits(earlier) is not mended
    assert stage.waits(later)
    if mended:
        reply = stage.joined(earlier)
        told = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert (reply.error_code, reply.member_id, reply.generation_id) == (told, "a", -1)
    stage.join("b")
    assert stage.joined(later).error_code is ErrorCode.NONE


@BOTH
@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_replaced_sync_is_told_to_join_again(mended: bool, who: str) -> None:
    stage = of("answers_replaced", mended)()
    stage.stable(a=None, b=None)
    stage.join("a")
    stage.join("b")
    leader = str(stage.live.leader)
    member_id = leader if who == "leader" else next(iter({"a", "b"} - {leader}))
    earlier, later = stage.sync(member_id), stage.sync(member_id)
    assert stage.waits(earlier) is not mended
    assert stage.waits(later)
    if mended:
        assert stage.synced(earlier).error_code is ErrorCode.REBALANCE_IN_PROGRESS


@BOTH
def test_the_sync_of_a_removed_member_is_told_that_it_is_unknown(mended: bool) -> None:
    stage = of("answers_removed", mended)()
    stage.stable(a=None, b=None)
    stage.join("a")
    stage.join("b")
    follower = next(iter({"a", "b"} - {stage.live.leader}))
    waiting = stage.sync(follower)
    stage.leave(follower)
    assert stage.waits(waiting) is not mended
    if mended:
        assert stage.synced(waiting).error_code is ErrorCode.UNKNOWN_MEMBER_ID


@BOTH
def test_a_dead_id_owes_nothing(mended: bool) -> None:
    """The sync timer stops with it, if nobody else owes a SyncGroup."""
    stage = of("replaced_owes_sync", mended)()
    stage.stable(a="i", b="j")
    stage.join("a", "i")
    stage.join("b", "j")
    leader = str(stage.live.leader)
    other, instance = ("b", "j") if leader == "a" else ("a", "i")
    stage.sync(leader, "i" if leader == "a" else "j")
    stage.stored()
    assert stage.live.pending_sync == {other}
    stage.join(instance=instance)
    assert stage.live.pending_sync == (set() if mended else {other})
    assert (timer(TimerKind.SYNC) in stage.due) is not mended


@BOTH
def test_a_restart_that_fails_late_is_not_undone(mended: bool) -> None:
    """A newcomer makes a new generation before the log has answered; then the log fails."""
    stage = of("late_failure_undoes", mended)()
    stage.stable(a="i", b=None)
    again = stage.join(instance="i")
    stage.join(version=3)
    stage.join("b")
    fresh = stage.joined(again).member_id
    assert stage.live.generation_id == 2
    stage.stored(AppendError.NOT_ENOUGH_REPLICAS)
    assert stage.live.holder("i") == (fresh if mended else "a")
    told = ErrorCode.NONE if mended else ErrorCode.FENCED_INSTANCE_ID
    assert stage.heartbeat(fresh, "i") is told


@BOTH
def test_a_restart_that_fails_in_time_is_undone_all_the_same(mended: bool) -> None:
    stage = of("late_failure_undoes", mended)()
    stage.stable(a="i", b=None)
    again = stage.join(instance="i")
    stage.stored(AppendError.NOT_ENOUGH_REPLICAS)
    assert stage.joined(again).error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert stage.live.holder("i") == "a"


@BOTH
def test_a_newcomer_is_forgotten_with_the_delay(mended: bool) -> None:
    stage = of("newcomer_mark_stays", mended)()
    stage.join(version=3, rebalance=DELAY)
    stage.join(version=3, rebalance=DELAY)
    stage.fire(TimerKind.INITIAL_JOIN)
    assert stage.state is GroupState.COMPLETING_REBALANCE
    assert stage.live.new_member_added is not mended
    stage.leave("m1", "m2")
    alone = stage.join(version=3)
    stage.fire(TimerKind.INITIAL_JOIN)
    assert stage.waits(alone) is not mended
