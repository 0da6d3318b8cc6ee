"""What a case is and what a run of one leaves behind: levels, verdicts, the dialogue as it was heard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.conformance.dialogue import Dialogue

INITIAL_DELAY = "group.initial.rebalance.delay.ms"
MIN_SESSION = "group.min.session.timeout.ms"
MAX_SIZE = "group.max.size"
RETENTION = "offsets.retention.minutes"
RETENTION_CHECK = "offsets.retention.check.interval.ms"
"""The broker settings that dialogues ask for; Kafka's names."""


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


@dataclass(frozen=True, kw_only=True)
class Script:
    """One dialogue with a coordinator.

    `sentence` says what is to be seen in it. `source` names the KIP or the upstream class. `needs` maps an
    API to the versions in which it can be seen, both ends included. `initial_delay_ms` and `settings` are
    what a target gets whose settings can be chosen; `least_delay_ms` is the smallest initial delay with which
    it can be seen at all. `seconds` is how long the dialogue takes, apart from initial delays. `older` says
    what the brokers of Kafka 3.x do instead, if they do something else.
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

    @property
    def part(self) -> str:
        """The part of the protocol that it is about: the id up to its first dot."""
        return self.id.split(".", 1)[0]

    @property
    def subject(self) -> str:
        """What it is about within its part: the id up to its last dot."""
        return self.id.rpartition(".")[0]


@dataclass(frozen=True, kw_only=True)
class Case(Script):
    """A dialogue that judges one rule.

    `rule` is the slug of a rule of the spec, or of the part `wire`, whose rules the spec does not have; `id`
    is that slug and what the case shows of it. The sentence is what the rule requires.
    """

    rule: str
    level: Level

    @property
    def requirement(self) -> str:
        """What the rule requires, in one sentence."""
        return self.sentence

    @property
    def subject(self) -> str:
        """The rule."""
        return self.rule


@dataclass(frozen=True, kw_only=True)
class Probe(Script):
    """A dialogue without a verdict of its own: what is heard in it on two targets is compared."""


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


class Ending(StrEnum):
    """How a dialogue ended, whatever that says about a rule."""

    FINISHED = "finished"
    DEVIATED = "deviated"
    MALFORMED = "malformed"
    DIED = "died"
    SETUP_FAILED = "setup failed"
    UNSUPPORTED = "unsupported"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Fold:
    """Lines `first` to `last`, the latter not included, that only lead to something: `lines` say to what.

    How newcomers come together depends on whose request is first, so it is left out of comparisons.
    """

    first: int
    last: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a dialogue left behind; `expected` and `actual` are empty where nothing deviated.

    `group_id` is the group of the dialogue. `names` maps member ids to short names, `roles` names of members
    to what they are in the first group that formed, whose generation is `generation`.
    """

    ending: Ending
    expected: str = ""
    actual: str = ""
    because: str = ""
    group_id: str = ""
    lines: tuple[Line, ...] = ()
    folds: tuple[Fold, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    generation: int | None = None
    versions: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class CaseResult(Outcome):
    """The verdict on one case, with what it rests on."""

    case: Case
    verdict: Verdict


@dataclass(frozen=True)
class NotChecked:
    """A dialogue that was selected but not played, and why."""

    case: Script
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
    """What the case judges cannot be seen, as where the target was not there."""


class Late(Undecidable):
    """The kit itself could not keep the times that the rule needs; another time it may."""
