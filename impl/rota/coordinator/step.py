"""One step of the core: the rules ask for replies, timers and appends, which are collected while they run.

A rule never waits and never reads what it armed or appended: the caller of the core carries out the effects
after the call has returned.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rota.coordinator.admin_messages import GroupTombstone
from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.consumer.records import ConsumerBatch
from rota.coordinator.effects import (
    Append,
    Arm,
    Cancel,
    Choices,
    Effects,
    GroupRecord,
    Reply,
    TimerId,
    TimerKind,
)
from rota.coordinator.group import Group
from rota.coordinator.ledger import Assigned, Created, DeferredEvent, Ledger, Outstanding, Replaced
from rota.coordinator.memory import Memory
from rota.coordinator.messages import LeaveGroupReply
from rota.coordinator.notices import Event, Notice
from rota.coordinator.offset_messages import OffsetBatch, TransactionMarker
from rota.coordinator.purgatory import ParkedRequest, Token
from rota.coordinator.replies import Replies, ToEach

T = TypeVar("T")


class Step:
    """What the rules of one step may use, and the effects collected so far."""

    __slots__ = (
        "_answered",
        "_appends",
        "_dropped",
        "_ledger",
        "_notices",
        "_replies",
        "_timers",
        "choices",
        "config",
        "memory",
    )

    def __init__(self, config: CoordinatorConfig, choices: Choices, ledger: Ledger, memory: Memory) -> None:
        self.config = config
        self.choices = choices
        self.memory = memory
        self._ledger = ledger
        self._replies: list[tuple[Token, Reply]] = []
        self._answered: list[ToEach[Any] | list[tuple[Token, Reply]]] | None = None
        self._timers: dict[TimerId, Arm | Cancel] = {}
        self._appends: list[Append] = []
        self._notices: list[Notice] = []
        self._dropped: list[Token] = []

    def reply(self, parked: ParkedRequest, reply: Reply) -> None:
        """Answer a request, in the form that its version can carry."""
        self._replies.append((parked.token, reply.for_version(parked.version)))

    def reply_each(self, requests: Sequence[tuple[ParkedRequest, T]], make: Callable[[T], Reply]) -> None:
        """Answer requests, each by what `make` makes of what comes with it, which may be after this step."""
        answered = self._answered = self._answered or []
        answered += (self._replies, ToEach(requests, make))
        self._replies = []

    def dismiss(self, parked: ParkedRequest | None, reply: Reply | None = None) -> None:
        """A request is parked no longer: it is answered so, or dropped. Nothing happens if there was none."""
        if parked is None:
            return
        if reply is None:
            self._dropped.append(parked.token)
        else:
            self.reply(parked, reply)

    def arm(self, kind: TimerKind, group_id: str, delay_ms: int, member_id: str = "") -> None:
        """Arm a timer, or arm it again."""
        self._timer(Arm(TimerId(kind, group_id, member_id), delay_ms))

    def arm_again(self, armed: Arm) -> None:
        """The same with what was made before: a heartbeat asks for hardly anything else."""
        timers = self._timers
        if timers:
            timers.pop(armed.timer_id, None)
        timers[armed.timer_id] = armed

    def cancel_again(self, armed: Arm) -> None:
        """Cancel what was armed, under the name that was made before."""
        self._timer(Cancel(armed.timer_id))

    def cancel(self, kind: TimerKind, group_id: str, member_id: str = "") -> None:
        """Cancel a timer that is armed."""
        self._timer(Cancel(TimerId(kind, group_id, member_id)))

    def append(
        self, group_id: str, record: GroupRecord, about: Assigned | Created | Replaced | None = None
    ) -> None:
        """Append a group's record; `about` is what the log's answer decides, None for nothing."""
        append_id = self._ledger.open(Outstanding(group_id, about))
        self._appends.append(Append(append_id, group_id, record))

    def reply_when_stored(self, parked: ParkedRequest, reply: LeaveGroupReply) -> None:
        """Answer a LeaveGroup when the log has answered what this step appends; now if that is nothing."""
        entry = self._ledger.outstanding[self._appends[-1].append_id] if self._appends else None
        if isinstance(entry, Outstanding):
            entry.leaving = parked, reply
        else:
            self.reply(parked, reply)

    def append_deferred(
        self,
        group_id: str,
        record: OffsetBatch | GroupTombstone | TransactionMarker | ConsumerBatch,
        entry: DeferredEvent,
    ) -> None:
        """Append what is no group's state; the log's answer is kept in the event until it is completed."""
        self._appends.append(Append(self._ledger.open(entry), group_id, record))

    def forget(self, group_id: str) -> None:
        """Answers of the log that are still to come to records of this group change nothing any more."""
        self._ledger.forget(group_id)

    def note(
        self,
        event: Event,
        group: Group,
        member_id: str = "",
        group_instance_id: str | None = None,
        *,
        old_member_id: str = "",
        removed: tuple[str, ...] = (),
        reason: str = "",
        client_id: str = "",
    ) -> None:
        """Tell what happens to a group, as it is now."""
        now = group.state, group.generation_id, len(group.members), len(group.static_members)
        about = member_id, group_instance_id, old_member_id, removed, reason, client_id
        # Not by name: whoever empties a group makes as many as it has members.
        self.tell(Notice._make((event, group.group_id, *now, *about)))

    def tell(self, notice: Notice) -> None:
        """Tell what happens to a group of either protocol."""
        self._notices.append(notice)

    def effects(self) -> Effects:
        """Everything asked for."""
        # Most steps ask for a reply and a timer, and for nothing else.
        return Effects(
            tuple(self._replies) if self._answered is None else Replies([*self._answered, self._replies]),
            tuple(self._timers.values()),
            tuple(self._appends) if self._appends else (),
            tuple(self._notices) if self._notices else (),
            tuple(self._dropped) if self._dropped else (),
        )

    def _timer(self, effect: Arm | Cancel) -> None:
        # Only the last effect on a timer counts, in the order in which the last ones came.
        if self._timers:
            self._timers.pop(effect.timer_id, None)
        self._timers[effect.timer_id] = effect
