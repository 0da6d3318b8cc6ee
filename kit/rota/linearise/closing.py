"""What must have happened by some moment, and what need not have yet.

A coordinator takes a request at some time between its sending and its answer. Nobody can tell when, and most
of what it does then depends on nothing else. So a run has it done as late as it may be: when an answer comes
that was not given without it, when it must have been done, or when it is the last moment at which it may be.
A state of a run so stands for all that may have happened since; what happens in it later has had its time
since it could be. Few states are left then where much is under way.
"""

from __future__ import annotations

from typing import Any

from rota.kernel import replace
from rota.linearise.history import Answered, Over, Quiet, Sent
from rota.linearise.paths import Patience, States
from rota.linearise.reaching import Reaching
from rota.linearise.states import State
from rota.linearise.times import FOREVER

Sought = Answered | Quiet | Over
"""An event that there must be a state for."""


class Closing(Reaching):
    """The part of a run that says how far it goes.

    Attributes: states, before_last, most, passed_over: as of `Run`.
    """

    states: States
    most: int
    passed_over: frozenset[tuple[str, str]]
    sent: dict[int, Sent]
    _steps: Any
    _patience: Patience
    _earlier: dict[int, int | None]
    _seen: dict[int, float]
    _broken: dict[int, float]
    _closed: float
    _sought: Sought | None = None

    def _close(self, now: float, sought: Sought | None = None) -> None:
        """What must have happened until now, and what may have so that an event can be what is seen.

        sought: it; None: all that may have happened until now.
        """
        self._sought = sought
        found = self._reachable(now)
        self.most = max(self.most, len(found))
        left = [(state, last) for state, last in found.items() if self._possible(state, now)]
        began = [min(now, self._goes_on_from(state)) for state, _ in left]
        self._closed = max(self._closed, min(began, default=now))
        past, self.states = self._closed - self._patience.slack - self._limits.grain, {}
        for (state, last), low in zip(left, began, strict=True):
            since = self._steps.since(state, past)
            low, pending = max(low, state.low), self._open(state, now)
            self.states.setdefault(replace(since, low=low, pending=pending), last)
        passed = [state.passed_over(now - self._patience.slack) for state in self.states]
        self.passed_over |= frozenset[tuple[str, str]].intersection(*passed) if passed else frozenset()

    def _goes_on_from(self, state: State) -> float:
        """Before this nothing happens in a state that is not asked for later."""
        asked = (self.sent[number].at for number in state.pending)
        due = (span.earliest - self._patience.early for span in state.due)
        return min((*asked, *due, *(one.since.earliest for one in state.line[:1])), default=FOREVER)

    def _will_do(self, found: States, now: float) -> bool:
        return any(self._suffices(state, now) for state in found)

    def _suffices(self, state: State, now: float) -> bool:
        """Whether nothing more need happen in a state by now: what may have can have later, as far as
        anybody can tell."""
        sought = self._sought
        if sought is None or (isinstance(sought, Answered) and sought.number not in state.owed):
            return False
        if isinstance(sought, Over) and sought.number in state.pending:
            return False
        if self._patience.looks and not state.looked:
            return False  # what a look finds rests on when it looks
        return self._possible(state, now) and self._open(state, now) == state.pending

    def _open(self, state: State, now: float) -> frozenset[int]:
        """The requests that may yet be taken: of a connection that has ended long ago none is."""
        gone = {n for n in state.pending if self._begun(state, n) + self._patience.slack < now}
        return state.pending - gone

    def _possible(self, state: State, at: float) -> bool:
        """Whether nothing is left that must have happened before some moment."""
        must = at - self._patience.slack
        return (
            all(span.latest >= must for span in state.due)
            and not (state.line and state.line[0].since.latest < must)
            and not any(self._begun(state, n) < must and n not in self._steps.lost for n in state.pending)
        )

    def _begun(self, state: State, number: int) -> float:
        """When a request could be taken at the latest: what was before it on its connection is done."""
        sent = self.sent[number]
        if sent.until is not None:
            return sent.until
        if sent.connection in self._broken:
            return self._broken[sent.connection]
        earlier = self._earlier[number]
        if earlier is None:
            return sent.at
        if earlier in self._seen:
            return max(sent.at, self._seen[earlier])
        owed = state.owed.get(earlier)
        return FOREVER if owed is None else max(sent.at, owed.by)
