"""The judge: whether what was seen of a group can have come from a coordinator that keeps to the spec.

What it cannot see:
- what is between two moments of one interval (see `rota.linearise.states`): a timer that is late by less than
  the time in which it may have been armed, and two such that depend on each other;
- which of several orders happened, as long as one is allowed;
- records that the log has failed to store, coordinators that move;
- when a transaction ends, but for what is told of it (`EndTransaction`, and `Over`);
- when offsets and groups expire, where nobody knows how often is looked for them: where they may have, what
  can only be so is undecided (`History.looks`);
- the order of members and topics in lists, texts of errors, client ids and hosts;
- answers to what is about no group's state (see `rota.linearise.asked`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import replace

from rota.linearise.answers import differences
from rota.linearise.asked import Asked
from rota.linearise.consumer.requests import ConsumerTerms
from rota.linearise.consumer.steps import ConsumerSteps
from rota.linearise.history import Answered, Event, History, Quiet, Sent
from rota.linearise.judgement import (
    Judgement,
    Limits,
    Moment,
    Nearest,
    OutOfTime,
    UndecidedError,
    Verdict,
)
from rota.linearise.looks import Looks
from rota.linearise.parts import can_be_quick
from rota.linearise.paths import Path, Patience, States
from rota.linearise.reaching import all_orders
from rota.linearise.run import Run
from rota.linearise.states import State
from rota.linearise.straight import StraightRun
from rota.linearise.untried import Untried
from rota.spec import BrokerConfig, Profile

MOST_NEAREST = 5
"""Answers that were possible and are told, at most."""

AGAIN = 400
"""States at once where it is looked by how much something is out of time, at most."""

UNTOLD = "a request, a record or a timer"
"""What was late where several may have been, each by less than can be told of it."""

EARLY = (0.03, 0.1, 0.3, 1.0)
"""Seconds by which something may be too early to be told so; what is earlier is an answer that cannot be."""


def judge(history: History, limits: Limits | None = None) -> Judgement:
    """Whether the spec allows what was seen. Errors: HistoryError for a history that cannot be."""
    judge = Judge(
        history.profile,
        history.config,
        history.lateness,
        limits,
        existed=history.existed,
        looks=history.looks,
        looking=history.looking,
        restarts=history.restarts,
        consumer=history.consumer,
    )
    return judge.all(history.events)


class Judge:
    """The judge of a history that still goes on. It looks at what came in each quiet moment, and at the end.

    Parameters: as of a history. Attributes: run, the states; found, what is known already: that no state is
    left, or that nobody can say; late, what was late and forgiven.
    """

    def __init__(
        self,
        profile: Profile,
        config: BrokerConfig,
        lateness: float = 0.05,
        limits: Limits | None = None,
        *,
        existed: bool = False,
        looks: bool = False,
        looking: Looks | None = None,
        restarts: bool = False,
        consumer: ConsumerTerms | None = None,
    ) -> None:
        self._profile, self._config, self._looks = profile, config, looks
        self._limits = limits or Limits()
        slack = lateness + self._limits.grace
        self._strict = Patience(slack, self._limits.early, slack, self._limits.early)
        steps = None if consumer is None else ConsumerSteps(consumer)
        kind = StraightRun if consumer is None and can_be_quick(profile, looking) else Run
        self.run: Run = kind(profile, config, self._strict, self._limits, restarts, looking, consumer=steps)
        self.found: Judgement | None = None
        self.late: list[OutOfTime] = []
        self._waiting: list[Event] = []
        self._ahead: Sequence[Event] = ()
        self._begin_again()
        self._asked = Asked(profile)
        self._reached: set[tuple[str, str]] = set()
        if existed:
            self.found = Judgement(Verdict.UNDECIDED, why="the group may have been there before")

    def resume(self, states: Iterable[State], parked: Iterable[Sent] = ()) -> None:
        """Begin with these states, before the first event. parked: requests that wait in them."""
        self.run.resume(states, parked)
        self._begin_again()

    def size(self) -> int:
        """How many things are kept, beside what the spec was asked: it does not grow with the history."""
        kept: tuple[Sized, ...] = (self._waiting, self._events, self._since, self._asked, self._reached)
        runs = (self.run, self._base, self._next_base)
        return sum(map(len, kept)) + sum(run.size() for run in runs) + self._size_of_untried()

    def _size_of_untried(self) -> int:
        if self._untried is None:
            return 0
        return self._untried.base.size() + len(self._untried.events) + len(self._untried.until)

    def _begin_again(self) -> None:
        """What lies before is not judged again."""
        self.run.eager = True
        self._base = self._next_base = self.run.copied(self._strict)
        self._events: list[Event] = []
        self._since: list[Event] = []
        self._untried: Untried | None = None

    def _forget(self) -> None:
        """Forget what is old: at least half of what is kept stays to be judged again."""
        if len(self._since) < self._limits.kept // 2:
            return
        path = next(iter(self.run.states.values()))
        self._reached |= {(slug, one.state) for one in _moments(path) for slug in one.rules}
        self.run.forget()
        self._base, self._events = self._next_base, self._since
        self._next_base, self._since = self.run.copied(self._strict), []
        self._untried = None

    def see(self, event: Event) -> None:
        """The next event."""
        self._waiting.append(event)
        if isinstance(event, Quiet):
            self._catch_up()

    def all(self, events: Sequence[Event]) -> Judgement:
        """Events to the end of the history."""
        self._waiting += events
        self.run.whole = True
        return self.end()

    def _catch_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._ahead = events = self._asked.of(waiting)
        self.run.look_ahead(events)
        for event in events:
            if self.found is None:
                self._take(event)
        if self.found is None:
            self._forget()

    def _take(self, event: Event) -> None:
        self._since.append(event)
        try:
            left = self.run.see(event) or self._in_no_hurry() or self._not_yet(event)
            if not left and not self._forgiven(event):
                self.found = self._violated(event)
        except UndecidedError as why:
            self.found = Judgement(Verdict.UNDECIDED, event, str(why), states=self.run.most)

    def _in_no_hurry(self) -> bool:
        """Whether states are left where orders were not looked at in a hurry. From now on all are."""
        if not self.run.hurried:
            return False
        self._base.hurries = self._next_base.hurries = False
        base, events = self._base.copied(self._strict), (*self._events, *self._since)
        self.run, left = all_orders(base, events, self._ahead)
        return left

    def _not_yet(self, event: Event) -> bool:
        """Whether states are left that will give other answers than will be seen: go on with those too, to
        tell what is seen first that cannot be.
        """
        if not self.run.eager:
            return False
        run, events = self._base.copied(self._strict), (*self._events, *self._since)
        run.eager = False
        run.look_ahead((*events, *self._ahead))
        try:
            left = all(run.see(one) for one in events)
        except UndecidedError:
            return False
        self.run = run
        return left

    def end(self) -> Judgement:
        """The history is over."""
        self._catch_up()
        if self.found is not None:
            return self.found
        moments = _moments(next(iter(self.run.states.values())))
        earlier = self.run.passed_over | self._reached
        return Judgement(Verdict.CONSISTENT, states=self.run.most, moments=moments, earlier=earlier)

    def _forgiven(self, event: Event) -> bool:
        """Go on with what is late and no more than that, where that is forgiven."""
        if isinstance(event, Quiet) and self._only_late(event):
            return True
        for patience in self._more_patient():
            if patience.slack - patience.told > self._limits.forgives or patience.early > patience.told_early:
                break
            run = self._again(patience)
            late = () if run is None else _out_of_time(run.states)
            if run is not None and all(0 < one.seconds <= self._limits.forgives for one in late):
                # Nobody can say what it was where all that was late may have begun as late.
                self._go_on_from(run, late or (OutOfTime("", UNTOLD, patience.slack - patience.told),))
                return True
        return self._otherwise(event.at)

    def _only_late(self, event: Quiet) -> bool:
        """Go on from the states that there were, where nothing but answers is late: no order is tried anew,
        for which there may be too many."""
        run = self.run
        run.states = run.before_last
        run.patience(replace(self._strict, slack=self._strict.told + self._limits.forgives))
        found = run.quiet(event)
        run.patience(self._strict)
        run.states = found
        if not found:
            return False
        self.late += _out_of_time(found)
        untried = (self._untried or Untried(self._base)).and_then((*self._events, *self._since))
        until = self._forgiven_until(event.at)
        self._begin_again()
        if len(untried.events) <= 2 * self._limits.kept:
            self._untried = replace(untried, until={**until, **untried.until})
        return True

    def _forgiven_until(self, at: float) -> dict[int, float]:
        """The answers that are late in some state, and until when that is forgiven at most."""
        until: dict[int, float] = {}
        for state in self.run.states:
            for number, late in self.run.overdue(state, at).items():
                until[number] = max(until.get(number, at), at - late + self._limits.forgives)
        return until

    def _otherwise(self, at: float) -> bool:
        """Go on with an order that was not tried when an answer was late, where one explains all since then.
        That it has not come by now, and is later than what is forgiven, no other order explains.

        Errors: UndecidedError, where there are too many.
        """
        untried = self._untried
        if untried is None or any(
            self.run.awaits(number) and at > until for number, until in untried.until.items()
        ):
            return False
        events = untried.and_then((*self._events, *self._since)).events
        run = untried.base.copied(replace(self._strict, slack=self._strict.told + self._limits.forgives))
        run.look_ahead(events)
        if not all(run.see(event) for event in events):
            return False
        self._go_on_from(run, _out_of_time(run.states))
        return True

    def _go_on_from(self, run: Run, late: Sequence[OutOfTime]) -> None:
        """Take a run for what happened; from now on nothing is forgiven in it."""
        self.late += late
        run.patience(self._strict)
        self.run = run
        self._begin_again()

    def _violated(self, event: Event) -> Judgement:
        if self.run.narrowed:
            why = (
                "too much was under way at once: not all orders were looked at, and none of those explains it"
            )
            return Judgement(Verdict.UNDECIDED, event, why, states=self.run.most)
        if self._looks and self._may_have_expired():
            why = "the group or its offsets may have expired meanwhile"
            return Judgement(Verdict.UNDECIDED, event, why, states=self.run.most)
        nearest = tuple(_nearest(self.run, event))[:MOST_NEAREST]
        late = self._out_of_time()
        path = next(iter(self.run.before_last.values()), None)
        return Judgement(
            Verdict.VIOLATED,
            event,
            "; ".join(map(str, late)) or _why(self.run, event, nearest),
            nearest,
            late,
            self.run.most,
            _moments(path),
            frozenset(self._reached),
        )

    def _out_of_time(self) -> tuple[OutOfTime, ...]:
        """What was late or early, if the history is one that may be but for that."""
        runs = (self._again(patience) for patience in self._more_patient())
        return next((_out_of_time(run.states) for run in runs if run is not None), ())

    def _may_have_expired(self) -> bool:
        """Whether the history may be if the coordinator has looked for that; or that is too much to say."""
        try:
            return self._played(replace(self._strict, looks=True)) is not None
        except UndecidedError:
            return True

    def _again(self, patience: Patience) -> Run | None:
        """As `_played`; None also where there are too many states to say."""
        try:
            return self._played(patience)
        except UndecidedError:
            return None

    def _played(self, patience: Patience) -> Run | None:
        """The history until now with another patience; None where it is none that may be.

        Errors: UndecidedError.
        """
        limits = replace(self._limits, states=min(AGAIN, self._limits.states))
        run, events = self._base.copied(patience, limits), (*self._events, *self._since)
        run.look_ahead(events)
        return run if all(run.see(event) for event in events) else None

    def _more_patient(self) -> Iterator[Patience]:
        told, told_early = self._strict.slack, self._strict.early
        slack = told * 2 or 0.1
        first = (*self._events, *self._since)[0]
        while slack <= min(self._limits.relaxed, 2 * (self._since[-1].at - first.at)):
            yield Patience(slack, told_early, told, told_early)
            slack *= 2
        for early in EARLY:
            if told_early < early <= self._limits.relaxed:
                yield Patience(told, early, told, told_early)


def _moments(path: Path | None) -> tuple[Moment, ...]:
    return () if path is None else tuple(one.moment for one in path.all())


def _out_of_time(states: States) -> tuple[OutOfTime, ...]:
    """What came out of time on the way to the state for which least did."""
    found = [_worst(path) for path in states.values()]
    return min(found, key=lambda late: (len(late), sum(abs(one.seconds) for one in late)))


def _worst(path: Path | None) -> tuple[OutOfTime, ...]:
    """What came out of time along a path, each once."""
    late: dict[str, OutOfTime] = {}
    for one in () if path is None else path.all():
        if one.late is not None:
            late[one.late.what] = max(
                late.get(one.late.what, one.late), one.late, key=lambda x: abs(x.seconds)
            )
    return tuple(late.values())


def _nearest(run: Run, event: Event) -> list[Nearest]:
    """The answers to a request that were possible when another one came, nearest first."""
    if not isinstance(event, Answered):
        return []
    seen = run.said(event.number, event.reply)
    found = {
        Nearest(rules, state, differences(run.said(event.number, message), seen))
        for message, (rules, state) in run.given(event.number).items()
    }
    return sorted(found, key=lambda one: (len(one.differs), one.rules, one.state))


def _why(run: Run, event: Event, nearest: Sequence[Nearest]) -> str:
    """Why no state is left."""
    if not isinstance(event, Answered):
        owed = {number for state in run.before_last for number in state.owed}
        told = ", ".join(run.about(number) for number in sorted(owed))
        return f"not answered by {event.at:.3f}: {told or 'what was sent'}"
    about = run.about(event.number)
    if nearest:
        return f"the answer to {about} cannot be: nearest is {nearest[0]}"
    if all(event.number in state.pending for state in run.before_last):
        return f"{about} is answered, and there is no order in which its turn has come"
    return f"{about} is answered, and must wait"
