"""The report that programs read: one JSON object, the same for standard output and for the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rota.conformance.dialogues.transcript import render
from rota.conformance.results import CaseResult, NotChecked, passing_though_known
from rota.report.events import Collected, RunFinished, RunStarted, counts

SCHEMA = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""


class JsonReport(Collected):
    """Gives the finished object, as text, to `write`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def finish(self, started: RunStarted, finished: RunFinished) -> None:
        whole = {
            "schema": SCHEMA,
            "verdict": finished.verdict,
            "target": started.target,
            "profile": started.profile,
            "seed": started.seed,
            "seconds": round(finished.seconds, 3),
            "counts": counts(self.results),
            "strict": started.strict,
            "passing_though_known": passing_though_known(self.results),
            "cases": [case_object(result) for result in self.results],
            "not_checked": [skipped_object(skipped) for skipped in finished.not_checked],
            "unread_versions": {
                api: {str(version): why for version, why in versions.items()}
                for api, versions in finished.unreadable.items()
            },
            "identity": started.identity.as_json(),
            "reports": [str(path) for path in finished.reports],
        }
        self._write(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def case_object(result: CaseResult) -> dict[str, Any]:
    """One case; `expected` and `actual` are null where there was no deviation."""
    case = result.case
    return {
        "id": case.id,
        "rule": case.rule,
        "part": case.part,
        "level": case.level.value,
        "verdict": result.verdict.value,
        "requirement": case.requirement,
        "source": case.source,
        "expected": result.expected or None,
        "actual": result.actual or None,
        "known": known_object(result),
        "because": result.because or None,
        "seconds": round(result.seconds, 3),
        "versions": dict(result.versions),
        "dialogue": render(result.lines, result.names),
    }


def known_object(result: CaseResult) -> dict[str, str] | None:
    """What a list of known failures says of the case, and the verdict that it would have without."""
    known = result.known
    if known is None:
        return None
    return {"reason": known.reason, "link": known.link, "verdict_without": result.deviation.value}


def skipped_object(skipped: NotChecked) -> dict[str, Any]:
    """One case that was not played, and why."""
    return {"id": skipped.case.id, "rule": skipped.case.subject, "why": skipped.why}
