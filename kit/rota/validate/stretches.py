"""A stretch of a group's history that is judged without a break."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from rota.linearise import (
    Answered,
    Broken,
    Event,
    HistoryError,
    Judge,
    Judgement,
    Over,
    Quiet,
    Restarted,
    Sent,
    Verdict,
)
from rota.linearise.states import State
from rota.spec import ErrorCode, JoinGroupReply
from rota.spec.messages import ReplyMessage, Request
from rota.validate.frames import ids_in
from rota.validate.terms import Start, Terms

HELD_BACK = 2.0
"""Seconds for which a request that is not answered is held back: some answers say that no coordinator was
asked."""

MOST_HELD = 2_000
EVERY, OR_AFTER = 200, 0.25
"""How many events the judge gets at once at most, and after how many seconds at least."""

REMEMBERED = 2_000
"""Requests of which it is known where they and their answers stand."""

MOST_IDS = 10_000

_GIVING = (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)


class _Held(Struct):
    event: Event
    weight: int


class Stretch:
    """Judges as events come. Events must be in the order of their times.

    Parameters: terms; states, to begin with; parked, the requests that wait in them; offsets_known: whether
    what was committed is; began: when frames do. Attributes: found, what ended the stretch, if anything has;
    judged: how many events were judged since it was last asked for; doubtful: those that were given to the
    judge and not judged yet; known: ids that members are known by; last: when the last event was.
    """

    def __init__(
        self,
        terms: Terms,
        states: Iterable[State] = (),
        parked: Iterable[Sent] = (),
        offsets_known: bool = False,
        began: float = float("-inf"),
    ) -> None:
        looking = terms.looking(began) if offsets_known else None
        self.offsets_known, self._follows = offsets_known, terms.durable and offsets_known
        self.judge = Judge(
            terms.profile,
            terms.config,
            terms.lateness,
            terms.limits,
            looks=terms.looks and looking is None,
            looking=looking,
            restarts=self._follows,
        )
        self.found: Judgement | None = None
        self.judged = self.doubtful = 0
        self.known: set[str] = set()
        self.origins: OrderedDict[int, list[str]] = OrderedDict()
        if states := tuple(states):
            self.judge.resume(states, parked)
        self._queue: deque[_Held] = deque()
        self._unanswered: dict[int, _Held] = {}
        self._gone: float | None = None
        self._starts_are_told = bool(terms.starts)
        self._starts = deque(one for one in terms.starts if self._follows and one.at.earliest > began)
        self._flushed = float("-inf")
        self.last = float("-inf")
        self._note_ids()

    @property
    def states(self) -> Collection[State]:
        """In which the coordinator may have been before the last event."""
        return self.judge.run.before_last

    @property
    def unanswered(self) -> Iterator[Request]:
        """What was asked and not answered before the last event that the judge has looked at."""
        run = self.judge.run
        return (one.call.request for number, one in run.sent.items() if run.awaits(number))

    @property
    def queued(self) -> int:
        """How many events wait to be given to the judge."""
        return sum(one.weight for one in self._queue)

    def take(self, event: Sent | Answered | Broken | Over, weight: int, origin: str) -> None:
        """The next event. weight: what it counts; origin: where it stands."""
        if isinstance(event, Sent):
            self.ask(event, weight, origin)
        elif isinstance(event, Answered):
            self.answer(event, weight, origin)
        else:
            if isinstance(event, Over):
                self.settle(event.number)
            self._add(_Held(event, 0))

    def ask(self, event: Sent, weight: int, origin: str) -> None:
        """A request was sent."""
        held = _Held(event, weight)
        self._unanswered[event.number] = held
        self.origins[event.number] = [origin]
        if len(self.origins) > REMEMBERED:
            self.origins.popitem(last=False)
        self._add(held)

    def answer(self, event: Answered, weight: int, origin: str) -> None:
        """A request was answered."""
        self._unanswered.pop(event.number, None)
        self.origins.setdefault(event.number, []).append(origin)
        self.known |= handed_out(event.reply)
        self._add(_Held(event, weight))

    def settle(self, number: int) -> None:
        """What is never answered to the group need not be held back any more."""
        self._unanswered.pop(number, None)

    def withdraw(self, number: int) -> int | None:
        """Take back a request that no coordinator was asked. Returns its weight; None: too late."""
        held = self._unanswered.pop(number, None)
        if held is None or held not in self._queue:
            return None
        self._queue.remove(held)
        return held.weight

    def exchange(self, event: Sent) -> bool:
        """Put another request in the place of one. Returns whether it was not too late."""
        held = self._unanswered.get(event.number)
        if held is None or held not in self._queue:
            return False
        held.event = event
        return True

    def may_be_gone(self, at: float) -> bool:
        """The coordinator may have ended then, and been started anew by the next request.

        Returns whether it is followed what it has after that.
        """
        self._gone = at if self._follows else None
        return self._follows

    def _add(self, held: _Held) -> None:
        at = held.event.at
        if isinstance(held.event, Sent):
            self._is_there_again(at)
        self._queue.append(held)
        self.last = max(self.last, at)
        if len(self._queue) >= EVERY or at - self._flushed >= OR_AFTER:
            self.look(at)

    def _is_there_again(self, at: float) -> None:
        """Somebody asks: the coordinator was started before, if it was."""
        gone, self._gone = self._gone, None
        while self._starts and self._starts[0].at.earliest <= at:
            gone = self.last if gone is None else gone
            self._queue.append(_Held(_restarted(self._starts.popleft(), gone, at), 0))
            gone = None
        if gone is not None and not self._starts_are_told:
            self._queue.append(_Held(Restarted(at, gone, gone, sure=False), 0))

    def look(self, now: float, everything: bool = False) -> None:
        """Give the judge what has come, and see what it says."""
        if self.found is not None:
            return
        self._flushed = now
        everything = everything or len(self._queue) >= MOST_HELD
        try:
            while self._queue and (everything or not self._waits(self._queue[0], now)):
                held = self._queue.popleft()
                self.doubtful += held.weight
                if isinstance(held.event, Broken):  # what was due there by now will never be
                    self.judge.see(Quiet(held.event.at))
                self.judge.see(held.event)
            self.judge.see(Quiet(self._queue[0].event.at if self._queue else now))
        except HistoryError as error:
            self.found = Judgement(Verdict.UNDECIDED, why=str(error))
            return
        self.found = self.judge.found
        if self.found is None:
            self.judged, self.doubtful = self.judged + self.doubtful, 0
            if len(self.known) > MOST_IDS:
                self._note_ids()

    def _waits(self, held: _Held, now: float) -> bool:
        event = held.event
        return isinstance(event, Sent) and event.number in self._unanswered and now - event.at < HELD_BACK

    def end(self, now: float) -> None:
        """Nothing more comes."""
        self.look(max(now, self.last), everything=True)

    def reached(self) -> frozenset[tuple[str, str]]:
        """Which rules were used in which state, where the stretch ends well."""
        return self.judge.end().reached

    def _note_ids(self) -> None:
        states = self.judge.run.states
        self.known = {one for state in states for one in state.ids}


def _restarted(start: Start, gone: float, at: float) -> Restarted:
    """The coordinator was started then, and was asked at that time."""
    down = max(gone, start.at.earliest)
    return Restarted(max(down, min(at, start.at.latest)), min(gone, down), down, start.config)


def handed_out(reply: ReplyMessage) -> frozenset[str]:
    """Ids that an answer tells somebody to be known by."""
    if isinstance(reply, JoinGroupReply) and reply.error_code in _GIVING and reply.member_id:
        return frozenset((reply.member_id,))
    return frozenset()


def strangers(messages: Iterable[ReplyMessage], known: set[str]) -> frozenset[str]:
    """Member ids in messages that nobody was seen to be given."""
    return frozenset().union(*map(ids_in, messages)) - known
