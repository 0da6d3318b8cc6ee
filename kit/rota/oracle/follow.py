"""The one comparison: a coordinator's step against the spec's outcomes for a group, and the spec follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from rota import coordinator as core
from rota.kernel import RuleTable
from rota.kernel.rules import Rule
from rota.oracle.report import Difference, Divergence, brief_answers, differences, headline
from rota.oracle.translate import (
    Fields,
    Seen,
    core_group,
    core_record,
    core_wishes,
    group_record,
    seen,
    spec_group,
    spec_timer,
    spec_wishes,
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

REMEMBERED = 1_000
"""Lines of a group's dialogue that are kept; what is older is forgotten."""


class Oracle:
    """The spec, and which rules it used: also those that only decide, which a step does not name.

    Parameters: config, as the coordinator has it; profile, of the broker that it is like.
    Attributes: spec; profile; rules, slugs used so far; visited, pairs (slug, state of the group before the
    step).
    """

    def __init__(self, config: core.CoordinatorConfig | BrokerConfig, profile: Profile = KAFKA_4) -> None:
        self.profile = profile
        self._asked: list[str] = []
        self.visited: set[tuple[str, str]] = set()
        self.spec: Spec = self._speaking(config)

    @property
    def rules(self) -> set[str]:
        """Slugs of all rules used so far."""
        return {slug for slug, _ in self.visited}

    def outcomes(self, ask: Callable[[Spec], tuple[Step, ...]]) -> tuple[Step, ...]:
        """The steps that the spec allows."""
        self._asked.clear()
        return ask(self.spec)

    def used(self, step: Step) -> tuple[Rule, ...]:
        """The rules of a step of the last outcomes, the deciding ones first, the handler's last."""
        return tuple(RULES[slug] for slug in dict.fromkeys((*self._asked, *step.rules)))

    def passed(self, step: Step) -> tuple[str, ...]:
        """Rules that the handler of a step tried before the one that applied."""
        handler = next(slugs for slugs in self.spec.handlers.values() if step.rules[-1] in slugs)
        return handler[: handler.index(step.rules[-1])]

    def count(self, step: Step, state: str) -> None:
        """The step was taken from this state."""
        self.visited.update((rule.slug, state) for rule in self.used(step))

    def configure(self, config: core.CoordinatorConfig) -> None:
        """From now on the spec has this configuration."""
        self.spec = self._speaking(config)

    def _speaking(self, config: core.CoordinatorConfig | BrokerConfig) -> Spec:
        names = BrokerConfig.__dataclass_fields__.keys() & config.__dataclass_fields__.keys()
        known = {name: getattr(config, name) for name in names}
        return classic(BrokerConfig(**known), profile=self.profile, rules=self._noting())

    def _noting(self) -> RuleTable:
        table = RULES
        for rule in RULES.values():
            if rule.decides:
                table = table.replaced(rule.slug, self._noted(rule))
        return table

    def _noted(self, rule: Rule) -> Callable[..., Any]:
        @wraps(rule.function)
        def function(*inputs: Any) -> Any:
            self._asked.append(rule.slug)
            return rule.function(*inputs)

        return function


@dataclass(frozen=True)
class Waiting:
    """A request that may still be answered: the spec's address for it, and its version."""

    address: str
    version: int


@dataclass(frozen=True)
class Appended:
    """A group's record as both sides have it."""

    core: Any
    spec: GroupRecord


@dataclass
class Followed:
    """One group as the spec sees it, with what is outside of the spec's state.

    armed: timers and when they are due; appends: records under way, by the coordinator's number; stored: the
    last one in the log, and its number, after which comes what is not stored yet; waiting: unanswered
    requests by the coordinator's token; past: addresses of the last ones that do not wait any more; gone: the
    group as it was when it was deleted; lost: the first divergence, after which the group is not followed any
    more.
    """

    oracle: Oracle
    group_id: str
    group: Group | None = None
    armed: dict[Timer, int] = field(default_factory=dict)
    appends: dict[int, Appended] = field(default_factory=dict)
    stored: tuple[int, Appended] | None = None
    waiting: dict[Hashable, Waiting] = field(default_factory=dict)
    past: dict[Hashable, str] = field(default_factory=dict)
    gone: Group | None = None
    lost: Divergence | None = None
    dialogue: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    @property
    def state(self) -> str:
        """The state's name, "absent" where there is no group."""
        return "absent" if self.group is None else self.group.state.value

    def follow(
        self,
        now_ms: int,
        told: str,
        address: str,
        effects: core.Effects,
        group: core.Group | None,
        steps: tuple[Step, ...],
    ) -> None:
        """The coordinator has made a step: one of the spec's outcomes must be the same, and holds then.

        Parameters: told, what happened, in words; address, of the request, "" for other inputs; effects and
        group, what the coordinator did and its group afterwards; steps, what the spec allows. Errors:
        Divergence.
        """
        done = self._done(effects, group)
        answers = brief_answers(done, address)
        self.tell(now_ms, told + (f"  →  {answers}" if answers else ""))
        allowed = [(step, self._allowed(step)) for step in steps]
        step = next((step for step, outcome in allowed if outcome == done), None)
        if step is None:
            raise self._diverged(done, allowed)
        self.oracle.count(step, self.state)
        self.group, self.gone = step.group, self.gone if step.group is None else None
        self.absorb(effects, now_ms)
        for append, record in zip(effects.appends, step.records, strict=True):
            self.appends[append.append_id] = Appended(append.record, record)
        self._forget_settled()

    def tell(self, now_ms: int, told: str) -> None:
        """One more line of the dialogue, if there is anything to tell."""
        if told:
            self.dialogue.append(f"{now_ms:>8,} ms  {told}")

    def _forget_settled(self) -> None:
        """Requests that do not wait any more, answered or replaced, are past; the last of them are known."""
        parked = _parked(self.group, [each.spec for each in self.appends.values()])
        for token in [token for token, one in self.waiting.items() if one.address not in parked]:
            self.past[token] = self.waiting.pop(token).address
        while len(self.past) > REMEMBERED:
            del self.past[next(iter(self.past))]

    def absorb(self, effects: core.Effects, now_ms: int) -> None:
        """Keep the group's timers of a step in mind, whatever the step was."""
        for wish in effects.timers:
            if wish.timer_id.group_id != self.group_id:
                continue
            if isinstance(wish, core.Arm):
                self.armed[spec_timer(wish.timer_id)] = now_ms + wish.delay_ms
            else:
                self.armed.pop(spec_timer(wish.timer_id), None)

    def forget_answered_by_state(self) -> None:
        """The group is deleted: of its records under way only those matter that a request waits for."""
        self.appends = {key: one for key, one in self.appends.items() if one.spec.answer is not None}
        self.stored = None

    def answered(self, append_id: int, stored: bool) -> GroupRecord:
        """The log has answered a record: it is not under way any more. Returns it as the spec has it."""
        one = self.appends.pop(append_id)
        if stored and (self.stored is None or self.stored[0] < append_id):
            self.stored = append_id, one
        return one.spec

    def part(self, effects: core.Effects) -> core.Effects:
        """What of a step of several groups is about this one."""
        return core.Effects(
            tuple(pair for pair in effects.replies if pair[0] in self.waiting),
            tuple(wish for wish in effects.timers if wish.timer_id.group_id == self.group_id),
            tuple(append for append in effects.appends if append.group_id == self.group_id),
        )

    def adopt(self, group: Fields) -> bool:
        """After a call that the spec does not know: take over a creation, a deletion, the end of one.

        Returns whether the coordinator's group is now the same as the spec's.
        """
        if not group and self.group is not None and self.group.state is GroupState.EMPTY:
            self.gone, self.group = self.group, None
        elif group and self.group is None:
            back = [] if self.gone is None else [replace(self.gone, pending=frozenset())]
            same = (each for each in (*back, Group()) if spec_group(each) == group)
            self.group, self.gone = next(same, None), None
        return group == spec_group(self.group)

    def broken(self, what: str, now_ms: int = 0, told: str = "", steps: tuple[Step, ...] = ()) -> Divergence:
        """A divergence that is not one of outcomes: the coordinator raised, was driven wrongly, or drifted.

        Parameters: what is wrong; told, the step at now_ms that made it so, "" if it is the last one; steps,
        what the spec allows.
        """
        self.tell(now_ms, told)
        self.lost = self._divergence(what, steps[0] if steps else None)
        return self.lost

    def _divergence(
        self, what: str, step: Step | None, differing: Sequence[Difference] = (), outcomes: int = 1
    ) -> Divergence:
        rules = () if step is None else self.oracle.used(step)
        passed = () if step is None else self.oracle.passed(step)
        return Divergence(what, self.group_id, self.dialogue, differing, rules, passed, outcomes)

    def _done(self, effects: core.Effects, group: core.Group | None) -> Seen:
        return seen(
            [(self._address(token), reply) for token, reply in effects.replies],
            core_wishes(effects, self.group_id),
            self.armed,
            [core_record(append, self.group_id) for append in effects.appends],
            core_group(group),
        )

    def _address(self, token: Hashable) -> str:
        if token in self.waiting:
            return self.waiting[token].address
        return f"{self.past.get(token, 'a request')} that waits no more"

    def _allowed(self, step: Step) -> Seen:
        versions = {one.address: one.version for one in self.waiting.values()}
        return seen(
            [(reply.to, as_sent(reply.message, versions[reply.to])) for reply in step.replies],
            spec_wishes(step),
            self.armed,
            map(group_record, step.records),
            spec_group(step.group),
        )

    def _diverged(self, done: Seen, allowed: list[tuple[Step, Seen]]) -> Divergence:
        differing, step = min(
            ((differences(outcome, done), step) for step, outcome in allowed), key=lambda pair: len(pair[0])
        )
        self.lost = self._divergence(headline(differing, step.rules[-1]), step, differing, len(allowed))
        return self.lost


def _parked(group: Group | None, records: Iterable[GroupRecord]) -> set[str | None]:
    """Addresses of all requests that wait in the group or for one of its records, and perhaps None."""
    members: Mapping[str, Any] = {} if group is None else group.members
    addresses = {record.answer.to for record in records if record.answer is not None}
    return addresses.union(*((each.awaiting_join, each.awaiting_sync) for each in members.values()))
