"""`ConsumerSpec`: the settings of a run and the one way to find and apply a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rota.kernel import FrozenMap, RuleTable, frozen
from rota.spec.consumer.group import AnyGroup
from rota.spec.consumer.messages import (
    Call,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    Topics,
)
from rota.spec.consumer.state import Partition
from rota.spec.consumer.step import Step, Steps, Timer
from rota.spec.consumer.vocabulary import ErrorCode

R = TypeVar("R")

GMM = "upstream GroupMetadataManager#"
GCS = "upstream GroupCoordinatorService#"


@frozen
class ConsumerConfig:
    """Settings `group.consumer.*`, or those of the group itself. assignors: the first one is the default."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")


Assignment = FrozenMap[str, frozenset[Partition]]
"""Member id → its partitions."""


@frozen
class Asked:
    """What an assignor is asked: the topics that exist of each member, the partitions of each topic, the
    present target; uniform_names: every name is subscribed to by all.
    """

    topics: FrozenMap[str, frozenset[str]]
    partitions: FrozenMap[str, int]
    target: Assignment
    uniform_names: bool


Assignor = Callable[[Asked], Iterable[Assignment]]
"""Every outcome that is allowed; none, if the assignor fails."""


class NoRuleError(Exception):
    """No rule of a handler matched: the spec is incomplete, or a mutant made it so."""


@dataclass(frozen=True, eq=False)
class ConsumerSpec:
    """The protocol under its settings.

    Parameters: config; rules, slug -> rule; handlers, name of an input -> slugs in the order in which they
    are tried; assignors, by name.
    """

    config: ConsumerConfig
    rules: RuleTable
    handlers: Mapping[str, tuple[str, ...]]
    assignors: Mapping[str, Assignor]

    def handle(self, group: AnyGroup | None, call: Call) -> Steps:
        """A request arrives."""
        return self._first(type(call.request).__name__, group, call)

    def fire(self, group: AnyGroup | None, timer: Timer, topics: Topics) -> Steps:
        """An armed timer is due; it is disarmed before the rule runs."""
        return self._first(timer.name, group, timer, topics)

    def ask(self, slug: str, *inputs: Any) -> Any:
        """The answer of a rule that decides rather than acts."""
        return self.rules[slug].function(self, *inputs)

    def _first(self, handler: str, *inputs: Any) -> Steps:
        for slug in self.handlers[handler]:
            steps: Steps = self.ask(slug, *inputs)
            if steps:
                return tuple(step.fired(slug) for step in steps)
        raise NoRuleError(f"no rule of {handler} matches {inputs!r}")


def request_of(call: Call, kind: type[R]) -> R:
    """The request of a call, which a rule knows to be of this kind. Errors: TypeError where it is not."""
    if not isinstance(call.request, kind):
        raise TypeError(f"a rule for {kind.__name__} got {type(call.request).__name__}")
    return call.request


def beat(call: Call) -> ConsumerGroupHeartbeatRequest:
    """The heartbeat of a call."""
    return request_of(call, ConsumerGroupHeartbeatRequest)


def refused(group: AnyGroup | None, call: Call, error: ErrorCode) -> Steps:
    """A heartbeat is answered with an error, and nothing else happens."""
    return (Step(group, at_once=True).answer(call.to, ConsumerGroupHeartbeatReply(error)),)
