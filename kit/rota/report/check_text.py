"""What `rota check` prints: a table of runs, what each feature adds, properties or a trace, the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rota.report.check_model import (
    HOLDS,
    KNOWN,
    NO_END,
    UNDECIDED,
    UNJUDGED,
    VIOLATED,
    Claim,
    Explored,
    Found,
    Report,
    length_of,
)
from rota.report.counts import differing
from rota.report.format import coloured, counted, named_first, number, width, wrapped
from rota.report.table import Column, Table, names
from rota.trace import text as trace_text


def first_columns(configurations: list[str]) -> tuple[Column, Column]:
    """What a table of configurations begins with. configurations: of all rows to come."""
    return names("configuration", configurations, gap=0), Column("verdict", 9, left=True, gap=2)


class RunTable:
    """A table of which every row can be printed as soon as its run is over.

    Parameters: configurations, of all rows to come; reach, whether a state is looked for in place of judging.
    """

    def __init__(self, configurations: list[str], reach: bool = False) -> None:
        self._reach = reach
        columns = (
            *first_columns(configurations),
            Column("distinct", 10),
            Column("generated", 11),
            Column("depth", 5),
            Column("seconds", 8),
            Column("states/s", 9),
            Column("digest", 8, left=True, gap=2),
            Column("pinned", len("DIFFERS"), left=True, gap=2),
        )
        self._table = Table(columns, ("states/s", "generated", "digest", "seconds", "depth"))

    def head(self) -> str:
        """The line above the rows."""
        return self._table.head()

    def row(self, run: Explored) -> str:
        """The line of a run."""
        result = run.result
        verdict = result.verdict.value
        if self._reach and not result.bounded:
            verdict = "reached" if result.violation else "not there" if run.complete else verdict
        shown = "bounded" if result.bounded else verdict
        shown = shown if self._reach else coloured(shown, verdict)
        depth = f"<={result.depth}" if run.at_most else str(result.depth)
        return self._table.row(
            {
                "configuration": run.job.name,
                "verdict": shown,
                "distinct": f"{result.distinct:,}",
                "generated": f"{result.generated:,}",
                "depth": depth,
                "seconds": f"{result.seconds:.2f}",
                "states/s": f"{run.rate:,.0f}",
                "digest": result.digest[:8],
                "pinned": _pinned(run),
            }
        )


def _pinned(run: Explored) -> str:
    if run.differing is None:
        return "-" if run.job.expected else "none"
    return coloured("DIFFERS", VIOLATED) if run.differing else "ok"


def head(report: Report) -> str:
    """The first line: what is checked."""
    plan = report.plan
    parts = [f"system {plan.system}"] if plan.origin else [f"scope {plan.scope}", f"profile {plan.profile}"]
    parts += [f"design {plan.design}"] if not plan.origin else []
    parts += [f"only {plan.only}"] if plan.only else []
    parts += [f"looking for {plan.reach}"] if plan.reach else []
    parts += [f"mutant {plan.mutant} (it replaces {plan.replaced})"] if plan.mutant else []
    return wrapped("rota check: ", ", ".join([*parts, f"engine {plan.engine}"]))


def lines(report: Report, stats: bool) -> Iterator[str]:
    """Everything between the table and the verdict."""
    yield from _differences(report)
    if not report.plan.lasting:
        yield from _features(report)
    if stats:
        yield from _stats(report)
        yield from _judged(report)
    if (not report.found or report.plan.lasting) and not report.plan.reach:
        yield from _properties(report)
    if report.found:
        yield ""
        yield from found_lines(report, report.found)
    if report.further:
        yield from _further(report)
    yield ""
    if report.bounded:
        what = "such a state" if report.plan.reach else "a violation"
        yield wrapped("bounded: ", f"explored as deep as {what} could still be the shortest, and no further")
    if not (report.found or report.plan.lasting or report.plan.reach):
        yield from _not_fired(report)
    if where := report.deadlock_unjudged:
        among = f" in {named_first(where)}" if len(where) < len(report.runs) else ""
        yield wrapped("", f"deadlock not judged{among}: {NO_END}")
    if odds := max((run.result.odds for run in report.runs), default=0.0):
        told = "states were told apart by 64 bits: the odds that one was missed are below"
        yield wrapped("", f"{told} {odds:.1e}")
    if cache := report.cache:
        known, learned = cache["entries_from_cache"], cache["entries_learned"]
        yield f"tables: {known:,} entries from the cache, {learned:,} learned"
        yield from (wrapped("note: ", note) for note in cache["notes"])
    if (some := report.sampled)["questions"] or some["states"]:
        answers = f"{some['again']:,} of {some['questions']:,} answers of machines and properties"
        other = f"; {counted(some['elsewhere'], 'state')} in another process" if report.elsewhere else ""
        why = f" ({some['not_elsewhere']})" if some["not_elsewhere"] else ""
        states = counted(some["states"], "state")
        yield wrapped("looked at twice: ", f"{answers}, successors of {states}{other}{why}")
    yield wrapped("judged by: ", report.identity.words())
    if not_checked := "; ".join(report.not_checked()):
        yield wrapped("not checked: ", not_checked)


def _not_fired(report: Report) -> Iterator[str]:
    """Rules that the verdict says nothing of, for they never fired."""
    if report.not_fired:
        yield wrapped("never fired: ", named_first(report.not_fired))
    elif not report.fireable:
        yield "rules that never fire are not looked for: the system declares none"


def _further(report: Report) -> Iterator[str]:
    """Other properties that break, each with its shortest run."""
    yield ""
    yield "also violated"
    longest = max(len(one.violation.name) for one in report.further)
    for one in report.further:
        violation = one.violation
        yield wrapped(f"  {violation.name:<{longest}}  ", f"{length_of(violation)} in {one.run.job.name}")
        yield wrapped("      ", violation.meaning)
        yield f"      {one.replay}"


def verdict_line(report: Report, quiet: bool) -> str:
    """The last line. quiet: it is the only one, so it also names the command that replays a trace."""
    jobs, states = len(report.plan.jobs), sum(run.result.distinct for run in report.runs)
    part = "" if len(report.runs) == jobs else f"{len(report.runs)} of "
    bounded = f", {len(report.bounded)} of them bounded" if report.bounded else ""
    configurations = f"{part}{counted(jobs, 'configuration')}{bounded}"
    scale = f"{configurations}, {counted(states, 'state')}, engine {report.engine}"
    seconds = f"{_seconds(report)}, sources {report.identity.short}"
    verdict = coloured(report.verdict, report.verdict)
    if report.plan.reach and report.verdict != UNDECIDED:
        return _reach_line(report, f"{scale}, {seconds}", quiet)
    if report.verdict == HOLDS:
        claims = [one for one in report.claims() if one.verdict != UNJUDGED]
        witnesses = sum(one.kind == "witness" for one in claims)
        properties = counted(len(claims) - witnesses, "property", "properties")
        judged = f"{properties}, {counted(witnesses, 'witness', 'witnesses')}"
        survives = f"mutant {report.plan.mutant} survives; " if report.plan.mutant else ""
        return f"{verdict}: {survives}{scale}, {judged}, {seconds}"
    again = f"; {report.found.replay}" if report.found and quiet else ""
    return f"{verdict}: {'; '.join(report.reasons())} ({scale}, {seconds}){again}"


def _reach_line(report: Report, scale: str, quiet: bool) -> str:
    found = report.found
    if found is None:
        return f"{coloured('not reached', VIOLATED)}: {'; '.join(report.reasons())} ({scale})"
    again = f"; {found.replay}" if quiet else ""
    length = length_of(found.violation)
    return f"{coloured('reached', HOLDS)}: {length} in {found.run.job.name} ({scale}){again}"


def _seconds(report: Report) -> str:
    """How long it took; several processes take less than the sum of the table's column."""
    seconds = report.seconds if report.seconds_exploring is None else report.seconds_exploring
    return f"in {seconds:.1f} s" + (f" with {report.workers} workers" if report.workers > 1 else "")


def _differences(report: Report) -> Iterator[str]:
    """Pinned counts that came out otherwise."""
    told = [
        (run.job.name, differing(run.job.expected or {}, run.result)) for run in report.runs if run.differing
    ]
    if report.noticed:
        told.append((report.noticed.configuration, dict(report.noticed.counts)))
    for where, counts in told:
        for name, (got, pinned) in counts.items():
            words = f"{where}: {name} is {number(got)}, pinned is {number(pinned)}"
            yield wrapped("", f"{coloured('DIFFERS', VIOLATED)} {words}")


def _features(report: Report) -> Iterator[str]:
    """What each feature does to the number of states, against the configuration that it was added to."""
    counts = {job.name: (job.expected or {}).get("distinct") for job in report.plan.jobs}
    counts.update({run.job.name: run.result.distinct for run in report.runs if run.complete})
    rows = []
    for run in report.runs:
        base = run.job.compared_with or ""
        before = counts.get(base)
        if before and run.complete:
            growth = _growth(before, run.result.distinct)
            rows.append(
                (run.job.feature, growth, f"{base} {before:,}", f"{run.job.name} {counts[run.job.name]:,}")
            )
    if not rows:
        return
    yield ""
    yield "what each feature adds, in distinct states"
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for feature, growth, old, new in rows:
        head = f"  {feature:<{widths[0]}}  {growth:>{widths[1]}}  "
        yield wrapped(head, f"{old:>{widths[2]}} -> {new}")


def _growth(before: int, after: int) -> str:
    """A difference where little changes, else a factor."""
    if abs(after - before) * 10 <= before:
        return f"{after - before:+,}"
    return f"x{after / before:.2f}"


def _properties(report: Report) -> Iterator[str]:
    """What was judged, and what should have been; what need not be is under what was not checked."""
    claims = [one for one in report.claims() if one.verdict != UNJUDGED]
    longest = max((len(one.name) for one in claims), default=0)
    sections = (
        ("properties", [one for one in claims if one.kind != "witness"]),
        ("witnesses", [one for one in claims if one.kind == "witness" and one.verdict != KNOWN]),
        ("known weaknesses of this profile, found anew", [one for one in claims if one.verdict == KNOWN]),
    )
    for title, members in sections:
        if not members:
            continue
        yield ""
        yield title
        for one in members:
            yield _claim_line(one, longest)
            if one.verdict == KNOWN and (source := report.plan.sources.get(one.name)):
                yield wrapped("      source: ", source)
    if any(one.verdict == KNOWN for one in claims):
        yield "  `rota check --property NAME` shows the run"


def _claim_line(one: Claim, longest: int) -> str:
    where = f"{one.kind:<8} in {counted(one.runs, 'configuration')}"
    if one.kind == "witness":
        steps = f"{'at most ' if one.at_most else ''}{one.depth} steps"
        where = f"first after {steps} in {one.where}" if one.where else "never reached"
    if one.vacuous:
        where += ", its premise was never true" if one.judged else ", never judged"
    line = wrapped(f"  {one.name:<{longest}}  {coloured(f'{one.verdict:<9}', one.verdict)} ", where)
    return line if one.verdict == HOLDS else f"{line}\n{wrapped('      ', one.meaning)}"


def found_lines(report: Report, found: Found) -> Iterator[str]:
    """A violation: its trace, the rules that took part with their sources, and how to see it again."""
    yield trace_text(found.trace, width()).rstrip("\n")
    slugs = dict.fromkeys(slug for step in found.trace.steps for slug in step.rules)
    slugs.update(dict.fromkeys(found.trace.guards))
    named = [found.run.job.prefix + slug for slug in slugs]
    rules = {name: report.plan.rules[name] for name in named if name in report.plan.rules}
    if rules:
        yield ""
        yield f"rules that took part{', and those that the property guards' if found.trace.guards else ''}"
        longest = max(map(len, rules))
        for name, rule in rules.items():
            mark = (
                f" (replaced by the mutant {report.plan.mutant})" if rule.slug == report.plan.replaced else ""
            )
            yield wrapped(f"     {name:<{longest}}  ", rule.source + mark)
    yield ""
    yield f"trace:  {found.path} (as text beside it: .txt)"
    yield f"replay: {found.replay}"
    yield f"page:   {found.page}"


def _stats(report: Report) -> Iterator[str]:
    """What engines count of their own work: a line per table of numbers, and one for all single numbers."""
    yield ""
    yield "engine statistics"
    for run in report.runs:
        tables = {key: value for key, value in run.result.stats.items() if isinstance(value, Mapping)}
        single = {key: value for key, value in run.result.stats.items() if key not in tables}
        yield f"  {run.job.name}"
        for title, table in (*tables.items(), ("in all", single)):
            if table:
                words = ", ".join(f"{name} {number(value)}" for name, value in table.items())
                yield wrapped(f"    {title:<9} ", words)


def _judged(report: Report) -> Iterator[str]:
    """How often each property was judged, in distinct combinations of what its views see; the least first."""
    told = [(one.given, one.judged, one.name) for one in report.claims() if one.given is not None]
    if not told:
        return
    width = max(len(name) for *_, name in told)
    yield ""
    yield f"{'how often judged':<{width + 2}}  {'judged':>11} {'premise true':>12}"
    for given, judged, name in sorted(told):
        yield f"  {name:<{width}}  {judged:>11,} {given:>12,}"
