"""The coordinator's machine: it takes requests by the spec, its timers run out, its topic grows, it moves.

Where no append fails and no coordinator moves, a batch is stored as it is written: an answer that waits for
the log is then no other than one that is slow. Else batches are stored, or fail, in steps of their own. Where
it is asked what can be loaded, all records are kept: then a state has its history in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rota.environment.consumer.messages import (
    NOBODY,
    Answered,
    Committed,
    Disconnected,
    Expired,
    Partitions,
    Take,
    partitions,
    topics,
)
from rota.environment.messages import Charge
from rota.kernel import FrozenMap, Message, Outcome, Send, Value, frozen, replace
from rota.spec.consumer.context import ConsumerSpec
from rota.spec.consumer.group import AnyGroup, ConsumerGroup, Current
from rota.spec.consumer.messages import (
    LEAVE_EPOCH,
    Call,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    ErrorReply,
    OffsetCommitRequest,
    Topics,
)
from rota.spec.consumer.persistence import Shard
from rota.spec.consumer.records import NotLoaded, Written
from rota.spec.consumer.step import Arm, Cancel, Reply, Step, Timer
from rota.spec.consumer.vocabulary import ErrorCode
from rota.spec.vocabulary import Hosting

COMMIT_VERSION = 9
"""Of OffsetCommit, the first that knows member epochs."""

Armed = FrozenMap[tuple[str, str], int]
"""(Timer, member id) → the member's epoch when it was armed."""


@frozen
class Coordinator:
    """A coordinator.

    shard: the group in memory, and what is on its way to the log; armed: timers; partitions: of the first
    topic; second: of the second; term: how often it has moved; log: its batches, where they are kept.
    """

    shard: Shard = Shard()
    armed: Armed = FrozenMap()
    partitions: int = 0
    second: int = 0
    term: int = 0
    log: tuple[tuple[Written, ...], ...] = ()

    @property
    def places(self) -> Partitions:
        """The partitions that there are."""
        return partitions(self.partitions, self.second)

    @property
    def topics(self) -> Topics:
        """What it knows of topics."""
        return topics(self.partitions, self.second)


@dataclass(frozen=True)
class ConsumerCoordinator:
    """The machine.

    spec; partitions, of the first topic at first, 0 where there is none, and after it has grown; second: of
    the second; delays: whether batches wait to be stored; keeps: whether what is stored is kept.
    """

    spec: ConsumerSpec
    partitions: int
    grown: int
    delays: bool
    second: int = 0
    keeps: bool = False
    name: str = "coordinator"
    role: str = "coordinator"

    def initial(self) -> Sequence[Value]:
        """No group."""
        return (Coordinator(partitions=self.partitions, second=self.second),)

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
            topics=one.topics,
            version=1 if isinstance(message.request, ConsumerGroupHeartbeatRequest) else COMMIT_VERSION,
        )
        if isinstance(message.request, OffsetCommitRequest):
            return (self._committed(one, call),)
        try:
            steps = self.spec.handle(one.shard.group, call)
        except NotLoaded:
            refused = ConsumerGroupHeartbeatReply(ErrorCode.UNKNOWN_SERVER_ERROR)
            steps = (Step(one.shard.group).answer(call.to, refused),)
        outcomes = (self._done(one, step) for step in steps)
        if message.request.member_epoch != LEAVE_EPOCH or not message.answered:
            return tuple(outcomes)
        return tuple(replace(done, sends=_left(done.sends)) for done in outcomes)

    def _committed(self, one: Coordinator, call: Call) -> Outcome:
        """A commit is judged; the offsets themselves are no part of this world, and of the group nothing
        changes.
        """
        (step,) = self.spec.handle(one.shard.group, call)
        request, (reply,) = call.request, step.replies
        assert isinstance(request, OffsetCommitRequest)
        assert isinstance(reply.message, ErrorReply)
        now = _current(one.shard.group, request.member_id)
        fits = frozenset(request.partitions) <= now.owned
        told = Committed(reply.message.error_code, request.member_epoch < now.epoch, fits)
        return Outcome(one, (Send(call.to, told),), rules=step.rules)

    def _done(self, one: Coordinator, step: Step) -> Outcome:
        """What a step makes of the coordinator, and the answers that go out."""
        shard, replies = self.spec.ask("persistence.written", one.shard, step)
        log = (*one.log, step.records) if self.keeps and step.records else one.log
        while not self.delays and shard.batches:
            shard, more = self.spec.ask("persistence.stored", shard)
            replies = (*replies, *more)
        after = replace(one, shard=shard, armed=_timed(one.armed, step.timers), log=log)
        return Outcome(after, _sends(after, replies), rules=step.rules)

    def _expires(self, one: Coordinator) -> Iterator[Outcome]:
        for (name, member_id), epoch in one.armed.items():
            timer = Timer(name, member_id, epoch)
            fired = replace(one, armed=one.armed.without((name, member_id)))
            for step in self.spec.fire(one.shard.group, timer, one.topics):
                done = _by(timer, self._done(fired, step), len(one.shard.batches))
                late = () if step.group is one.shard.group else (Send(f"client/{member_id}", Expired()),)
                label = f"the {name} timer of {member_id} is due"
                yield replace(done, sends=(*late, *done.sends), label=label)

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
            again = (batch.timer for batch in one.shard.batches[-count:] if batch.timer is not None)
            armed = {(timer.name, timer.member_id): timer.epoch for timer in again}
            after = replace(one, shard=shard, armed=FrozenMap({**one.armed, **armed}))
            charge = Send("budget", Charge("append"))
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
            after = replace(one, shard=Shard(group), armed=armed, term=one.term + 1)
            sends = (Send("budget", Charge("failover")), *_sends(after, replies))
            lost = len(batches) - kept
            yield Outcome(
                after, sends, f"the coordinator moves{f', {lost} batches are lost' if lost else ''}"
            )


def _by(timer: Timer, done: Outcome, before: int) -> Outcome:
    """With the timer noted in the batch that it wrote. before: how many there were."""
    one = done.value
    assert isinstance(one, Coordinator)
    if len(one.shard.batches) == before:
        return done
    *older, last = one.shard.batches
    shard = replace(one.shard, batches=(*older, replace(last, timer=timer)))
    return replace(done, value=replace(one, shard=shard))


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


def _left(sends: tuple[Send, ...]) -> tuple[Send, ...]:
    """The same answers, as those to a leave."""
    return tuple(
        replace(one, message=replace(one.message, left=True)) if isinstance(one.message, Answered) else one
        for one in sends
    )


def _current(group: AnyGroup | None, member_id: str) -> Current:
    now = group.current if isinstance(group, ConsumerGroup) else {}
    return now.get(member_id, Current())


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
