"""What `rota simulate` prints and writes: what walks met, and that this is no proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rota.explore.walks.model import Coverage, Simulation, Walks
from rota.kernel import Kind
from rota.report.check_json import report_of
from rota.report.check_model import KNOWN, Explored, Plan, Report
from rota.report.check_text import first_columns, found_lines
from rota.report.format import coloured, counted, wrapped
from rota.report.table import Column, Table


@dataclass(frozen=True)
class Walked:
    """What came of the walks. simulations: one for each run of the report."""

    report: Report
    walks: Walks
    simulations: tuple[Simulation, ...]

    @property
    def reached(self) -> dict[str, bool]:
        """Every witness that some walked configuration has, and whether some walk has met it."""
        claims = (one for one in self.report.claims() if one.kind == "witness")
        return {one.name: one.depth is not None for one in claims}

    @property
    def proper(self) -> tuple[str, ...]:
        """The rules that can fire: those that only decide are asked, not fired."""
        return tuple(slug for slug, rule in self.report.plan.rules.items() if not rule.decides)

    @property
    def fired(self) -> frozenset[str]:
        """The rules that fired in some run."""
        return frozenset(slug for run in self.report.runs for slug in run.fired)

    def reasons(self) -> Iterator[str]:
        """Why the verdict is not `holds`, which it never is."""
        found, last = self.report.found, self.simulations[-1] if self.simulations else None
        if found is not None and last is not None:
            steps = counted(found.violation.steps, "step")
            yield (
                f"{found.violation.name} after {steps} in {found.run.job.name}, met by walk {last.walk} with "
                f"seed {self.walks.seed}"
            )
            return
        walks = counted(sum(one.coverage.walks for one in self.simulations), "walk")
        yield f"no violation in {walks}, which is no proof"
        missing = len(self.report.plan.jobs) - len(self.report.runs)
        if missing:
            yield f"{missing} of {len(self.report.plan.jobs)} configurations were not walked"


def head(plan: Plan, walks: Walks) -> str:
    """The first line: what is walked."""
    parts = [f"system {plan.system}"] if plan.origin else [f"scope {plan.scope}", f"profile {plan.profile}"]
    parts += [f"only {plan.only}"] if plan.only else []
    parts += [f"mutant {plan.mutant} (it replaces {plan.replaced})"] if plan.mutant else []
    return wrapped("rota simulate: ", ", ".join([*parts, f"random walks with seed {walks.seed}"]))


class WalkTable:
    """A table of which every row can be printed as soon as its walks are over.

    configurations: of all rows to come.
    """

    def __init__(self, configurations: list[str]) -> None:
        columns = (
            *first_columns(configurations),
            Column("walks", 7),
            Column("steps", 10),
            Column("longest", 7),
            Column("states met", 11),
            Column("seconds", 8),
            Column("rules", 5),
            Column("witnesses", 9, left=True, gap=2),
            Column("digest", 8, left=True, gap=2),
        )
        spared = ("digest", "longest", "seconds", "steps", "rules", "witnesses")
        self._table = Table(columns, spared)

    def head(self) -> str:
        """The line above the rows."""
        return self._table.head()

    def row(self, run: Explored, coverage: Coverage) -> str:
        """The line of a configuration."""
        verdict, result = run.result.verdict.value, run.result
        witnesses = [one for one in result.properties if one.kind is Kind.WITNESS]
        reached = sum(one.depth is not None for one in witnesses)
        return self._table.row(
            {
                "configuration": run.job.name,
                "verdict": coloured(verdict, verdict),
                "walks": f"{coverage.walks:,}",
                "steps": f"{coverage.steps:,}",
                "longest": f"{coverage.longest}",
                "states met": _met(coverage),
                "seconds": f"{result.seconds:.2f}",
                "rules": f"{len(result.rules_fired)}",
                "witnesses": f"{reached} of {len(witnesses)}",
                "digest": result.digest[:8],
            }
        )


def _met(coverage: Coverage) -> str:
    return f"{'' if coverage.exact else '>='}{coverage.distinct:,}"


def lines(walked: Walked) -> Iterator[str]:
    """Everything between the table and the verdict."""
    report = walked.report
    yield ""
    if report.found:
        last = walked.simulations[-1]
        yield from found_lines(report, report.found)
        yield wrapped(
            "walked: ",
            f"{last.walked} steps, made shorter to {report.found.violation.steps}; there may be a "
            f"shorter run. The same walks again: --seed {walked.walks.seed} --depth {walked.walks.depth}",
        )
        return
    yield from _coverage_lines(walked)
    yield wrapped("judged by: ", report.identity.words())
    if report.plan.omitted:
        yield wrapped("not checked: ", "; ".join(report.plan.omitted))


def _coverage_lines(walked: Walked) -> Iterator[str]:
    reached, proper = walked.reached, walked.proper
    known = [one.name for one in walked.report.claims() if one.verdict == KNOWN]
    missed = [name for name, there in reached.items() if not there]
    yield f"witnesses met: {len(reached) - len(missed)} of {len(reached)}"
    if known:
        yield wrapped("known weaknesses of this profile, found anew: ", ", ".join(known))
    if missed:
        yield wrapped("witnesses and weaknesses never met: ", ", ".join(missed))
    if proper:
        unfired = walked.report.not_fired
        yield f"rules fired: {len(proper) - len(unfired)} of {len(proper)}"
        if unfired:
            yield wrapped("never fired: ", ", ".join(unfired))
    if not all(one.coverage.exact for one in walked.simulations):
        yield wrapped("states met: ", "where it says >=, more were met than are remembered and counted")


def verdict_line(walked: Walked, quiet: bool) -> str:
    """The last line. quiet: it is the only one, so it also names the command that replays a trace."""
    report, made = walked.report, [one.coverage for one in walked.simulations]
    scale = ", ".join(
        (
            counted(len(report.runs), "configuration"),
            counted(sum(one.steps for one in made), "step"),
            f"{sum(one.distinct for one in made):,} states met",
            f"seed {walked.walks.seed}",
            f"in {report.seconds:.1f} s",
        )
    )
    again = f"; {report.found.replay}" if report.found and quiet else ""
    return f"{coloured(report.verdict, report.verdict)}: {'; '.join(walked.reasons())} ({scale}){again}"


def as_json(walked: Walked) -> dict[str, Any]:
    """As the report of `rota check`, with `seed`, `coverage` in all, and `coverage` of each run."""
    out = report_of(walked.report)
    out.update(engine="simulate", reasons=list(walked.reasons()), seed=walked.walks.seed)
    runs = [one.coverage for one in walked.simulations]
    reached = walked.reached
    out["coverage"] = {
        "walks": sum(one.walks for one in runs),
        "steps": sum(one.steps for one in runs),
        "longest": max((one.longest for one in runs), default=0),
        "distinct": sum(one.distinct for one in runs),
        "distinct_is_exact": all(one.exact for one in runs),
        "witnesses": len(reached),
        "witnesses_reached": sum(reached.values()),
        "rules": len(walked.proper),
        "rules_fired": len(walked.fired.intersection(walked.proper) if walked.proper else walked.fired),
    }
    for run, one in zip(out["runs"], walked.simulations, strict=True):
        run["coverage"] = _coverage(one.coverage)
        if run["violation"] is not None:
            shown = {
                "walk": one.walk,
                "steps_walked": one.walked,
                "seed": walked.walks.seed,
                "shortest": False,
            }
            run["violation"].update(shown)
            out["violation"].update(shown)
    return out


def _coverage(one: Coverage) -> dict[str, Any]:
    return {
        "walks": one.walks,
        "steps": one.steps,
        "longest": one.longest,
        "distinct": one.distinct,
        "distinct_is_exact": one.exact,
        "values": dict(one.values),
        "outcomes": one.outcomes,
    }
