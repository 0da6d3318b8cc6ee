"""What the play of a dialogue leaves behind: how it ended, the verdict on a case, what was not played."""

from __future__ import annotations

from collections.abc import Mapping
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
    KNOWN = "known"
    DIED = "died"


DEVIATION_VERDICT = {Level.MUST: Verdict.FAIL, Level.SHOULD: Verdict.LENIENT, Level.INFO: Verdict.NOTED}
"""What a deviation from a rule of this level is called."""


class Ending(StrEnum):
    """How a dialogue ended, whatever that says about a rule."""

    FINISHED = "finished"
    DEVIATED = "deviated"
    MALFORMED = "malformed"
    DIED = "died"
    SETUP_FAILED = "setup failed"
    UNSUPPORTED = "unsupported"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class DialogueResult:
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
class CaseResult(DialogueResult):
    """The verdict on one case, with what it rests on."""

    case: Case
    verdict: Verdict


@dataclass(frozen=True)
class NotChecked:
    """A dialogue that was selected but not played, and why."""

    case: Script
    why: str
