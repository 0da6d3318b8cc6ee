"""`Spec`: the constants of a run and the one way to find and apply a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from rota.kernel import Attempt, RuleTable
from rota.spec.effects import Record, Timer
from rota.spec.kind import AnyGroup, AnyStep, GroupKind
from rota.spec.messages import Call
from rota.spec.offset_state import (
    Expire,
    GroupForgotten,
    OffsetBatch,
    OffsetRead,
    Offsets,
    OffsetSteps,
    RetentionCheck,
    TransactionEnd,
)
from rota.spec.profiles import BrokerConfig, Profile
from rota.spec.vocabulary import AppendError

R = TypeVar("R")
S = TypeVar("S")

AnySteps = tuple[AnyStep, ...]
"""The steps that a rule allows, of whatever kind its group is."""


class NoRuleError(Exception):
    """No rule of a handler matched: the spec is incomplete, or a mutant made it so."""


@dataclass(frozen=True, eq=False)
class Spec:
    """The protocol under a profile and a configuration.

    Parameters: profile; config; rules, slug -> rule; handlers, name of an input -> slugs in the order in
    which they are tried; received, a request of any version in the terms of the newest; groups, what may be
    asked of a group that is held.
    """

    profile: Profile
    config: BrokerConfig
    rules: RuleTable
    handlers: Mapping[str, tuple[str, ...]]
    received: Callable[[Call], Call]
    groups: GroupKind

    @cached_property
    def _functions(self) -> dict[str, Callable[..., Any]]:
        """The rules' functions by slug, which are asked for all the time."""
        return {slug: rule.function for slug, rule in self.rules.items()}

    def handle(self, group: AnyGroup | None, call: Call) -> AnySteps:
        """A request arrives; a step is all that a broker does with it under one lock of the group."""
        return self._first(type(call.request).__name__, group, self.received(call))

    def fire(self, group: AnyGroup, timer: Timer) -> AnySteps:
        """An armed timer is due; it is disarmed before the rule runs."""
        return self._first(timer.name, group, timer)

    def appended(self, group: AnyGroup | None, record: Record, error: AppendError | None) -> AnySteps:
        """The log answers an append: stored (None) or failed. The group may have changed or gone by then."""
        return self._first(record.handler, group, record, error)

    def load(self, record: Record | None) -> AnySteps:
        """A coordinator has read the log; record: the group's last one."""
        return self._first("load", None, record)

    def unload(self, group: AnyGroup | None, unanswered: tuple[Record, ...]) -> AnySteps:
        """The broker is the coordinator no more; unanswered: appends in flight, oldest first."""
        return self._first("unload", group, unanswered)

    def retention(self, group: AnyGroup, check: RetentionCheck) -> AnySteps:
        """It is time to look what has expired: the group tells the offsets what may go."""
        return self._first("retention", group, check)

    def unused(self, group: AnyGroup) -> AnySteps:
        """The offsets have said that they need the group no more (`OffsetStep.removes_group`)."""
        return self._first("unused", group)

    def offsets_begin(self, offsets: Offsets, batch: OffsetBatch) -> OffsetSteps:
        """A batch of records is on its way to the log."""
        return self._first("offsets_begin", offsets, batch)

    def offsets_appended(
        self, offsets: Offsets, batch: OffsetBatch, error: AppendError | None
    ) -> OffsetSteps:
        """The log answers a batch: stored (None) or failed."""
        return self._first("offsets_appended", offsets, batch, error)

    def offsets_read(self, offsets: Offsets, read: OffsetRead) -> OffsetSteps:
        """A fetch is answered."""
        return self._first("offsets_read", offsets, read)

    def offsets_found(self, group: AnyGroup | None) -> AnySteps:
        """There are offsets: stored this moment, or after a fail-over."""
        return self._first("offsets_found", group)

    def offsets_expire(self, offsets: Offsets, expire: Expire) -> OffsetSteps:
        """What is too old goes, as far as the group has said that it may."""
        return self._first("offsets_expire", offsets, expire)

    def offsets_forget(self, offsets: Offsets, forgotten: GroupForgotten) -> OffsetSteps:
        """The group is removed: its offsets go now, or when the log has its tombstone."""
        return self._first("offsets_forget", offsets, forgotten)

    def offsets_forgotten(self, offsets: Offsets, forgotten: GroupForgotten, stored: bool) -> OffsetSteps:
        """The log has answered the tombstone of a group that was removed. stored: it has it."""
        return self._first("offsets_forgotten", offsets, forgotten, stored)

    def transaction_ended(self, offsets: Offsets, end: TransactionEnd) -> OffsetSteps:
        """The marker that ends a transaction is in the log."""
        return self._first("transaction_ended", offsets, end)

    def _first(self, handler: str, state: Any, *inputs: Any) -> tuple[Any, ...]:
        functions = self._functions
        for slug in self.handlers[handler]:
            steps: AnySteps = functions[slug](self, state, *inputs)
            if steps:
                return tuple([step.fired(slug) for step in steps])
        raise NoRuleError(f"no rule of {handler} matches {state!r}, {inputs!r}")

    def listened(self) -> Listened:
        """The same protocol, which also notes what its handlers ask."""
        return Listened(self.profile, self.config, self.rules, self.handlers, self.received, self.groups)

    def apply(self, slug: str, *inputs: Any) -> AnySteps:
        """The outcomes of one rule, each marked with its slug; none where its guard fails."""
        steps: AnySteps = self._functions[slug](self, *inputs)
        return tuple([step.fired(slug) for step in steps]) if steps else ()

    def ask(self, slug: str, *inputs: Any) -> Any:
        """The answer of a rule that decides rather than acts (a vote, a barrier)."""
        return self._functions[slug](*inputs)

    def then(self, steps: AnySteps, slug: str, *inputs: Any) -> AnySteps:
        """One further rule after each outcome, without repeats."""
        if len(steps) == 1:
            return self.apply(slug, steps[0], *inputs)
        return tuple(dict.fromkeys(after for step in steps for after in self.apply(slug, step, *inputs)))


@dataclass(frozen=True, eq=False)
class Listened(Spec):
    """A spec for those who explain a step. attempts: the rules that its handlers have asked until now."""

    attempts: list[Attempt] = field(default_factory=list)

    def _first(self, handler: str, state: Any, *inputs: Any) -> tuple[Any, ...]:
        for slug in self.handlers[handler]:
            steps = self.apply(slug, state, *inputs)
            self.attempts.append(Attempt(handler, slug, bool(steps)))
            if steps:
                return steps
        raise NoRuleError(f"no rule of {handler} matches {state!r}, {inputs!r}")


def request_of(call: Call, kind: type[R]) -> R:
    """The request of a call, which a rule knows to be of this kind. Errors: TypeError where it is not."""
    if not isinstance(call.request, kind):
        raise TypeError(f"a rule for {kind.__name__} got {type(call.request).__name__}")
    return call.request


def only(step: S) -> tuple[S, ...]:
    """A rule's result where it leaves no choice."""
    return (step,)
