"""A group of the spec in which every request is taken at once: what a plan leads to if nothing comes between.

Plans are drawn along it, so it must be quick and the same each time: of the outcomes that the spec allows it
takes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from rota.linearise.looks import expiries, finds_from
from rota.oracle.follow import Oracle
from rota.oracle.offsets_follow import Kept, Told, completed, outcomes
from rota.spec import (
    Arm,
    BrokerConfig,
    Call,
    Group,
    GroupRecord,
    Profile,
    RecordKind,
    Reply,
    Spec,
    Step,
    Timer,
)
from rota.spec.offset_state import OffsetRead, Offsets, OffsetStep, RetentionCheck, TransactionEnd
from rota.spec.versions import as_sent

Pair = tuple[str, str]
"""A rule's slug, and the state of the group when it was used."""

LEAST_MS = 10
"""A timer that its own rule has armed anew is due no sooner than after this. That of a join phase that nobody
could lead is, and with a timeout of nothing it would never let time pass.
"""


class Simulated:
    """One group with its timers and offsets. now: milliseconds; pairs: what was used, until it is taken.

    looks_every_ms: how often is looked for what has expired, from the beginning on, None for never.
    """

    def __init__(self, config: BrokerConfig, profile: Profile, looks_every_ms: int | None = None) -> None:
        self._every, self._began = looks_every_ms, 0
        self._been = False
        self._found: tuple[Group | None, Offsets | None, int | None] = (None, None, None)
        self._oracle = Oracle(config, profile)
        self.now = 0
        self.group: Group | None = None
        self.kept = Kept()
        self.due: dict[Timer, int] = {}
        self.replies: list[Reply] = []
        self.pairs: list[Pair] = []
        self._calls: dict[str, Call] = {}
        self._stored: GroupRecord | None = None

    def copy(self) -> Simulated:
        """Another one that goes on from here."""
        other = object.__new__(Simulated)
        other.__dict__.update(self.__dict__)
        other.kept = Kept(self.kept.offsets, list(self.kept.line))
        other.due, other._calls = dict(self.due), dict(self._calls)
        other.replies, other.pairs = [], []
        return other

    @property
    def state(self) -> str:
        """The state's name, "absent" where there is no group."""
        return "absent" if self.group is None else self.group.state.value

    @property
    def holds(self) -> str:
        """What there is beside the group's members, in words: offsets, or a group that has been."""
        if self.group is None and self._been:
            return "a group that has been"
        return "offsets" if self.kept.offsets.committed else "nothing else"

    def handle(self, call: Call) -> None:
        """A request arrives."""
        self._calls[call.to] = call
        self._grouped(lambda spec: spec.handle(self.group, call))

    def end(self, producer_id: int, committed: bool) -> None:
        """A producer's transaction is ended; the log has it at once."""
        word = TransactionEnd(producer_id, committed)
        told = Told(self.group, self.kept.offsets).after(OffsetStep(self.kept.offsets, line=(word,)))
        self._take(told, self.state)
        self._log(())

    def contested(self, call: Call) -> list[Pair]:
        """Which rule would decide a request, before which others that would fit too: an order to be kept."""
        spec, fit = self._oracle.spec, []
        received = spec.received(call)
        for slug in spec.handlers[type(call.request).__name__]:
            with suppress(Exception):  # a rule may rest on those that are tried before it
                if spec.apply(slug, self.group, received):
                    fit.append(slug)
        return [(f"{fit[0]} before {other}", self.state) for other in fit[1:]]

    def next_due(self) -> int | None:
        """When time alone will next bring something about: a timer, or a look for what has expired."""
        look = self._next_look()
        return min([*self.due.values(), *([] if look is None else [look])], default=None)

    def _next_look(self) -> int | None:
        """When the next look is that finds something, or that passes over an offset for the first time."""
        if self._every is None or self.group is None:
            return None
        last = self.now - (self.now - self._began) % self._every
        since = [each for each in expiries(self.kept.offsets) if each > last]
        found = self._finds_from()
        since += [] if found is None else [found]
        if not since:
            return None
        first = max(min(since), self.now + 1)
        return first + (self._began - first) % self._every

    def _finds_from(self) -> int | None:
        """As of `finds_from`, which is asked again where something has changed."""
        group, offsets, found = self._found
        if group is not self.group or offsets is not self.kept.offsets:
            found = finds_from(self._oracle.spec, self.group, self.kept.offsets)
            self._found = self.group, self.kept.offsets, found
        return found

    def wait(self, milliseconds: int) -> None:
        """Time passes; what is due on the way fires."""
        end = self.now + milliseconds
        while (due := self.next_due()) is not None and due <= end:
            first = min(self.due, key=lambda one: (self.due[one], one), default=None)
            if first is None or self.due[first] > due:
                self.now, check = due, RetentionCheck(due)
                self._grouped(lambda spec, check=check: spec.retention(self.group, check))  # type: ignore[misc]
                continue
            self.now = max(self.now, self.due.pop(first))
            if self.group is not None:
                self._grouped(lambda spec, timer=first: spec.fire(self.group, timer))  # type: ignore[misc]
            if first in self.due:
                self.due[first] = max(self.due[first], self.now + LEAST_MS)
        self.now = end

    def restart(self, config: BrokerConfig) -> None:
        """Another coordinator, which is set like this, reads the log."""
        self._oracle = self._oracle.set_to(config)
        stored, self._began = self._stored, self.now
        self.group, self.replies = None, []
        self.due.clear()
        if stored is not None:
            self._grouped(lambda spec: spec.load(stored))
        elif self.kept.offsets.committed or self.kept.offsets.pending:
            self._grouped(lambda spec: spec.offsets_found(None))

    def taken(self) -> list[Reply]:
        """The answers since the last time, as they are sent."""
        found = [Reply(one.to, as_sent(one.message, self._calls[one.to].version)) for one in self.replies]
        self.replies = []
        return found

    def _grouped(self, ask: Callable[[Spec], tuple[Step, ...]]) -> None:
        state = self.state
        step = self._oracle.outcomes(ask)[0]
        told = outcomes(self._oracle.spec, self.kept, self.group, (step,))[0]
        self._take(told, state)
        self._log(step.records)

    def _log(self, records: Iterable[GroupRecord]) -> None:
        """The log answers at once, in its order: the group's records, then what the offsets wait for."""
        for record in records:
            self._stored = None if record.kind is RecordKind.DELETION else record
            if record.kind is not RecordKind.DELETION:
                self._grouped(lambda spec, one=record: spec.appended(self.group, one, None))  # type: ignore[misc]
        while self.kept.line:
            for waiting in self.kept.line:
                waiting.answered = waiting.answered or not isinstance(waiting.item, OffsetRead)
            state = self.state
            told, done = completed(self._oracle.spec, self.kept, self.group)[0]
            self.kept.line = self.kept.line[done:]
            self._take(told, state)

    def _take(self, told: Told, state: str) -> None:
        if told.rules:
            self.pairs += [(rule.slug, state) for rule in self._oracle.used(told)]
        self._been = self._been or (told.group is not None and told.group.generation_id > 0)
        self.group, self.kept.offsets = told.group, told.offsets
        self.kept.line = [*self.kept.line, *told.queued]
        for effect in told.timers:
            if isinstance(effect, Arm):
                self.due[effect.timer] = self.now + effect.delay_ms
            else:
                self.due.pop(effect.timer, None)
        if self.group is None:
            self.due.clear()
        self.replies += told.replies
