"""How far a run goes whose states are taken apart: as `rota.linearise.closing` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rota.linearise.closing import Sought
from rota.linearise.commits import CommitRun
from rota.linearise.history import Answered, Over
from rota.linearise.parts import Owing, Packed, QuickStates, Shared
from rota.linearise.paths import Path
from rota.linearise.times import FOREVER, NEVER, Span


class QuickClosing(CommitRun):
    """A `CommitRun` that says what must have happened. Parameters: as of `Run`."""

    def _begin_close(self) -> None:
        """What is known while no event comes."""
        self._moments: dict[tuple[float, float], Span] = {}
        self._waited: dict[tuple[Shared, Shared], tuple[dict[int, float], float]] = {}

    @property
    def _packed(self) -> dict[Packed, Path | None]:
        """The states, taken apart."""
        states: Any = self.states
        if type(states) is not QuickStates:  # to ask a `Mapping` what it is an instance of takes longer
            packed = self._packing.packed
            states = self._as_states({packed(one): path for one, path in states.items()})
            self.states = states
        return states.packed  # type: ignore[no-any-return]

    def _hold(self, packed: dict[Packed, Path | None]) -> None:
        self.states = self._as_states(packed)

    def _as_states(self, packed: dict[Packed, Path | None]) -> Any:
        return QuickStates(packed, self._packing.unpacked)

    def _close(self, now: float, sought: Sought | None = None) -> None:
        """As `Run._close`."""
        self._packing.names.next_event()
        self._begin_anew_if_need_be()
        self._sought = sought
        found: dict[Packed, Path | None] = self._reachable(now).packed
        self.most = max(self.most, len(found))
        left: dict[Packed, Path | None] = {}
        states = [one for one in found if self._is_possible(one, now)]
        began = [min(now, self._begins_from(one)) for one in states]
        self._closed = max(self._closed, min(began, default=now))
        past = self._closed - self._patience.slack - self._limits.grain
        for state, low in zip(states, began, strict=True):
            pending, veiled = self._still_open(state, now), state[7] if state[7] >= past else NEVER
            left.setdefault((*state[:4], pending, state[5], max(low, state[6]), veiled), found[state])
        self._hold(left)

    def _is_possible(self, state: Packed, now: float) -> bool:
        """As `Run._possible`."""
        since, must = state[2].value[1], self._begun_in(state[4], state[5])[1]
        return now - self._patience.slack <= min(must, state[3].last, since[1] if since else FOREVER)

    def _still_open(self, state: Packed, now: float) -> Shared:
        """As `Run._open`."""
        begun, past = self._begun_in(state[4], state[5])[0], now - self._patience.slack
        if all(at >= past for at in begun.values()):
            return state[4]
        return self._packing.shared(tuple(one for one in state[4].value if begun[one] >= past))

    def _begins_from(self, state: Packed) -> float:
        """As `Run._goes_on_from`."""
        since, sent = state[2].value[1], self.sent
        asked = min((sent[number].at for number in state[4].value), default=FOREVER)
        return min(asked, state[3].first - self._patience.early, since[0] if since else FOREVER)

    def _will_do(self, found: Any, now: float) -> bool:
        return any(self._is_enough(state, now) for state in found)

    def _is_enough(self, state: Packed, now: float) -> bool:
        """As `Run._suffices`."""
        sought = self._sought
        if sought is None:
            return False
        if isinstance(sought, Answered):
            if all(one[0] != sought.number for one in state[5].value):
                return False
        elif isinstance(sought, Over) and sought.number in state[4].value:
            return False
        return self._is_possible(state, now) and self._still_open(state, now) is state[4]

    def _begun_in(self, pending: Shared, owed: Shared) -> tuple[dict[int, float], float]:
        """When each request that is pending could be taken at the latest, as `Run._begun`, and the least of
        those that must be taken."""
        found = self._waited.get((pending, owed))
        if found is None:
            begun = {number: self._begun_by(number, owed.value) for number in pending.value}
            least = min((at for one, at in begun.items() if one not in self._steps.lost), default=FOREVER)
            found = self._waited[pending, owed] = begun, least
        return found

    def _begun_by(self, number: int, owed: Sequence[Owing]) -> float:
        sent, earlier = self.sent[number], self._earlier[number]
        if sent.until is not None:
            return sent.until
        if sent.connection in self._broken:
            return self._broken[sent.connection]
        if earlier is None:
            return sent.at
        if earlier in self._seen:
            return max(sent.at, self._seen[earlier])
        return next((max(sent.at, by) for one, _, by in owed if one == earlier), FOREVER)

    def _begin_anew_if_need_be(self) -> None:
        raise NotImplementedError
