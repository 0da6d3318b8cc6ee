"""The page of what became of a target between two reports: what is new, mended, and stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rota.pages.report_page import filters, header, whole
from rota.pages.report_page_cases import case, dialogues
from rota.pages.report_page_tables import anchor, sign
from rota.report.changes import MEANS, VERDICTS, CauseChange, Change, Changes, Kind
from rota.report.changes_text import described, verdict_line
from rota.trace.markup import Markup, element, joined

LIGHTS = {0: ("✓", "holds"), 1: ("✗", "violated"), 3: ("?", "silent")}
"""Exit code -> the sign of the verdict and the class of its colour."""

PREFIXES = {True: "before-", False: "after-"}
"""Before the place of a case on the page: whether it is shown as it was."""


def page(changes: Changes) -> str:
    """Both runs, and what is different, as one file of HTML."""
    title = f"{changes.after.path} beside {changes.before.path}: {VERDICTS[changes.exit_code]}"
    return whole(title, _head(changes), joined(*_body(changes)))


def _head(changes: Changes) -> Markup:
    mark, light = LIGHTS[changes.exit_code]
    verdict = element(
        "span",
        *(element("span", mark, aria_hidden="true"), f" {VERDICTS[changes.exit_code]}"),
        class_=f"verdict {light}",
    )
    facts = (
        element("div", element("dt", name), element("dd", described(run)))
        for name, run in (("before", changes.before), ("after", changes.after))
    )
    targets = dict.fromkeys(run.started.target for run in (changes.before, changes.after))
    return header(
        verdict, " and ".join(targets), verdict_line(changes), element("dl", *facts, class_="facts")
    )


def _body(changes: Changes) -> Iterator[Markup | None]:
    yield _causes(changes)
    if not changes.cases:
        yield element("h2", "Cases", id="cases")
        return
    yield filters([change.shown for change in changes.cases], {})
    shown = dialogues([changes.before, changes.after])
    for kind in Kind:
        found = changes.those(kind)
        if not found:
            continue
        title = element("h3", f"{kind} ", element("span", str(len(found)), class_="quiet"))
        about = element("p", f"Cases {MEANS[kind]}.", class_="quiet")
        cases = element("div", *_families(found, changes, shown), class_="cases")
        if kind in (Kind.STAYS, Kind.MENDED):
            yield element("details", element("summary", title), about, cases, class_="group")
        else:
            yield element("section", title, about, cases, class_="group")


def _families(
    found: Sequence[Change], changes: Changes, shown: Sequence[Mapping[str, Markup]]
) -> Iterator[Markup]:
    """The cases; those of one family behind its name and their number, where the first of them is."""
    alike: dict[str, list[Change]] = {}
    for one in found:
        alike.setdefault(one.shown.case.family or one.shown.case.id, []).append(one)
    for name, those in alike.items():
        cases = (_case(one, changes, shown) for one in those)
        if len(those) == 1:
            yield from cases
            continue
        title = element(
            "summary", element("code", name), " ", element("span", str(len(those)), class_="quiet")
        )
        yield element("details", title, *cases, class_="group family")


def _case(change: Change, changes: Changes, shown: Sequence[Mapping[str, Markup]]) -> Markup:
    """The case as it is in the run to look at: what is mended as it was, else as it is."""
    run = changes.before if change.old else changes.after
    dialogue = shown[0 if change.old else 1].get(change.shown.case.id)
    return case(run, change.shown, PREFIXES[change.old], dialogue, None, note=change.words)


def _causes(changes: Changes) -> Markup | None:
    if not changes.causes:
        return None
    head = (element("th", title, scope="col") for title in ("cause", "", "cases", "look at"))
    rows = (_cause(one, changes) for one in changes.causes)
    table = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    return element(
        "section",
        element("h2", "Causes", id="causes"),
        element("div", table, class_="matrix", tabindex="0", role="region", aria_labelledby="causes"),
    )


def _cause(change: CauseChange, changes: Changes) -> Markup:
    first = change.last.first
    where = next((one for one in changes.cases if one.shown.case.id == first), None)
    link = element("a", first, href=f"#{anchor(first, PREFIXES[where.old])}") if where else first
    kind = "bad" if change.kind is Kind.NEW else None
    return element(
        "tr",
        element("th", element("code", change.last.name), scope="row"),
        element("td", sign(change.last.verdict), f" {change.kind}", class_=kind),
        element("td", change.words),
        element("td", link),
    )
