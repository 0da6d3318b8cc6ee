"""The coordinator's machine: it takes requests by the spec, its timers run out, its topic grows, it moves.

Where no append fails and no coordinator moves, a batch is stored as it is written: an answer that waits for
the log is then no other than one that is slow. Else batches are stored, or fail, in steps of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rota.environment.consumer.messages import NOBODY, Answered, Disconnected, Expired, Take, topics
from rota.environment.messages import Charge
from rota.kernel import FrozenMap, Message, Outcome, Send, Value, frozen, replace
from rota.spec.consumer.context import ConsumerSpec
from rota.spec.consumer.messages import Call, ConsumerGroupHeartbeatReply, Topics
from rota.spec.consumer.persistence import Shard
from rota.spec.consumer.records import NotLoaded
from rota.spec.consumer.step import Arm, Cancel, Reply, Step, Timer
from rota.spec.consumer.vocabulary import ErrorCode
from rota.spec.vocabulary import Hosting

Armed = FrozenMap[tuple[str, str], int]
"""(Timer, member id) → the member's epoch when it was armed."""


@frozen
class Coordinator:
    """The group in memory, what is on its way to the log, timers, the topic, how often it has moved."""

    shard: Shard = Shard()
    armed: Armed = FrozenMap()
    partitions: int = 0
    term: int = 0


@dataclass(frozen=True)
class ConsumerCoordinator:
    """The machine.

    spec; partitions, of the topic at first, 0 where there is none, and after it has grown; delays: whether
    batches wait to be stored.
    """

    spec: ConsumerSpec
    partitions: int
    grown: int
    delays: bool
    name: str = "coordinator"
    role: str = "coordinator"

    def initial(self) -> Sequence[Value]:
        """No group."""
        return (Coordinator(partitions=self.partitions),)

    def actions(self, one: Coordinator) -> Sequence[Outcome]:
        """What happens to it."""
        return (*self._expires(one), *self._grows(one), *self._stores(one), *self._moves(one))

    def receive(self, one: Coordinator, sender: str, message: Message) -> Sequence[Outcome]:
        """A request, or the end of a connection."""
        if isinstance(message, Disconnected):
            return (Outcome(replace(one, shard=_unheard(one.shard, sender))),)
        if not isinstance(message, Take):
            raise TypeError(f"a coordinator takes requests, not {message!r}")
        call = Call(
            message.request,
            to=sender if message.answered else NOBODY,
            hosting=Hosting.ACTIVE if message.term == one.term else Hosting.ELSEWHERE,
            topics=topics(one.partitions),
        )
        try:
            steps = self.spec.handle(one.shard.group, call)
        except NotLoaded:
            refused = ConsumerGroupHeartbeatReply(ErrorCode.UNKNOWN_SERVER_ERROR)
            steps = (Step(one.shard.group).answer(call.to, refused),)
        return tuple(self._done(one, step) for step in steps)

    def _done(self, one: Coordinator, step: Step) -> Outcome:
        """What a step makes of the coordinator, and the answers that go out."""
        shard, replies = self.spec.ask("persistence.written", one.shard, step)
        while not self.delays and shard.batches:
            shard, more = self.spec.ask("persistence.stored", shard)
            replies = (*replies, *more)
        after = replace(one, shard=shard, armed=_timed(one.armed, step.timers))
        return Outcome(after, _sends(after, replies), rules=step.rules)

    def _expires(self, one: Coordinator) -> Iterator[Outcome]:
        for (name, member_id), epoch in one.armed.items():
            timer = Timer(name, member_id, epoch)
            fired = replace(one, armed=one.armed.without((name, member_id)))
            for step in self.spec.fire(one.shard.group, timer, self._topics(one)):
                done = self._done(fired, step)
                late = () if step.group is one.shard.group else (Send(f"client/{member_id}", Expired()),)
                label = f"the {name} timer of {member_id} is due"
                yield replace(done, sends=(*late, *done.sends), label=label)

    def _topics(self, one: Coordinator) -> Topics:
        return topics(one.partitions)

    def _grows(self, one: Coordinator) -> Iterator[Outcome]:
        if one.partitions < self.grown:
            grown = replace(one, partitions=self.grown)
            yield Outcome(grown, label=f"the topic has {self.grown} partitions")

    def _stores(self, one: Coordinator) -> Iterator[Outcome]:
        if not one.shard.batches:
            return
        shard, replies = self.spec.ask("persistence.stored", one.shard)
        after = replace(one, shard=shard)
        yield Outcome(after, _sends(after, replies), "a batch is stored")
        for count in range(1, len(one.shard.batches) + 1):
            shard, replies = self.spec.ask(
                "persistence.failed", one.shard, count, ErrorCode.COORDINATOR_NOT_AVAILABLE
            )
            after, charge = replace(one, shard=shard), Send("budget", Charge("append"))
            yield Outcome(after, (charge, *_sends(after, replies)), f"{count} batches cannot be appended")

    def _moves(self, one: Coordinator) -> Iterator[Outcome]:
        if not self.delays:
            return
        _, replies = self.spec.ask("persistence.moved", one.shard)
        for kept in range(len(one.shard.batches) + 1):
            batches = one.shard.batches
            group = batches[kept].before if kept < len(batches) else one.shard.group
            loaded: Step = self.spec.ask("timers.loaded", group)
            armed = _timed(FrozenMap(), loaded.timers)
            after = Coordinator(Shard(group), armed, one.partitions, one.term + 1)
            sends = (Send("budget", Charge("failover")), *_sends(after, replies))
            lost = len(batches) - kept
            yield Outcome(
                after, sends, f"the coordinator moves{f', {lost} batches are lost' if lost else ''}"
            )


def _timed(armed: Armed, timers: Sequence[Arm | Cancel]) -> Armed:
    for one in timers:
        if isinstance(one, Arm):
            armed = armed.set((one.timer.name, one.timer.member_id), one.timer.epoch)
        else:
            armed = armed.without((one.name, one.member_id))
    return armed


def _sends(one: Coordinator, replies: Sequence[Reply]) -> tuple[Send, ...]:
    heard = (reply for reply in replies if reply.to != NOBODY)
    return tuple(Send(reply.to, Answered(_heartbeats(reply), one.term)) for reply in heard)


def _heartbeats(reply: Reply) -> ConsumerGroupHeartbeatReply:
    assert isinstance(reply.message, ConsumerGroupHeartbeatReply)
    return reply.message


def _unheard(shard: Shard, client: str) -> Shard:
    """Without answers to a client."""
    return replace(
        shard,
        batches=tuple(
            replace(batch, replies=tuple(one for one in batch.replies if one.to != client))
            for batch in shard.batches
        ),
    )
