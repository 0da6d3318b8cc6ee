"""Cases on the report page: a line each, and behind it the dialogue as a chart, as text and byte by byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rota.conformance.dialogues.transcript import render
from rota.conformance.results import CaseResult, Verdict
from rota.pages.fragments import picture
from rota.pages.report_page_tables import anchor, brief, sign
from rota.report.causes import BROKEN, Cause
from rota.report.dialogue_story import told
from rota.report.events import WholeRun
from rota.report.frames import told_with_bytes
from rota.report.text import again
from rota.trace.markup import Markup, element, joined


@dataclass(frozen=True)
class Group:
    """Cases that are shown together. fold: they are behind their title; drawn: with their dialogues."""

    title: str
    verdicts: tuple[Verdict, ...]
    fold: bool = True
    drawn: bool = True


GROUPS = (
    Group("Failures", (Verdict.FAIL, Verdict.DIED), fold=False),
    Group("Undecided", (Verdict.UNDECIDED,), fold=False),
    Group("Skipped, since what they need is broken", (Verdict.SKIPPED,)),
    Group("Deviations from what should be or is merely noted", (Verdict.LENIENT, Verdict.NOTED)),
    Group("Known failures", (Verdict.KNOWN,)),
    Group("Not supported", (Verdict.UNSUPPORTED,), drawn=False),
    Group("Passed", (Verdict.PASS,), drawn=False),
)
"""In the order of the page."""

UNFOLDED = 3
"""So many failures at most are shown with everything from the beginning."""

ROOM = 2_500_000
"""Bytes that all dialogues of a page may take: as text, then byte by byte, then as charts, failures first."""

FIRST = 20
"""Of so many causes the case to look at has room in every form before any other case has."""

LARGEST = 300_000
"""Bytes that one form of one dialogue may take."""

Write = Callable[[WholeRun, CaseResult], Markup]


def dialogues(runs: Sequence[WholeRun]) -> list[Mapping[str, Markup]]:
    """For each run: id of a case -> its dialogue in every form that there is room for."""
    drawn = [
        (number, run, result)
        for group in GROUPS
        if group.drawn
        for number, run in enumerate(runs)
        for result in run.finished.results
        if result.verdict in group.verdicts and result.lines
    ]
    forms: dict[tuple[int, str], list[Markup]] = {}
    room = ROOM
    first = {
        (number, cause.first) for number, run in enumerate(runs) for cause in run.finished.causes[:FIRST]
    }
    ahead = [one for one in drawn if (one[0], one[2].case.id) in first] or drawn[:FIRST]
    told = {id(one) for one in ahead}
    later = [one for one in drawn if id(one) not in told]
    writers = (_text, _bytes, _picture)
    plan = [(write, one) for one in ahead for write in writers]
    plan += [(write, one) for write in writers for one in later]
    for write, (number, run, result) in plan:
        markup = write(run, result) if room > 0 else Markup()
        size = len(markup.encode())
        fits = 0 < size <= min(room, LARGEST)
        forms.setdefault((number, result.case.id), []).append(markup if fits else Markup())
        room -= size if fits else 0
    return [
        {case: _dialogue(*found) for (number, case), found in forms.items() if number == own}
        for own in range(len(runs))
    ]


def groups(run: WholeRun, prefix: str, shown: Mapping[str, Markup], heading: str) -> Iterator[Markup]:
    """The cases of a run, those that matter most first. shown: their dialogues; heading: h3 or h4."""
    causes = {case: cause for cause in run.finished.causes for case in cause.cases}
    for group in GROUPS:
        found = [one for one in run.finished.results if one.verdict in group.verdicts]
        if not found:
            continue
        unfolded = not group.fold and len(found) <= UNFOLDED
        cases = (
            case(run, one, prefix, shown.get(one.case.id), causes.get(one.case.id), unfolded=unfolded)
            for one in found
        )
        title = element(heading, group.title, " ", element("span", str(len(found)), class_="quiet"))
        inner = element("div", *cases, class_="cases")
        if group.fold:
            yield element("details", element("summary", title), inner, class_="group")
        else:
            yield element("section", title, inner, class_="group")


def case(
    run: WholeRun,
    result: CaseResult,
    prefix: str,
    dialogue: Markup | None,
    cause: Cause | None,
    *,
    unfolded: bool = False,
    note: str = "",
) -> Markup:
    """One case: a line, and behind it everything that is known. note: instead of what came, on the line."""
    judged, verdict = result.case, result.verdict
    line = element(
        "summary",
        sign(verdict),
        element("span", verdict.value, class_=f"word is-{verdict}"),
        " ",
        element("code", judged.id),
        element("span", judged.level.value, class_="level"),
        element("span", note or _short(result), class_="short"),
    )
    facts = [
        element("div", element("dt", name), element("dd", brief(text)))
        for name, text in _facts(result)
        if text
    ]
    if cause is not None and cause.first != judged.id:
        link = element("a", cause.first, href=f"#{anchor(cause.first, prefix)}")
        said = joined(element("code", cause.rule), "; look at ", link)
        facts.append(element("div", element("dt", "follows from"), element("dd", said)))
    return element(
        "details",
        line,
        element("dl", *facts, class_="facts"),
        dialogue,
        _again(again(run.started, judged.id)),
        class_="case",
        id=anchor(judged.id, prefix),
        data_part=judged.part,
        data_verdict=verdict.value,
        data_target=prefix,
        open=unfolded,
    )


def _short(result: CaseResult) -> str:
    """What a line says of a case that did not simply pass."""
    if result.unexpected_pass:
        return "passes, though known to fail"
    if result.verdict is Verdict.KNOWN and result.known is not None:
        return result.known.words
    return brief(result.because or result.actual)


def _facts(result: CaseResult) -> Iterator[tuple[str, str]]:
    judged = result.case
    yield "requirement", judged.requirement
    yield "expected", result.expected
    yield "actual", result.actual
    yield "because", result.because
    yield "known", result.known.words if result.known is not None else ""
    yield "rule", judged.rule
    yield "source", judged.source
    yield "Kafka 3.x", judged.older
    yield "versions", ", ".join(f"{api} v{version}" for api, version in result.versions.items())
    yield "took", f"{result.seconds:.1f} s"


def _picture(run: WholeRun, result: CaseResult) -> Markup:
    """The dialogue as a sequence chart."""
    return picture(told(result, run.started.target), f"Dialogue of {result.case.id}")


def _text(_: WholeRun, result: CaseResult) -> Markup:
    """The dialogue as text."""
    return _written("\n".join(render(result.lines, result.names)), f"Dialogue of {result.case.id} as text")


def _bytes(_: WholeRun, result: CaseResult) -> Markup:
    """The dialogue with every frame of it field by field and byte by byte, of what deviates."""
    if result.deviation not in BROKEN or not any(line.data for line in result.lines):
        return Markup()
    return _written("\n".join(told_with_bytes(result)), f"Dialogue of {result.case.id} with its bytes")


def _written(text: str, label: str) -> Markup:
    return element("pre", text, tabindex="0", role="region", aria_label=label)


def _dialogue(text: Markup, frames: Markup, picture: Markup) -> Markup:
    """All forms: what there is of them in the order chart, text, bytes; the first one is not folded."""
    named = [("As text", text), ("Fields and bytes", frames)]
    forms = [(name, form) for name, form in named if form]
    first = picture or (forms.pop(0)[1] if forms else Markup())
    more = (element("details", element("summary", name), form, class_="as-text") for name, form in forms)
    return joined(first, *more)


def _again(command: str) -> Markup:
    return element(
        "p",
        element("span", "Again ", class_="quiet"),
        element("code", command),
        " ",
        element("button", "Copy", type="button", hidden=True, data_copies=command),
        class_="again",
    )
