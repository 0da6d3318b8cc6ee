"""The coordinator as a machine: the only place where the spec's steps become a state and messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import replace as rebuilt
from functools import cached_property

from rota.environment.broker.deeds import Deed
from rota.environment.broker.log import DEFAULT, Prospects
from rota.environment.broker.member_ids import fresh_id, is_newcomer, owner
from rota.environment.broker.observers import released, watched
from rota.environment.messages import (
    NOBODY,
    Append,
    Appended,
    Charge,
    Deliver,
    Disconnected,
    Evicted,
    ForgetAppends,
    GaveUp,
    Loaded,
    Moved,
    OffsetsThere,
    Owed,
    Read,
    Recall,
    Recalled,
    Renumbered,
    RetentionDue,
    Reverted,
    Unreachable,
    Unused,
    same_broker,
)
from rota.kernel import Attempt, Effect, Message, Outcome, Refusal, Send, Value, frozen, replace
from rota.spec import (
    Arm,
    FindCoordinatorRequest,
    Hosting,
    Node,
    Spec,
    Timer,
)
from rota.spec.effects import Record
from rota.spec.kind import MEMBERSHIP, AnyGroup, AnyStep, GroupKind, Live, Loss
from rota.spec.messages import Request


@frozen
class Coordinator:
    """The coordinator's part of the state.

    group: None before it exists; armed: the timers that may fire; ended_by_barrier: a history variable
    for one property, whether the join phase of this CompletingRebalance ended because all had joined;
    epoch: how many times the coordinator has moved to another broker; loading: it has not read the log yet.
    """

    group: AnyGroup | None = None
    armed: frozenset[Timer] = frozenset()
    ended_by_barrier: bool = False
    epoch: int = 0
    loading: bool = False


@frozen
class Breach(Coordinator):
    """A coordinator whose last step broke sentences about effects. wrong: their names."""

    wrong: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Broker:
    """The machine.

    Parameters: spec, the rules; settle: clear dead data after every step; prospects of the log; live: what
    else is in scope, so that fields which it reads are not cleared as dead data; effects, the sentences by
    which each `Deed` is judged.

    It stands for all brokers: the coordinator, and any other that a client takes for the coordinator.
    """

    spec: Spec
    settle: bool = True
    prospects: Prospects = DEFAULT
    live: Live = MEMBERSHIP
    effects: tuple[Effect, ...] = ()
    name: str = "coordinator"
    role: str = "coordinator"

    @cached_property
    def _groups(self) -> GroupKind:
        return self.spec.groups

    def initial(self) -> Sequence[Value]:
        """A coordinator that has never heard of the group."""
        return (Coordinator(),)

    def actions(self, value: Coordinator) -> Sequence[Outcome]:
        """Every armed timer may be due, unless the protocol rules it out; a loading coordinator reads the
        log.
        """
        if value.loading:
            return (Outcome(value, self._to_lines(Read()), "the coordinator reads the log"),)
        group = value.group
        if group is None:
            return ()
        outcomes = []
        for timer in sorted(t for t in value.armed if self._groups.may_be_due(group, t)):
            fired = replace(value, armed=value.armed - {timer})
            for step in self.spec.fire(group, timer):
                losses = self._groups.losses(group, step.group)
                outcomes.append(self._fold(fired, step, self._groups.timer_text(timer), losses))
        return outcomes

    def receive(self, value: Coordinator, sender: str, message: Message) -> Sequence[Outcome]:
        """A request, the log's answers, or news of a broken connection."""
        client = sender.removeprefix("client/")
        if isinstance(message, Deliver):
            return self._delivered(value, message, client)
        if isinstance(message, Recalled):
            return self._handled(value, message.request, message.client)
        if isinstance(message, Appended):
            steps = self.spec.appended(value.group, message.record, message.error)
            outcomes = [self._fold(value, step) for step in steps]
            return (
                outcomes if message.error is None else [self._charged(value, outcome) for outcome in outcomes]
            )
        if isinstance(message, Disconnected):
            after = replace(value, group=self._groups.readdressed(value.group, client, NOBODY))
            return (Outcome(after, self._to_lines(Unreachable(client))),)
        if isinstance(message, GaveUp):
            return (
                ()
                if self._groups.owes(value.group, client)
                else (Outcome(value, self._to_lines(Owed(client))),)
            )
        if isinstance(message, Moved):
            given_up = self.spec.unload(value.group, message.unanswered)
            after = Coordinator(epoch=value.epoch + 1, loading=True)
            moved = [Send("offsets", Moved(()))] if self.live.offsets else []
            return [Outcome(after, (*_answers(step), *moved), rules=step.rules) for step in given_up]
        if isinstance(message, Loaded):
            there = replace(value, loading=False)
            return [self._fold(there, step) for step in self.spec.load(message.record)]
        if isinstance(message, RetentionDue | Unused | OffsetsThere):
            return self._heard(value, message)
        raise TypeError(f"the coordinator does not take {message!r}")

    def refusals(self, value: Coordinator) -> Sequence[Refusal]:
        """The timers that run and are not due."""
        if value.loading:
            why = "the coordinator is still reading the log"
            return [Refusal(self._groups.timer_text(timer), why) for timer in sorted(value.armed)]
        reads = Refusal("the coordinator reads the log", "it has not moved since it read it last")
        if value.group is None:
            return [reads]
        waiting = sorted(t for t in value.armed if not self._groups.may_be_due(value.group, t))
        why = "a member that waits for the log is answered before its session can be over"
        return [reads, *(Refusal(self._groups.timer_text(timer), why) for timer in waiting)]

    def why_refused(self, value: Coordinator, sender: str, message: Message) -> str | None:
        """A client gives up waiting only where no answer comes."""
        if not isinstance(message, GaveUp):
            return None
        return f"the coordinator holds a request of {sender.removeprefix('client/')}, which it will answer"

    def tried(self, value: Coordinator, sender: str | None, message: Message) -> Sequence[Attempt]:
        """The rules that a message, or every due timer, makes the handlers ask."""
        if sender is not None:
            spec = self.spec.listened()
            rebuilt(self, spec=spec).receive(value, sender, message)
            return spec.attempts
        attempts = []
        for timer in value.armed if value.group is not None and not value.loading else ():
            if self._groups.may_be_due(value.group, timer):
                spec, label = self.spec.listened(), self._groups.timer_text(timer)
                spec.fire(value.group, timer)
                attempts += [rebuilt(one, about=label) for one in spec.attempts]
        return attempts

    def _heard(self, value: Coordinator, message: RetentionDue | Unused | OffsetsThere) -> Sequence[Outcome]:
        """News of the offsets: it is time to expire some, the last one is gone, or there are some."""
        if isinstance(message, OffsetsThere):
            steps = () if value.group is not None or value.loading else self.spec.offsets_found(value.group)
            return [self._fold(value, step) for step in steps] or (Outcome(value),)
        if value.group is None:
            return (Outcome(value),)
        if isinstance(message, Unused):
            return [self._fold(value, step) for step in self.spec.unused(value.group)]
        steps = self.spec.retention(value.group, message.check)
        return [
            released(self._fold(value, step), value.group, self.spec.profile.unsubscribed_expire)
            for step in steps
        ]

    def _to_lines(self, message: Message) -> tuple[Send, ...]:
        """To the log and to the offsets, both of which may owe a client an answer."""
        return tuple(Send(line, message) for line in ("log", "offsets")[: 1 + self.live.offsets])

    def _delivered(self, value: Coordinator, message: Deliver, client: str) -> Sequence[Outcome]:
        """A request. Where old ids could come back the log is asked for them before a new one is minted."""
        recalls = self.live.statics or self.prospects.may_move(value.epoch)
        hosted = _hostings(value, message.broker) == (Hosting.ACTIVE,)
        if recalls and hosted and is_newcomer(message.call):
            return (Outcome(value, (Send("log", Recall(message, client)),)),)
        return self._handled(value, message, client)

    def _handled(self, value: Coordinator, message: Deliver, client: str) -> Sequence[Outcome]:
        call = message.call
        if isinstance(call.request, FindCoordinatorRequest):
            call = replace(call, leader=Node(value.epoch))
            return [self._fold(value, step) for step in self.spec.handle(value.group, call)]
        call = replace(call, fresh_id=fresh_id(client, value.group, message.held))
        outcomes = [
            watched(self._fold(value, step, request=call.request), value.group, call.request)
            for hosting in _hostings(value, message.broker)
            for step in self.spec.handle(value.group, replace(call, hosting=hosting))
        ]
        known = message.broker == value.epoch or not same_broker(message.broker, value.epoch)
        if known or call.to == NOBODY:
            return outcomes
        renumbered = Send(f"client/{client}", Renumbered(value.epoch))
        return [replace(outcome, sends=(renumbered, *outcome.sends)) for outcome in outcomes]

    def _fold(
        self,
        value: Coordinator,
        step: AnyStep,
        label: str = "",
        losses: Iterable[Loss] = (),
        request: Request | None = None,
    ) -> Outcome:
        """One step of the spec becomes one value and the messages that go out with it."""
        armed = set(value.armed)
        for effect in step.timers:
            if isinstance(effect, Arm):
                armed.add(effect.timer)
            else:
                armed.discard(effect.timer)
        sends = [
            Send(f"client/{owner(loss.member_id)}", Evicted(loss.member_id, loss.parked)) for loss in losses
        ]
        sends += _answers(step)
        sends += [Send("offsets", word) for word in step.offsets]
        if self.live.offsets and value.group is not None and step.group is None and not step.offsets:
            sends.append(Send("offsets", Reverted()))
        records = (_addressed(record) for record in step.records)
        sends += [
            Send("log", Append(r)) for r in records if self.prospects.counts(self._groups, r, value.epoch)
        ]
        dead = self._groups.dead_appends(value.group, step.group)
        if self.settle and dead and not self.prospects.may_move(value.epoch):
            sends.append(Send("log", ForgetAppends(dead)))
        by_barrier = self._groups.ended_by_barrier(value.ended_by_barrier, step)
        new = Coordinator(step.group, frozenset(armed), by_barrier, value.epoch, value.loading)
        new = self._settled(new) if self.settle else new
        new = self._judged(new, Deed(self.spec.config, value.group, step, request))
        # where nothing has changed engines know the value by its identity
        return Outcome(value if new == value else new, tuple(sends), label, step.rules)

    def _judged(self, new: Coordinator, deed: Deed) -> Coordinator:
        """The value after a step, which says what was wrong with the step's effects, if anything was."""
        wrong = frozenset(one.name for one in self.effects if not one.done(deed))
        if not wrong:
            return new
        return Breach(new.group, new.armed, new.ended_by_barrier, new.epoch, new.loading, wrong)

    def _charged(self, value: Coordinator, outcome: Outcome) -> Outcome:
        """A failed append that does something is a fault, unless the log has charged for it."""
        if self.prospects.may_move(value.epoch) or (outcome.value == value and not outcome.sends):
            return outcome
        return replace(outcome, sends=(Send("budget", Charge("append")), *outcome.sends))

    def _settled(self, value: Coordinator) -> Coordinator:
        group = None if value.group is None else self._groups.settled(value.group, self.live)
        return replace(value, group=group, armed=self._groups.settled_timers(group, value.armed))


def _hostings(value: Coordinator, broker: int) -> tuple[Hosting, ...]:
    """What the broker of that number may be to the group. One that is not the coordinator may be stopping."""
    if not same_broker(broker, value.epoch):
        return (Hosting.ELSEWHERE, Hosting.INACTIVE)
    return (Hosting.LOADING,) if value.loading else (Hosting.ACTIVE,)


def _answers(step: AnyStep) -> list[Send]:
    return [Send(f"client/{reply.to}", reply.message) for reply in step.replies if reply.to != NOBODY]


def _addressed(record: Record) -> Record:
    """A record without the answer that would reach nobody."""
    lost = record.answer is not None and record.answer.to == NOBODY
    return record.without_answer() if lost else record
