"""What `rota check` was asked to do and what came of it, for whoever prints or writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rota.explore import PropertyVerdict, Result, Verdict, Violation
from rota.explore.engines import LASSO
from rota.explore.result import DEADLOCK
from rota.kernel import Kind, Rule, System
from rota.report.counts import Noticed, differing
from rota.report.format import FEW, named_first
from rota.report.identity import UNIDENTIFIED, Identity
from rota.trace import Trace

HOLDS, VIOLATED, UNDECIDED, KNOWN, UNJUDGED = "holds", "violated", "undecided", "known", "unjudged"
"""Verdicts. known: a weakness that brokers of the profile have, found anew; unjudged: a property that says
nothing of what was explored, for its premise was never True there."""

_WORST = (VIOLATED, UNDECIDED, KNOWN, HOLDS, UNJUDGED)

NO_END = "no state is declared terminal"
"""Why deadlock is not judged."""


@dataclass(frozen=True)
class Job:
    """One exploration.

    name: of the configuration, in the scope called `scope` (None: a foreign system); build: makes the
    system; expected: the pinned counts, None where none are judged; size: about how many distinct states
    it has, None if nobody knows; sound: where a mutant is planted, the pinned counts of the sound system, and
    build_countable the mutant's, which clears dead data as that one does; prefix: what is before the slugs of
    its rules in the plan, for the consumer protocol has some that the classic one has too.
    """

    name: str
    build: Callable[[], System]
    scope: str | None = None
    feature: str = ""
    compared_with: str | None = None
    expected: Mapping[str, Any] | None = None
    size: int | None = None
    sound: Mapping[str, Any] | None = None
    build_countable: Callable[[], System] | None = None
    prefix: str = ""

    @property
    def pinned(self) -> int | None:
        """The distinct states that it must have, None where they are not judged."""
        return (self.expected or {}).get("distinct")


@dataclass(frozen=True)
class Plan:
    """What is checked.

    system: the name of what is explored; scope, profile and mutant: None where there is none; jobs, in the
    order of running; known: names of properties that are known weaknesses; rules: those whose coverage is
    reported; omitted: what this profile's model leaves out; origin: `MODULE:NAME` of a foreign system;
    sources: of the known weaknesses, by name; only: the property that is judged, None for all; reach: the
    expression that describes the state which is looked for, None where properties are judged; suite: every
    property must be judged, for this is a whole scope or a system by itself, and not what somebody chose of
    one; unclaimed: the properties that need not be, by name why not.
    """

    design: str
    system: str
    engine: str
    jobs: tuple[Job, ...]
    scope: str | None = None
    profile: str | None = None
    mutant: str | None = None
    replaced: str | None = None
    known: frozenset[str] = frozenset()
    rules: Mapping[str, Rule] = field(default_factory=dict)
    omitted: tuple[str, ...] = ()
    origin: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    only: str | None = None
    reach: str | None = None
    suite: bool = True
    unclaimed: Mapping[str, str] = field(default_factory=dict)

    @property
    def lasting(self) -> bool:
        """Whether endless runs are judged."""
        return self.engine == LASSO

    def must_judge(self, name: str) -> bool:
        """Whether it is a failure if a property is judged nowhere."""
        return name == self.only or (self.suite and name not in self.unclaimed)


@dataclass(frozen=True)
class Explored:
    """A job and its result."""

    job: Job
    result: Result

    @property
    def complete(self) -> bool:
        """Whether every state was visited."""
        return self.result.violation is None and self.result.verdict is not Verdict.UNDECIDED

    @property
    def fired(self) -> frozenset[str]:
        """The rules that fired, as the plan calls them."""
        return frozenset(self.job.prefix + slug for slug in self.result.rules_fired)

    def verdict_for(self, plan: Plan) -> str:
        """Of this run: `holds` where what was looked for was reached, or where nothing is wrong."""
        if plan.reach and self.complete:
            return VIOLATED
        if plan.reach:
            return HOLDS if self.result.violation else UNDECIDED
        return VIOLATED if self.differing else self.result.verdict.value

    @property
    def differing(self) -> tuple[str, ...] | None:
        """The pinned counts that came out otherwise; None where none are judged."""
        if not self.job.expected or not self.complete:
            return None
        return tuple(differing(self.job.expected, self.result))

    @property
    def at_most(self) -> bool:
        """Whether its depths are upper bounds: states were visited several levels at a time."""
        return bool(self.result.stats.get("local_levels", 1) > 1)

    @property
    def rate(self) -> float:
        """Distinct states per second."""
        return self.result.distinct / max(self.result.seconds, 1e-6)


@dataclass(frozen=True)
class Found:
    """A violation, its trace and that one's file; the commands that replay it and make a page of it."""

    run: Explored
    violation: Violation
    trace: Trace
    path: str
    replay: str
    page: str


@dataclass(frozen=True)
class Claim:
    """A property over all runs that have it.

    depth: the least of a witness, in the run called `where`; at_most: it may be less. judged, given: as in
    `PropertyVerdict`, summed over the runs that counted; None if none did. vacuous: it holds in every run
    because it says nothing of any; its verdict is then `undecided`, or `unjudged` where that is no failure.
    """

    name: str
    kind: str
    meaning: str
    verdict: str
    runs: int
    depth: int | None = None
    where: str | None = None
    at_most: bool = False
    judged: int | None = None
    given: int | None = None
    vacuous: bool = False


@dataclass(frozen=True)
class Report:
    """What came of a plan.

    seconds_total: from the start of the process; workers: processes or threads that explored;
    seconds_exploring: the time that passed meanwhile, where it is not the sum over the runs; found: the
    shortest violation; further: of the other properties that break the shortest, where they were looked for;
    identity: what the verdict rests on; declared: the rules that the systems say they have;
    elsewhere: how many states another process sees alike, and why no more; None where none was asked;
    noticed: a mutant that breaks no property, by its counts.
    """

    plan: Plan
    runs: tuple[Explored, ...]
    found: Found | None
    seconds_total: float
    workers: int = 1
    seconds_exploring: float | None = None
    further: tuple[Found, ...] = ()
    identity: Identity = UNIDENTIFIED
    declared: tuple[str, ...] = ()
    elsewhere: tuple[int, str] | None = None
    noticed: Noticed | None = None

    @property
    def noticed_by(self) -> str | None:
        """What notices the mutant: `property` or `counts`; None where nothing does or none is planted."""
        if self.plan.mutant is None:
            return None
        if self.found or any(run.result.verdict is Verdict.VIOLATED for run in self.runs):
            return "property"
        return "counts" if self.noticed else None

    @property
    def bounded(self) -> tuple[Explored, ...]:
        """Runs that went up to the depth where a shorter violation could be, and no further."""
        return tuple(run for run in self.runs if run.result.bounded)

    @property
    def verdict(self) -> str:
        """violated, undecided or holds; a run that is missing leaves the whole undecided.

        Of a state that is looked for: holds where it is reached, violated where there is none.
        """
        if self.plan.reach:
            return self._reached
        if self.found or any(run.result.verdict is Verdict.VIOLATED or run.differing for run in self.runs):
            return VIOLATED
        if self.noticed:
            return VIOLATED
        return UNDECIDED if not self.complete or any(self._unclear) else HOLDS

    @property
    def complete(self) -> bool:
        """Whether every run visited every state, and none is missing."""
        return all(run.complete for run in self.runs) and len(self.runs) == len(self.plan.jobs)

    @property
    def _unclear(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The properties that had to be judged and never were, and those whose premise was never True."""
        vacuous = [one for one in self.claims() if one.vacuous and one.verdict == UNDECIDED]
        return (
            tuple(one.name for one in vacuous if not one.judged),
            tuple(one.name for one in vacuous if one.judged),
        )

    @property
    def _reached(self) -> str:
        if self.found:
            return HOLDS
        return VIOLATED if self.complete else UNDECIDED

    @property
    def engine(self) -> str:
        """The engines that really ran."""
        return "+".join(dict.fromkeys(run.result.engine for run in self.runs)) or self.plan.engine

    @property
    def seconds(self) -> float:
        """First state to verdict, summed over the runs."""
        return sum(run.result.seconds for run in self.runs)

    @property
    def cache(self) -> dict[str, Any] | None:
        """Entries of tables that were learned, those from the cache, and notes; None if none are kept."""
        told = [run.result.stats["cache"] for run in self.runs if "cache" in run.result.stats]
        if not told:
            return None
        counts = {key: sum(one[key] for one in told) for key in ("entries_learned", "entries_from_cache")}
        return {**counts, "notes": list(dict.fromkeys(one["notes"] for one in told if "notes" in one))}

    @property
    def not_fired(self) -> tuple[str, ...]:
        """Rules that fired in no run, of those that the plan and the systems name."""
        fired = {slug for run in self.runs for slug in run.fired}
        return tuple(slug for slug in self.fireable if slug not in fired)

    @property
    def fireable(self) -> tuple[str, ...]:
        """The rules that should fire somewhere. Rules that only decide are asked, not fired."""
        return (*(slug for slug, rule in self.plan.rules.items() if not rule.decides), *self.declared)

    @property
    def deadlock_unjudged(self) -> tuple[str, ...]:
        """Configurations in which no state is declared terminal, so that deadlock means nothing."""
        if self.plan.lasting or self.plan.only or self.plan.reach:
            return ()
        return tuple(
            run.job.name for run in self.runs if all(one.name != DEADLOCK for one in run.result.properties)
        )

    @property
    def sampled(self) -> dict[str, Any]:
        """How much was looked at twice, in all runs; see `rota.explore.purity.Sampled`."""
        told = [run.result.stats["sampled"] for run in self.runs if "sampled" in run.result.stats]
        counts = {key: sum(one[key] for one in told) for key in ("states", "questions", "again")}
        states, why = self.elsewhere or (0, "")
        return {**counts, "elsewhere": states, "not_elsewhere": why or None}

    def claims(self) -> list[Claim]:
        """Every property, in order of first appearance."""
        seen: dict[str, list[tuple[Explored, PropertyVerdict]]] = {}
        for run in self.runs:
            for one in run.result.properties:
                seen.setdefault(one.name, []).append((run, one))
        return [_claim(self.plan, verdicts) for verdicts in seen.values()]

    def not_checked(self) -> Iterator[str]:
        """What nothing is said of: what the model leaves out, and properties that were not judged."""
        yield from self.plan.omitted
        because: dict[str, list[str]] = {}
        for one in self.claims():
            if one.verdict == UNJUDGED:
                why = self.plan.unclaimed.get(one.name, "what is explored gives them nothing to judge")
                because.setdefault(why, []).append(one.name)
        yield from (f"{', '.join(names)} ({why})" for why, names in because.items())

    def reasons(self) -> Iterator[str]:
        """Why the verdict is not `holds`, most important first."""
        every = (self.found, *self.further) if self.found else ()
        if len(every) > FEW:
            yield f"{len(every)} properties break"
        for one in every[: 1 if len(every) > FEW else FEW]:
            yield f"{one.violation.name} {length_of(one.violation)} in {one.run.job.name}"
        if self.plan.reach:
            yield from self._out_of_reach()
        for run in () if self.found or self.plan.reach else self.runs:
            yield from _vacuous(self.plan, run)
        if differing := [run.job.name for run in self.runs if run.differing]:
            yield f"the counts of {named_first(differing)} differ from the pinned ones"
        if self.noticed:
            where = f"the counts of {self.noticed.configuration} differ from the pinned ones"
            yield f"mutant {self.plan.mutant} breaks no property, but {where}"
        for run in self.runs:
            if run.result.verdict is Verdict.UNDECIDED and not run.result.bounded:
                yield f"{run.job.name} was given up after {run.result.distinct:,} states"
        if self.complete and self.verdict == UNDECIDED:
            words = ("never judged", "the premise was never true")
            yield from (
                f"{why}: {named_first(some)}" for why, some in zip(words, self._unclear, strict=True) if some
            )
        missing = len(self.plan.jobs) - len(self.runs)
        if missing and not self.found:
            yield f"{missing} of {len(self.plan.jobs)} configurations did not run"

    def _out_of_reach(self) -> Iterator[str]:
        """Why no run ends in the state that is looked for; fields that no state has come first."""
        if self.verdict == VIOLATED:
            absent = [one.name for one in self.claims() if one.kind == "witness" and one.where is None]
            if absent:
                yield f"no state has {named_first(absent)}"
            yield f"no state is one in which {self.plan.reach}"


def length_of(violation: Violation) -> str:
    """How long the run is that shows a violation."""
    steps = f"{violation.steps} {'step' if violation.steps == 1 else 'steps'}"
    return f"after {steps}" if violation.cycle is None else f"by a run of {steps} that never ends"


def verdict_of(plan: Plan, one: PropertyVerdict) -> str:
    """A property's verdict in one run; a known weakness that was found is `known`."""
    if one.verdict is not Verdict.HOLDS:
        return str(one.verdict.value)
    if one.name in plan.known and one.kind is Kind.WITNESS:
        return KNOWN
    return UNJUDGED if one.given == 0 else HOLDS


def _claim(plan: Plan, verdicts: Sequence[tuple[Explored, PropertyVerdict]]) -> Claim:
    one = min((seen for _, seen in verdicts), key=lambda seen: _WORST.index(verdict_of(plan, seen)))
    depths = [(seen.depth, run.job.name) for run, seen in verdicts if seen.depth is not None]
    depth, where = min(depths, default=(None, None), key=lambda pair: pair[0])
    verdict = verdict_of(plan, one)
    vacuous = verdict == UNJUDGED
    return Claim(
        name=one.name,
        kind=one.kind.value if one.kind else one.name,
        meaning=one.meaning,
        verdict=UNDECIDED if vacuous and plan.must_judge(one.name) else verdict,
        runs=len(verdicts),
        depth=depth,
        where=where,
        at_most=any(run.at_most for run, seen in verdicts if seen.depth is not None),
        judged=_total(seen.judged for _, seen in verdicts),
        given=_total(seen.given for _, seen in verdicts),
        vacuous=vacuous,
    )


def _total(counts: Iterable[int | None]) -> int | None:
    """The sum over the runs that counted."""
    told = [count for count in counts if count is not None]
    return sum(told) if told else None


def _vacuous(plan: Plan, run: Explored) -> Iterator[str]:
    """What should have been reached and was not."""
    for one in run.result.properties:
        if one.kind is Kind.WITNESS and one.verdict is Verdict.VIOLATED:
            if one.name in plan.known:
                yield f"{one.name} holds in {run.job.name}, where it is known not to"
            else:
                yield f"{one.name} was never reached in {run.job.name}"
