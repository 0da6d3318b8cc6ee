"""What the play of a dialogue leaves behind: how it ended, the verdict on a case, what was not played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rota.conformance.dialogues.script import Case, Level, Script
from rota.conformance.dialogues.transcript import Fold, Line


class Verdict(StrEnum):
    """What became of one case."""

    PASS = "pass"
    FAIL = "fail"
    LENIENT = "lenient"
    NOTED = "noted"
    UNSUPPORTED = "unsupported"
    UNDECIDED = "undecided"
    SKIPPED = "skipped"
    KNOWN = "known"
    DIED = "died"


DEVIATION_VERDICT = {Level.MUST: Verdict.FAIL, Level.SHOULD: Verdict.LENIENT, Level.INFO: Verdict.NOTED}
"""What a deviation from a rule of this level is called."""


NOT_DECIDED = (Verdict.UNDECIDED, Verdict.SKIPPED)
"""Verdicts on cases that did not get to what they judge."""


class Ending(StrEnum):
    """How a dialogue ended, whatever that says about a rule."""

    FINISHED = "finished"
    DEVIATED = "deviated"
    MALFORMED = "malformed"
    DIED = "died"
    SETUP_FAILED = "setup failed"
    UNSUPPORTED = "unsupported"
    UNDECIDED = "undecided"


DECIDED = (Ending.FINISHED, Ending.DEVIATED, Ending.MALFORMED, Ending.DIED)
"""Endings that say something about the rule of a case."""

DOUBTFUL = (Ending.DEVIATED, Ending.SETUP_FAILED, Ending.UNDECIDED)
"""Endings that may be owed to a machine that is overloaded."""


@dataclass(frozen=True, kw_only=True)
class DialogueResult:
    """What a dialogue left behind; `expected` and `actual` are empty where nothing deviated.

    `group_id` is the group of the dialogue. `names` maps member ids to short names, `roles` names of members
    to what they are in the first group that formed, whose generation is `generation`. `late`: it is undecided
    since the kit itself was late. `prerequisite` is the slug of the rule that was broken in the steps that
    lead to what the dialogue is about; empty where none was, or where it is not known.
    """

    ending: Ending
    expected: str = ""
    actual: str = ""
    because: str = ""
    prerequisite: str = ""
    group_id: str = ""
    lines: tuple[Line, ...] = ()
    folds: tuple[Fold, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    generation: int | None = None
    versions: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    late: bool = False


@dataclass(frozen=True)
class KnownFailure:
    """A case of which it is known that it fails.

    It covers any deviation; but that the target dies or that nothing can be decided only where `verdict` says
    so, for a target that now dies where it only deviated is news. Whether what cannot be decided is undecided
    or skipped depends on which other cases are played, so either stands for both. `family` is the family that
    a list names instead of the case: some of its cases may pass.
    """

    id: str
    reason: str = ""
    link: str = ""
    verdict: Verdict | None = None
    family: str = ""

    def covers(self, result: CaseResult) -> bool:
        """Whether this is what became of the case."""
        if self.id != result.case.id:
            return False
        if self.verdict in NOT_DECIDED:
            return result.deviation in NOT_DECIDED
        if result.deviation is Verdict.DIED:
            return self.verdict is Verdict.DIED
        return result.deviation in DEVIATION_VERDICT.values()

    @property
    def words(self) -> str:
        """Why it is known, and where that is written."""
        reason = self.reason or "no reason given"
        return f"{reason} ({self.link})" if self.link else reason


@dataclass(frozen=True, kw_only=True)
class CaseResult(DialogueResult):
    """The verdict on one case, with what it rests on.

    `known` is what a list of known failures says of the case, whether or not it fails. `deviation` is the
    verdict as if there were no such list.
    """

    case: Case
    deviation: Verdict
    known: KnownFailure | None = None

    @property
    def verdict(self) -> Verdict:
        """What became of the case: `known` where a list says that it fails so."""
        covered = self.known is not None and self.known.covers(self)
        return Verdict.KNOWN if covered else self.deviation

    @property
    def unexpected_pass(self) -> bool:
        """Whether it passes although a list says that it fails itself, not some case of its family."""
        return self.known is not None and not self.known.family and self.verdict is Verdict.PASS


@dataclass(frozen=True)
class NotChecked:
    """A dialogue that was selected but not played, and why."""

    case: Script
    why: str


def passing_though_known(results: Sequence[CaseResult]) -> list[str]:
    """What a list says to fail and passes: cases by id, and families of which every case passes."""
    families: dict[str, bool] = {}
    for result in results:
        if result.known is not None and (family := result.known.family):
            families[family] = families.get(family, True) and result.verdict is Verdict.PASS
    cases = [result.case.id for result in results if result.unexpected_pass]
    return [*cases, *(family for family, passes in families.items() if passes)]
