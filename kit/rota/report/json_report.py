"""The report that programs read: one JSON object, the same for standard output and for the file.

`rota.report.read_back` reads it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from rota.conformance.dialogues.transcript import render
from rota.conformance.results import CaseResult, NotChecked, passing_though_known
from rota.report.causes import BROKEN, Cause
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
            "reached": {"questions": finished.reached.questions, "of": finished.reached.of},
            "counts": counts(self.results),
            "causes": [cause_object(cause) for cause in finished.causes],
            "strict": started.strict,
            "given": list(started.given),
            "passing_though_known": passing_though_known(self.results),
            "cases": [case_object(result) for result in self.results],
            "not_judged": [{"why": why, "cases": ids} for why, ids in finished.reached.missed.items()],
            "not_checked": [skipped_object(skipped) for skipped in finished.not_checked],
            "unread_versions": {
                api: {str(version): why for version, why in versions.items()}
                for api, versions in finished.unreadable.items()
            },
            "identity": started.identity.as_json(),
            "reports": [str(path) for path in finished.reports],
        }
        self._write(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def cause_object(cause: Cause) -> dict[str, Any]:
    """One cause, its rule first."""
    return {field.name: getattr(cause, field.name) for field in fields(Cause)}


def case_object(result: CaseResult) -> dict[str, Any]:
    """One case; `expected` and `actual` are null where there was no deviation.

    `frames` are what was on the wire where the case deviates, each with the number of its line in `dialogue`.
    """
    case = result.case
    return {
        "id": case.id,
        "rule": case.rule,
        "part": case.part,
        "family": case.family or None,
        "situation": case.situation or None,
        "level": case.level.value,
        "verdict": result.verdict.value,
        "requirement": case.requirement,
        "source": case.source,
        "older": case.older or None,
        "expected": result.expected or None,
        "actual": result.actual or None,
        "known": known_object(result),
        "because": result.because or None,
        "prerequisite": result.prerequisite or None,
        "late": result.late,
        "seconds": round(result.seconds, 3),
        "versions": dict(result.versions),
        "dialogue": render(result.lines, result.names),
        "frames": [
            {"line": number, "size": line.size, "bytes": line.data.hex()}
            for number, line in enumerate(result.lines)
            if line.data and result.deviation in BROKEN
        ],
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
