"""The page of a conformance run: the verdict, what was not checked, parts, every case with its dialogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rota.conformance.dialogues.registry import PARTS
from rota.conformance.dialogues.transcript import render
from rota.conformance.results import CaseResult, Verdict
from rota.pages.document import document, part
from rota.pages.fragments import SWITCH
from rota.report.dialogue_story import told
from rota.report.events import CONFORMS, VIOLATED, RunFinished, RunStarted, counts
from rota.report.format import counted
from rota.report.text import about_nothing, again, broken_rules, not_checked, unspoken, verdict_line
from rota.trace import chart as geometry
from rota.trace import svg
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
    Group("Deviations from what should be or is merely noted", (Verdict.LENIENT, Verdict.NOTED)),
    Group("Known failures", (Verdict.KNOWN,)),
    Group("Not supported", (Verdict.UNSUPPORTED,), drawn=False),
    Group("Passed", (Verdict.PASS,), drawn=False),
)
"""In the order of the page."""

SIGNS = {
    Verdict.FAIL: "✗",
    Verdict.DIED: "†",
    Verdict.UNDECIDED: "?",
    Verdict.LENIENT: "≈",
    Verdict.NOTED: "·",
    Verdict.KNOWN: "∗",
    Verdict.UNSUPPORTED: "–",
    Verdict.PASS: "✓",
}
"""What stands beside the colour of a verdict."""

BAD = (Verdict.FAIL, Verdict.DIED)
OPEN = (*BAD, Verdict.UNDECIDED)
"""Verdicts that keep a part from conforming."""

UNFOLDED = 3
"""So many failures at most are shown with everything from the beginning."""

ROOM = 2_000_000
"""Letters that all dialogues together may take: as text, and what is left of it as charts, failures first."""

LONGEST = 4_000
"""Letters of what a target said that are shown outside of a dialogue."""


def page(started: RunStarted, finished: RunFinished) -> str:
    """A run as one file of HTML."""
    results = finished.results
    main = element(
        "main",
        _numbers(results),
        _matrix({started.target: results}),
        _not_checked(finished),
        _filters(results),
        joined(_groups(started, results)),
        class_="report",
    )
    said = element("p", class_="unseen said", role="status", aria_live="polite")
    skip = element("a", "Skip to the cases", href="#cases", class_="skip")
    title = f"{started.target} against profile {started.profile}"
    body = joined(skip, _head(started, finished), main, said)
    return document(
        f"{title}: {finished.verdict}", body, styles=[part("report.css")], scripts=[part("report.js")]
    )


def _head(started: RunStarted, finished: RunFinished) -> Markup:
    """The target, the verdict on it, and what that rests on."""
    light = {CONFORMS: "holds", VIOLATED: "violated"}.get(finished.verdict, "silent")
    sign = {"holds": "✓", "violated": "✗"}.get(light, "?")
    facts = {
        "seed": str(started.seed),
        "broken rules": ", ".join(broken_rules(finished.results)),
        "judged by": started.identity.words(),
    }
    shown = (element("div", element("dt", name), element("dd", text)) for name, text in facts.items() if text)
    return element(
        "header",
        element("div", element("span", "rota", class_="brand"), SWITCH, class_="bar"),
        element(
            "p", element("span", sign, aria_hidden="true"), " ", finished.verdict, class_=f"verdict {light}"
        ),
        element("h1", started.target),
        element("p", verdict_line(started, finished, finished.results), class_="lead"),
        element("dl", *shown, class_="facts"),
        class_="top",
    )


def _sign(verdict: Verdict) -> Markup:
    return element("span", SIGNS[verdict], class_=f"sign is-{verdict}", aria_hidden="true")


def _numbers(results: Sequence[CaseResult]) -> Markup:
    """How many cases have each verdict."""
    found = counts(results)
    each = (
        element("li", _sign(one), " ", element("b", str(found[one])), f" {one}")
        for one in SIGNS
        if one in found
    )
    return element("ul", *each, class_="numbers", aria_label="Cases by verdict")


def _matrix(targets: Mapping[str, Sequence[CaseResult]]) -> Markup:
    """Targets × parts: how many cases of each part passed, and the worst verdict among them."""
    played = {result.case.part for results in targets.values() for result in results}
    parts = [part for part in PARTS if part in played]
    head = (element("th", part, scope="col") for part in parts)
    rows = (
        element(
            "tr",
            element("th", name, scope="row"),
            *(_cell([result for result in results if result.case.part == part], part) for part in parts),
        )
        for name, results in targets.items()
    )
    table = element(
        "table",
        element("caption", "Cases that passed, of those that were played"),
        element("thead", element("tr", element("th", "target", scope="col"), *head)),
        element("tbody", *rows),
    )
    return element(
        "section",
        element("h2", "Parts of the protocol", id="parts"),
        element("div", table, class_="matrix", tabindex="0", role="region", aria_labelledby="parts"),
    )


def _cell(results: Sequence[CaseResult], part: str) -> Markup:
    """One target and one part."""
    if not results:
        return element("td", "–", title=f"{part}: not played")
    verdicts = [result.verdict for result in results]
    worst = min(verdicts, key=list(SIGNS).index)
    number = f"{verdicts.count(Verdict.PASS)} of {len(verdicts)}"
    told = ", ".join(f"{verdicts.count(one)} {one}" for one in SIGNS if one in verdicts)
    kind = "bad" if worst in BAD else "open" if worst in OPEN else "good"
    return element("td", _sign(worst), " ", number, class_=kind, title=f"{part}: {told}")


def _not_checked(finished: RunFinished) -> Markup:
    """What the verdict says nothing about."""
    reasons = (
        element(
            "details",
            element("summary", why, " ", element("span", counted(len(ids), "case"), class_="quiet")),
            element("p", ", ".join(ids), class_="ids"),
        )
        for why, ids in not_checked(finished).items()
    )
    lines = (element("p", line) for line in (*unspoken(finished), f"N{about_nothing()[1:]}."))
    return element(
        "section",
        element("h2", "Not checked", id="not-checked"),
        *reasons,
        *lines,
        aria_labelledby="not-checked",
        class_="unchecked",
    )


def _filters(results: Sequence[CaseResult]) -> Markup:
    """What leaves some of the cases; the script shows it."""
    parts = [part for part in PARTS if any(result.case.part == part for result in results)]
    return element(
        "section",
        element("h2", "Cases", id="cases"),
        element(
            "form",
            _select("Part", "part", parts),
            _select("Verdict", "verdict", counts(results)),
            element("label", "Find ", element("input", type="search", name="find", autocomplete="off")),
            element("output", name="left"),
            class_="filters",
            hidden=True,
        ),
        element("p", "No case is like that.", class_="none quiet", hidden=True),
        aria_labelledby="cases",
    )


def _select(label: str, name: str, values: Sequence[str] | Mapping[str, int]) -> Markup:
    options = (element("option", value, value=value) for value in values)
    return element(
        "label", f"{label} ", element("select", element("option", "all", value=""), *options, name=name)
    )


def _groups(started: RunStarted, results: Sequence[CaseResult]) -> Iterator[Markup]:
    """The cases, those that matter most first."""
    groups = {group: [one for one in results if one.verdict in group.verdicts] for group in GROUPS}
    drawn = [one for group, found in groups.items() if group.drawn for one in found]
    dialogues = _dialogues(started.target, drawn)
    for group, found in groups.items():
        if not found:
            continue
        unfolded = not group.fold and len(found) <= UNFOLDED
        cases = (_case(started, one, dialogues.get(one.case.id), unfolded=unfolded) for one in found)
        title = element("h3", group.title, " ", element("span", str(len(found)), class_="quiet"))
        inner = element("div", *cases, class_="cases")
        if group.fold:
            yield element("details", element("summary", title), inner, class_="group")
        else:
            yield element("section", title, inner, class_="group")


def _dialogues(target: str, results: Sequence[CaseResult]) -> Mapping[str, Markup]:
    """Id of a case -> its dialogue, as a chart and as text, as far as there is room."""
    texts: dict[str, Markup] = {}
    charts: dict[str, Markup] = {}
    room = ROOM
    for write, written in ((_text, texts), (partial(_picture, target), charts)):
        for result in results:
            markup = write(result) if result.lines and room > 0 else Markup()
            if 0 < len(markup) <= room:
                written[result.case.id] = markup
                room -= len(markup)
    return {id: _dialogue(text, charts.get(id)) for id, text in texts.items()}


def _case(started: RunStarted, result: CaseResult, dialogue: Markup | None, *, unfolded: bool) -> Markup:
    """One case: a line, and behind it everything that is known."""
    case, verdict = result.case, result.verdict
    line = element(
        "summary",
        _sign(verdict),
        element("span", verdict.value, class_=f"word is-{verdict}"),
        " ",
        element("code", case.id),
        element("span", case.level.value, class_="level"),
        element("span", _short(result), class_="short"),
    )
    facts = (
        element("div", element("dt", name), element("dd", _brief(text)))
        for name, text in _facts(result)
        if text
    )
    return element(
        "details",
        line,
        element("dl", *facts, class_="facts"),
        dialogue,
        _again(again(started, case.id)),
        class_="case",
        id=f"case-{case.id}",
        data_part=case.part,
        data_verdict=verdict.value,
        open=unfolded,
    )


def _short(result: CaseResult) -> str:
    """What a line says of a case that did not simply pass."""
    if result.unexpected_pass:
        return "passes, though known to fail"
    if result.verdict is Verdict.KNOWN and result.known is not None:
        return result.known.words
    return _brief(result.because or result.actual)


def _brief(text: str) -> str:
    """What is said, or as much of its beginning as a page can bear."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} letters more)"


def _facts(result: CaseResult) -> Iterator[tuple[str, str]]:
    case = result.case
    yield "requirement", case.requirement
    yield "expected", result.expected
    yield "actual", result.actual
    yield "because", result.because
    yield "known", result.known.words if result.known is not None else ""
    yield "rule", case.rule
    yield "source", case.source
    yield "Kafka 3.x", case.older
    yield "versions", ", ".join(f"{api} v{version}" for api, version in result.versions.items())
    yield "took", f"{result.seconds:.1f} s"


def _picture(target: str, result: CaseResult) -> Markup:
    """The dialogue as a sequence chart."""
    laid = geometry.chart(told(result, target))
    drawn = joined(
        element("g", svg.lanes(laid), class_="head"),
        element("g", svg.body(laid), transform=f"translate(0 {geometry.HEAD})"),
    )
    image = svg.drawing(laid, laid.height + geometry.HEAD, drawn)
    label = f"Dialogue of {result.case.id}"
    return element("div", image, class_="picture", tabindex="0", role="region", aria_label=label)


def _text(result: CaseResult) -> Markup:
    """The dialogue as text."""
    label = f"Dialogue of {result.case.id} as text"
    lines = "\n".join(render(result.lines, result.names))
    return element("pre", lines, tabindex="0", role="region", aria_label=label)


def _dialogue(text: Markup, picture: Markup | None) -> Markup:
    if picture is None:
        return text
    return joined(picture, element("details", element("summary", "As text"), text, class_="as-text"))


def _again(command: str) -> Markup:
    return element(
        "p",
        element("span", "Again ", class_="quiet"),
        element("code", command),
        " ",
        element("button", "Copy", type="button", hidden=True, data_copies=command),
        class_="again",
    )
