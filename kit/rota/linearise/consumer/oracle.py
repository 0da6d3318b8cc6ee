"""The spec of the consumer protocol as a judge asks it: every choice of it in as few steps as can be.

What the assignor names is told by the target of whoever takes a step, and the rest stays open: so there is a
step for each target of that one, and not for each of all. Whether the assignment interval is over, the
clock says.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass

from rota.kernel import FrozenMap, RuleTable, replace
from rota.linearise.consumer.states import Targets, View, with_targets, without_members
from rota.oracle.consumer_spec import NotingSpec
from rota.spec.consumer.assignors import ASSIGNORS
from rota.spec.consumer.context import Asked, Assignment, Assignor, ConsumerConfig, ConsumerSpec
from rota.spec.consumer.group import ConsumerGroup
from rota.spec.consumer.handlers import CONSUMER_HANDLERS, CONSUMER_RULES
from rota.spec.consumer.messages import Call, Topics
from rota.spec.consumer.state import Partition
from rota.spec.consumer.step import Step, Timer
from rota.spec.consumer.vocabulary import RecordKind

PREFIX = "consumer."
"""What the names of these rules begin with where those of the classic protocol stand, too."""

REMEMBERED = 20_000
"""Answers of the spec that are kept, for the next state in which the same is asked."""

Due = tuple[bool, ...]
"""Whether a target that is too old may be computed, where the assignment interval has a say."""


Ask = Callable[[ConsumerSpec], tuple[Step, ...]]
"""Asks the spec about a group."""


@dataclass(frozen=True)
class Stepped:
    """A step, the possible targets after it, and the rules that had a part in it."""

    step: Step
    targets: Targets
    rules: tuple[str, ...]

    @property
    def computed(self) -> bool:
        """Whether a target was computed in it."""
        return any(
            one.kind is RecordKind.TARGET and one.value is not None and one.value[1]
            for one in self.step.records
        )


class Oracle:
    """Parameters: config, as the coordinator has it; table, of rules, if some are not the spec's."""

    def __init__(self, config: ConsumerConfig, table: RuleTable | None = None) -> None:
        self.config, self._table = config, CONSUMER_RULES if table is None else table
        self._due: Due = (True, False)
        self._present: Targets = frozenset()
        self._who = ""
        self._classes: dict[Assignment, set[Assignment]] = {}
        rule = self._table["target.due"].function

        def by_the_clock(spec: ConsumerSpec, group: ConsumerGroup) -> Due:
            found: Due = rule(spec, group)
            return self._due if len(found) > 1 else found

        assignors = {name: self._following(each) for name, each in ASSIGNORS.items()}
        rules = self._table.replaced("target.due", by_the_clock)
        self.spec: NotingSpec = self._spec_of(rules, assignors)
        self._known: dict[Hashable, tuple[Stepped, ...]] = {}

    def _spec_of(self, rules: RuleTable, assignors: Mapping[str, Assignor]) -> NotingSpec:
        """What is asked, made of these."""
        return NotingSpec(self.config, rules, CONSUMER_HANDLERS, assignors)

    def set_to(self, config: ConsumerConfig) -> Oracle:
        """Another one, of the same rules with this configuration."""
        return Oracle(config, self._table)

    def handle(self, view: View, call: Call, who: str, due: Due) -> tuple[Stepped, ...]:
        """A request arrives. who: the member whose step it is; due: as of `Due`."""
        return self._found((view, call, due), view, who, due, lambda spec: spec.handle(view.group, call))

    def fire(self, view: View, timer: Timer, topics: Topics) -> tuple[Stepped, ...]:
        """A timer is due."""
        key = (view, timer, topics)
        return self._found(key, view, "", (True, False), lambda spec: spec.fire(view.group, timer, topics))

    def loaded(self, view: View) -> Step:
        """What is armed when a coordinator has read the log."""
        self._begin(view, "", (True, False))
        step: Step = self.spec.ask("timers.loaded", view.group)
        return step

    def _found(self, key: Hashable, view: View, who: str, due: Due, ask: Ask) -> tuple[Stepped, ...]:
        """What comes of a question, which the key stands for."""
        if key not in self._known:
            self._keep(key, self._come_of(view, who, due, ask))
        return self._known[key]

    def _come_of(self, view: View, who: str, due: Due, ask: Ask) -> tuple[Stepped, ...]:
        """As `_found`, asked anew."""
        self._begin(view, who, due)
        return tuple(self._stepped(view, ask(self.spec)))

    def _begin(self, view: View, who: str, due: Due) -> None:
        self.spec.begin(view.group)
        self._due, self._who, self._present, self._classes = due, who, view.targets, {}

    def _keep(self, key: Hashable, found: tuple[Stepped, ...]) -> None:
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[key] = found

    def _stepped(self, view: View, steps: tuple[Step, ...]) -> Iterator[Stepped]:
        used = tuple(PREFIX + slug for slug in dict.fromkeys(self.spec.used))
        for step in steps:
            last = tuple(PREFIX + slug for slug in step.rules)
            rules = (*(slug for slug in used if slug not in last), *last)
            found = Stepped(step, view.targets, rules)
            yield replace_targets(found, self._targets_after(found))

    def _targets_after(self, one: Stepped) -> Targets:
        group = one.step.group
        if not isinstance(group, ConsumerGroup):
            return frozenset()
        known = self._classes.get(group.targets) if one.computed else None
        some = without_members(one.targets, group.targets) if known is None else known
        return frozenset(some) if len(some) > 1 else frozenset()

    def _following(self, assignor: Assignor) -> Assignor:
        """One target for each that the member who takes a step may get."""

        def followed(asked: Asked) -> Iterator[Assignment]:
            found: set[Assignment] = set()
            for present in self._present or (asked.target,):
                none = frozenset[Partition]()
                target = FrozenMap((name, present.get(name, none)) for name in asked.topics)
                found.update(assignor(replace(asked, target=target)))
            classes: dict[frozenset[Partition], set[Assignment]] = {}
            for one in found:
                classes.setdefault(one.get(self._who, frozenset()), set()).add(one)
            for mine in sorted(classes, key=sorted):
                first = _first(classes[mine])
                self._classes[first] = classes[mine]
                yield first

        return followed


def replace_targets(one: Stepped, targets: Targets) -> Stepped:
    """The same step with other possible targets."""
    return Stepped(one.step, targets, one.rules)


def _first(some: set[Assignment]) -> Assignment:
    view = with_targets(View(ConsumerGroup()), some)
    assert isinstance(view.group, ConsumerGroup)
    return view.group.targets
