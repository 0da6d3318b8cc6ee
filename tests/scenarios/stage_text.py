"""A dialogue as text: what came in, what was answered, timers, records, the group after it, the rules used.

One block per step, one fact per line, so that a difference between two texts names the fact that differs. Of
the way to the situation that a script is about there is only what was said.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stage import Asked, Client, GivenUp, Happening, Loaded, Stage
from stage_offsets import LookForExpired, Unused

from rota import coordinator as core
from rota.spec import BrokerConfig, Group, GroupRecord, Member, MemberRecord, RecordKind, Timer
from rota.spec.offset_state import (
    NO_PRODUCER,
    Committed,
    InLine,
    OffsetBatch,
    OffsetRead,
    OffsetRecord,
    OffsetTombstone,
    PendingOffset,
    TransactionEnd,
)

_USUAL = vars(BrokerConfig())
WIDTH = 110
MARGIN = " " * 13


def text(title: str, point: str, source: str, stage: Stage) -> str:
    """The dialogue of a stage, with what it is about and where that is public."""
    lines = [title, "", *textwrap.wrap(point, WIDTH), "", *_wrapped("source   ", source), *_setting(stage)]
    speech = Speech(stage.owners)
    for number, one in enumerate(stage.happenings):
        lines += ["", f"-- {stage.marks[number]} --"] if number in stage.marks else []
        short = number < stage.given - 1
        lines += [] if 0 < number < stage.given - 1 else [""]
        lines += [
            part for line in (speech.talk(one) if short else speech.step(one)) for part in _folded(line)
        ]
    return "\n".join(lines) + "\n"


def _wrapped(head: str, words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def _folded(line: str) -> list[str]:
    indent = MARGIN + " " * len("member   ")
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _setting(stage: Stage) -> Iterator[str]:
    told = [f"{name} = {value:,}" for name, value in vars(stage.config).items() if value != _USUAL[name]]
    yield f"broker   {stage.profile.name}, {', '.join(told) if told else 'settings as Kafka has them'}"
    yield f"clients  {', '.join(stage.clients)}; A(m1) is A under the member id m1; r1 is the first request"


@dataclass(frozen=True)
class Speech:
    """Puts steps into words. owners: who was given which member id."""

    owners: Mapping[str, Client]

    def talk(self, one: Happening) -> Iterator[str]:
        """What happened, and what was answered."""
        yield f"{one.now:>8,} ms  {self._what(one.what)}"
        for asked, reply in one.answers:
            yield f"{MARGIN}{asked.client.name} ← {asked.address}  {self._reply(reply, asked.version)}"

    def step(self, one: Happening) -> Iterator[str]:
        """One step, with all that it did and led to."""
        yield from self.talk(one)
        for record in one.step.records:
            yield f"{MARGIN}log      + {self._record(record)}"
        yield from (f"{MARGIN}log      + {_in_line(item)}" for item in one.line)
        for timer, delay in one.timers.items():
            told = "stopped" if delay is None else f"in {delay:,} ms"
            yield f"{MARGIN}timer    {self._timer(timer)} {told}"
        yield from (MARGIN + line for line in self._group(one.step.group))
        if one.armed:
            due = sorted(one.armed.items(), key=lambda pair: (pair[1], pair[0]))
            yield f"{MARGIN}due      " + ", ".join(f"{self._timer(timer)} at {at:,}" for timer, at in due)
        kept = [*one.offsets.committed.items(), *((p.record.key, p) for p in one.offsets.pending)]
        if kept:
            yield f"{MARGIN}offsets  " + ", ".join(_kept(key, value) for key, value in kept)
        yield f"{MARGIN}rules    {', '.join(one.rules)}"
        if one.outcomes > 1:
            yield f"{MARGIN}choice   one of {one.outcomes} outcomes that are allowed"

    def _name(self, member_id: str | None) -> str:
        if not member_id:
            return "nobody"
        owner = self.owners.get(member_id)
        return f"{owner.name if owner else '?'}({member_id})"

    def _timer(self, timer: Timer) -> str:
        return f"{timer.name} {self._name(timer.member_id)}" if timer.member_id else timer.name

    def _what(self, what: Any) -> str:
        if isinstance(what, Timer):
            return f"timer {self._timer(what)} is due"
        if isinstance(what, Asked):
            return f"{what.client.name} → {what.address}  {self._request(what.request, what.version)}"
        if isinstance(what, LookForExpired):
            return f"the broker looks what has expired; the group is in its state since {what.since_ms:,}"
        if isinstance(what, Unused):
            return "no offset is left, and nobody is in the group"
        if isinstance(what, GivenUp):
            return "another broker becomes the coordinator; this one gives the group up"
        if isinstance(what, Loaded):
            found = "nothing" if what.record is None else self._record(what.record)
            return f"a coordinator has read the log and found: {found}"
        first, error = what
        told = error.name if error else "stored"
        if not isinstance(first, GroupRecord):
            return f"the log answers: {_in_line(first)}, {told}"
        return f"the log answers: {_subject(first)} generation {first.generation_id}, {told}"

    def _request(self, request: Any, version: int) -> str:
        parts = [f"{type(request).__name__} v{version}"]
        if request.group_id != "g":
            parts.append(f"group {request.group_id!r}")
        if isinstance(request, core.LeaveGroup):
            parts += [_instance(self._name(one.member_id), one) for one in request.members]
            return ", ".join(parts)
        sender = self._name(request.member_id) if request.member_id else "no member id"
        parts.append(sender)
        parts += [f"instance {request.group_instance_id}"] if request.group_instance_id is not None else []
        if isinstance(request, core.JoinGroup):
            parts.append(
                f"session {request.session_timeout_ms:,}, rebalance {request.rebalance_timeout_ms:,}"
            )
            entries = (f"{one.name}{_quoted(one.metadata)}" for one in request.protocols)
            parts.append(f"{request.protocol_type!r}: {' '.join(entries) or 'nothing'}")
            return ", ".join(parts)
        parts.append(f"generation {request.generation_id}")
        if isinstance(request, core.SyncGroup):
            if request.protocol_type is not None or request.protocol_name is not None:
                parts.append(f"{request.protocol_type!r}: {request.protocol_name}")
            given = request.assignments
            parts += [
                f"{self._name(one.member_id)} gets{_quoted(one.assignment) or ' nothing'}" for one in given
            ]
        return ", ".join(parts)

    def _reply(self, reply: Any, version: int) -> str:
        kind, parts = type(reply).__name__, [f"{reply.error_code.name} ({reply.error_code.value})"]
        if kind == "LeaveGroupReply":
            told = ((_instance(self._name(one.member_id), one), one.error_code.name) for one in reply.members)
            parts += [" ".join(pair) for pair in told]
        elif kind == "SyncGroupReply":
            parts += [_protocol(reply)] if reply.protocol_type and version >= 5 else []
            parts += [f"assignment{_quoted(reply.assignment) or ' empty'}"]
        elif kind == "JoinGroupReply":
            parts += [f"member id {self._name(reply.member_id)}" if reply.member_id else "no member id"]
            if reply.generation_id >= 0:
                named = _protocol(reply) if version >= 7 else reply.protocol_name
                parts += [f"generation {reply.generation_id}", named]
                parts += [f"leader {self._name(reply.leader)}"]
            listed = (f"{self._name(one.member_id)}{_quoted(one.metadata)}" for one in reply.members)
            parts += [f"members {' '.join(listed)}"] if reply.members else []
            parts += ["skip the assignment"] if reply.skip_assignment else []
        return ", ".join(parts)

    def _record(self, record: GroupRecord) -> str:
        head = f"{_subject(record)} generation {record.generation_id}, {_protocol(record)}"
        head += f", leader {self._name(record.leader)}"
        told = [
            f"{self._static(one.member_id, one)}{_quoted(one.assignment) or ' empty'}"
            for one in record.members
        ]
        waits = [] if record.answer is None else [f"{record.answer.to} waits for it"]
        return ", ".join([head, *(told or ["no members"]), *waits])

    def _static(self, member_id: str, one: Member | MemberRecord) -> str:
        return _instance(self._name(member_id), one)

    def _group(self, group: Group | None) -> Iterator[str]:
        if group is None:
            yield "group    absent"
            return
        told = f"group    {group.state.value}, generation {group.generation_id}, {_protocol(group)}"
        told += f", leader {self._name(group.leader)}"
        gone = sorted(group.pending_sync - group.members.keys())
        if gone:
            told += f", a SyncGroup owed by {' '.join(map(self._name, gone))}, gone"
        if group.pending:
            told += f", handed out {' '.join(map(self._name, sorted(group.pending)))}"
        if group.initial_join is not None:
            told += f", initial delay may go on for {group.initial_join.remaining_ms:,} ms"
        if group.new_member_added:
            told += ", somebody came in it"
        yield told
        for member_id, member in group.members.items():
            facts = [self._static(member_id, member), " ".join(member.names)]
            facts += ["new"] if member.is_new else []
            facts += [f"JoinGroup {member.awaiting_join} waits"] if member.awaiting_join else []
            facts += [f"SyncGroup {member.awaiting_sync} waits"] if member.awaiting_sync else []
            facts += ["owes a SyncGroup"] if member_id in group.pending_sync else []
            facts += [f"has{_quoted(member.assignment)}"] if member.assignment else []
            yield f"member   {', '.join(facts)}"


_SUBJECTS = {
    RecordKind.CREATION: "new group,",
    RecordKind.ASSIGNMENT: "assignment,",
    RecordKind.EMPTIED: "Empty group,",
    RecordKind.REPLACEMENT: "replacement,",
    RecordKind.DELETION: "end of the group,",
}


def _subject(record: GroupRecord) -> str:
    """What a record is about."""
    return _SUBJECTS[record.kind]


def _in_line(item: InLine) -> str:
    """What about offsets waits for the log."""
    if isinstance(item, TransactionEnd):
        return f"end of the transaction of producer {item.producer_id}, {_end(item)}"
    if isinstance(item, OffsetRead):
        return f"{item.call.to} reads"
    if not isinstance(item, OffsetBatch):
        raise TypeError(f"nothing that waits in the line: {item!r}")
    told = [_recorded(record) for record in item.records]
    waits = [] if item.answer is None else [f"{item.answer.to} waits for it"]
    return ", ".join([*told, *waits])


def _end(end: TransactionEnd) -> str:
    return "committed" if end.committed else "aborted"


def _recorded(record: OffsetRecord | OffsetTombstone) -> str:
    name = f"{record.topic}-{record.partition_index}"
    if isinstance(record, OffsetTombstone):
        return f"{name} without an offset"
    by = "" if record.producer_id == NO_PRODUCER else f" in the transaction of producer {record.producer_id}"
    return f"{name} at {record.value.committed_offset}{by}"


def _kept(key: tuple[str, int], value: Committed | PendingOffset) -> str:
    if isinstance(value, PendingOffset):
        return _recorded(value.record)
    return f"{key[0]}-{key[1]} at {value.committed_offset}"


def _protocol(one: Any) -> str:
    return f"{one.protocol_type or 'no type'}: {one.protocol_name or 'no protocol'}"


def _instance(told: str, one: Any) -> str:
    return told if one.group_instance_id is None else f"{told} instance {one.group_instance_id}"


def _quoted(data: bytes) -> str:
    return f' "{data.decode(errors="backslashreplace")}"' if data else ""
