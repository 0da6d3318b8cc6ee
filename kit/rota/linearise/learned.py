"""What the judge has learned of a history's coordinator: which state, asked what, leads to which states.

What a step does to a core (`rota.linearise.parts`) does not depend on moments, and what it does to moments
can be told in few words: this timer goes on, that one is due so long after the step. So each pair of core and
input is asked of `Steps` once, with moments that are recognised in what it says.

Steps that say something to the offsets, readers who may see the group as it was, and whatever else depends on
more are not learned: `Learned.take` and the like return None for them, and `Steps` is asked each time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as replaced

from rota.kernel import FrozenMap, replace
from rota.linearise import pairs
from rota.linearise.answers import agreements
from rota.linearise.history import EndTransaction
from rota.linearise.ids import is_unknown, texts_in
from rota.linearise.parts import WHOEVER_ASKS, Core, Line, Outcome, Shared
from rota.linearise.passages import Passage, Passed, passed
from rota.linearise.states import AT_ANY_TIME, InLog, State
from rota.linearise.steps import Rules, Steps, Taken
from rota.linearise.times import NEVER, Span
from rota.spec import Call, GroupRecord, HeartbeatRequest, Step, Timer
from rota.spec.admin_messages import DescribeGroupsRequest, ListGroupsRequest
from rota.spec.messages import ReplyMessage
from rota.spec.offset_messages import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from rota.spec.offset_state import OffsetBatch, OffsetRecord

NOT_LEARNED = (
    EndTransaction,
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
"""Requests whose answers rest on more than a core."""

MOST = 250_000
"""Cores and other values, and what is learned of them, that are kept at most before all is begun anew, where
nobody has a bound on memory: a fifth of a gigabyte, twice that where groups are large."""

MOST_KINDS = 4
"""Kinds of coordinators of which something is kept."""

_NOW = Span(0.0, 0.0)


@dataclass(eq=False)
class Commit:
    """What comes of a commit by its shape. outcome: for the group; told: all that the spec says of it;
    passages: what comes of it where nothing else is under way, empty where nobody has asked."""

    outcome: Outcome
    told: Step
    passages: list[Passage | None] = field(default_factory=list)
    _by: dict[Rules, Outcome] = field(default_factory=dict)

    @property
    def batch(self) -> OffsetBatch | None:
        """What goes to the log; None where the answer is given at once."""
        return next((word for word in self.told.offsets if isinstance(word, OffsetBatch)), None)

    def step(self, batch: OffsetBatch) -> Step:
        """What the spec says of the commit itself, whose batch this is."""
        return replace(self.told, offsets=(batch,))

    def by(self, rules: Rules) -> Outcome:
        """The outcome by these rules beside its own; the one like this."""
        rules = (*dict.fromkeys((*self.outcome.rules, *rules)),)
        if rules not in self._by:
            self._by[rules] = replaced(self.outcome, rules=rules)
        return self._by[rules]


class Learned:
    """What is known of a coordinator's cores. Parameters: steps, to be asked."""

    def __init__(self, steps: Steps) -> None:
        self._asker = steps.alone()
        self._cores: dict[Hashable, Core] = {}
        self._shared: dict[Hashable, Shared] = {}
        self._agree: dict[tuple[Shared, int, Shared], bool | None] = {}
        self._outcomes = 0

    def __len__(self) -> int:
        """How many things are kept."""
        tables = (self._cores, self._shared, self._agree)
        return sum(len(table) for table in tables) + self._outcomes

    @property
    def is_full(self) -> bool:
        """Whether it has more than is kept."""
        return len(self) > (MOST if _KEPT.most is None else _KEPT.most)

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

    def request(self, call: Call) -> Shared:
        """A request as an input: what is answered at once is the same whoever asked it when."""
        if isinstance(call.request, HeartbeatRequest):
            call = replace(call, to=str(WHOEVER_ASKS))
        return self.shared(replace(call, now_ms=0))

    def take(self, core: Core, request: Shared) -> tuple[Outcome, ...] | None:
        """What comes of a request, which is none of those that are `NOT_LEARNED`; None where that rests on
        more than the core."""
        if request in core.outcomes:
            return core.outcomes[request]
        call: Call = request.value
        probe = replace(_probe(core), pending=frozenset({int(call.to)}))
        return self._keep(core, request, call, self._asker.take(probe, int(call.to), call, _NOW, 0.0))

    def commit(self, core: Core, request: Shared) -> tuple[Commit, ...] | None:
        """What comes of a commit, by its shape; None where the group says more to the offsets than that they
        are to be stored."""
        if request not in core.commits:
            core.commits[request] = self._commit(core, request.value)
        found: tuple[Commit, ...] | None = core.commits[request]
        return found

    def _commit(self, core: Core, call: Call) -> tuple[Commit, ...] | None:
        _note(core, call)
        probe = replace(_probe(core), pending=frozenset({WHOEVER_ASKS}))
        found = tuple(self._asker.take(probe, WHOEVER_ASKS, call, _NOW, 0.0))
        known = self._asker.known(core.group, call)
        self._outcomes += 1 + len(found)
        self._asker.forget()
        if len(known) != len(found) or not all(_only_stores(step) for step, _ in known):
            return None
        return tuple(
            Commit(replaced(self._outcome(core, one), appended=(), rules=rules), told)
            for one, (told, rules) in zip(found, known, strict=True)
        )

    def passage(self, core: Core, one: Commit) -> Passage | None:
        """What comes of a commit that is stored where nothing else is under way; None where that rests on
        more."""
        if not one.passages:
            self._outcomes += 1
            told = passed(self._asker, (core.group, one.outcome.core.group), one.told)
            one.passages.append(None if told is None else self._passage(one, told))
        return one.passages[0]

    def _passage(self, one: Commit, told: Passed) -> Passage:
        return Passage(one.by(told.begun), self.shared(told.reply.message), told.stored, told.offsets)

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
        _note(core, key.value)
        taken = tuple(found)
        known = self._asker.known(core.group, asked)
        alone = bool(known) and not any(step.offsets for step, _ in known)
        core.outcomes[key] = tuple(self._outcome(core, one) for one in taken) if alone else None
        self._outcomes += 1 + len(taken)
        self._asker.forget()
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


@dataclass
class _Kept:
    """most: in place of `MOST`, None: nothing is."""

    most: int | None = None


_KEPT = _Kept()

_OF: dict[Hashable, Learned] = {}


def learned_of(steps: Steps) -> Learned:
    """What this process has learned of coordinators like this, from all histories."""
    key = (steps.profile, steps.config, steps.follows)
    found = _OF.get(key)
    if found is None or found.is_full:
        if len(_OF) >= MOST_KINDS:
            _OF.clear()
        found = _OF[key] = Learned(steps)
    return found


@contextmanager
def counting(run: Hashable, most: int | None = None) -> Iterator[set[int]]:
    """Within, pairs that are asked for the first time in a run are counted, as `rota.linearise.pairs` names
    them. What was learned without being counted for this run is forgotten, to be asked and counted anew.

    most: what is kept within, in place of `MOST`.
    """
    if pairs.is_new(run):
        _OF.clear()
    before, _KEPT.most = _KEPT.most, most
    try:
        with pairs.counted(run) as found:
            yield found
    finally:
        _KEPT.most = before


def _note(core: Core, asked: Hashable) -> None:
    """Something is asked in a state for the first time."""
    if not pairs.counts():
        return
    if core.hashed is None:
        core.hashed = pairs.hashed((core.group, core.timers, core.ids, core.stored, core.looked))
    pairs.note(core.hashed, asked)


def _only_stores(step: Step) -> bool:
    """Whether a step tells the offsets that some are to be stored, or nothing, and has no record."""
    return (
        not step.records
        and all(
            isinstance(word, OffsetBatch)
            and word.records
            and all(isinstance(one, OffsetRecord) for one in word.records)
            for word in step.offsets
        )
        and len(step.offsets) <= 1
    )


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
