"""A dialogue as text: what came in, what was answered, timers, records, the group after it, the rules used.

One block per step, one fact per line, so that a difference between two texts names the fact that differs. Of
the way to the situation that a script is about there is only what was said.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rota.spec import BrokerConfig, Group, GroupRecord, Timer
from rota.spec.offset_state import OffsetRead
from rota.stage.clients import Asked, Client
from rota.stage.happenings import Found, GivenUp, Happening, Loaded, LookForExpired, Unused
from rota.stage.stage import Stage
from rota.stage.words import (
    asked_where,
    line_in_words,
    offset_in_words,
    protocol_of,
    quoted,
    record_in_words,
    reply_in_words,
    request_in_words,
    subject,
    who_waits,
    with_instance,
)

_USUAL = vars(BrokerConfig())
WIDTH = 110
MARGIN = " " * 13
CONTINUED = MARGIN + " " * len("member   ")
"""How lines begin that go on with the one before."""


def text(title: str, point: str, source: str, stage: Stage) -> str:
    """The dialogue of a stage, with what it is about and where that is public."""
    lines = [title, "", *textwrap.wrap(point, WIDTH), "", *_wrapped("source   ", source), *_setting(stage)]
    speech = Speech(stage.owners)
    for number, one in enumerate(stage.happenings):
        lines += ["", *_folded(f"-- {stage.marks[number]} --")] if number in stage.marks else []
        short = number < stage.given - 1
        lines += [] if 0 < number < stage.given - 1 else [""]
        lines += [
            part for line in (speech.talk(one) if short else speech.step(one)) for part in _folded(line)
        ]
    end = len(stage.happenings)
    lines += ["", *_folded(f"-- {stage.marks[end]} --")] if end in stage.marks else []
    return "\n".join(lines) + "\n"


def _wrapped(head: str, words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def _folded(line: str) -> list[str]:
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=CONTINUED, break_long_words=False, break_on_hyphens=False
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
            told = reply_in_words(reply, asked.version, self.name)
            yield f"{MARGIN}{asked.client.name} ← {asked.address}  {told}"

    def step(self, one: Happening) -> Iterator[str]:
        """One step, with all that it did and led to."""
        yield from self.talk(one)
        for record in one.step.records:
            yield f"{MARGIN}log      + {record_in_words(record, self.name)}{who_waits(record)}"
        yield from (f"{MARGIN}log      + {line_in_words(item)}{who_waits(item)}" for item in one.line)
        for timer, delay in one.timers.items():
            told = "stopped" if delay is None else f"in {delay:,} ms"
            yield f"{MARGIN}timer    {self._timer(timer)} {told}"
        yield from (MARGIN + line for line in self._group(one.step.group))
        if one.armed:
            due = sorted(one.armed.items(), key=lambda pair: (pair[1], pair[0]))
            yield f"{MARGIN}due      " + ", ".join(f"{self._timer(timer)} at {at:,}" for timer, at in due)
        kept = [offset_in_words(key, value) for key, value in one.offsets.committed.items()]
        kept += [offset_in_words(pending.record.key, pending) for pending in one.offsets.pending]
        if kept:
            yield f"{MARGIN}offsets  {', '.join(kept)}"
        yield f"{MARGIN}rules    {', '.join(one.rules)}"
        if len(one.allowed) > 1:
            yield f"{MARGIN}choice   one of {len(one.allowed)} outcomes that are allowed"

    def name(self, member_id: str | None) -> str:
        """A member id behind the name of its owner."""
        if not member_id:
            return "nobody"
        owner = self.owners.get(member_id)
        return f"{owner.name if owner else '?'}({member_id})"

    def _timer(self, timer: Timer) -> str:
        return f"{timer.name} {self.name(timer.member_id)}" if timer.member_id else timer.name

    def _what(self, what: Any) -> str:
        if isinstance(what, Timer):
            return f"timer {self._timer(what)} is due"
        if isinstance(what, Asked):
            asks = request_in_words(what.request, what.version, self.name)
            asks += asked_where(what.request, what.hosting, what.led_by)
            return f"{what.client.name} → {what.address}  {asks}"
        if isinstance(what, LookForExpired):
            return f"the broker looks what has expired; the group is in its state since {what.since_ms:,}"
        if isinstance(what, Unused):
            return "no offset is left, and nobody is in the group"
        if isinstance(what, Found):
            return "there are offsets, and no group that they are of"
        if isinstance(what, GivenUp):
            return "another broker becomes the coordinator; this one gives the group up"
        if isinstance(what, Loaded):
            found = "nothing" if what.record is None else record_in_words(what.record, self.name)
            return f"a coordinator has read the log and found: {found}"
        first, error = what
        if isinstance(first, OffsetRead):
            return f"nothing is before {first.call.to} any more"
        told = error.name if error else "stored"
        if not isinstance(first, GroupRecord):
            return f"the log answers: {line_in_words(first)}, {told}"
        return f"the log answers: {subject(first)}, {told}"

    def _group(self, group: Group | None) -> Iterator[str]:
        if group is None:
            yield "group    absent"
            return
        told = f"group    {group.state.value}, generation {group.generation_id}, {protocol_of(group)}"
        told += f", leader {self.name(group.leader)}"
        gone = sorted(group.pending_sync - group.members.keys())
        if gone:
            told += f", a SyncGroup owed by {' '.join(map(self.name, gone))}, gone"
        if group.pending:
            told += f", handed out {' '.join(map(self.name, sorted(group.pending)))}"
        if group.initial_join is not None:
            told += f", initial delay may go on for {group.initial_join.remaining_ms:,} ms"
        if group.new_member_added:
            told += ", somebody came in it"
        yield told
        for member_id, member in group.members.items():
            facts = [with_instance(self.name(member_id), member), " ".join(member.names)]
            facts += ["new"] if member.is_new else []
            facts += [f"JoinGroup {member.awaiting_join} waits"] if member.awaiting_join else []
            facts += [f"SyncGroup {member.awaiting_sync} waits"] if member.awaiting_sync else []
            facts += ["owes a SyncGroup"] if member_id in group.pending_sync else []
            facts += [f"has{quoted(member.assignment)}"] if member.assignment else []
            yield f"member   {', '.join(facts)}"
