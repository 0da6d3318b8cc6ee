"""Cases that did not get to their rule since another rule is broken, which has a case of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rota.conformance.results import DEVIATION_VERDICT, CaseResult, Verdict


def skipped(waiting: Iterable[CaseResult], judged: Iterable[CaseResult]) -> Iterator[CaseResult]:
    """Cases that rest on other rules: those are skipped whose rule is broken by a case of its own."""
    broken: dict[str, str] = {}
    for result in judged:
        if result.deviation in DEVIATION_VERDICT.values():
            broken.setdefault(result.case.rule, result.case.id)
    for result in waiting:
        if result.prerequisite in broken:
            because = f"needs {result.prerequisite}, which {broken[result.prerequisite]} finds broken"
            result = replace(result, deviation=Verdict.SKIPPED, because=f"{because}: {result.because}")
        yield result
