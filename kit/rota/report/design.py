"""What `rota design` reports of the older designs: violations by cause, and all side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rota.explore import Verdict
from rota.herd import CHANGES, COUNTS, Range
from rota.report.check_json import SCHEMA, report_of
from rota.report.check_model import (
    HOLDS,
    UNDECIDED,
    UNJUDGED,
    VIOLATED,
    Explored,
    Found,
    Plan,
    Report,
)
from rota.report.check_text import RunTable, found_lines
from rota.report.counts import PINNED
from rota.report.format import coloured, counted, wrapped
from rota.report.table import Column, Table, names

Costs = Mapping[str, Mapping[str, Range]]
"""Design -> change -> what it costs."""

COST_WORDS = {
    "watches": "notified by ZooKeeper",
    "told": "told by a heartbeat's answer",
    "requests": "requests",
    "nodes": "znodes read",
    "rebalances": "assignments computed",
}


@dataclass(frozen=True)
class Judged:
    """A design's report, and every violation with its trace, in the order of configurations."""

    report: Report
    found: tuple[Found, ...] = ()

    @property
    def name(self) -> str:
        """The design."""
        return self.report.plan.design

    @property
    def broken(self) -> dict[str, list[Found]]:
        """The violations by property, in order of first appearance."""
        by_property: dict[str, list[Found]] = {}
        for one in self.found:
            by_property.setdefault(one.violation.name, []).append(one)
        return by_property

    @property
    def differing(self) -> list[str]:
        """What came out otherwise than pinned, a sentence for each configuration."""
        return [words for run in self.report.runs if (words := _differs(run))]

    @property
    def verdict(self) -> str:
        """violated, undecided or holds."""
        return VIOLATED if self.differing else self.report.verdict


def _differs(run: Explored) -> str:
    """How a result differs from what is pinned: verdict, property and steps, then counts."""
    if run.job.expected is None or run.result.verdict is Verdict.UNDECIDED:
        return ""
    violation = run.result.violation
    seen: dict[str, Any] = {"verdict": run.result.verdict.value}
    if violation is not None:
        seen |= {"property": violation.name, "steps": violation.steps}
    seen |= {name: getattr(run.result, name) for name in PINNED}
    words = [
        f"{name} is {value}, pinned is {run.job.expected.get(name)}"
        for name, value in seen.items()
        if run.job.expected.get(name, value) != value or (name == "property" and name not in run.job.expected)
    ]
    return f"{run.job.name}: {'; '.join(words)}" if words else ""


def head(plan: Plan) -> str:
    """The first line: what is explored."""
    parts = [plan.design, *([f"scope {plan.scope}"] if plan.scope else [])]
    parts += [f"mutant {plan.mutant} (it replaces {plan.replaced})"] if plan.mutant else []
    return wrapped("rota design: ", ", ".join([*parts, f"engine {plan.engine}"]))


def row(table: RunTable, run: Explored) -> str:
    """The line of a run; of a violated one that is pinned, too, whether it is as pinned."""
    line = table.row(run)
    if not line.endswith("  -"):
        return line
    return f"{line[:-1]}{coloured('DIFFERS', VIOLATED) if _differs(run) else 'ok'}"


def lines(judged: Judged) -> Iterator[str]:
    """Everything between the table and the verdict: the first trace of each property, then every cause."""
    for sentence in judged.differing:
        yield wrapped("", f"{coloured('DIFFERS', VIOLATED)} {sentence}")
    for several in judged.broken.values():
        yield from found_lines(judged.report, several[0])
        yield ""
    if judged.found:
        yield from _causes(judged)
    elif judged.verdict == HOLDS:
        yield from _held(judged)
    yield wrapped("not checked: ", "; ".join(judged.report.not_checked()))


def _causes(judged: Judged) -> Iterator[str]:
    """Each violation with what its configuration has that others have not, and where the trace is."""
    yield "what breaks it, each cause by itself"
    width = max(len(one.run.job.name) for one in judged.found)
    for one in judged.found:
        words = f"{one.violation.name} after {one.violation.steps} steps"
        words += f": {one.run.job.feature}" if one.run.job.feature else ""
        yield wrapped(f"  {one.run.job.name:<{width}}  ", words)
        yield f"  {'':<{width}}  {one.path}"
    sound = [run.job.name for run in judged.report.runs if run.complete]
    if sound:
        yield wrapped("  it holds in ", ", ".join(sound))
    yield ""


def _held(judged: Judged) -> Iterator[str]:
    claims = [one for one in judged.report.claims() if one.verdict != UNJUDGED]
    width = max(len(one.name) for one in claims)
    witnesses = [one for one in claims if one.kind == "witness"]
    for title, members in (("properties", [one for one in claims if one not in witnesses]),
                           ("witnesses", witnesses)):  # fmt: skip
        if members:
            yield title
        for one in members:
            where = f"first after {one.depth} steps in {one.where}: " if one.where else ""
            yield wrapped(f"  {one.name:<{width}}  ", where + one.meaning)
        if members:
            yield ""


def verdict_line(judged: Judged) -> str:
    """The last line."""
    runs = judged.report.runs
    states = sum(run.result.distinct for run in runs)
    scale = (
        f"{counted(len(runs), 'configuration')}, {counted(states, 'state')}, engine {judged.report.engine}"
    )
    if judged.verdict == HOLDS:
        return f"{coloured(HOLDS, HOLDS)}: design {judged.name}, {scale}"
    return f"{coloured(judged.verdict, judged.verdict)}: {'; '.join(_reasons(judged))} ({scale})"


def _reasons(judged: Judged) -> list[str]:
    """Why it does not hold, shortest."""
    reasons = [
        f"{name} in {counted(len(several), 'configuration')}, after {several[0].violation.steps} steps "
        f"in {several[0].run.job.name}"
        for name, several in judged.broken.items()
    ]
    if judged.differing:
        reasons.append(f"{counted(len(judged.differing), 'configuration')} not as pinned")
    return reasons or list(judged.report.reasons())


def side_by_side(every: Sequence[Judged], costs: Costs, members: int) -> Iterator[str]:
    """The designs beside each other: verdict, states, what breaks, and what a change costs."""
    table = Table(
        [
            names("design", (one.name for one in every), gap=0),
            Column("verdict", 9, left=True, gap=2),
            Column("configurations", 14),
            Column("states", 10),
            Column("what breaks", left=True, gap=2, words=True),
        ],
        ["configurations"],
    )
    yield table.head()
    for one in every:
        states = sum(run.result.distinct for run in one.report.runs)
        yield table.row(
            {
                "design": one.name,
                "verdict": coloured(one.verdict, one.verdict),
                "configurations": f"{len(one.report.runs)}",
                "states": f"{states:,}",
                "what breaks": "; ".join(_reasons(one)) if one.verdict != HOLDS else "nothing",
            }
        )
    for change in CHANGES:
        yield ""
        over = f"a group of {members} when it is over, least and most over all runs"
        yield wrapped("", f"one more {change}s; {over}")
        yield from _costs({design: by_change[change] for design, by_change in costs.items()})
    yield ""


def _costs(costs: Mapping[str, Range]) -> Iterator[str]:
    """What one change costs, a line for each count and a column for each design."""
    table = Table(
        [names("", COST_WORDS.values(), gap=0), *(Column(one, max(7, len(one)), gap=2) for one in costs)]
    )
    yield table.head()
    for name in COUNTS:
        yield table.row({"": COST_WORDS[name]} | {one: cost.text(name) for one, cost in costs.items()})


def together(every: Sequence[Judged]) -> str:
    """The verdict on all designs: the worst."""
    verdicts = {one.verdict for one in every}
    return next(verdict for verdict in (VIOLATED, UNDECIDED, HOLDS) if verdict in verdicts)


def together_line(every: Sequence[Judged]) -> str:
    """The last line for all designs."""
    verdict = together(every)
    each = ", ".join(f"{one.name} {one.verdict}" for one in every)
    return f"{coloured(verdict, verdict)}: {each}"


def as_json(judged: Judged) -> dict[str, Any]:
    """The report as one JSON object; `violation` is the first one, `violations` are all."""
    found = [
        {
            "property": one.violation.name,
            "configuration": one.run.job.name,
            "cause": one.run.job.feature,
            "steps": one.violation.steps,
            "trace": one.path,
            "replay": one.replay,
        }
        for one in judged.found
    ]
    return {
        **report_of(judged.report),
        "verdict": judged.verdict,
        "reasons": [] if judged.verdict == HOLDS else _reasons(judged),
        "violations": found,
        "differing": judged.differing,
    }


def all_as_json(every: Sequence[Judged], costs: Costs, members: int) -> dict[str, Any]:
    """All designs as one JSON object: totals at the top as for one, `designs` below."""
    each = [as_json(one) for one in every]
    totals: dict[str, Any] = {
        name: sum(one[name] for one in each) for name in ("distinct", "generated", "seconds")
    }
    cost_objects = {
        design: {
            change: {name: [getattr(one.least, name), getattr(one.most, name)] for name in COUNTS}
            for change, one in by_change.items()
        }
        for design, by_change in costs.items()
    }
    return {
        "schema": SCHEMA,
        "verdict": together(every),
        "design": "all",
        "system": "all",
        **{name: each[-1][name] for name in ("profile", "scope", "engine")},
        **totals,
        "depth": max(one["depth"] for one in each),
        "seconds_total": each[-1]["seconds_total"],
        **{name: [claim for one in each for claim in one[name]] for name in ("properties", "witnesses")},
        "violation": next((one["violation"] for one in each if one["violation"]), None),
        "designs": each,
        "cost_of_a_change": {"members": members, **cost_objects},
    }
