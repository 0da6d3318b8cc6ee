"""What the judge has learned of a history's coordinator: which state, asked what, leads to which states.

What a step does to a core (`rota.linearise.parts`) does not depend on moments, and what it does to moments
can be told in few words: this timer goes on, that one is due so long after the step. So each pair of core and
input is asked of `Steps` once, with moments that are recognised in what it says.

Steps that say something to the offsets, readers who may see the group as it was, and whatever else depends on
more are not learned: `Learned.take` and the like return None for them, and `Steps` is asked each time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from rota.kernel import FrozenMap, replace
from rota.linearise.answers import agreements
from rota.linearise.ids import is_unknown, texts_in
from rota.linearise.parts import WHOEVER_ASKS, Core, Due, Line, Outcome, Packed, Shared
from rota.linearise.states import AT_ANY_TIME, InLog, State
from rota.linearise.steps import Steps, Taken
from rota.linearise.times import FOREVER, NEVER, Span
from rota.spec import Call, GroupRecord, HeartbeatRequest, Timer
from rota.spec.admin_messages import DescribeGroupsRequest, ListGroupsRequest
from rota.spec.messages import ReplyMessage
from rota.spec.offset_messages import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)

NOT_LEARNED = (
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
"""Requests whose answers rest on more than a core."""

MOST = 20_000
"""Cores and other values, and what is learned of them, that are kept at most before all is begun anew."""

_NOW = Span(0.0, 0.0)


class Learned:
    """What is known of the states of one history. Parameters: steps, to be asked."""

    def __init__(self, steps: Steps) -> None:
        self._asker = steps.copied()
        self._asker.lost = set()
        self._cores: dict[Hashable, Core] = {}
        self._shared: dict[Hashable, Shared] = {}
        self._agree: dict[tuple[Shared, int, Shared], bool | None] = {}
        self._due: dict[tuple[float, ...], Due] = {}
        self._lines: dict[Hashable, Line] = {}
        self._next: dict[tuple[Due, Outcome, Span], Due] = {}
        self._left: dict[tuple[Shared, int], Shared] = {}
        self._outcomes = 0

    def __len__(self) -> int:
        """How many things are kept."""
        tables = (self._cores, self._shared, self._agree, self._due, self._lines, self._next, self._left)
        return sum(len(table) for table in tables) + self._outcomes

    def shared(self, value: Hashable) -> Shared:
        """The one value like this."""
        found = self._shared.get((type(value), value))
        if found is None:
            found = self._shared[type(value), value] = Shared(value)
        return found

    def core(self, state: State, timers: tuple[Timer, ...]) -> Core:
        """The core of a state. timers: that are armed in it."""
        key = (state.group, timers, state.ids, state.stored, state.looked)
        found = self._cores.get(key)
        if found is None:
            found = self._cores[key] = Core(state, timers)
        return found

    def due(self, value: tuple[float, ...]) -> Due:
        """When timers are due; the one like this."""
        found = self._due.get(value)
        if found is None:
            found = self._due[value] = Due(value)
        return found

    def line(self, items: tuple[Any, ...], since: tuple[float, ...]) -> Line:
        """What waits for the log; the one like this."""
        value = (items, since)
        found = self._lines.get(value)
        if found is None:
            offsets = any(item is not None for item, _ in items[:2])
            first = self.shared(items[0]) if items and not offsets else None
            found = self._lines[value] = Line(value, first)
        return found

    def packed(self, state: State) -> Packed:
        """A state taken apart."""
        more = state.dead, state.look, state.ends or None
        assert more == (None, None, None), "states of a run that can be quick have none of these"
        owed = tuple((number, self.shared(one.message), one.by) for number, one in state.owed.items())
        return (
            self.core(state, tuple(state.armed)),
            self.shared(state.offsets),
            self.line(
                tuple((one.item, one.record) for one in state.line),
                _numbers(one.since for one in state.line),
            ),
            self.due(_numbers(state.armed.values())),
            self.shared(tuple(sorted(state.pending))),
            self.shared(owed),
            state.low,
            state.veiled,
        )

    def armed_after(self, before: Due, one: Outcome, moment: Span) -> Due:
        """When timers are due after a step at a moment."""
        key = (before, one, moment)
        found = self._next.get(key)
        if found is None:
            found = self._next[key] = self.due(_armed(before.value, one.armed, moment))
        return found

    def without(self, pending: Shared, number: int) -> Shared:
        """What is pending without one request."""
        found = self._left.get((pending, number))
        if found is None:
            left = self.shared(tuple(one for one in pending.value if one != number))
            found = self._left[pending, number] = left
        return found

    def line_after(self, before: Line, one: Outcome, moment: Span, stored: bool = False) -> Line:
        """What waits after a step at a moment. stored: whether the log has what was first."""
        items, since = before.value
        if stored:
            items, since = items[1:], since[2:]
        waiting = tuple((None, record) for record in one.appended)
        return self.line((*items, *waiting), (*since, *(moment.earliest, moment.latest) * len(waiting)))

    def request(self, call: Call) -> Shared:
        """A request as an input: what is answered at once is the same whoever asked it when."""
        if isinstance(call.request, HeartbeatRequest):
            call = replace(call, to=str(WHOEVER_ASKS), now_ms=0)
        return self.shared(call)

    def take(self, core: Core, request: Shared) -> tuple[Outcome, ...] | None:
        """What comes of a request; None where that rests on more than the core."""
        if request in core.outcomes:
            return core.outcomes[request]
        call: Call = request.value
        if isinstance(call.request, NOT_LEARNED):
            return None
        probe = replace(_probe(core), pending=frozenset({int(call.to)}))
        return self._keep(core, request, call, self._asker.take(probe, int(call.to), call, _NOW, 0.0))

    def fire(self, core: Core, place: int) -> tuple[Outcome, ...] | None:
        """What comes of a timer that is due. place: among the core's."""
        timer = core.timers[place]
        key = self.shared(timer)
        if key in core.outcomes:
            return core.outcomes[key]
        return self._keep(core, key, timer, self._asker.fire(_probe(core), timer, _NOW))

    def log_answers(self, core: Core, line: Line) -> tuple[Outcome, ...] | None:
        """What comes of it that the log has stored what is first in line."""
        key = line.first
        if key is None:
            return None
        if key in core.outcomes:
            return core.outcomes[key]
        record: GroupRecord = key.value[1]
        probe = replace(_probe(core), line=(InLog(None, record, _NOW),))
        return self._keep(core, key, record, self._asker.log_answers(probe, _NOW))

    def _keep(
        self, core: Core, key: Shared, asked: Hashable, found: Iterable[Taken]
    ) -> tuple[Outcome, ...] | None:
        taken = tuple(found)
        alone = not self._asker.speaks_to_offsets(core.group, asked)
        core.outcomes[key] = tuple(self._outcome(core, one) for one in taken) if alone else None
        self._outcomes += 1 + len(taken)
        return core.outcomes[key]

    def _outcome(self, core: Core, one: Taken) -> Outcome:
        """A step as it is told without moments."""
        state = one.state
        armed = tuple(_told(due) for due in state.armed.values())
        return Outcome(
            self.core(state, tuple(state.armed)),
            armed,
            tuple((number, self.shared(owed.message)) for number, owed in state.owed.items()),
            tuple(each.record for each in state.line),
            state.veiled > NEVER,
            one.rules,
            armed == tuple(range(len(core.timers))) and all(type(place) is int for place in armed),
        )

    def agrees(self, message: Shared, version: int, seen: Shared, ids: frozenset[str]) -> bool:
        """Whether an answer may be the one that was seen. version: of the request; ids: that somebody has."""
        key = (message, version, seen)
        if key not in self._agree:
            unknown = any(map(is_unknown, texts_in(message.value)))
            self._agree[key] = None if unknown else self._agrees(message, version, seen, frozenset())
        known = self._agree[key]
        return self._agrees(message, version, seen, ids) if known is None else known

    def names_somebody_new(self, message: Shared, version: int, seen: Shared) -> bool:
        """Whether the answer has ids that are not known yet. It was asked of `agrees` before."""
        return self._agree[message, version, seen] is None

    def _agrees(self, message: Shared, version: int, seen: Shared, ids: frozenset[str]) -> bool:
        said: ReplyMessage = self._asker.comparable(message.value, version)
        return any(True for _ in agreements(said, seen.value, ids))


def _probe(core: Core) -> State:
    """A state of a core whose timers are recognised again: each is due at a moment of its own."""
    due = (Span(NEVER, -1.0 - place) for place in range(len(core.timers)))
    return State(
        core.group,
        armed=FrozenMap(zip(core.timers, due, strict=True)),
        ids=core.ids,
        looked=core.looked,
        stored=core.stored,
    )


def _told(due: Span) -> int | float | None:
    """How a timer of a probe is due after a step: its place before, or its delay. See `Outcome.armed`."""
    if due == AT_ANY_TIME:
        return None
    return due.latest if due.earliest > NEVER else int(-1.0 - due.latest)


def _numbers(spans: Iterable[Span]) -> tuple[float, ...]:
    return tuple(number for span in spans for number in (span.earliest, span.latest))


def _armed(before: tuple[float, ...], told: Sequence[int | float | None], moment: Span) -> tuple[float, ...]:
    """When timers are due after a step. told: as of `Outcome.armed`."""
    found: list[float] = []
    for one in told:
        if one is None:
            found += (NEVER, FOREVER)
        elif type(one) is int:
            found += before[2 * one : 2 * one + 2]
        else:
            found += (moment.earliest + one, moment.latest + one)
    return tuple(found)
