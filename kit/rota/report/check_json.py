"""The machine-readable report of `rota check`."""

from __future__ import annotations

from typing import Any

from rota.report.check_model import KNOWN, Found, Report, Run, verdict_of

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
        "distinct": sum(run.result.distinct for run in report.runs),
        "generated": sum(run.result.generated for run in report.runs),
        "depth": max((run.result.depth for run in report.runs), default=0),
        "seconds": round(report.seconds, 3),
        "seconds_total": round(report.seconds_total, 3),
        "properties": [
            {"name": one.name, "kind": one.kind, "meaning": one.meaning, "verdict": one.verdict}
            for one in claims
        ],
        "witnesses": [{"name": one.name, "depth": one.depth} for one in claims if one.kind == "witness"],
        "violation": _violation(report.found) if report.found else None,
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
        "rules_never_fired": list(report.unfired),
        "not_checked": list(plan.omitted),
        "runs": [_run(report, run) for run in report.runs],
    }


def _violation(found: Found) -> dict[str, Any]:
    return {
        "property": found.violation.name,
        "meaning": found.violation.meaning,
        "configuration": found.run.job.name,
        "steps": found.violation.steps,
        "cycle": found.violation.cycle,
        "trace": found.path,
        "replay": found.replay,
    }


def _run(report: Report, run: Run) -> dict[str, Any]:
    result, found = run.result, report.found
    return {
        "configuration": run.job.name,
        "feature": run.job.feature,
        "compared_with": run.job.compared_with,
        "verdict": "violated" if run.differing else result.outcome.value,
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
            }
            for one in result.properties
        ],
        "witnesses": [
            {"name": one.name, "depth": one.depth}
            for one in result.properties
            if one.kind is not None and one.kind.value == "witness"
        ],
        "violation": _violation(found) if found and found.run is run else None,
        "odds_missed": result.odds,
        "stats": dict(result.stats),
    }
