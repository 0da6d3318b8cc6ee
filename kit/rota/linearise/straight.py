"""The way that most events of a history go: one state, one request, and nothing else that may happen.

What comes of that is what `QuickRun` says, looked up without looking for more: there is one order only.
"""

from __future__ import annotations

from typing import Any

from rota.linearise.history import Answered, Event, Quiet
from rota.linearise.judgement import Moment
from rota.linearise.parts import WHOEVER_ASKS, Core, Outcome, Packed, QuickStates, Shared
from rota.linearise.passages import at_rest
from rota.linearise.paths import Path
from rota.linearise.quick import QuickRun
from rota.linearise.steps import Rules
from rota.linearise.times import NEVER
from rota.spec.offset_messages import OffsetCommitRequest

Way = tuple[Outcome, Shared, Shared, Rules | None]
"""What comes of a request: for the group, its answer, the offsets afterwards, and by which rules the log's
answer is told, None where nothing is stored."""


class StraightRun(QuickRun):
    """A `QuickRun` that does not look for orders where there is but one. Parameters: as of `Run`."""

    def see(self, event: Event) -> bool:
        """As `Run.see`."""
        if isinstance(event, Quiet):
            self._begin_anew_if_need_be()
        states: Any = self.states
        if type(states) is QuickStates and len(states.packed) == 1:
            ((state, path),) = states.packed.items()
            if isinstance(event, Quiet):
                return self._nothing_happens(state, path, event) or super().see(event)
            if isinstance(event, Answered) and not self._limits.prompt:
                return self._goes_straight(state, path, event) or super().see(event)
        return super().see(event)

    def _nothing_happens(self, state: Packed, path: Path | None, event: Event) -> bool:
        """A quiet moment, where nothing is under way and no timer is due. Returns whether that is so."""
        core, offsets, line, armed, pending, owed, low, veiled = state
        now = event.at
        if pending.value or owed.value or line.value[0] or armed.first - self._patience.early <= now:
            return False
        self._packing.names.next_event()
        self._closed = max(self._closed, now)
        veiled = veiled if veiled >= self._closed - self._patience.slack - self._limits.grain else NEVER
        self._hold({(core, offsets, line, armed, pending, owed, max(low, now), veiled): path})
        self.before_last = self.states
        return True

    def _goes_straight(self, state: Packed, path: Path | None, event: Answered) -> bool:
        """An answer to the only request there is. Returns whether one thing after the other has happened;
        else nothing is changed."""
        core, offsets, line, armed, pending, owed, began, veiled = state
        number, now, patience, names = event.number, event.at, self._patience, self._packing.names
        if (
            pending.value != (number,)
            or owed.value
            or line.value[0]
            or armed.first - patience.early <= now
            or number in self._steps.lost
            or (names.others and not names.plain)
        ):
            return False
        names.next_event()
        way = self._one_way(core, offsets, number)
        if way is None:
            return False
        one, message, offsets, stored = way
        sent_at, latest, slack = self.sent[number].at, self._begun_by(number, ()), patience.slack
        low = sent_at if sent_at > began else began
        moment = self._span(max(self._closed, sent_at), min(now, armed.last + slack, latest + slack))
        veiled = max(veiled, moment.latest) if one.veils else veiled
        if not one.keeps:
            armed = self._packing.armed_after(armed, one, moment)
        path = Path(path, Moment(low, f"{self.about(number)} is taken", one.rules, core.name))
        if stored is not None:
            path = Path(path, Moment(low, "the log answers", stored, one.core.name))
        after = (one.core, offsets, line, armed, owed, owed, low, veiled)
        return self._is_heard(after, message, path, event, 2 if stored is None else 3)

    def _one_way(self, core: Core, offsets: Shared, number: int) -> Way | None:
        """What comes of the only request there is; None where that may be several things."""
        outcomes = self._outcomes(core, number)
        if outcomes is None:
            return self._of_a_commit(core, offsets, number)
        return self._answers_at_once(outcomes[0], offsets, number) if len(outcomes) == 1 else None

    def _answers_at_once(self, one: Outcome, offsets: Shared, number: int) -> Way | None:
        """A step that answers its request, and nobody else."""
        if len(one.replies) != 1 or one.appended:
            return None
        ((to, message),) = one.replies
        if to != WHOEVER_ASKS and self._packing.names.number(to) != number:
            return None
        return one, message, offsets, None

    def _of_a_commit(self, core: Core, offsets: Shared, number: int) -> Way | None:
        """A commit that is taken and refused, or taken, stored and answered."""
        if not isinstance(self.sent[number].call.request, OffsetCommitRequest):
            return None
        shape, request = self._shape(number)
        known = None if shape is None else self._learned.commit(core, request)
        if shape is None or known is None or len(known) != 1:
            return None
        if known[0].batch is None:
            return self._answers_at_once(known[0].outcome, offsets, number)
        passage = self._learned.passage(core, known[0]) if at_rest(offsets.value) else None
        if passage is None:
            return None
        stored = self._packing.shared(passage.committed(offsets.value, shape))
        return passage.outcome, passage.answer, stored, passage.stored

    def _is_heard(self, state: Packed, message: Shared, path: Path, event: Answered, states: int) -> bool:
        """The answer is seen in a state that has given one. Returns whether it may be that one.

        message: that it has given; states: how many there were on the way.
        """
        core, offsets, line, armed, pending, owed, low, veiled = state
        number, now, patience, learned = event.number, event.at, self._patience, self._learned
        seen, version = self._heard(event.reply, number), self.sent[number].call.version
        if armed.last < now - patience.slack or not learned.agrees(message, version, seen, core.ids):
            return False
        if learned.names_somebody_new(message, version, seen):
            return False
        began = min(now, armed.first - patience.early)
        self._closed = max(self._closed, began)
        veiled = veiled if veiled >= self._closed - patience.slack - self._limits.grain else NEVER
        self.most, self.before_last = max(self.most, states), self.states
        self._hold({(core, offsets, line, armed, pending, owed, max(low, began), veiled): path})
        self._seen[number] = now
        self._packing.names.answered(number)
        return True
