"""The spec of the consumer protocol with one rule in doubt, and who asks it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rota.doubt.consumer_mistakes import (
    Wrong,
    base_of,
    decided_otherwise,
    first_of,
    misread,
    of_steps,
    refusals,
    restored,
)
from rota.doubt.doubting import Notes
from rota.doubt.mistakes import Doubt, Mistake
from rota.kernel import RuleTable, replace
from rota.linearise.consumer.oracle import PREFIX, Ask, Due, Oracle, Stepped
from rota.linearise.consumer.states import View
from rota.oracle.consumer_spec import NotingSpec
from rota.spec.consumer.context import Assignor, ConsumerConfig, ConsumerSpec
from rota.spec.consumer.handlers import CONSUMER_HANDLERS
from rota.spec.consumer.messages import (
    Call,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from rota.spec.consumer.step import Step

BESIDE = (OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest)
"""Requests whose answers are made of the spec's word and of the offsets beside it."""

_FAILED = object()


OF_EACH = (Mistake.IDLE, Mistake.PASSED, Mistake.DECIDED)
"""Mistakes that are another one with each rule, whatever a rule has wrong that it asks."""


class _Notes(Notes):
    """As of the classic protocol. own: those that a rule has at some time by itself, not by one it asks."""

    def __init__(self) -> None:
        super().__init__()
        self.own: set[Doubt] = set()


@dataclass(frozen=True, eq=False)
class _Doubted(NotingSpec):
    """A spec in which a rule has a mistake wherever it can.

    doubt, noted: as of the classic protocol; within: mistakes of the rules that each rule has asked which is
    applied right now. What such a rule may have wrong is its own mistake and not that of who has asked it.
    """

    doubt: Doubt | None = None
    noted: _Notes | None = None
    within: list[set[tuple[Mistake, str]]] = field(default_factory=list)

    def ask(self, slug: str, *inputs: Any) -> Any:
        self.within.append(set())
        try:
            found = super().ask(slug, *inputs)
        finally:
            inner = self.within.pop()
        name = PREFIX + slug
        if self.noted is not None:
            wrongs = [(mistake, part) for mistake, part, _ in self._wrongs(slug, inputs, found)]
            self.noted.note([Doubt(name, *one) for one in wrongs])
            own = (one for one in wrongs if one not in inner or one[0] in OF_EACH)
            self.noted.own.update(Doubt(name, *one) for one in own)
            if self.within:
                self.within[-1] |= inner.union(wrongs)
        if self.doubt is None or self.doubt.rule != name:
            return found
        doubted = self.doubt.mistake, self.doubt.part
        each = self._wrongs(slug, inputs, found)
        return next((wrong for mistake, part, wrong in each if (mistake, part) == doubted), found)

    def _wrongs(self, slug: str, inputs: tuple[Any, ...], found: Any) -> Iterator[Wrong]:
        """Each mistake that would change what a rule comes to."""
        for part, given in misread(inputs):
            wrong = restored(inputs, self._tried(slug, given))
            if wrong is not _FAILED and wrong != found:
                yield Mistake.MISREAD, part, wrong
        if not self.rules[slug].decides:
            yield from self._of_acting(slug, inputs, found)
        elif isinstance(found, Step):
            yield from of_steps(base_of(inputs), (found,), first_of)
        else:
            yield from decided_otherwise(inputs, found, self.config.assignors)

    def _of_acting(self, slug: str, inputs: tuple[Any, ...], found: tuple[Step, ...]) -> Iterator[Wrong]:
        base, call = base_of(inputs), next((one for one in inputs if isinstance(one, Call)), None)
        if not found:
            if call is not None and (wrong := refusals(slug, base, call)):
                yield Mistake.REFUSED, "", wrong
            return
        yield Mistake.PASSED, "", ()
        if (done := self._siblings(slug, inputs, found)) != found:
            yield Mistake.DONE_ANYWAY, "", done
        beside = call is not None and isinstance(call.request, BESIDE)
        yield from of_steps(base, found, tuple, wild=not beside)

    def _siblings(self, slug: str, inputs: tuple[Any, ...], found: tuple[Step, ...]) -> tuple[Step, ...]:
        """What the rule does that would be tried next and fits, with what this one answers."""
        for slugs in self.handlers.values():
            for other in slugs[slugs.index(slug) + 1 :] if slug in slugs else ():
                steps = self._tried(other, inputs)
                if steps and steps is not _FAILED:
                    return tuple(replace(one, replies=found[0].replies) for one in steps)
        return found

    def _tried(self, slug: str, inputs: tuple[Any, ...]) -> Any:
        """What a rule comes to with other inputs, `_FAILED` where they do not fit."""
        silent = ConsumerSpec(self.config, self.rules, self.handlers, self.assignors)
        with suppress(Exception):
            return silent.ask(slug, *inputs)
        return _FAILED


class DoubtingConsumers(Oracle):
    """The spec of the consumer protocol with a rule in doubt. Parameters, attributes: as of `Doubting`."""

    def __init__(
        self,
        config: ConsumerConfig,
        doubt: Doubt | None = None,
        sound: bool = True,
        beside: DoubtingConsumers | None = None,
    ) -> None:
        self.noted: _Notes = _Notes() if beside is None else beside.noted
        self._doubt, self._sound = doubt, sound
        self._beside = beside if beside is not None or doubt is None else DoubtingConsumers(config)
        self._would: dict[Hashable, frozenset[Doubt]] = {}
        super().__init__(config)

    def _spec_of(self, rules: RuleTable, assignors: Mapping[str, Assignor]) -> NotingSpec:
        noted = self.noted if self._doubt is None else None
        parts = self.config, rules, CONSUMER_HANDLERS, assignors
        return _Doubted(*parts, doubt=self._doubt, noted=noted)

    @property
    def mistakes(self) -> Collection[Doubt]:
        """Those that are worth a try."""
        return self.noted.own

    def doubting(self, doubt: Doubt, sound: bool) -> DoubtingConsumers:
        """The same spec with this rule in doubt: what the mistake does not change is known of this one."""
        return DoubtingConsumers(self.config, doubt, sound, self)

    def set_to(self, config: ConsumerConfig) -> DoubtingConsumers:
        return DoubtingConsumers(config, self._doubt, self._sound)

    def _come_of(self, view: View, who: str, due: Due, ask: Ask) -> tuple[Stepped, ...]:
        if self._doubt is None:
            return super()._come_of(view, who, due, ask)
        found: tuple[Stepped, ...] = ()
        with suppress(Exception):  # a mistake before has led to a state that no rule can have
            found = super()._come_of(view, who, due, ask)
        return found

    def _found(self, key: Hashable, view: View, who: str, due: Due, ask: Ask) -> tuple[Stepped, ...]:
        if self._doubt is None:
            self.noted.now = set()
            found = super()._found(key, view, who, due, ask)
            self._would.setdefault(key, frozenset(self.noted.now))
            return found
        beside = self._beside
        assert beside is not None  # whoever has a doubt is beside somebody who has none
        if key in beside._would and self._doubt not in beside._would[key]:
            return beside._found(key, view, who, due, ask)
        wrong = super()._found(key, view, who, due, ask)
        sound: tuple[Stepped, ...] = ()
        if self._sound:
            with suppress(Exception):
                sound = beside._found(key, view, who, due, ask)
        return tuple(dict.fromkeys((*sound, *wrong)))
