"""The report on the terminal: a line for each case, then the causes, the simplest case of each in full.

What was not judged comes before the verdict, which is last.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from rota.conformance.dialogues.transcript import render
from rota.conformance.profiles import usual_profile
from rota.conformance.results import CaseResult, Verdict, passing_though_known
from rota.conformance.unserved import NOT_SERVED
from rota.report.causes import BROKEN, Cause, by_id
from rota.report.events import (
    CONFORMS,
    INTERRUPTED,
    UNDECIDED,
    VIOLATED,
    CaseFinished,
    Collected,
    Event,
    RunFinished,
    RunStarted,
    counts,
)
from rota.report.format import coloured, counted, emphasised, shown_length, width, wrapped
from rota.report.reached import about_nothing, why_unjudged

_JUDGED = (Verdict.FAIL, Verdict.DIED, Verdict.LENIENT, Verdict.NOTED)
IN_FULL = (*_JUDGED, Verdict.UNDECIDED, Verdict.SKIPPED)
"""Verdicts whose cases are told with everything that was seen."""

ENDS = {CONFORMS: "holds", VIOLATED: "violated", UNDECIDED: "undecided", INTERRUPTED: "undecided"}
"""Verdict on a run -> the verdict whose colour it has."""

COLOURED = {
    **dict.fromkeys(Verdict, "undecided"),
    Verdict.PASS: "holds",
    Verdict.FAIL: "violated",
    Verdict.DIED: "violated",
    Verdict.KNOWN: "known",
}
"""Verdict on a case -> the verdict whose colour it has."""

_HEAD = re.compile(" *[0-9]+ ms  [^ ]* *[→←…×·↻] ")
"""What a line of a dialogue begins with: the time, who, and the kind of line."""

_GLUE = "\0"
"""Stands for a space at which no line is broken; nothing printable has it."""


class TextReport(Collected):
    """Prints as the run goes on; `quiet` leaves only the last line. `say` takes one line."""

    def __init__(self, say: Callable[[str], None], quiet: bool = False) -> None:
        super().__init__()
        self._say = say
        self._quiet = quiet

    def on(self, event: Event) -> None:
        if not self._quiet and isinstance(event, RunStarted):
            cases = counted(event.cases, "case")
            head = f"target {event.target}, profile {event.profile}, {cases}, seed {event.seed}"
            self._say(wrapped("rota conform: ", head))
            self._say(emphasised(f"{'verdict':<11} {'case':<{_ids()}} {'time':>7}"))
        if not self._quiet and isinstance(event, CaseFinished):
            self._say(_one_line(event.result))
        super().on(event)

    def finish(self, started: RunStarted, finished: RunFinished) -> None:
        if not self._quiet:
            for line in self._details(started, finished):
                self._say(line)
        verdict, colon, rest = verdict_line(started, finished, self.results).partition(":")
        self._say(f"{coloured(verdict, ENDS[finished.verdict])}{colon}{rest}")

    def _details(self, started: RunStarted, finished: RunFinished) -> Iterator[str]:
        yield ""
        yield f"questions reached: {finished.reached.words}"
        results = by_id(self.results)
        for cause in finished.causes:
            yield ""
            yield from cause_lines(cause, results)
            if results[cause.first].verdict in IN_FULL:
                yield from in_full(results[cause.first], started)
        for result in undecided_alone(finished):
            yield ""
            yield from in_full(result, started)
        yield ""
        if finished.causes:
            yield wrapped("causes: ", causes_in_a_line(finished))
        yield from known_lines(self.results)
        yield from _failed_at_first(self.results)
        yield from _not_judged(finished)
        if broken := broken_rules(self.results):
            yield wrapped("broken rules: ", ", ".join(broken))
        verdicts = counts(self.results).items()
        yield wrapped("", ", ".join(f"{number} {verdict}" for verdict, number in verdicts))
        yield wrapped("judged by: ", started.identity.words())
        for path in finished.reports:
            yield f"report: {path}"


def cause_lines(cause: Cause, results: Mapping[str, CaseResult]) -> Iterator[str]:
    """A cause: how many cases it concerns, the rule, what was seen, and what follows from it.

    results: by the ids of their cases; of a family it is said how many of its cases are concerned.
    """
    yield emphasised(cause.headline)
    rule = "" if cause.rule in cause.headline else f"{cause.rule}: "
    yield wrapped("  rule         ", f"{rule}{cause.sentence}")
    yield wrapped("  seen         ", cause.seen)
    yield f"  look at      {cause.first}"
    if cause.also_breaks:
        yield wrapped("  also breaks  ", ", ".join(cause.also_breaks))
    if len(cause.cases) > 1:
        numbers = Counter(results[id].case.family or id for id in cause.cases)
        told = (f"{name} ({number} cases)" if number > 1 else name for name, number in numbers.items())
        yield wrapped("  cases        ", ", ".join(told))


def causes_in_a_line(finished: RunFinished) -> str:
    """How many causes there are, of how many deviations."""
    deviations = sum(one.deviation in BROKEN for one in finished.results)
    of = f"{counted(len(finished.causes), 'cause')} of {counted(deviations, 'deviation')}"
    waiting = sum(cause.waiting for cause in finished.causes)
    kept = f", which {'keep' if len(finished.causes) > 1 else 'keeps'} {counted(waiting, 'case')} from being"
    return f"{of}{f'{kept} judged' if waiting else ''}"


def undecided_alone(finished: RunFinished) -> Iterator[CaseResult]:
    """Of what is undecided and no cause explains, a case for each reason."""
    explained = {case for cause in finished.causes for case in cause.cases}
    told: set[str] = set()
    for result in finished.results:
        alone = result.verdict is Verdict.UNDECIDED and result.case.id not in explained
        if alone and (why := why_unjudged(result)) not in told:
            told.add(why)
            yield result


def known_lines(results: Sequence[CaseResult], columns: int | None = None) -> Iterator[str]:
    """The known failures with their reasons, and those of them that fail no more, or in another way.

    columns: of a line, those of the terminal if they are not given.
    """
    for result in results:
        if result.known is None:
            continue
        if result.verdict is Verdict.KNOWN:
            yield wrapped("known: ", f"{result.case.id}: {result.known.words}", columns)
        elif result.verdict in (Verdict.FAIL, Verdict.DIED):
            seen = result.known.verdict or "a deviation"
            yield wrapped("not known so: ", f"{result.case.id}: {result.verdict}, known is {seen}", columns)
    if passing := passing_though_known(results):
        words = f"{', '.join(passing)}; take it out of the list"
        yield wrapped("passes, though known to fail: ", words, columns)


def in_full(result: CaseResult, started: RunStarted, columns: int | None = None) -> Iterator[str]:
    """Everything about one case: what was required, what came, the dialogue, how to see it again.

    columns: of a line, those of the terminal if they are not given.
    """
    case = result.case
    yield f"{result.verdict.value.upper()} {case.id} ({case.level.value})"
    for name, text in (
        ("requirement", case.requirement),
        ("expected", result.expected),
        ("actual", result.actual),
        ("because", result.because),
        ("rule", case.rule),
        ("source", case.source),
        ("Kafka 3.x", case.older),
    ):
        if not text:
            continue
        yield wrapped(f"  {name:<12} ", text, columns)
    yield "  dialogue"
    for line in render(result.lines, result.names):
        yield _dialogue_line(line, columns)
    yield f"  {'again':<12} {again(started, case.id)}"


def again(started: RunStarted, case_id: str) -> str:
    """The command that plays a case again."""
    usual = started.profile == usual_profile(started.target)
    profile = "" if usual else f" --profile {started.profile}"
    given = "".join(f" {word}" for word in map(shlex.quote, started.given))
    return f"rota conform --target {shlex.quote(started.target)}{profile}{given} {case_id}"


def verdict_line(started: RunStarted, finished: RunFinished, results: Sequence[CaseResult]) -> str:
    """The verdict in one line, with the broken rules by part where there are any."""
    broken = broken_rules(results)
    parts = list(dict.fromkeys(rule.split(".")[0] for rule in broken))
    rules = "1 rule" if len(broken) == 1 else f"{len(broken)} rules"
    where = ", ".join(parts) if len(parts) <= 3 else f"{len(parts)} parts"
    known = sum(result.verdict is Verdict.KNOWN for result in results)
    passing = len(passing_though_known(results))
    verdict, notes = finished.verdict, [f"{rules} broken in {where}"] if broken else []
    if verdict == CONFORMS and known:
        verdict = f"{CONFORMS} but for {known} known"
    elif known:
        notes.append(f"{known} known")
    if passing:
        notes.append(f"{counted(passing, 'known failure')} {'passes' if passing == 1 else 'pass'}")
    why = f": {', '.join(notes)}" if notes else ""
    of = f" of {started.cases}" if len(results) < started.cases else ""
    seconds = f"{len(results)}{of} {'case' if started.cases == 1 else 'cases'} in {finished.seconds:.1f} s"
    seconds += f", sources {started.identity.short}"
    return f"{verdict}: {started.target} against profile {started.profile}{why} ({seconds})"


def broken_rules(results: Sequence[CaseResult]) -> list[str]:
    """The slugs of the rules that do not hold, in the order of the cases."""
    return list(dict.fromkeys(r.case.rule for r in results if r.verdict in (Verdict.FAIL, Verdict.DIED)))


def _dialogue_line(line: str, columns: int | None) -> str:
    """A line of a dialogue; what is too long goes on below its text, broken between fields if it has any."""
    head = _HEAD.match(line)
    if head is None:
        return f"  {line}"
    fields = line[head.end() :].split("  ")
    glue = _GLUE if len(fields) > 1 else " "
    text = "  ".join(field.replace(" ", glue) for field in fields)
    return wrapped(f"  {head[0]}", text, columns).replace(_GLUE, " ")


def _one_line(result: CaseResult) -> str:
    """The case and its verdict, and why: cut to the width where everything is said later, else below."""
    verdict = coloured(f"{result.verdict.value:<11}", COLOURED[result.verdict])
    line = f"{verdict} {result.case.id:<{_ids()}} {result.seconds:5.1f} s"
    if result.verdict is Verdict.PASS and not result.because:
        return line
    why = result.because or result.actual
    if result.verdict is Verdict.KNOWN and result.known is not None:
        why = result.known.words
    left = width() - shown_length(line) - 2
    if len(why) <= left:
        return f"{line}  {why}"
    if result.verdict in IN_FULL and left > 1:
        return f"{line}  {why[: left - 1].rstrip()}…"
    return f"{line}\n{wrapped(' ' * 12, why)}"


def _ids() -> int:
    """Columns of the ids of cases."""
    return min(48, width() - 21)


def _failed_at_first(results: Sequence[CaseResult]) -> Iterator[str]:
    """What passed with few beside it and had failed with many."""
    if found := [result.case.id for result in results if result.verdict is Verdict.PASS and result.because]:
        yield wrapped("failed at first: ", f"{', '.join(found)}; passed with few others at a time")


def _not_judged(finished: RunFinished) -> Iterator[str]:
    for why, ids in finished.reached.missed.items():
        many = why == INTERRUPTED or why.startswith(NOT_SERVED)
        told = counted(len(ids), "case") if many else ", ".join(ids)
        yield wrapped("not judged: ", f"{why}: {told}")
    yield from (wrapped("not spoken: ", line) for line in finished.unspoken())
    yield wrapped("not checked: ", about_nothing())
