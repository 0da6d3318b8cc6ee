"""Cases that did not get to their rule since another rule is broken, which has a case of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rota.conformance.results import CaseResult, Verdict

_WEIGHT = (Verdict.FAIL, Verdict.LENIENT, Verdict.NOTED)
"""Verdicts by which a rule is broken, those that say most first."""


def skipped(waiting: Iterable[CaseResult], judged: Iterable[CaseResult]) -> Iterator[CaseResult]:
    """Cases that rest on other rules: those are skipped whose rule is broken by a case of its own."""
    broken = [result for result in judged if result.deviation in _WEIGHT]
    broken.sort(key=lambda result: (_WEIGHT.index(result.deviation), result.case.id), reverse=True)
    shown = {result.case.rule: result.case.id for result in broken}
    for result in waiting:
        if result.prerequisite in shown:
            because = f"needs {result.prerequisite}, which {shown[result.prerequisite]} finds broken"
            result = replace(result, deviation=Verdict.SKIPPED, because=f"{because}: {result.because}")
        yield result
