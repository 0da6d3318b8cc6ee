"""The coordinator as a machine: it folds the spec's steps into one value, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rota.environment.broker.log import DEFAULT, Prospects
from rota.environment.broker.member_ids import fresh_id, is_newcomer, owner
from rota.environment.broker.offsets import watched
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
from rota.kernel import Message, Send, Turn, Value
from rota.spec import (
    Arm,
    FindCoordinatorRequest,
    Group,
    GroupRecord,
    GroupState,
    Hosting,
    Node,
    RecordKind,
    Spec,
    Step,
    Timer,
    TimerKind,
)
from rota.spec.settled import MEMBERSHIP, Live, settled, settled_timers, waits_for_log

BY_TIMER = frozenset({"timers.join-timeout", "timers.initial-delay-over"})


@dataclass(frozen=True)
class Coordinator:
    """The coordinator's part of the state.

    group: None before it exists; armed: the timers that may fire; ended_by_barrier: a history variable
    for one property, whether the join phase of this CompletingRebalance ended because all had joined;
    epoch: how many times the coordinator has moved to another broker; loading: it has not read the log yet.
    """

    group: Group | None = None
    armed: frozenset[Timer] = frozenset()
    ended_by_barrier: bool = False
    epoch: int = 0
    loading: bool = False


@dataclass(frozen=True, eq=False)
class Broker:
    """The machine.

    Parameters: spec, the rules; settle: clear dead data after every step; prospects of the log; live: what is
    in scope, and so is no dead data.

    It stands for all brokers: the coordinator, and whoever a client takes for it.
    """

    spec: Spec
    settle: bool = True
    prospects: Prospects = DEFAULT
    live: Live = MEMBERSHIP
    name: str = "coordinator"
    role: str = "coordinator"

    def initial(self) -> Sequence[Value]:
        """A coordinator that has never heard of the group."""
        return (Coordinator(),)

    def offers(self, value: Coordinator) -> Sequence[Turn]:
        """Every armed timer may be due; a coordinator that is loading reads the log.

        But for the session of a member that waits for the log: the broker gives up waiting for it before the
        shortest session is over.
        """
        if value.loading:
            return (Turn(value, self._to_lines(Read()), "the coordinator reads the log"),)
        group = value.group
        if group is None:
            return ()
        turns = []
        for timer in sorted(t for t in value.armed if not _waits_for_log(group, t)):
            fired = replace(value, armed=value.armed - {timer})
            for step in self.spec.fire(group, timer):
                turns.append(self._fold(fired, step, _due(timer), _evictions(group, step.group)))
        return turns

    def receive(self, value: Coordinator, sender: str, message: Message) -> Sequence[Turn]:
        """A request, the log's answers, or news of a broken connection."""
        client = sender.removeprefix("client/")
        if isinstance(message, Deliver):
            return self._delivered(value, message, client)
        if isinstance(message, Recalled):
            return self._handled(value, message.request, message.client)
        if isinstance(message, Appended):
            steps = self.spec.appended(value.group, message.record, message.error)
            turns = [self._fold(value, step) for step in steps]
            return turns if message.error is None else [self._charged(value, turn) for turn in turns]
        if isinstance(message, Disconnected):
            after = replace(value, group=_without_address(value.group, client))
            return (Turn(after, self._to_lines(Unreachable(client))),)
        if isinstance(message, GaveUp):
            return () if _owes(value.group, client) else (Turn(value, self._to_lines(Owed(client))),)
        if isinstance(message, Moved):
            given_up = self.spec.unload(value.group, message.unanswered)
            after = Coordinator(epoch=value.epoch + 1, loading=True)
            moved = [Send("offsets", Moved(()))] if self.live.offsets else []
            return [Turn(after, (*_answers(step), *moved), rules=step.rules) for step in given_up]
        if isinstance(message, Loaded):
            there = replace(value, loading=False)
            return [self._fold(there, step) for step in self.spec.load(message.record)]
        if isinstance(message, RetentionDue | Unused | OffsetsThere):
            return self._heard(value, message)
        raise TypeError(f"the coordinator does not take {message!r}")

    def _heard(self, value: Coordinator, message: RetentionDue | Unused | OffsetsThere) -> Sequence[Turn]:
        """The offsets have come to their age, the last of them is gone, or there are some."""
        if isinstance(message, OffsetsThere):
            steps = () if value.group is not None or value.loading else self.spec.offsets_found(value.group)
            return [self._fold(value, step) for step in steps] or (Turn(value),)
        if value.group is None:
            return (Turn(value),)
        if isinstance(message, Unused):
            return [self._fold(value, step) for step in self.spec.unused(value.group)]
        return [self._fold(value, step) for step in self.spec.retention(value.group, message.check)]

    def _to_lines(self, message: Message) -> tuple[Send, ...]:
        """To the log and to the offsets, both of which may owe a client an answer."""
        return tuple(Send(line, message) for line in ("log", "offsets")[: 1 + self.live.offsets])

    def _delivered(self, value: Coordinator, message: Deliver, client: str) -> Sequence[Turn]:
        """A request. Where old ids could come back the log is asked for them before a new one is minted."""
        recalls = self.live.statics or self.prospects.may_move(value.epoch)
        hosted = _hostings(value, message.broker) == (Hosting.ACTIVE,)
        if recalls and hosted and is_newcomer(message.call):
            return (Turn(value, (Send("log", Recall(message, client)),)),)
        return self._handled(value, message, client)

    def _handled(self, value: Coordinator, message: Deliver, client: str) -> Sequence[Turn]:
        call = message.call
        if isinstance(call.request, FindCoordinatorRequest):
            call = replace(call, leader=Node(value.epoch))
            return [self._fold(value, step) for step in self.spec.handle(value.group, call)]
        call = replace(call, fresh_id=fresh_id(client, value.group, message.held))
        turns = [
            watched(self._fold(value, step), value.group, call.request)
            for hosting in _hostings(value, message.broker)
            for step in self.spec.handle(value.group, replace(call, hosting=hosting))
        ]
        known = message.broker == value.epoch or not same_broker(message.broker, value.epoch)
        if known or call.to == NOBODY:
            return turns
        renumbered = Send(f"client/{client}", Renumbered(value.epoch))
        return [replace(turn, sends=(renumbered, *turn.sends)) for turn in turns]

    def _fold(self, value: Coordinator, step: Step, label: str = "", evicted: Iterable[Evicted] = ()) -> Turn:
        """One step of the spec becomes one value and the messages that go out with it."""
        armed = set(value.armed)
        for effect in step.timers:
            if isinstance(effect, Arm):
                armed.add(effect.timer)
            else:
                armed.discard(effect.timer)
        sends = [Send(f"client/{owner(loss.member_id)}", loss) for loss in evicted]
        sends += _answers(step)
        sends += [Send("offsets", word) for word in step.offsets]
        if self.live.offsets and value.group is not None and step.group is None and not step.offsets:
            sends.append(Send("offsets", Reverted()))
        records = (_addressed(record) for record in step.records)
        sends += [Send("log", Append(r)) for r in records if self.prospects.counts(r, value.epoch)]
        dead = _dead_appends(value.group, step.group)
        if self.settle and dead and not self.prospects.may_move(value.epoch):
            sends.append(Send("log", ForgetAppends(dead)))
        new = Coordinator(
            step.group, frozenset(armed), _ended_by_barrier(value, step), value.epoch, value.loading
        )
        return Turn(self._settled(new) if self.settle else new, tuple(sends), label, step.rules)

    def _charged(self, value: Coordinator, turn: Turn) -> Turn:
        """A failed append that does something is a fault, unless the log has charged for it."""
        if self.prospects.may_move(value.epoch) or (turn.value == value and not turn.sends):
            return turn
        return replace(turn, sends=(Send("budget", Charge("append")), *turn.sends))

    def _settled(self, value: Coordinator) -> Coordinator:
        group = None if value.group is None else settled(value.group, self.live)
        return replace(value, group=group, armed=settled_timers(group, value.armed))


def _waits_for_log(group: Group, timer: Timer) -> bool:
    member = group.members.get(timer.member_id)
    return timer.kind is TimerKind.SESSION and member is not None and waits_for_log(member)


def _hostings(value: Coordinator, broker: int) -> tuple[Hosting, ...]:
    """What the broker of that number may be to the group. One that is not the coordinator may be stopping."""
    if not same_broker(broker, value.epoch):
        return (Hosting.ELSEWHERE, Hosting.INACTIVE)
    return (Hosting.LOADING,) if value.loading else (Hosting.ACTIVE,)


def _answers(step: Step) -> list[Send]:
    return [Send(f"client/{reply.to}", reply.message) for reply in step.replies if reply.to != NOBODY]


def _addressed(record: GroupRecord) -> GroupRecord:
    """A record without the answer that would reach nobody."""
    lost = record.answer is not None and record.answer.to == NOBODY
    return replace(record, answer=None) if lost else record


def _completing(group: Group | None) -> bool:
    return group is not None and group.state is GroupState.COMPLETING_REBALANCE


def _dead_appends(before: Group | None, after: Group | None) -> frozenset[RecordKind]:
    """The kinds of records whose answers can do nothing any more, since the group has gone on."""
    dead = set()
    if before is not None and after is not None and before.generation_id != after.generation_id:
        dead = {RecordKind.CREATION, RecordKind.ASSIGNMENT}
    if _completing(before) and not _completing(after):
        dead.add(RecordKind.ASSIGNMENT)
    return frozenset(dead)


def _ended_by_barrier(value: Coordinator, step: Step) -> bool:
    if not _completing(step.group):
        return False
    if "join.complete-phase" in step.rules:
        return not BY_TIMER.intersection(step.rules)
    return value.ended_by_barrier


def _evictions(before: Group, after: Group | None) -> tuple[Evicted, ...]:
    """The ids that a firing timer took from their owners or left out of a generation, in order.

    Static members are left out: they stay in a group though they have not come back to it.
    """
    left = set() if after is None else {*after.members, *after.pending}
    parked = {i for i, m in before.members.items() if m.awaiting_join or m.awaiting_sync}
    lost = {*before.members, *before.pending} - left
    if after is not None and after.generation_id != before.generation_id:
        lost |= before.members.keys() - set(before.awaiting_join)
    return tuple(Evicted(member_id, member_id in parked) for member_id in sorted(lost))


def _owes(group: Group | None, client: str) -> bool:
    """Whether a client's request is parked."""
    members = () if group is None else tuple(group.members.values())
    return any(client in (member.awaiting_join, member.awaiting_sync) for member in members)


def _without_address(group: Group | None, client: str) -> Group | None:
    if group is None:
        return None
    for member_id, member in group.members.items():
        if member.awaiting_join == client:
            group = group.with_member(member_id, replace(member, awaiting_join=NOBODY))
        if member.awaiting_sync == client:
            group = group.with_member(member_id, replace(member, awaiting_sync=NOBODY))
    return group


def _due(timer: Timer) -> str:
    names = {
        TimerKind.INITIAL_JOIN: "the initial rebalance delay is over",
        TimerKind.JOIN: "the rebalance timeout of the join phase is over",
        TimerKind.SYNC: "the rebalance timeout for SyncGroup is over",
        TimerKind.SESSION: f"the session of {timer.member_id} is over",
        TimerKind.NEW_MEMBER: f"the time of the new member {timer.member_id} is over",
        TimerKind.PENDING: f"the time to use the member id {timer.member_id} is over",
    }
    return names[timer.kind]
