"""The machine-readable report of `rota check`."""

from __future__ import annotations

from typing import Any

from rota.explore import Violation
from rota.explore.result import DEADLOCK
from rota.report.check_model import (
    KNOWN,
    NO_END,
    Explored,
    Found,
    Report,
    verdict_of,
)
from rota.report.counts import Noticed

SCHEMA = 1


def report_of(report: Report) -> dict[str, Any]:
    """The report as one JSON object: totals at the top, `runs` below.

    distinct and generated are summed over the runs, depth is the greatest, a witness's depth the least.
    """
    plan = report.plan
    claims = report.claims()
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "reasons": list(report.reasons()),
        "design": plan.design,
        "system": plan.system,
        "profile": plan.profile,
        "scope": plan.scope,
        "engine": report.engine,
        "mutant": plan.mutant,
        "noticed_by": report.noticed_by,
        "noticed_counts": _noticed(report.noticed) if report.noticed else None,
        "distinct": sum(run.result.distinct for run in report.runs),
        "generated": sum(run.result.generated for run in report.runs),
        "depth": max((run.result.depth for run in report.runs), default=0),
        "seconds": round(report.seconds, 3),
        "seconds_total": round(report.seconds_total, 3),
        "properties": [
            {
                "name": one.name,
                "kind": one.kind,
                "meaning": one.meaning,
                "verdict": one.verdict,
                "judged": one.judged,
                "given": one.given,
            }
            for one in claims
        ],
        "witnesses": [{"name": one.name, "depth": one.depth} for one in claims if one.kind == "witness"],
        "violation": _found(report.found) if report.found else None,
        "violations": [_found(one) for one in (report.found, *report.further) if one],
        "known_weaknesses": [
            {
                "name": one.name,
                "meaning": one.meaning,
                "source": plan.sources.get(one.name, ""),
                "depth": one.depth,
                "configuration": one.where,
            }
            for one in claims
            if one.verdict == KNOWN
        ],
        "property": plan.only,
        "reach": plan.reach,
        "not_fired": list(report.not_fired),
        "not_judged": _not_judged(report),
        "not_checked": list(report.not_checked()),
        "sampled": report.sampled,
        "identity": {**report.identity.as_json(), "engine": report.engine, "cache": report.cache},
        "runs": [_run(report, run) for run in report.runs],
    }


def _not_judged(report: Report) -> list[dict[str, Any]]:
    """What could be judged and was not, for nobody said what is right."""
    where = list(report.deadlock_unjudged)
    return [{"what": DEADLOCK, "why": NO_END, "configurations": where}] if where else []


def _noticed(noticed: Noticed) -> dict[str, Any]:
    """Which of a mutant's counts are not the pinned ones."""
    counts = {name: {"got": got, "pinned": pinned} for name, (got, pinned) in noticed.counts.items()}
    return {"configuration": noticed.configuration, "counts": counts}


def _found(found: Found) -> dict[str, Any]:
    return {**_violation(found.run, found.violation), "trace": found.path, "replay": found.replay}


def _violation(run: Explored, violation: Violation) -> dict[str, Any]:
    """One whose trace is not written."""
    return {
        "property": violation.name,
        "meaning": violation.meaning,
        "configuration": run.job.name,
        "steps": violation.steps,
        "cycle": violation.cycle,
        "trace": None,
        "replay": None,
    }


def _run(report: Report, run: Explored) -> dict[str, Any]:
    """A run. bounded_to: the depth up to which it was explored, where a shorter violation was known."""
    result = run.result
    written = [one for one in (report.found, *report.further) if one and one.run is run]
    shortest = _violation(run, result.violation) if result.violation else None
    return {
        "configuration": run.job.name,
        "feature": run.job.feature,
        "compared_with": run.job.compared_with,
        "verdict": run.verdict_for(report.plan),
        "engine": result.engine,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "histogram": list(result.histogram),
        "digest": result.digest,
        "seconds": round(result.seconds, 3),
        "pinned": None if run.differing is None else not run.differing,
        "expected": None if run.job.expected is None else dict(run.job.expected),
        "properties": [
            {
                "name": one.name,
                "kind": one.kind.value if one.kind else one.name,
                "verdict": verdict_of(report.plan, one),
                "judged": one.judged,
                "given": one.given,
            }
            for one in result.properties
        ],
        "witnesses": [
            {"name": one.name, "depth": one.depth}
            for one in result.properties
            if one.kind is not None and one.kind.value == "witness"
        ],
        "bounded_to": result.depth if result.bounded else None,
        "violation": _found(written[0]) if written else shortest,
        "odds_missed": result.odds,
        "stats": dict(result.stats),
    }
