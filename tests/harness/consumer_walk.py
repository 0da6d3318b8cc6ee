"""Random walks of a group of the consumer protocol, and what must hold after each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from rota.kernel import FrozenMap, RuleTable
from rota.spec.consumer.context import Asked, Assignment, ConsumerConfig, ConsumerSpec
from rota.spec.consumer.group import AnyGroup, ConsumerGroup, Current, shape
from rota.spec.consumer.handlers import CONSUMER_RULES, consumer
from rota.spec.consumer.messages import (
    Call,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    Topic,
)
from rota.spec.consumer.records import Written, replay
from rota.spec.consumer.state import Partition, partitions
from rota.spec.consumer.step import Step, Timer
from rota.spec.consumer.vocabulary import ErrorCode, GroupState

MEMBERS = ("m1", "m2", "m3")
SUBSCRIPTIONS = (frozenset("t"), frozenset("u"), frozenset("tu"), frozenset())
ROUNDS = 8
"""Heartbeats of each member after which a group in which nothing happens any more must be at rest."""


class Broken(AssertionError):
    """A property does not hold; the message says which."""


@dataclass
class Walk:
    """A group and its log."""

    random: Random
    spec: ConsumerSpec
    topics: dict[str, Topic] = field(default_factory=lambda: {"t": Topic("t", 2)})
    group: AnyGroup | None = None
    log: list[tuple[Written, ...]] = field(default_factory=list)
    logged: AnyGroup | None = None
    made: int = 0

    # ---- what happens

    def happens(self) -> None:
        """One thing, and what must hold then."""
        what = self.random.choices(
            (self.heartbeat, self.join, self.leave, self.timer, self.topic), (12, 3, 1, 1, 1)
        )
        what[0]()

    def join(self) -> None:
        names = self.random.choice(SUBSCRIPTIONS)
        self.beat(self.random.choice(MEMBERS), 0, names, frozenset(), 1000)

    def leave(self) -> None:
        self.beat(self.random.choice(MEMBERS), -1)

    def heartbeat(self) -> None:
        member = self.random.choice(MEMBERS)
        now = self.current(member)
        epoch = self.random.choice((now.epoch, now.epoch, now.previous_epoch, now.epoch + 1))
        assigned = partitions(now.assigned)
        owned = self.random.choice((None, assigned, assigned, frozenset(), now.owned))
        names = self.random.choice((None, None, None, *SUBSCRIPTIONS))
        if epoch > 0:
            self.beat(member, epoch, names, owned)

    def timer(self) -> None:
        member = self.random.choice(MEMBERS)
        name = self.random.choice(("session", "rebalance"))
        epoch = self.current(member).epoch - self.random.randrange(2)
        if isinstance(self.group, ConsumerGroup):
            self.take(self.spec.fire(self.group, Timer(name, member, epoch), FrozenMap(self.topics)))

    def topic(self) -> None:
        name = self.random.choice("tu")
        if name not in self.topics:
            self.made += 1
            self.topics[name] = Topic(f"{name}.{self.made}", self.random.randrange(1, 3))
        elif self.random.randrange(2):
            del self.topics[name]
        else:
            old = self.topics[name]
            self.topics[name] = Topic(old.topic_id, min(old.partitions + 1, 3))

    def current(self, member: str) -> Current:
        now = self.group.current if isinstance(self.group, ConsumerGroup) else {}
        return now.get(member, Current())

    def beat(
        self,
        member: str,
        epoch: int,
        names: frozenset[str] | None = None,
        owned: frozenset[Partition] | None = None,
        timeout: int = -1,
    ) -> None:
        request = ConsumerGroupHeartbeatRequest(
            "g", member, epoch, None, None, timeout, names, None, None, owned
        )
        step = self.take(self.spec.handle(self.group, Call(request, topics=FrozenMap(self.topics))))
        (reply,) = step.replies
        assert isinstance(reply.message, ConsumerGroupHeartbeatReply)
        self.answered(request, reply.message)

    def take(self, steps: Sequence[Step]) -> Step:
        before, step = self.group, self.random.choice(steps)
        self.group = step.group
        if step.records:
            self.log.append(step.records)
        for one in step.records:
            self.logged = replay(self.logged, one)
        self.holds(before)
        return step

    # ---- what must hold

    def holds(self, before: AnyGroup | None) -> None:
        """The group is in shape, is what its log says, and its epoch rises by one at most."""
        if not isinstance(self.group, ConsumerGroup):
            return
        demand(not (wrong := shape(self.group)), f"{wrong}")
        old = before if isinstance(before, ConsumerGroup) else ConsumerGroup()
        demand(self.group.epoch - old.epoch in (0, 1), "the group's epoch rises by one at most")
        demand(self.group.target_epoch >= old.target_epoch, "the target's epoch never falls")
        demand(self.logged == self.group, "the log has the group")
        if self.group.state is GroupState.STABLE:
            for name, now in self.group.current.items():
                wanted = self.group.targets.get(name, frozenset())
                topics = {
                    self.topics[one].topic_id
                    for one in self.group.members[name].subscribed_topic_names
                    if one in self.topics
                }
                here = {one for one in wanted if one.topic in topics}
                demand(here <= partitions(now.assigned), "who is stable has its target")

    def answered(self, request: ConsumerGroupHeartbeatRequest, reply: ConsumerGroupHeartbeatReply) -> None:
        """An accepted heartbeat is told its epoch, and what is assigned to it or nothing."""
        if reply.error_code is not ErrorCode.NONE or request.member_epoch < 0:
            return
        now = self.current(request.member_id)
        demand(reply.member_epoch == now.epoch >= request.member_epoch, "the answer has the epoch")
        told = reply.assignment in (None, partitions(now.assigned))
        demand(told, "the answer has the assignment")
        asked = request.member_epoch == 0 or request.full
        demand(reply.assignment is not None or not asked, "who asks is told the assignment")

    def settles(self) -> None:
        """Where only heartbeats of members that do as they are told are left, the group comes to rest."""
        for number in range(ROUNDS):
            for member in MEMBERS if isinstance(self.group, ConsumerGroup) else ():
                if member in self.group.members:
                    now, written = self.current(member), len(self.log)
                    self.beat(member, now.epoch, None, partitions(now.assigned))
                    demand(number < ROUNDS - 1 or len(self.log) == written, "the group comes to rest")
        if isinstance(self.group, ConsumerGroup) and self.group.members:
            demand(self.group.state is GroupState.STABLE, "a group at rest is stable")


def demand(holds: bool, what: str) -> None:
    """Errors: Broken."""
    if not holds:
        raise Broken(what)


def walked(seed: int, steps: int = 40, rules: RuleTable = CONSUMER_RULES, interval: int = 0) -> Walk:
    """A walk to its end. Errors: Broken."""
    random = Random(seed)

    def any_target(asked: Asked) -> tuple[Assignment]:
        given: dict[str, set[Partition]] = {name: set() for name in asked.topics}
        for topic, size in asked.partitions.items():
            names = [name for name in asked.topics if topic in asked.topics[name]]
            for index in range(size):
                given[random.choice(names)].add(Partition(topic, index))
        return (FrozenMap((name, frozenset(some)) for name, some in given.items()),)

    config = ConsumerConfig(assignment_interval_ms=interval)
    spec = consumer(config, rules=rules, assignors=dict.fromkeys(config.assignors, any_target))
    walk = Walk(random, spec)
    for _ in range(steps):
        walk.happens()
    return walk


def compactions(random: Random, log: Sequence[Sequence[Written]]) -> Iterator[list[Written]]:
    """What may be left of a log: from its first batches, the last record of each key, with or without those
    that take something away; then all the rest.
    """
    for tombstones in (True, False):
        cut = random.randrange(len(log) + 1)
        first = [one for batch in log[:cut] for one in batch]
        last = {one.key: place for place, one in enumerate(first)}
        kept = [one for place, one in enumerate(first) if last[one.key] == place]
        rest = [one for batch in log[cut:] for one in batch]
        yield [one for one in kept if tombstones or one.value is not None] + rest
