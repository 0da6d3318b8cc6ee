"""One run of the judge along a history: the set of states that agree with what was seen so far.

After each answer, each quiet moment and each broken connection the set has every state in which the
coordinator may be at that moment: all orders of what was sent, of the log's answers and of timers that are
due, as far as their times allow. States that owe an answer which must have come are not in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, cast

from rota.kernel import replace
from rota.linearise.answers import agreements
from rota.linearise.closing import Closing
from rota.linearise.coming import with_what_will_come
from rota.linearise.consumer.steps import ConsumerSteps
from rota.linearise.history import Answered, Broken, Event, HistoryError, Over, Quiet, Restarted, Sent, refuse
from rota.linearise.ids import renamed, texts_in, unknown_id
from rota.linearise.judgement import Limits, Moment, OutOfTime, UndecidedError
from rota.linearise.looks import Looks
from rota.linearise.paths import LOOK, LOOK_IN_WORDS, Enabled, Path, Patience, States, with_overdue
from rota.linearise.states import State, unended, with_ids_in_use, with_names
from rota.linearise.steps import Rules, Steps, Taken
from rota.linearise.times import FOREVER, NEVER, Span, rounded
from rota.linearise.words import timer_in_words
from rota.oracle.follow import Oracle
from rota.spec import BrokerConfig, Call, Profile
from rota.spec.messages import ReplyMessage


class Run(Closing):
    """The states along a history. Parameters: as of a history and of `Steps`; patience; limits.

    Attributes, beside those of `Closing`: states, with a path to each; most, how many there were at once;
    eager, whether states are left out from which an answer will be given that is not the one known to come,
    so that no state may be left before that; whole, whether all answers are known that will ever come;
    before_last, the states before the last event; gave, number of a request → answers that the spec has
    given → by which rules, from which state; passed_over, rules by which looks have left what has expired,
    and the states of the group then.
    """

    def __init__(
        self,
        profile: Profile,
        config: BrokerConfig,
        patience: Patience,
        limits: Limits,
        follows: bool = False,
        looking: Looks | None = None,
        oracle: Oracle | None = None,
        consumer: ConsumerSteps | None = None,
    ) -> None:
        self._steps: Any = consumer or Steps(profile, config, follows, looking, oracle=oracle)
        self.states: States = {cast(Any, self._steps.empty()): None}
        self.most = 1
        self.eager = self.whole = False
        self.passed_over: frozenset[tuple[str, str]] = frozenset()
        self.before_last: States = self.states
        self.gave: dict[int, dict[ReplyMessage, tuple[Rules, str]]] = {}
        self.sent: dict[int, Sent] = {}
        self.patience(patience)
        self._limits = limits
        self._calls: dict[int, Call] = {}
        self._earlier: dict[int, int | None] = {}
        self._last_on: dict[int, int] = {}
        self._seen: dict[int, float] = {}
        self._coming: dict[int, ReplyMessage] = {}
        self._broken: dict[int, float] = {}
        self._ids: dict[int, str] = {}
        self._closed = NEVER
        self._sought: Answered | Quiet | Over | None = None

    def resume(self, states: Iterable[State], parked: Iterable[Sent]) -> None:
        """Begin with these states instead. parked: requests that were taken before, and are unanswered."""
        self.states = dict.fromkeys(states)
        self.before_last = self.states
        for event in parked:
            self._register(event)

    def copied(self, patience: Patience, limits: Limits | None = None, oracle: Any = None) -> Run:
        """Another one that goes on from here with other patience, limits, and spec. Paths are forgotten."""
        other = copy(self)
        other.__dict__.update({key: copy(value) for key, value in vars(self).items() if type(value) is dict})
        other.states = dict.fromkeys(self.states)
        other._steps = self._steps.copied() if oracle is None else self._steps.asking(oracle)
        other.patience(patience)
        other._limits = limits or self._limits
        return other

    def patience(self, patience: Patience) -> None:
        """From now on this much is forgiven."""
        self._patience, self._steps.late = patience, patience.slack

    def forget(self) -> None:
        """What no state depends on any more: requests that are answered, paths, ids of former members."""
        self.states = {with_ids_in_use(state): None for state in self.states}
        self.before_last = self.states
        texts = {text for state in self.states for text in texts_in(state.group, state.line)}
        held = {n for state in self.states for n in (*state.pending, *state.owed)}
        last = set(self._last_on.values())
        awaited = {n for n, one in self.sent.items() if one.until is None and self.awaits(n)}
        open_ones = {n for n in self.sent if n in held or str(n) in texts or n in last or n in awaited}
        kept = open_ones | {earlier for n in open_ones if (earlier := self._earlier[n]) is not None}
        for known in (self.sent, self._earlier, self._seen, self._coming, self._calls, self._ids, self.gave):
            for number in known.keys() - kept:
                del known[number]
        for number, earlier in self._earlier.items():
            if earlier not in kept:
                self._earlier[number] = None
        self._steps.lost &= kept
        connections = {self.sent[number].connection for number in kept}
        for gone in self._broken.keys() - connections:
            del self._broken[gone]

    def size(self) -> int:
        """How many things are kept beside the states, for whoever watches that it does not grow."""
        return sum(len(value) for value in vars(self).values() if type(value) is dict) + len(self._steps.lost)

    def look_ahead(self, events: Sequence[Event]) -> None:
        """Events that will be seen later: what their answers say of ids is known from now on."""
        asked = {one.number: one for one in events if isinstance(one, Sent)}
        names = {}
        self._steps.look_ahead(events)
        for event in (one for one in events if isinstance(one, Answered)):
            sent, reply = asked.get(event.number) or self.sent.get(event.number), event.reply
            if sent is not None:
                self._coming[event.number] = reply
                told = getattr(reply, "member_id", None)
                if self._steps.asks_for_an_id(sent.call) and told:
                    names[unknown_id(event.number)] = self._ids[event.number] = told
                    self._calls.pop(event.number, None)
        if names:
            self.states = {with_names(state, names): path for state, path in self.states.items()}

    def see(self, event: Event) -> bool:
        """The next event. Returns whether a state is left. Errors: UndecidedError, HistoryError."""
        if isinstance(event, Sent):
            self._send(event)
            return True
        if isinstance(event, Broken):
            self._break(event)
            return True
        if isinstance(event, Answered):
            refuse(event, self.sent, self._steps.lost)
        if isinstance(event, Restarted):
            self._restart(event)
            return bool(self.states)
        self._close(event.at, event)
        self.before_last = self.states
        if isinstance(event, Answered) and self._limits.prompt:
            self.states = self.quiet(Quiet(event.at))
        if isinstance(event, Over):
            self._over(event.number)
        else:
            self.states = self.quiet(event) if isinstance(event, Quiet) else self._answered(event)
        return bool(self.states)

    def _over(self, number: int) -> None:
        self.states = {one: path for one, path in self.states.items() if number not in one.pending}

    def _send(self, event: Sent) -> None:
        number = event.number
        if number in self.sent:
            raise HistoryError(f"request {number} is sent twice, at {self.sent[number].at} and {event.at}")
        self._register(event)
        self.states = {
            replace(state, pending=state.pending | {number}): path for state, path in self.states.items()
        }

    def _register(self, event: Sent) -> None:
        self.sent[event.number] = event
        self._earlier[event.number] = self._last_on.get(event.connection)
        self._last_on[event.connection] = event.number

    def _call(self, number: int) -> Call:
        """A request with the id that it is given if it needs one."""
        if number not in self._calls:
            call = self.sent[number].call
            name = self._ids.get(number, unknown_id(number)) if self._steps.asks_for_an_id(call) else ""
            now_ms = int(self.sent[number].at * 1000)
            self._calls[number] = replace(call, to=str(number), fresh_id=name, now_ms=now_ms)
        return self._calls[number]

    def _break(self, event: Broken) -> None:
        lost = [number for number, sent in self.sent.items() if sent.connection == event.connection]
        self._broken[event.connection] = event.at
        self._last_on.pop(event.connection, None)
        self._steps.lost.update(lost)
        self.states = {
            replace(state, owed=state.owed.without(*lost)): path for state, path in self.states.items()
        }

    def _restart(self, event: Restarted) -> None:
        """All that may have happened until it was gone; what the log has then is what there is."""
        self._close(event.since)
        self._sought = None
        self.before_last, found = self.states, self._reachable(event.down)
        self.states = {} if event.sure else dict(self.before_last)
        self._steps = self._steps.restarted(event, self.sent)
        span = self._span(event.down, event.at)
        for state, path in found.items():
            for taken in self._steps.restart(state, span):
                moment = Moment(event.down, "the coordinator is started again", taken.rules, state.name)
                again = taken.state.pending | unended(state, self.sent)
                self.states.setdefault(replace(taken.state, low=event.at, pending=again), Path(path, moment))
        self._closed = event.at if event.sure else self._closed

    def _answered(self, event: Answered) -> States:
        """The states that have given this answer."""
        seen = self.said(event.number, event.reply)
        self._seen[event.number] = event.at
        found: States = {}
        for state, path in self.states.items():
            owed = state.owed.get(event.number)
            if owed is not None:
                rest = self._steps.acknowledged(state, event.number)
                rest = replace(rest, owed=state.owed.without(event.number))
                for names in agreements(self.said(event.number, owed.message), seen, state.ids):
                    found.setdefault(renamed(rest, names) if names else rest, path)
        return found

    def quiet(self, event: Quiet) -> States:
        """The states that owe nothing which must have come by now."""
        found: States = {}
        for state, path in self.states.items():
            overdue = self.overdue(state, event.at)
            if all(late + self._patience.told <= self._patience.slack for late in overdue.values()):
                late = {self.about(number): by for number, by in overdue.items()}
                found[state] = with_overdue(path, late, event.at, state.name)
        return found

    def overdue(self, state: State, at: float) -> dict[int, float]:
        """The requests whose answers a state owes though they must have come, and for how long already."""
        return {
            number: at - owed.by - self._patience.told
            for number, owed in state.owed.items()
            if self._is_next(number) and owed.by + self._patience.told < at
        }

    def said(self, number: int, reply: ReplyMessage) -> ReplyMessage:
        """The answer to a request as it is compared: with what its version carries, lists in one order."""
        return self._steps.comparable(reply, self.sent[number].call.version)  # type: ignore[no-any-return]

    def given(self, number: int) -> dict[ReplyMessage, tuple[Rules, str]]:
        """Answers to a request that the spec has given: by which rules, from which state."""
        return self.gave.get(number, {})

    def awaits(self, number: int) -> bool:
        """Whether the answer to a request may still come."""
        return number not in self._seen and number not in self._steps.lost

    def about(self, number: int) -> str:
        """A request in words."""
        return self.sent[number].in_words

    def _is_next(self, number: int) -> bool:
        """Whether a request's answer is the next on its connection."""
        earlier = self._earlier[number]
        return earlier is None or earlier in self._seen

    def _at_once(self) -> int:
        return max((len(state.pending) for state in self.states), default=0)

    def _followed(self, now: float) -> States:
        """The states that may be reached until now. Errors: UndecidedError."""
        found = dict(self.states)
        todo = deque(found)
        while todo:
            state = todo.popleft()
            if self._suffices(state, now):
                continue
            if self._width is None and len(state.pending) > self._limits.requests:
                raise UndecidedError(f"more than {self._limits.requests} requests at once in unknown order")
            for after, path in self._next(state, found[state], now):
                if after not in found:
                    found[after] = path
                    todo.append(after)
            if len(found) > self._limits.states:
                raise UndecidedError(f"more than {self._limits.states:,} states at once")
        return found

    def _next(self, state: State, path: Path | None, now: float) -> Iterator[tuple[State, Path]]:
        """What may happen next, each with its path."""
        for one in self._enabled(state, now):
            if not self._possible(state, one.low):
                continue  # something else had to happen before
            late = (
                OutOfTime(one.kind, one.what, one.out) if one.out else self._patience.overdue(state, one.low)
            )
            for taken in self._steps.also(state, one.taken):
                self._note_answers(state, taken)
                after: State | None = taken.state
                if self.eager:
                    after = with_what_will_come(state, taken.state, self._coming, self.whole, self.said)
                if after is not None:
                    moment = Moment(one.low, one.what, taken.rules, state.name)
                    yield replace(after, low=one.low), Path(path, moment, late)

    def _enabled(self, state: State, now: float) -> Iterator[Enabled]:
        """What may happen."""
        slack = self._patience.slack
        first_due = min((span.latest for span in state.due), default=FOREVER)
        until = min(now, first_due + slack)  # a timer that is still armed then has not been due
        if state.line and self._stores_first:
            yield self._log(state, until)
            return
        for number in sorted(state.pending)[: self._width]:
            low, latest = max(state.low, self.sent[number].at), self._begun(state, number)
            if self._earlier[number] not in state.pending and low <= latest + slack:
                span = self._span(max(self._closed, self.sent[number].at), min(until, latest + slack))
                taken = self._steps.take(state, number, self._call(number), span, slack)
                yield Enabled(
                    "request",
                    f"{self.about(number)} is taken",
                    low,
                    taken,
                    self._patience.too_late(low, latest),
                )
        if state.line:
            yield self._log(state, until)
        if self._patience.looks and state.group is not None and not state.looked:
            span = self._span(max(self._closed, state.low), until)
            yield Enabled(LOOK, LOOK_IN_WORDS, state.low, self._steps.look(state, span), 0)
        if state.look is not None and not state.look.passes:
            yield from self._looks(state, state.look.due, until, now)
        for timer, due in state.armed.items():
            low = max(state.low, due.earliest - self._patience.early)
            if low <= now:
                earliest = min(until, max(self._closed, due.earliest))
                span = self._span(earliest, until)
                out = min(0.0, now - due.earliest + self._patience.told_early)
                out = out or self._patience.too_late(low, due.latest)
                fired = self._steps.fire(state, timer, span)
                yield Enabled(f"timer.{timer.name}", timer_in_words(timer), low, fired, out)

    def _log(self, state: State, until: float) -> Enabled:
        """The log may answer."""
        since = state.line[0].since
        latest = min(until, since.latest + self._patience.slack)
        taken = self._steps.log_answers(state, self._span(max(self._closed, since.earliest), latest))
        out = self._patience.too_late(state.low, since.latest)
        return Enabled("log", "the log answers", state.low, taken, out)

    def _looks(self, state: State, due: Span, until: float, now: float) -> Iterator[Enabled]:
        """What has expired may be looked for, and found."""
        if (low := max(state.low, due.earliest - self._patience.early)) <= now:
            slack = self._patience.slack  # what the watcher cannot tell apart is one moment
            span = self._span(min(until, max(self._closed, due.earliest)), until, slack)
            found = self._steps.finds(state, span, slack)
            yield Enabled(LOOK, LOOK_IN_WORDS, low, found, self._patience.too_late(low, due.latest))

    def _span(self, earliest: float, latest: float, least: float = 0.0) -> Span:
        return rounded(earliest, latest, max(self._limits.grain, least))

    def _note_answers(self, state: State, one: Taken) -> None:
        for number, owed in one.state.owed.items():
            if number not in state.owed:
                self.gave.setdefault(number, {}).setdefault(owed.message, (one.rules, state.name))
