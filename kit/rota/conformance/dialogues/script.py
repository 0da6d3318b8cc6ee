"""What is played: cases, which judge a rule, and probes, which are only compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rota.conformance.dialogues.dialogue import Dialogue


class Level(StrEnum):
    """How much a client depends on a rule."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    INFO = "INFO"


class Signal(StrEnum):
    """How a target is ended in the middle of a dialogue."""

    TERM = "SIGTERM"
    KILL = "SIGKILL"


@dataclass(frozen=True, kw_only=True)
class Script:
    """One dialogue with a coordinator.

    `sentence` says what is to be seen in it. `source` names the KIP or the upstream class. `needs` maps an
    API to the versions in which it can be seen, both ends included. `initial_delay_ms` and `settings` are
    what a target gets whose settings can be chosen; `least_delay_ms` is the smallest initial delay with which
    it can be seen at all. `seconds` is how long the dialogue takes, apart from initial delays. `older` says
    what the brokers of Kafka 3.x do instead, if they do something else. `restarts`: how the target is ended
    in it before it is started again; None where it goes on. `settings_after` are settings with which it is
    started again, where these are others than before. `brokers` is how many brokers the cluster has to have.
    So many members as `spare` can be done without, where a target does not take as many.
    """

    id: str
    sentence: str
    source: str
    play: Callable[[Dialogue], None] = field(repr=False, compare=False)
    needs: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    initial_delay_ms: int = 300
    least_delay_ms: int = 0
    settings: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 1.0
    older: str = ""
    restarts: Signal | None = None
    settings_after: Mapping[str, int] = field(default_factory=dict)
    brokers: int = 1
    spare: int = 0

    @property
    def part(self) -> str:
        """The part of the protocol that it is about: the id up to its first dot."""
        return self.id.split(".", 1)[0]

    @property
    def subject(self) -> str:
        """What it is about within its part: the id up to its last dot."""
        return self.id.rpartition(".")[0]


@dataclass(frozen=True, kw_only=True)
class Otherwise:
    """What is right in a case for brokers whose profile has another value of `switch` than Kafka 4's.

    `sentence` and `play` stand for those of the case.
    """

    switch: str
    sentence: str
    play: Callable[[Dialogue], None] = field(repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Case(Script):
    """A dialogue that judges one rule.

    `rule` is the slug of a rule of the spec, or of the part `wire`, whose rules the spec does not have; `id`
    is that slug and what the case shows of it. The sentence is what the rule requires. Where older brokers do
    something else and there is no `otherwise`, nothing is required of them.

    A case may be one of a `family`, whose id its own continues; the family has one requirement, and
    `situation` says in which situation, or for which value, the case judges it.
    """

    rule: str
    level: Level
    otherwise: Otherwise | None = None
    family: str = ""
    situation: str = ""

    @property
    def requirement(self) -> str:
        """What the rule requires, in one sentence; one of a family says in a second one where."""
        return f"{self.sentence} Here: {self.situation}." if self.situation else self.sentence

    @property
    def subject(self) -> str:
        """The rule."""
        return self.rule


@dataclass(frozen=True, kw_only=True)
class Probe(Script):
    """A dialogue without a verdict of its own: its transcripts on two targets are compared."""


def span(first: int, last: int) -> str:
    """A range of versions, both ends included, as short as it can be written."""
    return str(first) if first == last else f"{first}-{last}"
