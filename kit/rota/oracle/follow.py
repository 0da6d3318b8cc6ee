"""The one comparison: a coordinator's step against the spec's outcomes for a group, and the spec follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from typing import Any, Protocol, TypeVar

from rota import coordinator as core
from rota.kernel import RuleTable
from rota.kernel.rules import Rule
from rota.oracle.report import Difference, Divergence, brief_answers, differences, headline
from rota.oracle.translate import (
    Fields,
    Observation,
    core_group,
    core_record,
    core_timer_effects,
    group_record,
    observed,
    spec_group,
    spec_timer,
    spec_timer_effects,
)
from rota.spec import (
    KAFKA_4,
    RULES,
    BrokerConfig,
    Group,
    GroupRecord,
    GroupState,
    Profile,
    Spec,
    Step,
    Timer,
    classic,
)
from rota.spec.versions import as_sent

S = TypeVar("S", bound="AnyOutcome")

REMEMBERED = 1_000
"""Lines of a group's dialogue that are kept; what is older is forgotten."""


def profile_of(config: core.CoordinatorConfig) -> Profile:
    """The profile by which a core with this configuration is judged: Kafka's, with the same mends."""
    return replace(KAFKA_4, **asdict(config.mends))


class AnyOutcome(Protocol):
    """What the spec allows, as far as it says by which rules."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Slugs of those that took part."""


class Oracle:
    """The spec, and which rules it used: also those that only decide, which a step does not name.

    Parameters: config, as the coordinator has it; profile, of the broker that it is like; table, of rules, if
    some are not the spec's.
    Attributes: spec; profile; rules, slugs used so far; visited, pairs (slug, state of the group before the
    step); tried, slugs of those that were asked before the one that applied.
    """

    def __init__(
        self,
        config: core.CoordinatorConfig | BrokerConfig,
        profile: Profile = KAFKA_4,
        table: RuleTable | None = None,
    ) -> None:
        self.profile = profile
        self._table = table
        self._asked: list[str] = []
        self.visited: set[tuple[str, str]] = set()
        self.tried: set[str] = set()
        self.spec: Spec = self._speaking(config)

    @property
    def rules(self) -> set[str]:
        """Slugs of all rules used so far."""
        return {slug for slug, _ in self.visited}

    def outcomes(self, ask: Callable[[Spec], tuple[S, ...]]) -> tuple[S, ...]:
        """The steps that the spec allows."""
        self._asked.clear()
        return ask(self.spec)

    def recalled(self, key: Hashable) -> Any:
        """What came of what was asked by this key before, as far as somebody has kept it; None if nobody."""

    def keep(self, key: Hashable, found: Any) -> None:
        """This came of it."""

    def used(self, step: AnyOutcome) -> tuple[Rule, ...]:
        """The rules of a step of the last outcomes, the deciding ones first, the handler's last."""
        return tuple(RULES[slug] for slug in dict.fromkeys((*self._asked, *step.rules)))

    def passed(self, step: AnyOutcome) -> tuple[str, ...]:
        """Rules that the handler of a step tried before the one that applied."""
        last = step.rules[-1] if step.rules else ""
        handler = next((slugs for slugs in self.spec.handlers.values() if last in slugs), (last,))
        return handler[: handler.index(last)]

    def count(self, step: AnyOutcome, state: str) -> None:
        """The step was taken from this state."""
        self.visited.update((rule.slug, state) for rule in self.used(step))
        self.tried.update(self.passed(step))

    def set_to(self, config: BrokerConfig) -> Oracle:
        """Another one, of the same spec with this configuration."""
        return Oracle(config, self.profile, self._table)

    def configure(self, config: core.CoordinatorConfig) -> None:
        """From now on the spec has this configuration."""
        self.spec = self._speaking(config)

    def _speaking(self, config: core.CoordinatorConfig | BrokerConfig) -> Spec:
        names = BrokerConfig.__dataclass_fields__.keys() & config.__dataclass_fields__.keys()
        known = {name: getattr(config, name) for name in names}
        if isinstance(config, core.CoordinatorConfig):
            known["offsets_retention_ms"] = config.offsets_retention_minutes * 60_000
        return classic(BrokerConfig(**known), profile=self.profile, rules=self._recording())

    def _recording(self) -> RuleTable:
        table = RULES if self._table is None else self._table
        told = (replace(rule, function=self._recorded(rule)) for rule in table.values() if rule.decides)
        return RuleTable([*(rule for rule in table.values() if not rule.decides), *told])

    def _recorded(self, rule: Rule) -> Callable[..., Any]:
        asked = self._asked  # and not the oracle, which has the rule

        @wraps(rule.function)
        def function(*inputs: Any) -> Any:
            asked.append(rule.slug)
            return rule.function(*inputs)

        return function


@dataclass(frozen=True)
class UnansweredRequest:
    """A request that may still be answered: the spec's address for it, and its version."""

    address: str
    version: int


@dataclass(frozen=True)
class AppendedRecord:
    """A group's record as both sides have it."""

    core: Any
    spec: GroupRecord


@dataclass
class Followed:
    """One group as the spec sees it, with what is outside of the spec's state.

    armed: timers and when they are due; appends: records that the log has not answered, by the coordinator's
    number; stored: the last one in the log, and its number, after which comes what is not stored yet; erased:
    the number of the last tombstone in the log;
    waiting: unanswered requests by the coordinator's token; completed: addresses of the last ones that do not
    wait any more; deleted: the group as it was when it was deleted; divergence: the first one, after which
    the group is not followed any more.
    """

    oracle: Oracle
    group_id: str
    group: Group | None = None
    armed: dict[Timer, int] = field(default_factory=dict)
    appends: dict[int, AppendedRecord] = field(default_factory=dict)
    stored: tuple[int, AppendedRecord] | None = None
    erased: int = -1
    waiting: dict[Hashable, UnansweredRequest] = field(default_factory=dict)
    completed: dict[Hashable, str] = field(default_factory=dict)
    deleted: Group | None = None
    divergence: Divergence | None = None
    dialogue: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    @property
    def state(self) -> str:
        """The state's name, "absent" where there is no group."""
        return "absent" if self.group is None else self.group.state.value

    def follow(
        self,
        now_ms: int,
        event: str,
        address: str,
        effects: core.Effects,
        group: core.Group | None,
        steps: tuple[Step, ...],
    ) -> None:
        """The coordinator has made a step: one of the spec's outcomes must be the same, and holds then.

        Parameters: event, what happened, in words; address, of the request, "" for other inputs; effects and
        group, what the coordinator did and its group afterwards; steps, what the spec allows. Errors:
        Divergence.
        """
        done = self._done(effects, group)
        answers = brief_answers(done, address)
        self.add_line(now_ms, event + (f"  →  {answers}" if answers else ""))
        allowed = [(step, self._allowed(step)) for step in steps]
        step = next((step for step, outcome in allowed if outcome == done), None)
        if step is None:
            raise self._diverged(done, allowed)
        self.oracle.count(step, self.state)
        self.group, self.deleted = step.group, self.deleted if step.group is None else None
        self.take_timers(effects, now_ms)
        for append, record in zip(effects.appends, step.records, strict=True):
            self.appends[append.append_id] = AppendedRecord(append.record, record)
        self._forget_completed()

    def add_line(self, now_ms: int, event: str) -> None:
        """One more line of the dialogue; none for an event without words."""
        if event:
            self.dialogue.append(f"{now_ms:>8,} ms  {event}")

    def _forget_completed(self) -> None:
        """Requests that were answered or replaced wait no more; the last of them are kept."""
        parked = _parked(self.group, [each.spec for each in self.appends.values()])
        for token in [token for token, one in self.waiting.items() if one.address not in parked]:
            self.completed[token] = self.waiting.pop(token).address
        while len(self.completed) > REMEMBERED:
            del self.completed[next(iter(self.completed))]

    def take_timers(self, effects: core.Effects, now_ms: int) -> None:
        """Take over what a step does to the group's timers, whatever the step was."""
        for effect in effects.timers:
            if effect.timer_id.group_id != self.group_id:
                continue
            if isinstance(effect, core.Arm):
                self.armed[spec_timer(effect.timer_id)] = now_ms + effect.delay_ms
            else:
                self.armed.pop(spec_timer(effect.timer_id), None)

    def drop_records_without_answer(self) -> None:
        """The group is deleted: of its unanswered records only those matter that a request waits for."""
        self.appends = {key: one for key, one in self.appends.items() if one.spec.answer is not None}
        self.stored = None

    def answered(self, append_id: int, stored: bool) -> GroupRecord:
        """The log has answered a record: it waits no more. Returns it as the spec has it."""
        one = self.appends.pop(append_id)
        newest = self.erased if self.stored is None else max(self.erased, self.stored[0])
        if stored and newest < append_id:
            self.stored = append_id, one
        return one.spec

    def erase(self, append_id: int) -> None:
        """The log has a tombstone of the group."""
        self.erased = max(self.erased, append_id)
        if self.stored is not None and self.stored[0] < append_id:
            self.stored = None

    def part(self, effects: core.Effects) -> core.Effects:
        """What of a step of several groups is about this one."""
        return core.Effects(
            tuple(pair for pair in effects.replies if pair[0] in self.waiting),
            tuple(effect for effect in effects.timers if effect.timer_id.group_id == self.group_id),
            tuple(append for append in effects.appends if append.group_id == self.group_id),
        )

    def adopt(self, group: Fields) -> bool:
        """After a call that the spec does not know: take over a creation, a deletion, the end of one.

        Returns whether the coordinator's group is now the same as the spec's.
        """
        if not group and self.group is not None and self.group.state is GroupState.EMPTY:
            self.deleted, self.group = self.group, None
        elif group and self.group is None:
            back = [] if self.deleted is None else [replace(self.deleted, pending=frozenset())]
            same = (each for each in (*back, Group()) if spec_group(each) == group)
            self.group, self.deleted = next(same, None), None
        return group == spec_group(self.group)

    def broken(self, what: str, now_ms: int = 0, event: str = "", steps: tuple[Step, ...] = ()) -> Divergence:
        """A divergence that is not one of outcomes: the coordinator raised, was driven wrongly, or drifted.

        Parameters: what is wrong; event, the step at now_ms that made it so, "" if it is the last one; steps,
        what the spec allows.
        """
        self.add_line(now_ms, event)
        self.divergence = self._divergence(what, steps[0] if steps else None)
        return self.divergence

    def differs(
        self, what: str, outcome: AnyOutcome, differing: Sequence[Difference], outcomes: int
    ) -> Divergence:
        """A divergence from the nearest of so many outcomes."""
        self.divergence = self._divergence(what, outcome if outcome.rules else None, differing, outcomes)
        return self.divergence

    def _divergence(
        self, what: str, step: AnyOutcome | None, differing: Sequence[Difference] = (), outcomes: int = 1
    ) -> Divergence:
        rules = () if step is None else self.oracle.used(step)
        passed = () if step is None else self.oracle.passed(step)
        return Divergence(what, self.group_id, self.dialogue, differing, rules, passed, outcomes)

    def _done(self, effects: core.Effects, group: core.Group | None) -> Observation:
        return observed(
            [(self._address(token), reply) for token, reply in effects.replies],
            core_timer_effects(effects, self.group_id),
            self.armed,
            [core_record(append, self.group_id) for append in effects.appends],
            core_group(group),
        )

    def _address(self, token: Hashable) -> str:
        if token in self.waiting:
            return self.waiting[token].address
        return f"{self.completed.get(token, 'a request')} that waits no more"

    def _allowed(self, step: Step) -> Observation:
        versions = {one.address: one.version for one in self.waiting.values()}
        return observed(
            [(reply.to, as_sent(reply.message, versions[reply.to])) for reply in step.replies],
            spec_timer_effects(step),
            self.armed,
            map(group_record, step.records),
            spec_group(step.group),
        )

    def _diverged(self, done: Observation, allowed: list[tuple[Step, Observation]]) -> Divergence:
        differing, step = min(
            ((differences(outcome, done), step) for step, outcome in allowed), key=lambda pair: len(pair[0])
        )
        self.divergence = self._divergence(headline(differing, step.rules[-1]), step, differing, len(allowed))
        return self.divergence


def _parked(group: Group | None, records: Iterable[GroupRecord]) -> set[str | None]:
    """Addresses of all requests that wait in the group or for one of its records, and perhaps None."""
    members: Mapping[str, Any] = {} if group is None else group.members
    addresses = {record.answer.to for record in records if record.answer is not None}
    return addresses.union(*((each.awaiting_join, each.awaiting_sync) for each in members.values()))
