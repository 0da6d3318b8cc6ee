"""Tables of the report page: verdicts counted, causes, targets × parts, what was not judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.conformance.results import CaseResult, Verdict
from rota.report.causes import Cause
from rota.report.events import WholeRun, counts
from rota.report.format import counted
from rota.report.reached import about_nothing
from rota.report.several import parts_of, shared
from rota.report.text import causes_in_a_line
from rota.trace.markup import Markup, element, joined

SIGNS = {
    Verdict.FAIL: "✗",
    Verdict.DIED: "†",
    Verdict.UNDECIDED: "?",
    Verdict.SKIPPED: "»",
    Verdict.LENIENT: "≈",
    Verdict.NOTED: "·",
    Verdict.KNOWN: "∗",
    Verdict.UNSUPPORTED: "–",
    Verdict.PASS: "✓",
}
"""What stands beside the colour of a verdict; those that matter most first."""

BAD = (Verdict.FAIL, Verdict.DIED)
OPEN = (*BAD, Verdict.UNDECIDED, Verdict.SKIPPED)
"""Verdicts that keep a part from conforming."""

LONGEST = 4_000
"""Letters of what a target said that are shown outside of a dialogue."""


def brief(text: str) -> str:
    """What is said, or as much of its beginning as a page can bear."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} letters more)"


def sign(verdict: Verdict) -> Markup:
    """The sign of a verdict, in its colour."""
    return element("span", SIGNS[verdict], class_=f"sign is-{verdict}", aria_hidden="true")


def anchor(case: str, prefix: str) -> str:
    """The place of a case on the page."""
    return f"{prefix}case-{case}"


def numbers(run: WholeRun) -> Markup:
    """How many questions were reached, and how many cases have each verdict."""
    found = counts(run.finished.results)
    asked = element("li", "questions reached: ", element("b", run.finished.reached.words), class_="reached")
    each = (
        element("li", sign(one), " ", element("b", str(found[one])), f" {one}")
        for one in SIGNS
        if one in found
    )
    return element("ul", asked, *each, class_="numbers", aria_label="Questions, and cases by verdict")


def causes(run: WholeRun, prefix: str, heading: str) -> Markup | None:
    """The causes, those that fail the run first; each with links to its cases. heading: h2 or h3."""
    found = run.finished.causes
    if not found:
        return None
    label = f"{prefix}causes"
    return element(
        "section",
        element(heading, "Causes", id=label),
        element("p", f"{causes_in_a_line(run.finished)}.", class_="quiet"),
        element("div", *(_cause(one, prefix) for one in found), class_="cases causes"),
        aria_labelledby=label,
    )


def _cause(cause: Cause, prefix: str) -> Markup:
    line = element(
        "summary",
        sign(cause.verdict),
        element("span", counted(len(cause.cases), "case"), class_="word"),
        " ",
        element("code", cause.rule),
        element("span", brief(cause.seen) if cause.dies else cause.sentence, class_="short"),
    )
    facts: list[tuple[str, str | Markup]] = [
        ("rule", cause.sentence),
        ("seen", brief(cause.seen)),
        ("look at", _link(cause.first, prefix)),
    ]
    if cause.also_breaks:
        facts.append(("also breaks", joined(_commas(element("code", slug) for slug in cause.also_breaks))))
    if cause.waiting:
        facts.append(("not judged", f"{counted(cause.waiting, 'case')}, for this comes before"))
    if len(cause.cases) > 1:
        facts.append(("cases", joined(_commas(_link(case, prefix) for case in cause.cases))))
    shown = (element("div", element("dt", name), element("dd", said)) for name, said in facts)
    headline = element("p", cause.headline, class_="headline")
    return element("details", line, headline, element("dl", *shown, class_="facts"), class_="cause")


def _link(case: str, prefix: str) -> Markup:
    return element("a", case, href=f"#{anchor(case, prefix)}")


def _commas(parts: Iterator[Markup]) -> Iterator[str]:
    for number, part in enumerate(parts):
        if number:
            yield ", "
        yield part


def matrix(runs: Sequence[WholeRun], names: Sequence[str]) -> Markup:
    """Targets × parts: how many cases of each part passed, and the worst verdict among them."""
    parts = parts_of(runs)
    head = (element("th", part, scope="col") for part in parts)
    rows = (
        element(
            "tr",
            element("th", _to_target(name, number, len(runs)), scope="row"),
            element("td", run.finished.reached.words),
            *(_cell([one for one in run.finished.results if one.case.part == part], part) for part in parts),
        )
        for number, (name, run) in enumerate(zip(names, runs, strict=True), 1)
    )
    titles = element(
        "tr", element("th", "target", scope="col"), element("th", "questions reached", scope="col"), *head
    )
    table = element(
        "table",
        element("caption", "Cases that passed, of those that were played"),
        element("thead", titles),
        element("tbody", *rows),
    )
    return _scrolled("Parts of the protocol", "parts", table)


def _to_target(name: str, number: int, of: int) -> str | Markup:
    """The name of a target; a link to its part of the page where there are several."""
    return name if of == 1 else element("a", name, href=f"#target-{number}")


def _scrolled(title: str, id: str, table: Markup) -> Markup:
    return element(
        "section",
        element("h2", title, id=id),
        element("div", table, class_="matrix", tabindex="0", role="region", aria_labelledby=id),
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
    return element("td", sign(worst), " ", number, class_=kind, title=f"{part}: {told}")


def shared_causes(runs: Sequence[WholeRun], names: Sequence[str]) -> Markup | None:
    """Causes × targets: how many cases each cause concerns on each target."""
    found = shared(runs)
    if not found:
        return None
    head = (element("th", name, scope="col") for name in names)
    rows = (
        element(
            "tr",
            element("th", element("code", name), scope="row"),
            *(_number(one, number) for number, one in enumerate(each, 1)),
        )
        for name, each in found
    )
    table = element(
        "table",
        element("caption", "How many cases each cause concerns; a number leads to the case to look at"),
        element("thead", element("tr", element("th", "cause", scope="col"), *head)),
        element("tbody", *rows),
    )
    return _scrolled("Causes by target", "causes-by-target", table)


def _number(cause: Cause | None, target: int) -> Markup:
    if cause is None:
        return element("td", "", class_="good")
    link = element("a", str(len(cause.cases)), href=f"#{anchor(cause.first, f't{target}-')}")
    kind = "bad" if cause.verdict in BAD else "open"
    return element("td", sign(cause.verdict), " ", link, class_=kind, title=cause.headline)


def not_judged(run: WholeRun, prefix: str, heading: str) -> Markup:
    """What the verdict says nothing about, by reason. heading: h2 or h3."""
    reasons = (
        element(
            "details",
            element("summary", brief(why), " ", element("span", counted(len(ids), "case"), class_="quiet")),
            element("p", ", ".join(ids), class_="ids"),
        )
        for why, ids in run.finished.reached.missed.items()
    )
    lines = (element("p", line) for line in (*run.finished.unspoken(), f"N{about_nothing()[1:]}."))
    label = f"{prefix}not-judged"
    return element(
        "section",
        element(heading, "Not judged", id=label),
        *reasons,
        *lines,
        aria_labelledby=label,
        class_="unchecked",
    )
