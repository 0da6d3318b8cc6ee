"""Which rules of the consumer protocol's spec a case's dialogue runs: its recorded calls, made once more.

Before each of them the spec is told the coordinator's group, and asked the same; what becomes of the group
has to be the same, so that these are the rules by which it was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.recorded_calls import Call, Drawn, Life
from harness.rules_run import RulesRun
from rota import coordinator as core
from rota.coordinator.consumer.records import GroupEpoch
from rota.kernel import FrozenMap
from rota.oracle.consumer_log import entries_of
from rota.oracle.consumer_spec import NotingSpec, noting
from rota.oracle.consumer_translate import Words, name_of, partitions
from rota.spec.consumer import messages as spec
from rota.spec.consumer.context import Assignment, ConsumerConfig
from rota.spec.consumer.group import AnyGroup, ClassicGroup, ConsumerGroup
from rota.spec.consumer.state import Partition
from rota.spec.consumer.step import Step, Timer
from rota.spec.consumer.vocabulary import RecordKind

Asks = Iterator[tuple[str, Any]]
"""Groups, and what each is asked."""

ARMED: Mapping[str, Sequence[str]] = {
    "consumer_session": ("timers.session",),
    "consumer_rebalance": ("timers.rebalance", "timers.given-up"),
}
"""Rules that are tried wherever a timer is armed, by its kind: whether they apply is a matter of waiting."""

WRITES = ("persistence.written", "persistence.stored")
"""By which whatever is appended is answered. These the coordinator and the log do, not a step of the spec."""


class NotFollowed(AssertionError):
    """The spec does something else with what a coordinator was asked; the message says where."""


@dataclass
class Follower:
    """A coordinator and, call by call, the spec."""

    life: Life
    rules: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.now, self.choices = 0, Drawn()
        self.core = core.GroupCoordinator(self.life.config, self.choices)
        self.words = Words()
        self.group_id = ""
        self.made_at: dict[int, int] = {}
        config = self.life.config
        self.spec: NotingSpec = noting(
            ConsumerConfig(
                config.group_consumer_session_timeout_ms,
                config.group_consumer_heartbeat_interval_ms,
                config.group_consumer_assignment_interval_ms,
                config.group_consumer_max_size,
                config.group_consumer_assignors,
            ),
            self._target,
            lambda: self.now,
            self.made_at,
        )

    def _target(self) -> Assignment:
        group = self.core.consumer_groups.get(self.group_id)
        targets = {} if group is None else group.targets
        return FrozenMap({name: partitions(one) for name, one in targets.items()})

    def _group(self, group_id: str) -> AnyGroup | None:
        if group_id in self.core.consumer_groups:
            return self.words.group(self.core.consumer_groups[group_id])
        classic = self.core.groups.get(group_id)
        return None if classic is None else ClassicGroup(classic.state is core.GroupState.EMPTY)

    def follow(self, call: Call) -> None:
        """One call. Errors: NotFollowed."""
        self.now = call.now_ms
        self.choices.begin(call)
        self.core.see_topics(call.topics)
        asks = [*_asks(call)]
        before = {group_id: self._group(group_id) for group_id, _ in asks}
        timer = self._timer(call)
        targets = {group_id: self._made_at(group_id) for group_id in before}
        effects = getattr(self.core, call.method)(*call.inputs)
        if effects.appends:
            self.rules.update(WRITES)
        for one in effects.timers:
            self.tried.update(ARMED.get(one.timer_id.kind, ()))
        for group_id, request in asks:
            self.group_id = group_id
            self.made_at.clear()
            self.made_at.update(targets[group_id])
            self._step(call, effects, before[group_id], request, timer)
        if call.method == "load" and call.inputs[0] in self.core.consumer_groups:
            self.rules.add("timers.loaded")

    def _made_at(self, group_id: str) -> dict[int, int]:
        group = self.core.consumer_groups.get(group_id)
        target = None if group is None else group.target_epoch
        return {} if target is None else {target.epoch: target.timestamp_ms}

    def _timer(self, call: Call) -> Timer | None:
        if call.method != "fire":
            return None
        kind, group_id, member_id = call.inputs[0]
        group = self.core.consumer_groups.get(group_id)
        began = 0 if group is None else group.revoking.get(member_id, 0)
        return Timer(kind.removeprefix("consumer_"), member_id, began if kind == "consumer_rebalance" else 0)

    def _step(
        self, call: Call, effects: core.Effects, group: AnyGroup | None, request: Any, timer: Timer | None
    ) -> None:
        topics = FrozenMap(
            {
                name: spec.Topic(name_of(topic_id), size)
                for name, (topic_id, size) in call.topics.known.items()
            }
        )
        self.spec.begin(group)
        if timer is not None:
            (step,) = self.spec.fire(group, timer, topics)
        else:
            version = call.inputs[1]
            asked = spec.Call(request, version, "here", call.ids[0] if call.ids else "", topics=topics)
            (step,) = self.spec.handle(group, asked)
        self.rules.update(self.spec.used)
        self.tried.update(self.spec.passed)
        self._meet(effects, step)
        after = self._group(self.group_id)
        if isinstance(step.group, ConsumerGroup) and step.group != after:
            raise NotFollowed(f"{call.method} {request or timer}: {step.group}, not {after}")

    def _meet(self, effects: core.Effects, step: Step) -> None:
        """Hashes that stand for the same topics in both."""
        given = [one.value[1] for one in step.records if one.kind is RecordKind.GROUP and one.value]
        for append in effects.appends:
            for _, value in entries_of(append.record):
                if isinstance(value, GroupEpoch) and given:
                    self.words.meet(value.metadata_hash, given[0])


def rules_run(lives: Sequence[Life]) -> RulesRun:
    """The rules by which the spec does what was recorded. Errors: NotFollowed."""
    rules, tried = set[str](), set[str]()
    for life in lives:
        follower = Follower(life, rules, tried)
        for call in life.calls:
            follower.follow(call)
    return RulesRun(frozenset(rules), frozenset(tried - rules))


def _asks(call: Call) -> Asks:
    make = _REQUESTS.get(call.method)
    if make is not None:
        yield from make(call)
    elif call.method == "fire" and call.inputs[0].kind.startswith("consumer_"):
        yield call.inputs[0].group_id, None


def _beat(call: Call) -> Asks:
    one = call.inputs[0]
    names, owned = one.subscribed_topic_names, one.topic_partitions
    yield (
        one.group_id,
        spec.ConsumerGroupHeartbeatRequest(
            one.group_id,
            one.member_id,
            one.member_epoch,
            one.instance_id,
            one.rack_id,
            one.rebalance_timeout_ms,
            None if names is None else frozenset(names),
            one.subscribed_topic_regex,
            one.server_assignor,
            None
            if owned is None
            else partitions((each.topic_id, index) for each in owned for index in each.partitions),
        ),
    )


def _leave(call: Call) -> Asks:
    one = call.inputs[0]
    ids = [each.member_id for each in one.members] or [one.member_id]
    yield one.group_id, spec.LeaveGroupRequest(one.group_id, tuple(ids))


def _classic(api: str) -> Callable[[Call], Asks]:
    def asks(call: Call) -> Asks:
        yield call.inputs[0].group_id, spec.ClassicRequest(call.inputs[0].group_id, api)

    return asks


def _commit(call: Call) -> Asks:
    one = call.inputs[0]
    places = (
        Partition(name_of(call.topics.known[topic.name][0]), each.partition_index)
        for topic in one.topics
        if topic.name in call.topics.known
        for each in topic.partitions
    )
    who = one.member_id, one.generation_id_or_member_epoch
    yield one.group_id, spec.OffsetCommitRequest(one.group_id, *who, tuple(places))


def _fetch(call: Call) -> Asks:
    for one in call.inputs[0].groups:
        yield one.group_id, spec.OffsetFetchRequest(one.group_id, one.member_id, one.member_epoch)


def _delete_offsets(call: Call) -> Asks:
    one = call.inputs[0]
    for topic in one.topics:
        yield one.group_id, spec.OffsetDeleteRequest(one.group_id, topic.name)


def _of_each(request: Callable[[str], Any]) -> Callable[[Call], Asks]:
    return lambda call: ((each, request(each)) for each in call.inputs[0])


def _listings(call: Call) -> Asks:
    asked = call.inputs[0]
    filters = [frozenset(map(str.lower, some)) for some in (asked.states_filter, asked.types_filter)]
    for group_id in call.inputs[3] if len(call.inputs) > 3 else ():
        yield group_id, spec.ListGroupsRequest(group_id, *filters)


_REQUESTS: Mapping[str, Callable[[Call], Asks]] = {
    "consumer_group_heartbeat": _beat,
    "consumer_group_describe": _of_each(spec.ConsumerGroupDescribeRequest),
    "leave_group": _leave,
    "join_group": _classic("JoinGroup"),
    "sync_group": _classic("SyncGroup"),
    "heartbeat": _classic("Heartbeat"),
    "offset_commit": _commit,
    "offset_fetch": _fetch,
    "offset_delete": _delete_offsets,
    "describe_groups": _of_each(spec.DescribeGroupsRequest),
    "list_groups": _listings,
    "delete_groups": _of_each(spec.DeleteGroupsRequest),
}
