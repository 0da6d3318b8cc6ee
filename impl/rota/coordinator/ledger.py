"""Appends that the log has not answered yet, and what each of them is about.

An answer may come late: members and groups may be gone by then, and are looked up again by id.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rota.coordinator.effects import Reply
from rota.coordinator.messages import JoinGroupProtocol, LeaveGroupReply
from rota.coordinator.purgatory import ParkedRequest

ReplyTo = Callable[[ParkedRequest, Reply], None]
"""Answers a parked request: `Step.reply` of the step in which the log's answer comes."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """The leader's SyncGroup: assignments by member id, for one generation."""

    generation_id: int
    assignments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Created:
    """A JoinGroup made the group."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A static member's new incarnation, with what was there before; `parked` is the JoinGroup of it."""

    member_id: str
    parked: ParkedRequest
    generation_id: int
    old_member_id: str
    old_leader: str | None
    old_protocols: tuple[JoinGroupProtocol, ...]
    old_session_timeout_ms: int
    old_rebalance_timeout_ms: int


@dataclass(eq=False, slots=True)
class Outstanding:
    """A group's record. `about` is None where the log's answer changes nothing in the group.

    `leaving`: a LeaveGroup that caused the record, and its reply if the log stores it.
    """

    group_id: str
    about: Assigned | Created | Replaced | None
    leaving: tuple[ParkedRequest, LeaveGroupReply] | None = None


@dataclass(eq=False, slots=True)
class DeferredEvent:
    """What is completed in the order of the log, whatever the order of the log's answers.

    `effect` is called once, with `error_code`, the response's: None until the log has answered. A broker has
    a queue of such events for each partition, which are completed up to the high watermark. `in_doubt`: the
    log's answer was a time-out, so that what was written may be stored after all. `partitions`: where it is
    in line; in all of them if None.
    """

    effect: Callable[[ReplyTo, int], None]
    error_code: int | None = None
    in_doubt: bool = False
    partitions: frozenset[int] | None = None

    def complete(self, reply_to: ReplyTo, error_code: int) -> None:
        """Call the effect and let go of it: it may refer to this event, and both would stay for long."""
        self.effect(reply_to, error_code)
        self.effect = _completed


def _completed(reply_to: ReplyTo, error_code: int) -> None:
    """In place of an effect that was called."""


@dataclass(slots=True)
class Ledger:
    """Appends that are not answered yet, by id."""

    outstanding: dict[int, Outstanding | DeferredEvent] = field(default_factory=dict)
    last_id: int = 0
    _of_group: dict[str, dict[int, Outstanding]] = field(default_factory=dict)

    def open(self, entry: Outstanding | DeferredEvent) -> int:
        """Remember an append; returns its id."""
        self.last_id += 1
        self.outstanding[self.last_id] = entry
        if isinstance(entry, Outstanding):
            self._of_group.setdefault(entry.group_id, {})[self.last_id] = entry
        return self.last_id

    def close(self, append_id: int) -> Outstanding | DeferredEvent | None:
        """The log has answered an append: what it was about, None if it is not waiting for an answer."""
        entry = self.outstanding.pop(append_id, None)
        if isinstance(entry, Outstanding):
            of_group = self._of_group[entry.group_id]
            del of_group[append_id]
            if not of_group:
                del self._of_group[entry.group_id]
        return entry

    def close_all(self) -> tuple[Outstanding | DeferredEvent, ...]:
        """No answer is waited for any more: what all appends were about."""
        entries = tuple(self.outstanding.values())
        self.outstanding.clear()
        self._of_group.clear()
        return entries

    def forget(self, group_id: str) -> None:
        """The group is gone: answers to its records change nothing, also in a later group of its id."""
        for entry in self._of_group.get(group_id, {}).values():
            entry.about = None
