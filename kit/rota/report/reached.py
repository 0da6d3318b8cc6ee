"""Which questions of a run were reached, and why the others were not: what was not reached was not judged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rota.conformance.out_of_reach import out_of_reach
from rota.conformance.results import CaseResult, NotChecked, Verdict

UNJUDGED = (Verdict.UNSUPPORTED, Verdict.UNDECIDED, Verdict.SKIPPED)
"""Verdicts of cases whose question was not reached."""

_VERSIONS = re.compile(r"^needs (\w+) v[0-9-]+, ")
"""What differs from case to case where an API or its versions are not there."""

LATE = "the kit itself was late"
"""Why a case is undecided of which nothing can be said against the target."""


@dataclass(frozen=True)
class Reached:
    """How many questions were reached, of how many; for the others why not -> the ids of the cases."""

    questions: int
    of: int
    missed: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.questions} of {self.of}"


def reached(results: Sequence[CaseResult], not_checked: Sequence[NotChecked]) -> Reached:
    """A question is a case that was selected; it was reached if the case was judged."""
    missed: dict[str, list[str]] = {}
    for skipped in not_checked:
        missed.setdefault(skipped.why, []).append(skipped.case.id)
    for verdict in UNJUDGED:
        for one in results:
            if one.deviation is verdict:
                missed.setdefault(why_unjudged(one), []).append(one.case.id)
    of = len(results) + len(not_checked)
    return Reached(of - sum(map(len, missed.values())), of, missed)


def why_unjudged(one: CaseResult) -> str:
    """Why a question was not reached, in words that cases have in common."""
    if one.prerequisite:
        return f"{one.deviation}, since {one.prerequisite} is broken"
    if one.late:
        return f"{one.deviation}: {LATE}"
    why = _VERSIONS.sub(r"\1: ", one.because.partition(": expected ")[0])
    return f"{one.deviation}: {why}" if why else one.deviation.value


def about_nothing() -> str:
    """What no case is about."""
    return f"no case is about {'; '.join(out_of_reach())}"
