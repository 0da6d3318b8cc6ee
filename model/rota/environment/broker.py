"""The coordinator as a machine: it folds the spec's steps into one value, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rota.environment.minting import fresh_id, owner
from rota.environment.signals import (
    NOBODY,
    Append,
    Appended,
    Charge,
    Deliver,
    Disconnected,
    Evicted,
    ForgetAppends,
    GaveUp,
)
from rota.kernel import Message, Send, Turn, Value
from rota.spec import Arm, Group, GroupState, Spec, Step, Timer, TimerKind
from rota.spec.settled import settled, settled_timers

BY_TIMER = frozenset({"timers.join-timeout", "timers.initial-delay-over"})


@dataclass(frozen=True)
class Coordinator:
    """The coordinator's part of the state.

    group: None before it exists; armed: the timers that may fire; ended_by_barrier: a history variable
    for one property, whether the join phase of this CompletingRebalance ended because all had joined.
    """

    group: Group | None = None
    armed: frozenset[Timer] = frozenset()
    ended_by_barrier: bool = False


@dataclass(frozen=True, eq=False)
class Broker:
    """The machine. spec: the rules; settle: clear dead data after every step."""

    spec: Spec
    settle: bool = True
    name: str = "coordinator"
    role: str = "coordinator"

    def initial(self) -> Sequence[Value]:
        """A coordinator that has never heard of the group."""
        return (Coordinator(),)

    def offers(self, value: Coordinator) -> Sequence[Turn]:
        """Every armed timer may be due."""
        group = value.group
        if group is None:
            return ()
        turns = []
        for timer in sorted(value.armed):
            fired = replace(value, armed=value.armed - {timer})
            for step in self.spec.fire(group, timer):
                turns.append(self._fold(fired, step, _due(timer), _evictions(group, step.group)))
        return turns

    def receive(self, value: Coordinator, sender: str, message: Message) -> Sequence[Turn]:
        """A request, the log's answer, or news of a broken connection."""
        if isinstance(message, Deliver):
            call = replace(message.call, fresh_id=fresh_id(_client(sender), value.group, message.held))
            return [self._fold(value, step) for step in self.spec.handle(value.group, call)]
        if isinstance(message, Appended) and value.group is not None:
            steps = self.spec.appended(value.group, message.record, message.error)
            return [_charged(self._fold(value, step)) for step in steps]
        if isinstance(message, Disconnected):
            return (Turn(replace(value, group=_without_address(value.group, _client(sender)))),)
        if isinstance(message, GaveUp):
            return () if _owes(value.group, _client(sender)) else (Turn(value),)
        raise TypeError(f"the coordinator does not take {message!r}")

    def _fold(self, value: Coordinator, step: Step, label: str = "", evicted: Iterable[Evicted] = ()) -> Turn:
        """One step of the spec becomes one value and the messages that go out with it."""
        before, group = value.group, step.group
        armed = set(value.armed)
        for effect in step.timers:
            if isinstance(effect, Arm):
                armed.add(effect.timer)
            else:
                armed.discard(effect.timer)
        sends = [Send(f"client/{owner(loss.member_id)}", loss) for loss in evicted]
        sends += [Send(f"client/{r.to}", r.message) for r in step.replies if r.to != NOBODY]
        if self.settle and _completing(before) and (not _completing(group) or _generation(before, group)):
            sends.append(Send("log", ForgetAppends()))
        sends += [Send("log", Append(r)) for r in step.records if r.members or r.answer is not None]
        new = Coordinator(group, frozenset(armed), _ended_by_barrier(value, step))
        return Turn(self._settled(new) if self.settle else new, tuple(sends), label, step.rules)

    @staticmethod
    def _settled(value: Coordinator) -> Coordinator:
        group = None if value.group is None else settled(value.group)
        return replace(value, group=group, armed=settled_timers(group, value.armed))


def _charged(turn: Turn) -> Turn:
    """A failed append that does something is a fault."""
    if "persistence.assignment-failed" not in turn.rules:
        return turn
    return replace(turn, sends=(Send("budget", Charge("append")), *turn.sends))


def _client(machine: str) -> str:
    return machine.removeprefix("client/")


def _completing(group: Group | None) -> bool:
    return group is not None and group.state is GroupState.COMPLETING_REBALANCE


def _generation(before: Group | None, after: Group | None) -> bool:
    return before is not None and after is not None and before.generation_id != after.generation_id


def _ended_by_barrier(value: Coordinator, step: Step) -> bool:
    if not _completing(step.group):
        return False
    if "join.complete-phase" in step.rules:
        return not BY_TIMER.intersection(step.rules)
    return value.ended_by_barrier


def _evictions(before: Group, after: Group | None) -> tuple[Evicted, ...]:
    """The ids that a firing timer took from their owners, in order."""
    left = set() if after is None else {*after.members, *after.pending}
    parked = {i for i, m in before.members.items() if m.awaiting_join or m.awaiting_sync}
    lost = sorted({*before.members, *before.pending} - left)
    return tuple(Evicted(member_id, member_id in parked) for member_id in lost)


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
