"""What a case is and what a run of one leaves behind: levels, verdicts, the dialogue as it was heard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.conformance.dialogue import Dialogue

INITIAL_DELAY = "group.initial.rebalance.delay.ms"
"""The one broker setting that cases ask for; Kafka's name."""


class Level(StrEnum):
    """How much a client depends on a rule."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    INFO = "INFO"


class Verdict(StrEnum):
    """What became of one case."""

    PASS = "pass"
    FAIL = "fail"
    LENIENT = "lenient"
    NOTED = "noted"
    UNSUPPORTED = "unsupported"
    UNDECIDED = "undecided"
    KNOWN = "known"
    DIED = "died"


DEVIATION_VERDICT = {Level.MUST: Verdict.FAIL, Level.SHOULD: Verdict.LENIENT, Level.INFO: Verdict.NOTED}
"""What a deviation from a rule of this level is called."""


@dataclass(frozen=True)
class Case:
    """One dialogue that judges one rule.

    `rule` is the slug of a rule of the spec, or of the part `wire`, whose rules the spec does not have; `id`
    is that slug and what the case shows of it. `requirement` is one sentence. `source` names the KIP or the
    upstream class. `needs` maps an API to the versions in which the rule can be seen, both ends included.
    `initial_delay_ms` is what a target gets whose initial rebalance delay can be set; `least_delay_ms` is the
    smallest delay with which the rule can be seen at all. `seconds` is how long the dialogue takes on a
    target that conforms, apart from initial delays.
    """

    id: str
    rule: str
    level: Level
    requirement: str
    source: str
    play: Callable[[Dialogue], None] = field(repr=False, compare=False)
    needs: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    initial_delay_ms: int = 300
    least_delay_ms: int = 0
    seconds: float = 1.0

    @property
    def part(self) -> str:
        """The part of the protocol that the rule belongs to: the slug up to its first dot."""
        return self.rule.split(".", 1)[0]


def span(first: int, last: int) -> str:
    """A range of versions, both ends included, as short as it can be written."""
    return str(first) if first == last else f"{first}-{last}"


@dataclass(frozen=True)
class Line:
    """One line of a dialogue as it was heard.

    `at_ms` counts from the start of the case; `who` is the name of the member; `mark` is `→` for a request,
    `←` for an answer, `…` for a silence that was waited out, `×` for a broken connection, `·` for a remark.
    """

    at_ms: float
    who: str
    mark: str
    text: str


@dataclass(frozen=True)
class CaseResult:
    """The verdict on one case, with what it rests on; `expected` and `actual` are empty where it passed."""

    case: Case
    verdict: Verdict
    expected: str = ""
    actual: str = ""
    because: str = ""
    lines: tuple[Line, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class NotChecked:
    """A case that was selected but not played, and why."""

    case: Case
    why: str


class Deviation(Exception):
    """The target did something else than the rule says."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"expected {expected}, got {actual}")
        self.expected = expected
        self.actual = actual


class SetupFailed(Exception):
    """The steps that lead to the rule did not work, so nothing can be said about the rule itself."""

    def __init__(self, wanted: str, expected: str, actual: str) -> None:
        super().__init__(f"could not reach {wanted}: expected {expected}, got {actual}")
        self.wanted = wanted
        self.expected = expected
        self.actual = actual


class Interrupted(Exception):
    """The run was interrupted while the case was being played."""


class Undecidable(Exception):
    """The kit itself could not keep the times that the rule needs, or the target was not there."""
