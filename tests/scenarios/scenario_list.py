"""What a scenario is, and the list of them: each asserts its point, so that a wrong dialogue still fails.

Numbers up to 19 count the situations in which introductions to the rebalance protocol explain it; then come
20 static members, 21 the size of a group, 22 cooperative members, 23 brokers of old, 24 transactions. A
letter marks a variant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rota.spec import KAFKA_4, PROFILES, BrokerConfig
from rota.stage import Stage, naming

Play = Callable[[Stage], None]

DESIGN = "Kafka wiki, Kafka Client-side Assignment Proposal"
GUIDE = "Kafka documentation, protocol guide"
CONSUMER = "Kafka documentation, consumer configuration"
BROKER = "Kafka documentation, broker configuration"
CODES = "Kafka documentation, protocol guide, error codes"


@dataclass(frozen=True)
class Scenario:
    """A script, its point in a sentence or two, and where that is public.

    profile: of the broker, by name; alone: whether the coordinator is not played beside the spec; settings:
    of the broker, where they are not Kafka's.
    """

    label: str
    name: str
    point: str
    source: str
    play: Play
    profile: str = KAFKA_4.name
    alone: bool = False
    settings: Mapping[str, int] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """Which situation."""
        return int(self.label[:2])

    @property
    def has_core(self) -> bool:
        """Whether the coordinator, which is like kafka-4.x, can be held to it."""
        return not self.alone and self.profile == KAFKA_4.name

    def perform(self, stage: Stage) -> None:
        """Plays the script. Errors: AssertionError where its point is missed, naming it and the last step."""
        with naming(lambda: f"{self.name}, after step {len(stage.happenings)} of {stage!r}"):
            self.play(stage)

    def stage(self, *, beside: bool = True) -> Stage:
        """An empty stage for it. beside: whether the coordinator is held to it, where it can be."""
        core = beside and self.has_core
        return Stage(BrokerConfig(**self.settings), PROFILES[self.profile], beside=core)


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    label: str, source: str, *, profile: str = KAFKA_4.name, alone: bool = False, **settings: int
) -> Callable[[Play], Play]:
    """Puts a script among the scenarios; its docstring is the point. See `Scenario`."""

    def register(play: Play) -> Play:
        name = f"{label}-{play.__name__.replace('_', '-')}"
        point = " ".join((play.__doc__ or "").split())
        SCENARIOS[name] = Scenario(label, name, point, source, play, profile, alone, settings)
        return play

    return register
