"""A stage on which dialogues by the consumer protocol are played with the spec instead of a broker.

What the spec leaves open (the assignor's outcome, whether the assignment interval is over) is tried until the
text is the golden one; a line that differs ends the try.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any
from uuid import UUID

from beside_kafka.consumer_dialogues.broker import MAX_SIZE
from beside_kafka.consumer_dialogues.stage import Request, Stage
from beside_kafka.consumer_dialogues.steps import Dialogue
from rota.kernel import FrozenMap, RuleTable
from rota.spec.consumer import messages as m
from rota.spec.consumer.context import ConsumerConfig
from rota.spec.consumer.group import ConsumerGroup, shape
from rota.spec.consumer.handlers import CONSUMER_RULES, consumer
from rota.spec.consumer.messages import Call, Topic
from rota.spec.consumer.persistence import Shard
from rota.spec.consumer.records import Written
from rota.spec.consumer.state import Partition
from rota.spec.consumer.step import Arm, Step, Timer
from rota.spec.consumer.vocabulary import RecordKind
from rota.wire.records import Record, encode_batch

MOST_TRIES = 5_000
SETTINGS = ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms")
STATES = ("Stable", "UnrevokedPartitions", "UnreleasedPartitions")


class OutOfScope(Exception):
    """A request that the spec has no rules for."""


class Differs(Exception):
    """A line is not the golden one."""


class SpecStage(Stage):
    """A group, its topics, a log, a clock.

    golden: the lines to be told; choices: which outcome each time; turned: of requests on a connection each,
    those that were sent later are taken sooner.
    """

    def __init__(
        self,
        slug: str,
        golden: Sequence[str],
        choices: Sequence[int],
        rules: RuleTable,
        turned: bool = False,
    ) -> None:
        self.group = slug
        self.lines: list[str] = []
        self.mark = 0
        self._golden, self._turned = golden, turned
        self._choices = list(choices)
        self.made: list[tuple[int, int]] = []
        """Of each choice, what was chosen and of how many."""
        self._ids: dict[str, UUID] = {}
        self._topics: dict[str, Topic] = {}
        self.spec = consumer(ConsumerConfig(assignment_interval_ms=0, max_size=MAX_SIZE), rules=rules)
        self.shard = Shard()
        self.log: list[tuple[Written, ...]] = []
        self._due: dict[tuple[str, str], tuple[int, Timer]] = {}
        self._now = 0
        self._stored: set[Partition] = set()
        self._fresh = count(1)

    # ---- text

    def tell(self, text: str) -> None:
        super().tell(text)
        if self._golden[len(self.lines) - 1 : len(self.lines)] != [text]:
            raise Differs(f"{text!r} after {self.lines[:-1]}")

    # ---- topics, settings, time

    def create(self, topic: str, count: int) -> None:
        label = f"{topic}'" if topic in self._ids else topic
        self._ids[label] = UUID(int=1000 + len(self._ids))
        self._topics[self.name(topic)] = Topic(label, count)

    def grow(self, topic: str, count: int) -> None:
        self._topics[self.name(topic)] = Topic(self._topics[self.name(topic)].topic_id, count)

    def delete(self, topic: str) -> None:
        del self._topics[self.name(topic)]

    def configure(self, settings: Mapping[str, int]) -> None:
        named = {name.removeprefix("consumer.").replace(".", "_"): each for name, each in settings.items()}
        assert set(named) <= set(SETTINGS)
        config = ConsumerConfig(**({"assignment_interval_ms": 0, "max_size": MAX_SIZE} | named))
        self.spec = consumer(config, rules=self.spec.rules)

    def until(self, done: Callable[[], bool], otherwise: str) -> None:
        while not done():
            if not self._due:
                raise Differs(otherwise)
            self._now, timer = min(self._due.values())
            del self._due[timer.name, timer.member_id]
            self._take(self.spec.fire(self.shard.group, timer, FrozenMap(self._topics)))

    # ---- requests

    def ask(self, api: str, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        asked = ANSWERS.get(api)
        if asked is None:
            raise OutOfScope(f"{api} v{version}")
        return asked(self, version, body)

    def ask_at_once(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        return [self.ask(*one) for one in requests]

    def ask_beside(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        if not self._turned:
            return self.ask_at_once(requests)
        return self.ask_at_once(requests[::-1])[::-1]

    def ends(self, api: str, version: int, body: Mapping[str, Any]) -> bool:
        raise OutOfScope(f"{api} in bytes that no rule sees")

    def handled(self, request: m.Request, version: int) -> Any:
        """The answer to a request, when the log has what it wrote."""
        topics = FrozenMap(self._topics)
        call = Call(request, version, "here", f"an-id-made-{next(self._fresh)}", topics=topics)
        return self._take(self.spec.handle(self.shard.group, call))

    def _take(self, steps: Sequence[Step]) -> Any:
        step = self._chosen(steps)
        for one in step.timers:
            if isinstance(one, Arm):
                key = (one.timer.name, one.timer.member_id)
                self._due[key] = (self._now + one.delay_ms, one.timer)
            else:
                self._due.pop((one.name, one.member_id), None)
        self.shard, replies = self.spec.ask("persistence.written", self.shard, step)
        if step.records:
            self.log.append(step.records)
        if self.shard.batches:
            self.shard, replies = self.spec.ask("persistence.stored", self.shard)
        if step.forgets is not None:
            kept = {one for one in self._stored if step.forgets and self._named(one) != step.forgets}
            self._stored = kept
        self._stored |= set(step.stores)
        if isinstance(self.shard.group, ConsumerGroup) and (wrong := shape(self.shard.group)):
            raise Differs(f"{wrong} after {self.lines}")
        return replies[0].message if replies else None

    def _named(self, one: Partition) -> str:
        return self.name(one.topic)

    def _chosen(self, steps: Sequence[Step]) -> Step:
        if len(steps) == 1:
            return steps[0]
        place = len(self.made)
        which = self._choices[place] if place < len(self._choices) else 0
        self.made.append((which, len(steps)))
        return steps[which]

    # ---- bodies

    def owned(self, topics: Sequence[Mapping[str, Any]]) -> frozenset[Partition]:
        """Partitions of a request."""
        labels = {found: label for label, found in self._ids.items()}
        return frozenset(
            Partition(labels.get(one["topic_id"], "?"), index)
            for one in topics
            for index in one["partitions"]
        )

    def by_id(self, some: frozenset[Partition]) -> dict[str, Any]:
        """Partitions of an answer."""
        each = [{"topic_id": self._ids[one.topic], "partitions": [one.index]} for one in sorted(some)]
        return {"topic_partitions": each}

    def has(self, topic: str, index: int) -> bool:
        """Whether an offset is stored."""
        return Partition(topic.removeprefix(f"{self.group}."), index) in self._stored


def _heartbeat(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    said = dict(body)
    if said.get("topic_partitions") is not None:
        said["topic_partitions"] = stage.owned(said["topic_partitions"])
    if said.get("subscribed_topic_names") is not None:
        said["subscribed_topic_names"] = frozenset(said["subscribed_topic_names"])
    reply = stage.handled(m.ConsumerGroupHeartbeatRequest(**said), version)
    given = None if reply.assignment is None else stage.by_id(reply.assignment)
    told = {"error_code": reply.error_code.value, "member_id": reply.member_id}
    return told | {"member_epoch": reply.member_epoch, "assignment": given}


def _describe(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"groups": [_described(stage, version, group) for group in body["group_ids"]]}


def _described(stage: SpecStage, version: int, group: str) -> dict[str, Any]:
    # Only one group is on the stage.
    shard, stage.shard = stage.shard, stage.shard if group == stage.group else Shard()
    reply = stage.handled(m.ConsumerGroupDescribeRequest(group), version)
    stage.shard = shard
    if isinstance(reply, m.ErrorReply):
        return {"group_id": group, "error_code": reply.error_code.value, "group_state": ""}
    kind = {"member_type": 1} if version >= 1 else {}
    members = [
        {
            "member_id": one.member_id,
            "member_epoch": one.member_epoch,
            "subscribed_topic_names": sorted(one.subscribed_topic_names),
            "assignment": stage.by_id(one.assignment),
            "target_assignment": stage.by_id(one.target_assignment),
            **kind,
        }
        for one in reply.members
    ]
    epochs = {"group_epoch": reply.group_epoch, "assignment_epoch": reply.assignment_epoch}
    told = {"group_id": group, "error_code": 0, "group_state": reply.group_state.value}
    return told | epochs | {"assignor_name": reply.assignor_name, "members": members}


def _leave(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    named = [one["member_id"] for one in body["members"]] if "members" in body else [body["member_id"]]
    reply = stage.handled(m.LeaveGroupRequest(stage.group, tuple(named)), version)
    if version < 3:
        return {"error_code": reply.members[0].value}
    return {"error_code": 0, "members": [{"error_code": one.value} for one in reply.members]}


def _classic(api: str) -> Callable[[SpecStage, int, Mapping[str, Any]], dict[str, Any]]:
    def ask(stage: SpecStage, version: int, _: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(stage.shard.group, ConsumerGroup):
            raise OutOfScope(f"{api} to a group of the classic protocol")
        reply = stage.handled(m.ClassicRequest(stage.group, api), version)
        return {"error_code": reply.error_code.value}

    return ask


def _commit(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    if version >= 10:
        raise OutOfScope("offsets of topics by their ids")
    places = [
        Partition(one["name"].removeprefix(f"{stage.group}."), each["partition_index"])
        for one in body["topics"]
        for each in one["partitions"]
    ]
    epoch = body["generation_id_or_member_epoch"]
    request = m.OffsetCommitRequest(stage.group, body["member_id"], epoch, tuple(places))
    reply = stage.handled(request, version)
    return {"topics": [{"partitions": [{"error_code": reply.error_code.value}]} for _ in places]}


def _fetch(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    ((asked,), (topic,)) = body["groups"], body["groups"][0]["topics"]
    who = (asked.get("member_id"), asked.get("member_epoch", -1))
    reply = stage.handled(m.OffsetFetchRequest(stage.group, *who), version)
    found = {"error_code": 0, "committed_offset": 7 if stage.has(topic["name"], 0) else -1}
    return {"groups": [{"error_code": reply.error_code.value, "topics": [{"partitions": [found]}]}]}


def _delete_offsets(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    (topic,) = body["topics"]
    reply = stage.handled(m.OffsetDeleteRequest(stage.group, topic["name"]), version)
    return {"topics": [{"partitions": [{"error_code": reply.error_code.value}]}]}


def _delete(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    reply = stage.handled(m.DeleteGroupsRequest(stage.group), version)
    return {"results": [{"error_code": reply.error_code.value}]}


def _describe_as_classic(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    reply = stage.handled(m.DescribeGroupsRequest(stage.group), version)
    return {"groups": [{"error_code": reply.error_code.value, "group_state": "Dead"}]}


def _list(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    filters = [frozenset(map(str.lower, body.get(name, ()))) for name in ("states_filter", "types_filter")]
    reply = stage.handled(m.ListGroupsRequest(stage.group, *filters), version)
    kind = "consumer" if isinstance(stage.shard.group, ConsumerGroup) else ""
    entry = {"group_id": stage.group, "protocol_type": kind}
    entry |= {"group_state": str(reply.group_state), "group_type": reply.group_type}
    return {"error_code": 0, "groups": [] if reply.group_state is None else [entry]}


def _log(stage: SpecStage, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    ((asked,),) = (one["partitions"] for one in body["topics"])
    data, offset = b"", 0
    for batch in stage.log:
        if offset >= asked["fetch_offset"]:
            records = [
                Record(offset + place, 0, _key(stage.group, one), _value(one))
                for place, one in enumerate(batch)
            ]
            data += encode_batch(records, base_offset=offset)
        offset += len(batch)
    return {"responses": [{"partitions": [{"error_code": 0, "records": data}]}]}


def _key(group: str, one: Written) -> bytes:
    texts = [group, one.member_id] if one.member_id else [group]
    return struct.pack(">h", one.kind.value) + b"".join(
        struct.pack(">h", len(text)) + text.encode() for text in texts
    )


def _value(one: Written) -> bytes | None:
    """As much of a value as the dialogues tell."""
    if one.value is None:
        return None
    match one.kind:
        case RecordKind.GROUP | RecordKind.TARGET:
            return struct.pack(">hi", 0, one.value[0])
        case RecordKind.CURRENT:
            now = one.value
            return struct.pack(">hiib", 0, now.epoch, now.previous_epoch, STATES.index(now.state))
    return b"\0\0"


ANSWERS: Mapping[str, Callable[[SpecStage, int, Mapping[str, Any]], dict[str, Any]]] = {
    "ConsumerGroupHeartbeat": _heartbeat,
    "ConsumerGroupDescribe": _describe,
    "LeaveGroup": _leave,
    **{api: _classic(api) for api in ("JoinGroup", "SyncGroup", "Heartbeat")},
    "OffsetCommit": _commit,
    "OffsetFetch": _fetch,
    "OffsetDelete": _delete_offsets,
    "DeleteGroups": _delete,
    "DescribeGroups": _describe_as_classic,
    "ListGroups": _list,
    "Fetch": _log,
}


def played_on_spec(
    dialogue: Dialogue, golden: str, rules: RuleTable = CONSUMER_RULES, turned: bool = False
) -> SpecStage:
    """The stage after a dialogue whose text is the golden one; turned: see there. Errors: Differs, where no
    choice tells it; of several differences the one that comes last. OutOfScope.
    """
    lines = [one[2:] for one in golden.splitlines() if one.startswith("  ")]
    choices: list[int] = []
    latest, told = Differs("nothing was played"), -1
    for _ in range(MOST_TRIES):
        stage = SpecStage(dialogue.slug, lines, choices, rules, turned)
        try:
            text = dialogue.text(stage)
            if text == golden:
                return stage
            cause = Differs(text)
        except Differs as found:
            cause = found
        if len(stage.lines) > told:
            latest, told = cause, len(stage.lines)
        following = next_choices(stage.made)
        if following is None:
            raise latest
        choices = following
    raise Differs(f"not after {MOST_TRIES} tries: {latest}")


def next_choices(made: Sequence[tuple[int, int]]) -> list[int] | None:
    """The choices that come after these, None after the last."""
    for place in reversed(range(len(made))):
        which, some = made[place]
        if which + 1 < some:
            return [*(one for one, _ in made[:place]), which + 1]
    return None
