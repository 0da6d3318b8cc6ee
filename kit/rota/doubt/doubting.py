"""The spec with one rule in doubt, and who asks it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from rota.doubt.mistakes import (
    ALTERNATIVES,
    AnyStep,
    Doubt,
    Mistake,
    Outcomes,
    base_of,
    call_in,
    errors_of,
    misread,
    mistaken,
    refused,
    rules_named_by,
)
from rota.kernel import replace
from rota.oracle.follow import Oracle, S
from rota.spec import BrokerConfig, Profile, Reply, Spec, Step

MOST_OTHERS = 4
"""Other decisions that are looked at, at most."""


@dataclass
class _Applied:
    """A rule while it is applied. went_on: what the rules came to that it has gone on to until now."""

    slug: str
    inputs: tuple[Any, ...]
    went_on: Outcomes = ()

    def before(self, step: AnyStep) -> AnyStep:
        """What there was before the rule's own last part of a step."""
        found = (one for one in reversed(self.went_on) if one.replies == step.replies[: len(one.replies)])
        return next(found, base_of(self.inputs))


class Notes(set[Doubt]):
    """Mistakes that would change something. first: with which event each did so first; event: of now; now:
    those that would change what is asked just now.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first: dict[Doubt, int] = {}
        self.event = 0
        self.now: set[Doubt] = set()

    def note(self, doubts: Iterable[Doubt]) -> None:
        """These would."""
        for doubt in doubts:
            self.first.setdefault(doubt, self.event)
            self.now.add(doubt)
            self.add(doubt)


@dataclass(frozen=True, eq=False)
class _Doubted(Spec):
    """A spec in which a rule has a mistake wherever it can.

    doubt: which, None for none; noted: of what would change something, None where nobody wants to know;
    applied: the rules that are applied right now; other: which of other decisions is taken.
    """

    doubt: Doubt | None = None
    noted: Notes | None = None
    applied: list[_Applied] = field(default_factory=list)
    other: list[int] = field(default_factory=lambda: [0])

    def _first(self, handler: str, state: Any, *inputs: Any) -> Outcomes:
        for slug in self.handlers[handler]:
            steps = self.apply(slug, state, *inputs)
            if steps:
                return steps
        return () if self.doubt is None or self.doubt.mistake is not Mistake.PASSED else (base_of((state,)),)

    def apply(self, slug: str, *inputs: Any) -> Outcomes:
        outer = self.applied[-1] if self.applied else None
        steps: Outcomes = ()
        for given in self._handed_on(outer, slug, inputs):
            steps += self._of_rule(slug, given)
        if outer is not None:
            outer.went_on += steps
        return tuple(dict.fromkeys(steps))

    def _handed_on(self, outer: _Applied | None, slug: str, inputs: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """What a rule is given by another one, whose own part until now may have a mistake."""
        if outer is None or outer.went_on or not isinstance(inputs[0], Step):
            return [inputs]
        own, call = inputs[0], call_in(outer.inputs)
        if self.noted is not None:
            self.noted.note([Doubt(outer.slug, Mistake.HALTED, slug)])
            wrongs = mistaken(outer.slug, base_of(outer.inputs), (own,), call)
            self.noted.note(Doubt(outer.slug, mistake, part) for mistake, part, _ in wrongs)
        if self.doubt is not None and self.doubt.rule == outer.slug:
            for mistake, part, wrong in mistaken(outer.slug, base_of(outer.inputs), (own,), call):
                if (mistake, part) == (self.doubt.mistake, self.doubt.part):
                    return [(one, *inputs[1:]) for one in wrong]
        return [inputs]

    def _of_rule(self, slug: str, inputs: tuple[Any, ...]) -> Outcomes:
        """What a rule does, with its mistake if it has one."""
        applied = _Applied(slug, inputs)
        self.applied.append(applied)
        try:
            steps: Outcomes = super().apply(slug, *inputs)
        finally:
            self.applied.pop()
        if self.noted is not None:
            self.noted.note(self._doubts(applied, steps))
        return steps if self.doubt is None else self._doubted(self.doubt, applied, steps)

    def _doubts(self, applied: _Applied, steps: Outcomes) -> Iterator[Doubt]:
        """Mistakes that would change what a rule does."""
        slug, inputs, base = applied.slug, applied.inputs, base_of(applied.inputs)
        for part, wrong in misread(inputs):
            if self._tried(slug, wrong) != steps:
                yield Doubt(slug, Mistake.MISREAD, part)
        if not steps:
            if refused(slug, base, call_in(inputs)):
                yield Doubt(slug, Mistake.REFUSED)
            return
        yield Doubt(slug, Mistake.PASSED)
        if steps != (base,):
            yield Doubt(slug, Mistake.IDLE)
        if self._siblings(applied, steps) != steps:
            yield Doubt(slug, Mistake.DONE_ANYWAY)
        if isinstance(steps[0], Step):
            yield from (Doubt(slug, Mistake.WENT_ON, part) for part in rules_named_by(slug))
        for step in steps:
            for mistake, part, _ in mistaken(slug, applied.before(step), (step,), call_in(inputs)):
                yield Doubt(slug, mistake, part)

    def _doubted(self, doubt: Doubt, applied: _Applied, steps: Outcomes) -> Outcomes:
        slug, inputs = applied.slug, applied.inputs
        if doubt.mistake is Mistake.HALTED:
            outer = self.applied[-1].slug if self.applied else ""
            halted = (outer, slug) == (doubt.rule, doubt.part)
            return (base_of(inputs),) if halted and steps else steps
        if doubt.rule != slug:
            return steps
        if doubt.mistake is Mistake.MISREAD:
            return next(
                (self._tried(slug, one) for part, one in misread(inputs) if part == doubt.part), steps
            )
        if not steps:
            wrong = doubt.mistake is Mistake.REFUSED
            return refused(slug, base_of(inputs), call_in(inputs)) if wrong else steps
        return self._wrong(doubt, applied, steps)

    def _wrong(self, doubt: Doubt, applied: _Applied, steps: Outcomes) -> Outcomes:
        if doubt.mistake is Mistake.PASSED:
            return ()
        if doubt.mistake is Mistake.IDLE:
            return (base_of(applied.inputs),)
        if doubt.mistake is Mistake.DONE_ANYWAY:
            return self._siblings(applied, steps)
        if doubt.mistake is Mistake.WENT_ON:
            return tuple(self._went_on(doubt, steps)) or steps
        found: list[AnyStep] = []
        for step in steps:
            wrongs = mistaken(applied.slug, applied.before(step), (step,), call_in(applied.inputs))
            same = (wrong for *which, wrong in wrongs if tuple(which) == (doubt.mistake, doubt.part))
            found += next(same, (step,))
        return tuple(found)

    def _tried(self, slug: str, inputs: Any) -> Outcomes:
        """What a rule does with other inputs, nothing where they do not fit."""
        silent = _Doubted(self.profile, self.config, self.rules, self.handlers, self.received, self.groups)
        with suppress(Exception):
            return Spec.apply(silent, slug, *inputs)
        return ()

    def _siblings(self, applied: _Applied, steps: Outcomes) -> Outcomes:
        """What the rules do that would be tried next, with what this one answers."""
        slug, inputs = applied.slug, applied.inputs
        base = base_of(inputs)
        first = len(base.replies)
        told = steps[0].replies[first:]
        heard = {one.to for one in told}
        for slugs in ALTERNATIVES:
            for other in slugs[slugs.index(slug) + 1 :] if slug in slugs else ():
                if found := self._tried(other, inputs):
                    return tuple(
                        replace(
                            one, replies=(*one.replies[:first], *told, *_not_to(heard, one.replies[first:]))
                        )
                        for one in found
                    )
        return steps

    def _went_on(self, doubt: Doubt, steps: Outcomes) -> Iterator[Any]:
        for step in steps:
            if doubt.part not in step.rules:
                yield from self._tried(doubt.part, (step,))

    def ask(self, slug: str, *inputs: Any) -> Any:
        found = super().ask(slug, *inputs)
        if self.noted is not None:
            self.noted.note([Doubt(slug, Mistake.DECIDED)])
        if self.doubt is None or self.doubt.rule != slug:
            return found
        others = _others(slug, inputs, found)
        return others[self.other[0]] if self.other[0] < len(others) else found


def _not_to(addresses: Collection[str], replies: Iterable[Reply]) -> Iterator[Reply]:
    return (one for one in replies if one.to not in addresses)


def _others(slug: str, inputs: tuple[Any, ...], found: Any) -> list[Any]:
    """Other decisions than the one that was found."""
    if isinstance(found, bool):
        return [not found]
    if isinstance(found, Enum):
        return [code for code in dict.fromkeys(errors_of(slug)) if code is not found]
    if isinstance(found, tuple):
        offered = sorted({name for names in inputs[0] for name in names})
        return [one for one in ((), tuple(offered), *((name,) for name in offered)) if one != found]
    return [one for one in (None, frozenset[str]()) if one != found]


class Doubting(Oracle):
    """The spec with a rule in doubt.

    Parameters: doubt, None for none; sound: whether what the rule does without the mistake is possible, too.
    Attributes: noted: where no rule is in doubt, the mistakes that would change something. What came of a
    question that a mistake would not change is not asked again with it (`doubting`).
    """

    def __init__(
        self,
        config: BrokerConfig,
        profile: Profile,
        doubt: Doubt | None,
        sound: bool,
        noted: Notes | None = None,
    ) -> None:
        self.noted = Notes() if noted is None else noted
        self._kept: dict[Hashable, tuple[Any, frozenset[Doubt]]] = {}
        self._otherwise: dict[BrokerConfig, Doubting] = {}
        super().__init__(config, profile)
        self._sound_spec = self.spec
        self._begin(doubt, sound)

    def _begin(self, doubt: Doubt | None, sound: bool) -> None:
        spec = self._sound_spec
        parts = (spec.profile, spec.config, spec.rules, spec.handlers, spec.received, spec.groups)
        self._doubt, self._sound = doubt, sound or doubt is None
        self._wrong = _Doubted(*parts, doubt=doubt)
        if doubt is None:
            self.spec = _Doubted(*parts, noted=self.noted)
        else:
            self.spec = spec if sound else self._wrong

    @property
    def mistakes(self) -> Collection[Doubt]:
        """Those that are worth a try."""
        return self.noted

    def doubting(self, doubt: Doubt, sound: bool) -> Doubting:
        """The same spec with this rule in doubt: it knows what was asked of this one."""
        other = copy(self)
        other._otherwise = {config: one.doubting(doubt, sound) for config, one in self._otherwise.items()}
        other._begin(doubt, sound)
        return other

    def recalled(self, key: Hashable) -> Any:
        found, doubts = self._kept.get(key, (None, frozenset[Doubt]()))
        self.noted.now = set()
        return None if self._doubt is None or self._doubt in doubts else found

    def keep(self, key: Hashable, found: Any) -> None:
        if self._doubt is None:
            self._kept[key] = found, frozenset(self.noted.now)

    def set_to(self, config: BrokerConfig) -> Doubting:
        if config not in self._otherwise:
            self._otherwise[config] = Doubting(config, self.profile, self._doubt, self._sound, self.noted)
        return self._otherwise[config]

    def outcomes(self, ask: Callable[[Spec], tuple[S, ...]]) -> tuple[S, ...]:
        found: list[S] = []
        if self._sound:
            found += self._tried(ask, self.spec)
        if self._doubt is not None:
            several = self._doubt.mistake is Mistake.DECIDED
            for other in range(MOST_OTHERS if several else 1):
                self._wrong.other[0] = other
                found += [one for one in self._tried(ask, self._wrong) if one not in found]
        return tuple(found)

    def _tried(self, ask: Callable[[Spec], tuple[S, ...]], spec: Spec) -> tuple[S, ...]:
        """What comes of it; nothing where a mistake before has led to a state that no rule can have."""
        if self._doubt is None:
            return super().outcomes(lambda _: ask(spec))
        self._wrong.applied.clear()
        with suppress(Exception):
            return super().outcomes(lambda _: ask(spec))
        return ()
