"""Two runs, one before and one after: what fails anew, what is mended, what stays, by case and by cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from rota.conformance.results import DEVIATION_VERDICT, CaseResult, Verdict
from rota.report.causes import BROKEN, Cause
from rota.report.events import INTERRUPTED, WholeRun
from rota.report.reached import UNJUDGED


class Kind(StrEnum):
    """What became of a case, or of a cause, between two runs."""

    NEW = "new"
    UNJUDGED = "not judged any more"
    LESSER = "deviates anew"
    MENDED = "mended"
    STAYS = "stays"


MEANS = {
    Kind.NEW: "failing now, and not before",
    Kind.UNJUDGED: "judged before or new, and undecided, skipped or unsupported now",
    Kind.LESSER: "deviating now where that fails no run, and not before",
    Kind.MENDED: "deviating before, and not now",
    Kind.STAYS: "deviating before and now",
}
"""What is said of the cases of each kind."""

FAILS = (Verdict.FAIL, Verdict.DIED)
DEVIATES = (*DEVIATION_VERDICT.values(), Verdict.DIED, Verdict.KNOWN)

VERDICTS = {0: "not worse", 1: "worse", 3: "undecided"}
"""Exit code -> what is said of the whole."""


@dataclass(frozen=True)
class Change:
    """A case that is told of: its results before and after, None where it was not played."""

    kind: Kind
    before: CaseResult | None
    after: CaseResult | None

    @property
    def old(self) -> bool:
        """Whether it is the result before that is to be looked at: of what is mended, or was not played."""
        return self.before is not None and (self.after is None or self.kind is Kind.MENDED)

    @property
    def shown(self) -> CaseResult:
        """The result to be looked at."""
        found = self.before if self.old else self.after
        assert found is not None
        return found

    @property
    def words(self) -> str:
        """From which verdict to which."""
        return " → ".join(one.verdict.value if one else "not played" for one in (self.before, self.after))


@dataclass(frozen=True)
class CauseChange:
    """A cause that is told of: before and after, None where it was not there. first: the case to look at."""

    kind: Kind
    before: Cause | None
    after: Cause | None

    @property
    def last(self) -> Cause:
        """The cause as it is, or was."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def words(self) -> str:
        """How many cases it concerned, and concerns."""
        numbers = [str(len(one.cases)) for one in (self.before, self.after) if one is not None]
        return " → ".join(dict.fromkeys(numbers))


@dataclass(frozen=True)
class Changes:
    """The runs `before` and `after`, and what is different. only: cases that are compared, None for all."""

    before: WholeRun
    after: WholeRun
    only: frozenset[str] | None = None

    @cached_property
    def cases(self) -> Sequence[Change]:
        """Cases that deviate in either, or were not judged the second time, in the order of the kinds."""
        earlier, later = _by_id(self.before), _by_id(self.after)
        ids = [id for id in dict.fromkeys([*later, *earlier]) if self.only is None or id in self.only]
        skipped = {one.case.id: one.why for one in self.after.finished.not_checked}
        found = []
        for id in ids:
            interrupted = skipped.get(id) == INTERRUPTED
            if (id in later or interrupted) and (kind := _kind(earlier.get(id), later.get(id))):
                found.append(Change(kind, earlier.get(id), later.get(id)))
        return sorted(found, key=lambda change: list(Kind).index(change.kind))

    @cached_property
    def causes(self) -> Sequence[CauseChange]:
        """Causes in either, in the order of the kinds; those whose cases are not compared are left out.

        One that has another name the second time is known by the cases that both have.
        """
        earlier, later = self._causes(self.before), self._causes(self.after)
        left = {name: one for name, one in earlier.items() if name not in later}
        both: list[tuple[Cause | None, Cause | None]] = []
        for name, after in later.items():
            both.append((earlier.get(name) or left.pop(_alike(after, left), None), after))
        both += [(before, None) for before in left.values()]
        found = [CauseChange(_kind_of_cause(*one), *one) for one in both]
        return sorted(found, key=lambda change: list(Kind).index(change.kind))

    def _causes(self, run: WholeRun) -> Mapping[str, Cause]:
        return {
            one.name: one
            for one in run.finished.causes
            if self.only is None or not self.only.isdisjoint(one.cases)
        }

    def those(self, kind: Kind) -> list[Change]:
        """The cases of which this is said."""
        return [one for one in self.cases if one.kind is kind]

    @cached_property
    def not_in_both(self) -> tuple[list[str], list[str]]:
        """Cases of which only the run before says something, and those of which only the other one does."""
        earlier, later = (_known(run) for run in (self.before, self.after))
        both = [[id for id in one if id not in other] for one, other in ((earlier, later), (later, earlier))]
        chosen = [[id for id in ids if self.only is None or id in self.only] for ids in both]
        return chosen[0], chosen[1]

    @cached_property
    def compared(self) -> int:
        """Cases that were judged both times."""
        earlier, later = _by_id(self.before), _by_id(self.after)
        return sum(
            _judged(one) and _judged(later.get(id))
            for id, one in earlier.items()
            if self.only is None or id in self.only
        )

    @property
    def exit_code(self) -> int:
        """1 if anything fails anew; else 3 if something is not judged any more, or nothing was twice."""
        if self.those(Kind.NEW):
            return 1
        return 3 if self.those(Kind.UNJUDGED) or not self.compared else 0

    def told(self) -> Iterator[str]:
        """How many cases of each kind there are, in words."""
        for kind in Kind:
            number = len(self.those(kind))
            if number or kind in (Kind.NEW, Kind.MENDED, Kind.STAYS):
                yield f"{number} {kind}"


def _alike(cause: Cause, others: Mapping[str, Cause]) -> str:
    """The name of the cause that has most cases in common with this one; empty where none has any."""
    common = {name: len(set(cause.cases) & set(one.cases)) for name, one in others.items()}
    name = max(common, key=lambda name: common[name], default="")
    return name if common.get(name) else ""


def _by_id(run: WholeRun) -> Mapping[str, CaseResult]:
    return {one.case.id: one for one in run.finished.results}


def _known(run: WholeRun) -> list[str]:
    return [*_by_id(run), *(one.case.id for one in run.finished.not_checked)]


def _judged(one: CaseResult | None) -> bool:
    return one is not None and one.deviation not in UNJUDGED


def _kind(before: CaseResult | None, after: CaseResult | None) -> Kind | None:
    """What became of a case; None where nothing is to be said of it."""
    was, judged = (before.verdict if before else None), _judged(before)
    if after is None or not _judged(after):
        supported = after is None or after.verdict is not Verdict.UNSUPPORTED
        return Kind.UNJUDGED if judged or (before is None and supported) else None
    now = after.verdict
    if now in FAILS:
        worse = was not in FAILS or (now is Verdict.DIED and was is Verdict.FAIL)
        return Kind.NEW if worse else Kind.STAYS
    if now in DEVIATES:
        return Kind.STAYS if was in DEVIATES else Kind.LESSER
    return Kind.MENDED if was in DEVIATES else None


def _kind_of_cause(before: Cause | None, after: Cause | None) -> Kind:
    if after is None:
        return Kind.MENDED
    fails = after.verdict in FAILS
    if before is None:
        return Kind.NEW if fails else Kind.LESSER if after.verdict in BROKEN else Kind.UNJUDGED
    return Kind.NEW if fails and before.verdict not in FAILS else Kind.STAYS
