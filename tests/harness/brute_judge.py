"""The judge of histories by brute force: every order, every timer at every instant of a grid.

Ids that no answer shows are `?N`, N the number of the request: the histories of `harness.spec_histories`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from rota.linearise import Answered, Broken, History, Quiet, Sent
from rota.linearise.answers import comparable
from rota.oracle.offsets_follow import Kept, Waiting, completed, outcomes
from rota.spec import Arm, Group, RecordKind, Spec, classic
from rota.spec.offset_state import GroupForgotten, OffsetBatch, Offsets


@dataclass(frozen=True)
class Exact:
    """Everything at an instant. armed: timers and when they are due; line: (item, record, since)."""

    group: Group | None = None
    offsets: Offsets = field(default_factory=Offsets)
    armed: frozenset = frozenset()
    pending: frozenset = frozenset()
    owed: frozenset = frozenset()
    line: tuple = ()

    def told(self, told, records, now):
        """After a step of the spec."""
        due = dict(self.armed)
        for one in told.timers:
            due.pop(one.timer, None)
            if isinstance(one, Arm):
                due[one.timer] = now + one.delay_ms / 1000
        gone = any(isinstance(one.item, GroupForgotten) for one in told.queued)
        new = [(None, one, now) for one in records if not (gone and one.kind is RecordKind.DELETION)]
        new += [(one.item, one.record, now) for one in told.queued]
        owed = self.owed | {(int(reply.to), reply.message, now) for reply in told.replies}
        armed, line = frozenset(due.items()), (*self.line, *new)
        return replace(self, group=told.group, offsets=told.offsets, armed=armed, owed=owed, line=line)


def waiting(line):
    """The line for the log as those who follow the offsets have it."""
    return [Waiting(OffsetBatch(()) if item is None else item, record) for item, record, _ in line]


def grouped(spec: Spec, state: Exact, steps, now):
    """What comes of steps of the group."""
    for step in steps:
        for told in outcomes(spec, Kept(state.offsets, waiting(state.line)), state.group, (step,)):
            yield state.told(told, step.records, now)


def stored(spec: Spec, state: Exact, now):
    """The log has stored what is first in the line."""
    (item, record, _), rest = state.line[0], replace(state, line=state.line[1:])
    found = [state]
    if item is None:
        found = [*grouped(spec, rest, spec.appended(rest.group, record, None), now)]
    for one in found:
        line = waiting(one.line)
        if line and (item is not None or one.line[0][0] is not None):
            line[0].answered = item is not None
            for told, done in completed(spec, Kept(one.offsets, line), one.group):
                yield replace(one, line=one.line[done:]).told(told, (), now)
        else:
            yield one


def brute(history: History, slack: float, grid: float) -> bool:
    """Whether some order of all that may have happened, at instants of the grid, gives what was seen."""
    spec = classic(history.config, profile=history.profile)
    sent = {event.number: event for event in history.events if isinstance(event, Sent)}
    seen = {event.number: event.reply for event in history.events if isinstance(event, Answered)}
    states, lost, now = {Exact()}, set(), 0.0

    def call(number):
        request, reply = sent[number].call.request, seen.get(number)
        fresh = "" if getattr(request, "member_id", "?") else getattr(reply, "member_id", "") or f"?{number}"
        return sent[number].call.__class__(request, str(number), sent[number].call.version, fresh)

    def at_once(states):
        found, todo = set(states), deque(states)
        while todo:
            state = todo.popleft()
            nexts = []
            for number in state.pending:
                rest = replace(state, pending=state.pending - {number})
                nexts += grouped(spec, rest, spec.handle(state.group, call(number)), now)
            nexts += stored(spec, state, now) if state.line else ()
            for timer, due in state.armed:
                rest = replace(state, armed=state.armed - {(timer, due)})
                if due <= now and state.group is not None:
                    nexts += grouped(spec, rest, spec.fire(state.group, timer), now)
            todo += dict.fromkeys(one for one in nexts if one not in found)
            found.update(nexts)
        return found

    def in_time(state):
        return (
            all(due + slack >= now for _, due in state.armed)
            and all(since + slack >= now for _, _, since in state.line)
            and all(sent[n].at + slack >= now or n in lost for n in state.pending)
        )

    for event in history.events:
        while now < event.at:
            states = at_once(states)
            now = round(now + grid, 6)
            states = {state for state in states if in_time(state)}
        if isinstance(event, Sent):
            states = {replace(state, pending=state.pending | {event.number}) for state in states}
        elif isinstance(event, Broken):
            lost |= {number for number, one in sent.items() if one.connection == event.connection}
        elif isinstance(event, Quiet):
            states = {
                state
                for state in at_once(states)
                if all(since + slack >= now or number in lost for number, _, since in state.owed)
            }
        else:
            version = sent[event.number].call.version
            given = comparable(event.reply, version)
            states = {
                replace(state, owed=state.owed - {one})
                for state in at_once(states)
                for one in state.owed
                if one[0] == event.number and comparable(one[1], version) == given
            }
    return bool(states)
