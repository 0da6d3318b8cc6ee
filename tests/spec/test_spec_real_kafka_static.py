"""What running brokers of four versions were seen to do with static members, and with the size limit."""

from __future__ import annotations

import pytest

from harness.by_id import REBALANCE, ById
from rota.spec import PROFILES, ErrorCode, GroupState, JoinGroupReply, MemberMetadata, TimerKind
from rota.spec.effects import timer

JAVA, SCALA = "kafka-4.x", "kafka-3.x"
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
STABLE, EMPTY = GroupState.STABLE, GroupState.EMPTY


@pytest.fixture(params=[JAVA, SCALA])
def stage(request: pytest.FixtureRequest) -> ById:
    return ById(PROFILES[request.param])


# Static members


def test_a_restart_in_stable_with_the_same_protocol_has_a_new_id_and_no_rebalance(stage: ById) -> None:
    stage.stable(a="i", b="j")
    again = stage.join(instance="j")
    assert stage.waits(again)
    stage.stored()
    reply = stage.joined(again)
    assert (reply.member_id, reply.generation_id, stage.state) == ("m1", 1, STABLE)
    assert stage.synced(stage.sync("m1", "j")).assignment == b"B"
    assert stage.heartbeat("b", "j") is ErrorCode.FENCED_INSTANCE_ID
    assert stage.synced(stage.sync("b", "j")).error_code is ErrorCode.FENCED_INSTANCE_ID
    assert stage.joined(stage.join("b", "j")).error_code is ErrorCode.FENCED_INSTANCE_ID
    assert stage.heartbeat("b") is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("lists", [{"range": b"changed"}, {"range": b"m", "sticky": b"added"}])
def test_it_holds_even_when_metadata_changed_or_a_protocol_was_added(
    stage: ById, lists: dict[str, bytes]
) -> None:
    stage.stable(a="i", b="j")
    before = stage.live.subscriptions
    again = stage.join(instance="j", protocols=lists)
    stage.stored()
    assert (stage.joined(again).generation_id, stage.state) == (1, STABLE)
    assert stage.live.members["m1"].metadata("range") == lists["range"]
    assert stage.live.subscriptions == before


def test_a_leader_that_restarts_leads_under_its_new_id_and_skips_the_assignment(stage: ById) -> None:
    stage.stable(a="i", b="j")
    again = stage.join(instance="i", version=9)
    stage.stored()
    reply = stage.joined(again)
    assert (reply.leader, reply.member_id, reply.skip_assignment) == ("m1", "m1", True)
    assert set(reply.members) == {MemberMetadata("m1", b"m", "i"), MemberMetadata("b", b"m", "j")}


@pytest.mark.parametrize("version", [5, 8])
def test_below_v9_a_leader_that_restarts_is_told_its_old_dead_id_as_leader(stage: ById, version: int) -> None:
    stage.stable(a="i", b="j")
    again = stage.join(instance="i", version=version)
    stage.stored()
    reply = stage.joined(again)
    assert (reply.leader, reply.member_id, reply.skip_assignment) == ("a", "m1", False)
    assert reply.members == ()


def test_a_restart_in_completing_rebalance_begins_another_and_fences_the_waiting_sync(
    stage: ById,
) -> None:
    stage.stable(a="i", b="j")
    stage.join("a", "i")
    stage.join("b", "j")
    waiting, other = stage.sync("b", "j"), stage.sync("a", "i")
    assert stage.waits(stage.join(instance="j"))
    assert stage.state is PREPARING
    assert stage.synced(waiting).error_code is ErrorCode.FENCED_INSTANCE_ID
    assert stage.synced(other).error_code is ErrorCode.REBALANCE_IN_PROGRESS


def test_twice_in_preparing_rebalance_the_first_waiting_join_is_fenced(stage: ById) -> None:
    first = stage.join(instance="i")
    second = stage.join(instance="i")
    assert stage.joined(first) == JoinGroupReply(ErrorCode.FENCED_INSTANCE_ID, member_id="m1")
    assert stage.waits(second)
    stage.fire(TimerKind.INITIAL_JOIN)
    assert stage.joined(second).member_id == "m2"


def test_a_static_member_that_misses_the_rebalance_timeout_is_listed_without_having_rejoined(
    stage: ById,
) -> None:
    stage.stable(a=None, b="j")
    again = stage.join("a")
    stage.wait(stage.now + REBALANCE)
    reply = stage.joined(again)
    assert {line.member_id for line in reply.members} == {"a", "b"}
    assert stage.heartbeat("b", "j") is ErrorCode.NONE


def test_if_it_led_another_leads_and_dynamic_members_are_dropped(stage: ById) -> None:
    stage.stable(a="i", b=None, c=None)
    again = stage.join("b", protocols={"range": b"other"})
    stage.wait(stage.now + REBALANCE)
    assert (stage.joined(again).leader, set(stage.live.members)) == ("b", {"a", "b"})
    assert stage.heartbeat("c") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_members_id_without_its_instance_id_is_accepted(stage: ById) -> None:
    stage.stable(a="i")
    assert stage.heartbeat("a") is ErrorCode.NONE
    assert stage.synced(stage.sync("a")).error_code is ErrorCode.NONE
    assert [one.error_code for one in stage.left(stage.leave("a")).members] == [ErrorCode.NONE]


# Size limit


@pytest.fixture(params=[JAVA, SCALA])
def small(request: pytest.FixtureRequest) -> ById:
    return ById(PROFILES[request.param], group_max_size=2)


@pytest.mark.parametrize(("version", "instance"), [(3, None), (9, None), (9, "new")])
def test_full_and_stable_refuses_a_new_member_of_any_kind_at_the_first_step(
    small: ById, version: int, instance: str | None
) -> None:
    small.stable(a="i", b="j")
    reply = small.joined(small.join(instance=instance, version=version))
    assert (reply.error_code, reply.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")


def test_full_and_stable_refuses_a_static_members_restart_too(small: ById) -> None:
    small.stable(a="i", b="j")
    assert small.joined(small.join(instance="j")).error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert small.live.holder("j") == "b"


def test_while_preparing_new_members_can_push_out_old_ones_that_come_late(small: ById) -> None:
    small.stable(a=None, b=None)
    small.join("a")
    assert small.waits(small.join(version=3))
    reply = small.joined(small.join("b"))
    assert (reply.error_code, reply.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert set(small.live.members) == {"a", "m1"}


def test_a_member_that_waits_already_may_join_again(small: ById) -> None:
    small.stable(a=None, b=None)
    small.join("a")
    small.join(version=3)
    assert small.waits(small.join("a"))


def test_ids_that_were_handed_out_are_not_counted(small: ById) -> None:
    small.stable(a=None)
    for _ in range(3):
        assert small.joined(small.join()).error_code is ErrorCode.MEMBER_ID_REQUIRED


def test_an_id_that_was_handed_out_and_finds_the_group_full_is_forgotten(small: ById) -> None:
    small.stable(a=None)
    small.join()
    small.join(version=3)
    small.join("a")
    assert small.joined(small.join("m1")).error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (small.live.pending, timer(TimerKind.PENDING, "m1") in small.due) == (set(), False)


def test_a_leader_that_is_refused_for_size_hands_the_lead_on(small: ById) -> None:
    small.stable(a=None, b=None)
    small.join("b", protocols={"range": b"other"})
    small.join(version=3)
    small.join("a")
    assert {step.live.leader for step in small.outcomes} == {"b", "m1"}


@pytest.mark.parametrize(("profile", "at_once"), [(SCALA, True), (JAVA, False)])
def test_the_last_missing_member_is_refused_for_size(profile: str, at_once: bool) -> None:
    small = ById(PROFILES[profile], group_max_size=2)
    small.stable(a=None, b=None)
    again = small.join("a")
    small.join(version=3)
    small.join("b")
    assert small.waits(again) is not at_once
    small.wait(small.now + REBALANCE)
    assert small.joined(again).generation_id == 2
