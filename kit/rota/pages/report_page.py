"""The page of conformance runs: the verdict, causes, targets × parts, every case with its dialogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rota.conformance.dialogues.registry import PARTS
from rota.conformance.results import CaseResult
from rota.pages.document import document, part
from rota.pages.fragments import SWITCH
from rota.pages.report_page_cases import dialogues, groups
from rota.pages.report_page_tables import SIGNS, causes, matrix, not_judged, numbers, shared_causes
from rota.report.events import CONFORMS, VIOLATED, RunFinished, RunStarted, WholeRun, counts
from rota.report.format import counted
from rota.report.several import named
from rota.report.text import verdict_line
from rota.trace.markup import Markup, element, joined


def page(runs: Sequence[WholeRun]) -> str:
    """Runs, at least one, as one file of HTML; several stand below each other, and what they share above."""
    if len(runs) == 1:
        (run,) = runs
        title = f"{run.started.target} against profile {run.started.profile}"
        return whole(f"{title}: {run.finished.verdict}", _head(run), joined(*_of_one(run)))
    names = named(runs)
    return whole(f"Conformance of {', '.join(names)}", _heads(runs, names), joined(*_of_several(runs, names)))


def whole(title: str, head: Markup, inner: Markup) -> str:
    """A page with the style sheet and the script of reports. head: its header; inner: what is in <main>."""
    said = element("p", class_="unseen said", role="status", aria_live="polite")
    skip = element("a", "Skip to the cases", href="#cases", class_="skip")
    body = joined(skip, head, element("main", inner, class_="report"), said)
    return document(title, body, styles=[part("report.css")], scripts=[part("report.js")])


def _of_one(run: WholeRun) -> Iterator[Markup | None]:
    (shown,) = dialogues([run])
    yield numbers(run)
    yield causes(run, "", "h2")
    yield matrix([run], [run.started.target])
    yield not_judged(run, "", "h2")
    yield filters(run.finished.results, {})
    yield from groups(run, "", shown, "h3")


def _of_several(runs: Sequence[WholeRun], names: Sequence[str]) -> Iterator[Markup | None]:
    yield matrix(runs, names)
    yield shared_causes(runs, names)
    every = [result for run in runs for result in run.finished.results]
    yield filters(every, {f"t{number}-": name for number, name in enumerate(names, 1)})
    shown = dialogues(runs)
    for number, (run, name) in enumerate(zip(runs, names, strict=True), 1):
        prefix = f"t{number}-"
        yield element(
            "section",
            element("h2", name, id=f"target-{number}"),
            element("p", _verdict(run.finished.verdict), " ", verdict_line(*_told(run))),
            numbers(run),
            causes(run, prefix, "h3"),
            not_judged(run, prefix, "h3"),
            *groups(run, prefix, shown[number - 1], "h3"),
            class_="of-target",
            aria_labelledby=f"target-{number}",
        )


def _verdict(verdict: str) -> Markup:
    """A verdict on a run, with its sign and in its colour."""
    light = {CONFORMS: "holds", VIOLATED: "violated"}.get(verdict, "silent")
    sign = {"holds": "✓", "violated": "✗"}.get(light, "?")
    return element("span", element("span", sign, aria_hidden="true"), " ", verdict, class_=f"verdict {light}")


def _head(run: WholeRun) -> Markup:
    """The target, the verdict on it, and what that rests on."""
    facts = {
        "seed": str(run.started.seed),
        "judged by": run.started.identity.words(),
    }
    shown = (element("div", element("dt", name), element("dd", text)) for name, text in facts.items() if text)
    return header(
        _verdict(run.finished.verdict),
        run.started.target,
        verdict_line(*_told(run)),
        element("dl", *shown, class_="facts"),
    )


def _told(run: WholeRun) -> tuple[RunStarted, RunFinished, Sequence[CaseResult]]:
    return run.started, run.finished, run.finished.results


def _heads(runs: Sequence[WholeRun], names: Sequence[str]) -> Markup:
    """All targets with the verdicts on them."""
    facts = (
        element("div", element("dt", name), element("dd", _verdict(run.finished.verdict)))
        for name, run in zip(names, runs, strict=True)
    )
    title, lead = counted(len(runs), "target"), "What each of them does otherwise, and why."
    return header(None, title, lead, element("dl", *facts, class_="facts"))


def header(verdict: Markup | None, title: str, lead: str, *more: Markup) -> Markup:
    """What a page begins with."""
    return element(
        "header",
        element("div", element("span", "rota", class_="brand"), SWITCH, class_="bar"),
        element("p", verdict) if verdict is not None else None,
        element("h1", title),
        element("p", lead, class_="lead"),
        *more,
        class_="top",
    )


def filters(results: Sequence[CaseResult], targets: Mapping[str, str]) -> Markup:
    """What leaves some of the cases; the script shows it. targets: prefix of a target's cases -> its name."""
    parts = [part for part in PARTS if any(result.case.part == part for result in results)]
    verdicts = [one for one in SIGNS if one in counts(results)]
    return element(
        "section",
        element("h2", "Cases", id="cases"),
        element(
            "form",
            _select("Target", "target", targets) if targets else None,
            _select("Part", "part", {one: one for one in parts}),
            _select("Verdict", "verdict", {one.value: one.value for one in verdicts}),
            element("label", "Find ", element("input", type="search", name="find", autocomplete="off")),
            element("output", name="left"),
            class_="filters",
            hidden=True,
        ),
        element("p", "No case is like that.", class_="none quiet", hidden=True),
        aria_labelledby="cases",
    )


def _select(label: str, name: str, values: Mapping[str, str]) -> Markup:
    """values: of the options -> what is shown."""
    options = (element("option", text, value=value) for value, text in values.items())
    return element(
        "label", f"{label} ", element("select", element("option", "all", value=""), *options, name=name)
    )
