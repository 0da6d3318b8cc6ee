"""Single facts of the consumer protocol that no dialogue shows: each a check of a table of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rota.kernel import FrozenMap, RuleTable, replace
from rota.spec.consumer.context import ConsumerConfig, ConsumerSpec
from rota.spec.consumer.group import ClassicGroup, ConsumerGroup
from rota.spec.consumer.handlers import consumer
from rota.spec.consumer.messages import (
    Call,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    ErrorReply,
    LeaveGroupReply,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Topic,
)
from rota.spec.consumer.persistence import Shard
from rota.spec.consumer.state import MemberState, Partition
from rota.spec.consumer.step import Arm, Cancel, Step, Timer
from rota.spec.consumer.vocabulary import ErrorCode, GroupState
from rota.spec.vocabulary import Hosting

TOPICS = FrozenMap({"t": Topic("t", 2), "u": Topic("u", 2)})
T = (Partition("t", 0), Partition("t", 1))
JOIN = ConsumerGroupHeartbeatRequest("g", "m1", 0, None, None, 1000, frozenset("t"), None, None, frozenset())


def spec_of(rules: RuleTable, **settings: int) -> ConsumerSpec:
    return consumer(ConsumerConfig(**({"assignment_interval_ms": 0} | settings)), rules=rules)


def step_of(spec: ConsumerSpec, group: Any, request: Any, hosting: Hosting = Hosting.ACTIVE) -> Step:
    """The first outcome."""
    return spec.handle(group, Call(request, 1, "here", "", hosting, TOPICS))[0]


def error_of(step: Step) -> ErrorCode:
    (reply,) = step.replies
    assert isinstance(reply.message, ConsumerGroupHeartbeatReply | ErrorReply)
    return reply.message.error_code


def joined(spec: ConsumerSpec, *members: str) -> ConsumerGroup:
    """A group of these members."""
    group: Any = None
    for one in members:
        group = step_of(spec, group, replace(JOIN, member_id=one)).group
    assert isinstance(group, ConsumerGroup)
    return group


def told_to_give_up(spec: ConsumerSpec) -> Step:
    """m1 is told to give up a partition of two."""
    return step_of(spec, joined(spec, "m1", "m2"), ConsumerGroupHeartbeatRequest("g", "m1", 2))


# ---- the facts


def a_request_is_looked_at_before_the_log_and_after_the_coordinator(rules: RuleTable) -> None:
    spec, bad = spec_of(rules), replace(JOIN, group_id=" ")
    assert error_of(step_of(spec, None, bad)) is ErrorCode.INVALID_REQUEST
    found = {one: error_of(step_of(spec, None, bad, one)) for one in Hosting}
    assert found == {
        Hosting.ACTIVE: ErrorCode.INVALID_REQUEST,
        Hosting.INACTIVE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Hosting.LOADING: ErrorCode.INVALID_REQUEST,
        Hosting.ELSEWHERE: ErrorCode.INVALID_REQUEST,
    }
    found = {one: error_of(step_of(spec, None, JOIN, one)) for one in Hosting}
    assert found == {
        Hosting.ACTIVE: ErrorCode.NONE,
        Hosting.INACTIVE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        Hosting.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        Hosting.ELSEWHERE: ErrorCode.NOT_COORDINATOR,
    }


def what_is_not_modelled_is_refused(rules: RuleTable) -> None:
    spec = spec_of(rules)
    for one in (replace(JOIN, instance_id="i"), replace(JOIN, subscribed_topic_regex="t.*")):
        assert error_of(step_of(spec, None, one)) is ErrorCode.INVALID_REQUEST
    assert error_of(step_of(spec, None, replace(JOIN, subscribed_topic_regex=""))) is ErrorCode.NONE


def nobody_is_removed_from_a_group_that_is_not_there(rules: RuleTable) -> None:
    for group in (None, ClassicGroup(empty=False)):
        step = step_of(spec_of(rules), group, LeaveGroupRequest("g", ("m1", "m2")))
        (reply,) = step.replies
        assert reply.message == LeaveGroupReply((ErrorCode.UNKNOWN_MEMBER_ID,) * 2)


def who_is_named_twice_is_removed_once(rules: RuleTable) -> None:
    spec = spec_of(rules)
    step = step_of(spec, joined(spec, "m1", "m2"), LeaveGroupRequest("g", ("m1", "x", "m1")))
    (reply,) = step.replies
    assert reply.message == LeaveGroupReply((ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE))
    assert step.live.epoch == 4
    gone = [(one.kind.value, one.member_id) for one in step.records]
    assert gone == [(8, "m1"), (7, "m1"), (5, "m1"), (3, "")]
    assert set(step.timers) == {Cancel("session", "m1"), Cancel("rebalance", "m1")}


def a_timer_of_who_is_gone_does_nothing(rules: RuleTable) -> None:
    spec = spec_of(rules)
    for group in (None, joined(spec, "m2")):
        for name in ("session", "rebalance"):
            (step,) = spec.fire(group, Timer(name, "m1", 2), TOPICS)
            assert (step.group, step.records) == (group, ())


def who_went_on_to_another_epoch_is_not_removed(rules: RuleTable) -> None:
    spec = spec_of(rules)
    group = told_to_give_up(spec).live
    (late,) = spec.fire(group, Timer("rebalance", "m1", 1), TOPICS)
    assert late.group == group
    (due,) = spec.fire(group, Timer("rebalance", "m1", 2), TOPICS)
    assert due.live.members.keys() == {"m2"}


def who_is_led_on_has_no_time_to_give_up_any_more(rules: RuleTable) -> None:
    spec = spec_of(rules)
    told = told_to_give_up(spec)
    assert Arm(Timer("rebalance", "m1", 2), 1000) in told.timers
    given = ConsumerGroupHeartbeatRequest("g", "m1", 2, topic_partitions=frozenset())
    assert Cancel("rebalance", "m1") in step_of(spec, told.group, given).timers


def who_was_refused_is_not_heard(rules: RuleTable) -> None:
    spec = spec_of(rules)
    assert told_to_give_up(spec).timers[-1] == Arm(Timer("session", "m1"), 45_000)
    fenced = step_of(spec, joined(spec, "m1"), ConsumerGroupHeartbeatRequest("g", "m1", 9))
    assert (fenced.timers, error_of(fenced)) == ((), ErrorCode.FENCED_MEMBER_EPOCH)


def a_loaded_group_has_its_timers_anew(rules: RuleTable) -> None:
    spec = spec_of(rules)
    step = spec.ask("timers.loaded", told_to_give_up(spec).group)
    armed = {one.timer: one.delay_ms for one in step.timers}
    sessions = {Timer("session", one): 45_000 for one in ("m1", "m2")}
    assert armed == sessions | {Timer("rebalance", "m1", 2): 1000}
    assert spec.ask("timers.loaded", None).timers == ()


def an_assignor_that_fails_leaves_no_trace(rules: RuleTable) -> None:
    spec = consumer(ConsumerConfig(), rules=rules, assignors={"uniform": lambda _: (), "range": lambda _: ()})
    step = step_of(spec, None, JOIN)
    assert (error_of(step), step.group, step.records) == (ErrorCode.UNKNOWN_SERVER_ERROR, None, ())


def an_answer_waits_for_its_batch_or_the_one_before(rules: RuleTable) -> None:
    spec = spec_of(rules)
    wrote = step_of(spec, None, JOIN)
    shard, now = spec.ask("persistence.written", Shard(), wrote)
    assert (now, shard.committed, shard.group) == ((), None, wrote.group)
    idle = step_of(spec, shard.group, ConsumerGroupHeartbeatRequest("g", "m1", 2))
    assert not idle.records
    shard, now = spec.ask("persistence.written", shard, idle)
    assert now == ()
    second = step_of(spec, shard.group, replace(JOIN, member_id="m2"))
    shard, _ = spec.ask("persistence.written", shard, second)
    shard, told = spec.ask("persistence.stored", shard)
    assert told == (*wrote.replies, *idle.replies)
    assert shard.committed == wrote.group
    shard, told = spec.ask("persistence.stored", shard)
    assert (told, shard) == (second.replies, Shard(second.group))
    assert spec.ask("persistence.written", shard, idle)[1] == idle.replies


def an_error_that_ends_a_request_and_what_is_read_wait_for_nothing(rules: RuleTable) -> None:
    spec = spec_of(rules)
    before, _ = spec.ask("persistence.written", Shard(), step_of(spec, None, JOIN))
    commit = OffsetCommitRequest("g", "m1", 9, T[:1])
    for request in (
        ConsumerGroupHeartbeatRequest("g", "m1", 9),
        ConsumerGroupDescribeRequest("g"),
        OffsetFetchRequest("g"),
        commit,
    ):
        step = step_of(spec, before.group, request)
        assert spec.ask("persistence.written", before, step) == (before, step.replies)
    for waits in (DeleteGroupsRequest("g"), OffsetDeleteRequest("g", "t"), LeaveGroupRequest("g", ("m9",))):
        assert spec.ask("persistence.written", before, step_of(spec, before.group, waits))[1] == ()


def a_commit_is_a_batch_of_its_own(rules: RuleTable) -> None:
    spec = spec_of(rules)
    commit = Call(OffsetCommitRequest("g", "m1", 2, T[:1]), 9, topics=TOPICS)
    (step,) = spec.handle(joined(spec, "m1"), commit)
    shard, now = spec.ask("persistence.written", Shard(step.group), step)
    assert (now, len(shard.batches)) == ((), 1)
    assert spec.ask("persistence.stored", shard) == (Shard(step.group), step.replies)


def a_failed_append_takes_the_group_back(rules: RuleTable) -> None:
    spec = spec_of(rules)
    steps = [step_of(spec, None, JOIN)]
    steps.append(step_of(spec, steps[0].group, replace(JOIN, member_id="m2")))
    steps.append(step_of(spec, steps[1].group, replace(JOIN, member_id="m3")))
    shard = Shard()
    for one in steps:
        shard, _ = spec.ask("persistence.written", shard, one)
    after, told = spec.ask("persistence.failed", shard, 2, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert after == Shard(steps[0].group, shard.batches[:1])
    refused = ConsumerGroupHeartbeatReply(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert [one.message for one in told] == [refused, refused]


def who_waits_when_the_coordinator_moves_is_told(rules: RuleTable) -> None:
    spec = spec_of(rules)
    shard, _ = spec.ask("persistence.written", Shard(), step_of(spec, None, JOIN))
    after, told = spec.ask("persistence.moved", shard)
    assert after == Shard()
    assert [one.message.error_code for one in told] == [ErrorCode.NOT_COORDINATOR]


def within_the_interval_both_is_allowed(rules: RuleTable) -> None:
    spec = spec_of(rules, assignment_interval_ms=1000)
    second = replace(JOIN, member_id="m2")
    found = spec.handle(joined(spec, "m1"), Call(second, topics=TOPICS))
    assert {one.live.target_epoch for one in found} == {2, 3}
    waits = next(one for one in found if one.live.target_epoch == 2)
    assert waits.live.state is GroupState.ASSIGNING
    assert waits.live.current["m2"].state is MemberState.STABLE


def a_topic_that_is_made_anew_is_another_one(rules: RuleTable) -> None:
    spec = spec_of(rules)
    again = FrozenMap({"t": Topic("t'", 2)})
    (step,) = spec.handle(joined(spec, "m1"), Call(ConsumerGroupHeartbeatRequest("g", "m1", 2), topics=again))
    assert (step.live.epoch, step.live.current["m1"].epoch) == (3, 2)
    assert {one.topic for one in step.live.targets["m1"]} == {"t'"}


FACTS: Mapping[str, Callable[[RuleTable], None]] = {
    fact.__name__.replace("_", " "): fact
    for fact in (
        a_request_is_looked_at_before_the_log_and_after_the_coordinator,
        what_is_not_modelled_is_refused,
        nobody_is_removed_from_a_group_that_is_not_there,
        who_is_named_twice_is_removed_once,
        a_timer_of_who_is_gone_does_nothing,
        who_went_on_to_another_epoch_is_not_removed,
        who_is_led_on_has_no_time_to_give_up_any_more,
        who_was_refused_is_not_heard,
        a_loaded_group_has_its_timers_anew,
        an_assignor_that_fails_leaves_no_trace,
        an_answer_waits_for_its_batch_or_the_one_before,
        an_error_that_ends_a_request_and_what_is_read_wait_for_nothing,
        a_commit_is_a_batch_of_its_own,
        a_failed_append_takes_the_group_back,
        who_waits_when_the_coordinator_moves_is_told,
        within_the_interval_both_is_allowed,
        a_topic_that_is_made_anew_is_another_one,
    )
}
