"""The classic group as a kind of group: the questions that whoever holds it asks (`rota.spec.kind`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from rota.kernel import replace
from rota.spec.classic import settled
from rota.spec.classic.records import GroupRecord
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step
from rota.spec.classic.vocabulary import GroupState, RecordKind, TimerKind, kind_of
from rota.spec.effects import Record, Timer
from rota.spec.kind import Live, Loss

BY_TIMER = frozenset({"timers.join-timeout", "timers.initial-delay-over"})
"""Rules that end a join phase though not all have joined."""

CONTENT = {
    RecordKind.CREATION: "that the group is there",
    RecordKind.ASSIGNMENT: "the assignment",
    RecordKind.EMPTIED: "that the group is empty",
    RecordKind.REPLACEMENT: "the replacement of a static member",
    RecordKind.DELETION: "that the group is deleted",
}
"""What a record says, in the words of a trace."""

DUE = {
    TimerKind.INITIAL_JOIN: "the initial rebalance delay is over",
    TimerKind.JOIN: "the rebalance timeout of the join phase is over",
    TimerKind.SYNC: "the rebalance timeout for SyncGroup is over",
    TimerKind.SESSION: "the session of {} is over",
    TimerKind.NEW_MEMBER: "the time of the new member {} is over",
    TimerKind.PENDING: "the time to use the member id {} is over",
}
"""That a timer is due, in the words of a trace. {}: its member."""


@dataclass(frozen=True)
class ClassicGroups:
    """The answers for classic groups."""

    def may_be_due(self, group: Group, timer: Timer) -> bool:
        """Not the session of a member that waits for the log.

        The broker gives up waiting for the log before the shortest session is over.
        """
        member = group.members.get(timer.member_id)
        session = kind_of(timer) is TimerKind.SESSION
        return not (session and member is not None and settled.waits_for_log(member))

    def timer_text(self, timer: Timer) -> str:
        """That a timer is due, in the words of a trace."""
        return DUE[kind_of(timer)].format(timer.member_id)

    def losses(self, before: Group, after: Group | None) -> tuple[Loss, ...]:
        """The ids that are gone, or were left out of a generation.

        Static members are left out: they stay in a group though they have not come back to it.
        """
        left = set() if after is None else {*after.members, *after.pending}
        parked = {i for i, m in before.members.items() if m.awaiting_join or m.awaiting_sync}
        lost = {*before.members, *before.pending} - left
        if after is not None and after.generation_id != before.generation_id:
            lost |= before.members.keys() - set(before.awaiting_join)
        return tuple(Loss(member_id, member_id in parked) for member_id in sorted(lost))

    def owes(self, group: Group | None, address: str) -> bool:
        """Whether a JoinGroup or SyncGroup from an address is parked."""
        members = () if group is None else tuple(group.members.values())
        return any(address in (member.awaiting_join, member.awaiting_sync) for member in members)

    def readdressed(self, group: Group | None, address: str, to: str) -> Group | None:
        """The group with what is parked for one address parked for another."""
        if group is None:
            return None
        for member_id, member in group.members.items():
            if member.awaiting_join == address:
                group = group.with_member(member_id, replace(member, awaiting_join=to))
            if member.awaiting_sync == address:
                group = group.with_member(member_id, replace(member, awaiting_sync=to))
        return group

    def settled(self, group: Group, live: Live) -> Group:
        """The group without dead fields; `rota.spec.classic.settled` has the reasons."""
        return settled.settled(group, live)

    def settled_timers(self, group: Group | None, armed: Iterable[Timer]) -> frozenset[Timer]:
        """The armed timers that can do something; `rota.spec.classic.settled` has the reasons."""
        return settled.settled_timers(group, armed)

    def ended_by_barrier(self, before: bool, step: Step) -> bool:
        """Whether the join phase of this CompletingRebalance ended because all had joined."""
        if not _completing(step.group):
            return False
        if "join.complete-phase" in step.rules:
            return not BY_TIMER.intersection(step.rules)
        return before

    def dead_appends(self, before: Group | None, after: Group | None) -> frozenset[Enum]:
        """A creation after the first generation, an assignment after its phase of completion."""
        dead: set[Enum] = set()
        if before is not None and after is not None and before.generation_id != after.generation_id:
            dead = {RecordKind.CREATION, RecordKind.ASSIGNMENT}
        if _completing(before) and not _completing(after):
            dead.add(RecordKind.ASSIGNMENT)
        return frozenset(dead)

    def record_text(self, record: Record) -> str:
        """What a record says, in the words of a trace."""
        one = _of_group(record)
        return f"{CONTENT[one.kind]} of generation {one.generation_id}"

    def answer_counts(self, record: Record, failures: bool) -> bool:
        """The answer opens a generation, or ends the wait of a JoinGroup; a failure undoes a creation.

        That a group is Empty is of interest only to a LeaveGroup whose answer waits for it.
        """
        one = _of_group(record)
        if one.kind is RecordKind.EMPTIED:
            return one.answer is not None
        return one.kind is not RecordKind.CREATION or failures

    def as_stored(self, record: Record) -> GroupRecord | None:
        """A record without what only its answer needs; None where it says that the group is deleted."""
        one = _of_group(record)
        if one.kind is RecordKind.DELETION:
            return None
        return replace(one, kind=RecordKind.ASSIGNMENT, answer=None, replacement=None)

    def ids_in(self, record: Record) -> frozenset[str]:
        """The members in a record."""
        return frozenset(line.member_id for line in _of_group(record).members)

    def ids_restored(self, record: Record) -> frozenset[str]:
        """Both ids of a replacement: when it fails the former self is back."""
        replacement = _of_group(record).replacement
        return (
            frozenset() if replacement is None else frozenset((replacement.member_id, replacement.former_id))
        )


def _completing(group: Group | None) -> bool:
    return group is not None and group.state is GroupState.COMPLETING_REBALANCE


def _of_group(record: Record) -> GroupRecord:
    if not isinstance(record, GroupRecord):
        raise TypeError(f"a classic group has no record {record!r}")
    return record
