"""The spec of the consumer protocol as a judge uses it: it notes its rules, and follows the core's choices.

What the spec leaves open is the assignor's outcome and whether the assignment interval is over. The first is
the core's, if it is among the spec's outcomes; the second is told by the clock, which the judge has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rota.kernel import FrozenMap
from rota.spec.consumer.assignors import ASSIGNORS, MOST_ORDERS, legal
from rota.spec.consumer.context import Asked, Assignment, Assignor, ConsumerConfig, ConsumerSpec
from rota.spec.consumer.group import AnyGroup, ConsumerGroup
from rota.spec.consumer.handlers import CONSUMER_HANDLERS, CONSUMER_RULES
from rota.spec.consumer.state import Partition

Choice = Callable[[], Assignment]
"""The target that the core has."""


@dataclass(frozen=True, eq=False)
class NotingSpec(ConsumerSpec):
    """Notes which rules act or decide, and which were tried before and did not apply.

    visited: pairs (slug, state of the group before); used, passed: slugs since `begin`.
    """

    visited: set[tuple[str, str]] = field(default_factory=set)
    used: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    state: list[str] = field(default_factory=list)

    def begin(self, group: AnyGroup | None) -> None:
        """A step of this group."""
        self.used.clear()
        self.passed.clear()
        self.state[:] = [state_of(group)]

    def ask(self, slug: str, *inputs: Any) -> Any:
        """The rule's answer, noted."""
        found = super().ask(slug, *inputs)
        if self.rules[slug].decides or found:
            self.used.append(slug)
            self.visited.add((slug, self.state[0]))
        else:
            self.passed.append(slug)
        return found


def state_of(group: AnyGroup | None) -> str:
    """A word for the state of a group of either protocol, or of none."""
    if isinstance(group, ConsumerGroup):
        return str(group.state)
    return "absent" if group is None else "classic, empty" if group.empty else "classic"


def noting(
    config: ConsumerConfig, choice: Choice, now_ms: Callable[[], int], made_at: dict[int, int]
) -> NotingSpec:
    """The spec that follows.

    Parameters: choice, the core's target; now_ms, the clock; made_at, when the target of an epoch was made.
    """
    due = CONSUMER_RULES["target.due"].function

    def by_the_clock(spec: ConsumerSpec, group: ConsumerGroup) -> tuple[bool, ...]:
        found: tuple[bool, ...] = due(spec, group)
        over = now_ms() >= made_at.get(group.target_epoch, 0) + spec.config.assignment_interval_ms
        return (over,) if len(found) > 1 else found

    rules = CONSUMER_RULES.replaced("target.due", by_the_clock)
    assignors = {name: _following(each, choice) for name, each in ASSIGNORS.items()}
    return NotingSpec(config, rules, CONSUMER_HANDLERS, assignors)


def _following(assignor: Assignor, choice: Choice) -> Assignor:
    def followed(asked: Asked) -> tuple[Assignment, ...]:
        given = choice()
        mine = FrozenMap({name: given.get(name, frozenset[Partition]()) for name in asked.topics})
        return (mine,) if allowed(assignor, asked, mine) else (_first(assignor(asked)),)

    return followed


def _first(outcomes: Iterable[Assignment]) -> Assignment:
    return next(iter(outcomes))


def allowed(assignor: Assignor, asked: Asked, given: Assignment) -> bool:
    """Whether a target is among an assignor's outcomes.

    Where these are all that are complete, which may be very many, completeness is looked at instead.
    """
    many = len(asked.topics) > MOST_ORDERS
    if assignor is ASSIGNORS["uniform"] and many and not asked.uniform_names:
        return legal(asked, given) and is_complete(asked, given)
    return any(one == given for one in assignor(asked))


def is_complete(asked: Asked, given: Assignment) -> bool:
    """Whether all partitions are given that somebody subscribes to."""
    return sum(map(len, given.values())) == sum(asked.partitions.values())
