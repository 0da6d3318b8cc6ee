"""A run of the judge that asks the spec once for each state and input, and looks it up from then on.

`QuickRun` has the states that `Run` has, in the same order and by the same paths, and says the same; `Run` is
what says so, and what goes on where states have more than is kept here (`can_be_quick`). Between two events
states stay taken apart (`rota.linearise.parts`); whoever looks at `QuickRun.states` has them put together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, cast

from rota.kernel import replace
from rota.linearise.answers import agreements
from rota.linearise.history import Answered, Broken, Quiet, Restarted, Sent
from rota.linearise.ids import renamed
from rota.linearise.judgement import Limits, Moment, OutOfTime, UndecidedError
from rota.linearise.learned import NOT_LEARNED, learned_of
from rota.linearise.names import Names
from rota.linearise.packing import Packing
from rota.linearise.parts import (
    LOG,
    REQUEST,
    TIMER,
    Core,
    How,
    Line,
    Next,
    Outcome,
    Packed,
    Shared,
)
from rota.linearise.paths import Path, Patience, with_overdue
from rota.linearise.quick_closing import QuickClosing
from rota.linearise.run import Run
from rota.linearise.states import State
from rota.linearise.steps import Taken
from rota.linearise.times import FOREVER, Span
from rota.linearise.words import timer_in_words
from rota.spec import Call, HeartbeatRequest

FEW = 5_000
"""Parts of a history's states that are kept at most, beside ten for each state that there is."""

LEARNED = ("_inputs", "_noted", "_moments", "_waited", "_shapes", "_beats", "_replies")
"""Tables of a run that are beside what `Run` has."""


class QuickRun(QuickClosing):
    """A `Run` of states that are taken apart. Parameters: as of `Run`."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._others, self._noted = False, {}
        self._begin()

    def _begin(self) -> None:
        """The history has no names yet; states are taken apart as they will be."""
        self._note_given()
        self._learned = learned_of(self._steps)
        self._packing = Packing(self._learned, Names(plain=self._others))
        self._inputs: dict[int, tuple[object, Shared]] = {}
        self._shapes = {}
        self._beats: dict[Hashable, Shared] = {}
        self._replies = {}
        self._begin_close()

    def copied(self, patience: Patience, limits: Limits | None = None, oracle: Any = None) -> Run:
        """As `Run.copied`; a `Run` where states will have more than is kept here."""
        packed, states = self._packed, self.states
        self.states = {}
        self._note_given()
        other = super().copied(patience, limits, oracle)
        self.states = states
        if patience.looks or oracle is not None:
            plain = Run.__new__(Run)
            vars(plain).update((name, one) for name, one in vars(other).items() if name not in LEARNED)
            plain.states = dict.fromkeys(map(self._packing.unpacked, packed))
            return plain
        assert isinstance(other, QuickRun)
        other._packing = self._packing.copied()
        other._beats, other._replies = {}, {}
        other.states = dict.fromkeys(map(self._packing.unpacked, packed))
        return other

    def forget(self) -> None:
        """As `Run.forget`."""
        super().forget()
        self._begin()

    def size(self) -> int:
        """As `Run.size`, without what is learned."""
        return super().size() - sum(len(vars(self)[name]) for name in LEARNED)

    def _send(self, event: Sent) -> None:
        packed, number, shared = self._packed, event.number, self._packing.shared
        self.states = {}
        super()._send(event)
        self._hold({
            (*one[:4], shared(tuple(sorted((*one[4].value, number)))), *one[5:]): path
            for one, path in packed.items()
        })  # fmt: skip

    def _break(self, event: Broken) -> None:
        packed, self.states = self._packed, {}
        super()._break(event)
        shared, lost = self._packing.shared, self._steps.lost
        self._hold({
            (*one[:5], shared(tuple(each for each in one[5].value if each[0] not in lost)), *one[6:]): path
            for one, path in packed.items()
        })  # fmt: skip

    def _over(self, number: int) -> None:
        self._hold({one: path for one, path in self._packed.items() if number not in one[4].value})

    def _restart(self, event: Restarted) -> None:
        super()._restart(event)
        self._begin()

    def _answered(self, event: Answered) -> Any:
        number = event.number
        found: dict[Packed, Path | None] = {}
        names, seen = self._packing.names, self._heard(event.reply, number)
        version = self.sent[number].call.version
        self._seen[number] = event.at
        for state, path in self._packed.items():
            core, owed = state[0], state[5]
            message = next((message for one, message, _ in owed.value if one == number), None)
            if message is not None and self._learned.agrees(message, version, seen, core.ids):
                left = self._packing.shared(tuple(one for one in owed.value if one[0] != number))
                for named in self._named((*state[:5], left, *state[6:]), message, version, seen):
                    found.setdefault(named, path)
        names.answered(number)
        return self._as_states(found)

    def _named(self, state: Packed, message: Shared, version: int, seen: Shared) -> Iterator[Packed]:
        """A state with the ids that an answer tells."""
        if not self._learned.names_somebody_new(message, version, seen):
            yield state
            return
        packing, back = self._packing, self._packing.names.back
        said = self._steps.comparable(back(message.value), version)
        for names in agreements(said, back(seen.value), back(state[0].ids)):
            yield packing.packed(renamed(packing.unpacked(state), names)) if names else state

    def quiet(self, event: Quiet) -> Any:
        """As `Run.quiet`."""
        at, told = event.at, self._patience.told
        found: dict[Packed, Path | None] = {}
        for state, path in self._packed.items():
            late = {
                number: at - by - told
                for number, _, by in state[5].value
                if self._is_next(number) and by + told < at
            }
            if all(one + told <= self._patience.slack for one in late.values()):
                words = {self.about(number): by for number, by in late.items()}
                found[state] = with_overdue(path, words, at, state[0].name)
        return self._as_states(found)

    def _reachable(self, now: float) -> Any:
        self._begin_close()
        return self._as_states(cast(Any, super()._reachable(now)))

    def _at_once(self) -> int:
        return max((len(state[4].value) for state in self._packed), default=0)

    def _begin_anew_if_need_be(self) -> None:
        """Forget what is learned where that is too much; or a history's names that were given too early."""
        names = self._packing.names
        own = len(self._packing) + len(self._beats) + len(self._replies)
        many = own > FEW + 10 * len(self.states) or self._learned.is_full
        if many or (names.others and not names.plain):
            self._others = self._others or names.others
            self.states = dict(self.states.items())
            self._begin()

    def _followed(self, now: float) -> Any:
        """As `Run._followed`."""
        found = dict(self._packed)
        todo = deque(found)
        limits, most = self._limits, self._limits.states
        while todo:
            state = todo.popleft()
            if self._is_enough(state, now):
                continue
            if self._width is None and len(state[4].value) > limits.requests:
                raise UndecidedError(f"more than {limits.requests} requests at once in unknown order")
            for step in self._steps_from(state, now):
                if step[0] not in found:
                    found[step[0]] = self._path(state, found[state], step)
                    todo.append(step[0])
            if len(found) > most:
                raise UndecidedError(f"more than {most:,} states at once")
        return found

    def _steps_from(self, state: Packed, now: float) -> list[Next]:
        """What may happen next in a state: as `Run._enabled`, where nothing else had to happen before."""
        _, _, line, armed, pending, owed, began, _ = state
        found: list[Next] = []
        slack, patience = self._patience.slack, self._patience
        (begun, must), since = self._begun_in(pending, owed), line.value[1]
        must = min(must, armed.last, since[1] if since else FOREVER)
        until = min(now, armed.last + slack)
        if since and self._stores_first:
            if began - slack <= must:
                self._log_answers(state, until, found)
            return found
        for number in pending.value[: self._width]:
            sent_at, latest = self.sent[number].at, begun[number]
            low = sent_at if sent_at > began else began
            if self._earlier[number] not in begun and low <= latest + slack and low - slack <= must:
                moment = self._moment(max(self._closed, sent_at), min(until, latest + slack))
                how = (low, patience.too_late(low, latest), REQUEST, number)
                self._take(state, number, moment, how, found)
        if since and began - slack <= must:
            self._log_answers(state, until, found)
        if armed.first - patience.early <= now:
            self._timers(state, now, until, must, found)
        return found

    def _moment(self, earliest: float, latest: float) -> Span:
        """As `Run._span`."""
        known = self._moments.get((earliest, latest))
        if known is None:
            known = self._moments[earliest, latest] = self._span(earliest, latest)
        return known

    def _timers(self, state: Packed, now: float, until: float, must: float, found: list[Next]) -> None:
        """Timers that may be due. until: when at the latest; must: what else must have happened then."""
        due, patience = state[3].value, self._patience
        for place in range(len(due) // 2):
            earliest, latest = due[2 * place : 2 * place + 2]
            low = max(state[6], earliest - patience.early)
            if low <= now and low - patience.slack <= must:
                moment = self._moment(min(until, max(self._closed, earliest)), until)
                out = min(0.0, now - earliest + patience.told_early) or patience.too_late(low, latest)
                self._fire(state, moment, (low, out, TIMER, place), found)

    def _take(self, state: Packed, number: int, moment: Span, how: How, found: list[Next]) -> None:
        """A request has its turn."""
        outcomes = self._outcomes(state[0], number)
        if outcomes is None and self._commits(state, number, moment, how, found):
            return
        if outcomes is None:
            whole = self._packing.unpacked(state)
            taken = self._steps.take(whole, number, self._call(number), moment, self._patience.slack)
            self._asked(state, whole, taken, how, found)
            return
        left = self._packing.without(state[4], number)
        for one in outcomes:
            self._add(state, one, (state[2], left, moment), how, found)

    def _outcomes(self, core: Core, number: int) -> tuple[Outcome, ...] | None:
        """What comes of a request in a core; None where that rests on more."""
        if isinstance(self.sent[number].call.request, NOT_LEARNED):
            return None
        return self._learned.take(core, self._input(number))

    def _input(self, number: int) -> Shared:
        """A request as something that is asked in a state."""
        call = self.sent[number].call
        if isinstance(call.request, HeartbeatRequest):
            return self._beat(call)
        call = self._call(number)
        known = self._inputs.get(number)
        if known is None or known[0] is not call:
            known = self._inputs[number] = (call, self._learned.request(self._packing.names.call(call)))
        return known[1]

    def _beat(self, call: Call) -> Shared:
        """The same of one that waits for nothing: it is asked again and again."""
        key = (call.request, call.version, call.hosting, call.leader)
        known = self._beats.get(key)
        if known is None:
            known = self._beats[key] = self._learned.request(self._packing.names.call(call))
        return known

    def _fire(self, state: Packed, moment: Span, how: How, found: list[Next]) -> None:
        """A timer is due."""
        place = how[3]
        outcomes = self._learned.fire(state[0], place)
        if outcomes is None:
            whole = self._packing.unpacked(state)
            taken = self._steps.fire(whole, self._packing.timer(state[0], place), moment)
            self._asked(state, whole, taken, how, found)
            return
        for one in outcomes:
            self._add(state, one, (state[2], state[4], moment), how, found)

    def _log_answers(self, state: Packed, until: float, found: list[Next]) -> None:
        """The log has stored what is first in line. until: when at the latest."""
        since = state[2].value[1]
        latest = min(until, since[1] + self._patience.slack)
        moment = self._moment(max(self._closed, since[0]), latest)
        out = self._patience.too_late(state[6], since[1])
        outcomes = self._learned.log_answers(state[0], state[2])
        if outcomes is None and self._stored(state, moment, (state[6], out, LOG, 0), found):
            return
        if outcomes is None:
            whole = self._packing.unpacked(state)
            taken = self._steps.log_answers(whole, moment)
            self._asked(state, whole, taken, (state[6], out, LOG, 0), found)
            return
        for one in outcomes:
            line = self._packing.line_after(state[2], one, moment, stored=True)
            self._add(state, one, (line, state[4], moment), (state[6], out, LOG, 0), found)

    def _asked(
        self, state: Packed, whole: State, taken: Iterable[Taken], how: How, found: list[Next]
    ) -> None:
        """What the spec says of a state that is put together."""
        for one in taken:
            after = self._packing.packed(replace(one.state, low=how[0]), (state[0], whole))
            owed = self._allowed(state, after[5], one.rules, after[0])
            if owed is not None:
                found.append(((*after[:5], owed, *after[6:]), one.rules, *how))

    def _add(
        self, state: Packed, one: Outcome, given: tuple[Line, Shared, Span], how: How, found: list[Next]
    ) -> None:
        """The state after a step that is learned, unless an answer that it gives is known to be another.

        given: the line before it, what is pending after it, its moment.
        """
        _, offsets, _, armed, _, owed, _, veiled = state
        line, pending, moment = given
        if one.replies:
            now_owed = self._owed(owed, one, moment.latest, how[3])
            left = self._allowed(state, now_owed, one.rules, one.core)
            if left is None:
                return
            owed = left
        if not one.keeps:
            armed = self._packing.armed_after(armed, one, moment)
        if one.appended and how[2] != LOG:
            line = self._packing.line_after(line, one, moment)
        if one.veils:
            veiled = max(veiled, moment.latest)
        found.append(((one.core, offsets, line, armed, pending, owed, how[0], veiled), one.rules, *how))

    def _path(self, before: Packed, path: Path | None, step: Next) -> Path:
        """How a state was reached."""
        _, rules, low, out, kind, which = step
        core = before[0]
        if kind == REQUEST:
            what = f"{self.about(which)} is taken"
        elif kind == LOG:
            what = "the log answers"
        else:
            timer = self._packing.timer(core, which)
            kind, what = f"timer.{timer.name}", timer_in_words(timer)
        late = OutOfTime(kind, what, out) if out else None
        if late is None and low - before[3].last > self._patience.told:
            late = self._patience.overdue(self._packing.unpacked(before), low)
        return Path(path, Moment(low, what, rules, core.name), late)
