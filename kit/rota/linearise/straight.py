"""The way that most events of a history go: one state, one request, and nothing else that may happen.

What comes of that is what `QuickRun` says, looked up without looking for more: there is one order only.
"""

from __future__ import annotations

from typing import Any

from rota.linearise.history import Answered, Event, Quiet
from rota.linearise.judgement import Moment
from rota.linearise.parts import LOG, REQUEST, Next, Packed, QuickStates
from rota.linearise.paths import Path
from rota.linearise.quick import QuickRun
from rota.linearise.times import NEVER, Span


class StraightRun(QuickRun):
    """A `QuickRun` that does not look for orders where there is but one. Parameters: as of `Run`."""

    def see(self, event: Event) -> bool:
        """As `Run.see`."""
        if isinstance(event, Quiet):
            self._begin_anew_if_need_be()
        states: Any = self.states
        if isinstance(states, QuickStates) and len(states.packed) == 1:
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
        core, _, line, armed, pending, owed, began, _ = state
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
        sent_at, latest, slack = self.sent[number].at, self._begun_by(number, ()), patience.slack
        low = sent_at if sent_at > began else began
        moment = self._span(max(self._closed, sent_at), min(now, armed.last + slack, latest + slack))
        found = self._taken_straight(state, number, low, moment)
        if found is None:
            return False
        after, rules = found[:2]
        path = Path(path, Moment(low, f"{self.about(number)} is taken", rules, core.name))
        self.most = max(self.most, 2)
        if after[2].value[0]:
            self.most = max(self.most, 3)
            stored = self._stored_straight(after, now)
            if stored is None:
                return False
            path = Path(path, Moment(stored[2], "the log answers", stored[1], after[0].name))
            after = stored[0]
        return self._answered_straight(after, path, event)

    def _taken_straight(self, state: Packed, number: int, low: float, moment: Span) -> Next | None:
        """The request has its turn. None where several things may come of that, or more than an answer."""
        found, how = list[Next](), (low, 0.0, REQUEST, number)
        outcomes = self._learned.take(state[0], self._input(number))
        if outcomes is not None:
            for one in outcomes:
                if len(one.replies) != 1 or one.appended:
                    return None
                self._add(state, one, (state[2], self._packing.shared(()), moment), how, found)
        else:
            self._commits(state, number, moment, how, found)
        return found[0] if len(found) == 1 else None

    def _stored_straight(self, state: Packed, now: float) -> Next | None:
        """The log has it. None where it may not have, or something else may happen."""
        _, _, line, armed, _, _, low, _ = state
        (items, since), patience, found = line.value, self._patience, list[Next]()
        slack = patience.slack
        if len(items) != 1:
            return None
        moment = self._span(max(self._closed, since[0]), min(now, armed.last + slack, since[1] + slack))
        outcomes = self._learned.log_answers(state[0], line)
        if outcomes is None and self._stored(state, moment, (low, 0.0, LOG, 0), found) and len(found) == 1:
            return found[0]
        return None

    def _answered_straight(self, state: Packed, path: Path, event: Answered) -> bool:
        """The answer is seen, in a state that owes it. Returns whether it may be that one."""
        core, offsets, line, armed, pending, owed, low, veiled = state
        number, now, patience = event.number, event.at, self._patience
        if line.value[0] or pending.value or len(owed.value) != 1 or owed.value[0][0] != number:
            return False
        version, message = self.sent[number].call.version, owed.value[0][1]
        seen = self._heard(event.reply, number)
        agrees = self._learned.agrees(message, version, seen, core.ids)
        if not agrees or self._learned.names_somebody_new(message, version, seen):
            return False
        if armed.last < now - patience.slack:
            return False
        self.before_last = self.states
        began = min(now, armed.first - patience.early)
        self._closed = max(self._closed, began)
        veiled = veiled if veiled >= self._closed - patience.slack - self._limits.grain else NEVER
        nothing = self._packing.shared(())
        self._hold({(core, offsets, line, armed, nothing, nothing, max(low, began), veiled): path})
        self._seen[number] = now
        self._packing.names.answered(number)
        return True
