"""Violations as a page, as JUnit's XML and as Markdown."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from rota.conformance.dialogues.transcript import with_names
from rota.pages.document import document, part
from rota.pages.fragments import SWITCH, picture
from rota.report.dialogue_story import drawn, shortened
from rota.report.format import counted
from rota.report.junit import in_xml
from rota.spec import RULES
from rota.trace.markup import Markup, element, joined
from rota.validate import telling
from rota.validate.account import Account, Violation

ROOM = 3_000_000
"""Bytes that all charts of a page may take; violations that come later have their lines alone."""

IN_FULL = 100
"""Violations that are shown one by one; of more only the table tells."""

FEW = 20
"""Rows of groups that stand open."""

DRAWN = 12
"""Lines before a violation that are drawn; its table has them all."""

MOST_ROWS = 200
"""Of what was not judged, that are named."""

CLOCK = "%Y-%m-%d %H:%M:%S.%f"


def page(account: Account, read: str) -> str:
    """The whole page. read: what was read, in words."""
    verdict = telling.verdict(account)
    facts = {
        "groups": f"{len(account.histories):,} of {len(account.groups):,} judged",
        "events": f"{account.judged:,} of {account.events:,} judged",
        "read": read,
        "times": "in UTC",
    }
    head = element(
        "header",
        element("div", element("span", "rota", class_="brand"), SWITCH, class_="bar"),
        element("h1", "What was recorded, judged"),
        element("p", verdict, class_="lead"),
        _facts(facts.items()),
        class_="top",
    )
    shown = in_full(account)
    told = joined(_violations(account, shown))
    inner = joined(_rules(account, shown), told, _left(account), _assumed(account))
    skip = element("a", "Skip to what was found", href="#found", class_="skip")
    body = joined(skip, head, element("main", inner, class_="accounts judged", id="found"))
    return document(f"rota: {verdict}", body, styles=[part("account.css"), part("judged.css")])


def _facts(facts: Iterable[tuple[str, str | Markup]]) -> Markup:
    rows = (element("div", element("dt", name), element("dd", told)) for name, told in facts if told)
    return element("dl", *rows, class_="facts")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str | Markup]], label: str) -> Markup:
    """A table whose first column names what a row is about."""
    shown = (
        element("tr", element("th", first, scope="row"), *(element("td", one) for one in rest))
        for first, *rest in rows
    )
    table = element(
        "table",
        element("thead", element("tr", *(element("th", one, scope="col") for one in heads))),
        element("tbody", joined(shown)),
    )
    return element("div", table, class_="worst", tabindex="0", role="region", aria_label=label)


def _rules(account: Account, shown: Sequence[int]) -> Markup | None:
    """Which rules are broken, in how many groups, and where that is shown first."""
    numbers: dict[str, list[int]] = {}
    for number, one in enumerate(account.violations):
        numbers.setdefault(one.rule, []).append(number)
    if not numbers:
        return None
    rows = [
        (
            element("code", rule),
            _title(rule),
            f"{len(found):,}",
            f"{len({account.violations[number].history for number in found}):,}",
            _first(account, found, shown),
        )
        for rule, found in sorted(numbers.items(), key=lambda one: -len(one[1]))
    ]
    more = account.found - len(account.violations)
    heads = ("rule", "what it says", "times", "groups", "first at")
    return element(
        "section",
        element("h2", "Where the protocol was not kept"),
        element("div", _table(heads, rows, "Rules"), class_="broken"),
        element("p", f"{counted(more, 'violation')} more are not told.", class_="quiet") if more else None,
        _groups(account, shown),
    )


def _title(rule: str) -> str:
    known = RULES.get(rule)
    return known.title if known is not None else ""


def _groups(account: Account, shown: Sequence[int]) -> Markup:
    """Which groups break which rules; folded where there are many."""
    numbers: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(account.violations):
        numbers.setdefault((one.history, one.rule), []).append(number)
    rows = [
        (group, element("code", rule), f"{len(found):,}", _first(account, found, shown))
        for (group, rule), found in numbers.items()
    ]
    table = _table(("group", "rule", "times", "first at"), rows, "Groups and rules")
    if len(rows) <= FEW:
        return table
    groups = counted(len({group for group, _ in numbers}), "group")
    return element("details", element("summary", f"{groups}, and which rules each breaks"), table)


def in_full(account: Account) -> list[int]:
    """The violations that are shown one by one: of each rule the first, of each the second, and so on."""
    turn: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for number, one in enumerate(account.violations):
        turns.append((turn[one.rule], number))
        turn[one.rule] += 1
    return sorted(number for _, number in sorted(turns)[:IN_FULL])


def _first(account: Account, found: Sequence[int], shown: Sequence[int]) -> Markup:
    """Where the first of some violations is, and a way to the first that is shown."""
    one = account.violations[found[0]]
    words = f"{_clock(one.at)} {one.line}".strip()
    there = next((number for number in found if number in shown), None)
    return element("span", words) if there is None else element("a", words, href=f"#violation-{there + 1}")


def _clock(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime(CLOCK)[:-3]


def _violations(account: Account, shown: Sequence[int]) -> Iterator[Markup]:
    room = ROOM
    left = len(account.violations) - len(shown)
    if left:
        words = f"{len(shown):,} in full, of each rule the first; {left:,} more are in the tables alone."
        yield element("p", words, class_="quiet")
    for number in shown:
        one = account.violations[number]
        chart = _chart(one) if one.said.lines and room > 0 else Markup()
        room -= len(chart)
        yield _violation(one, number + 1, chart)


def _violation(one: Violation, number: int, chart: Markup) -> Markup:
    title = _title(one.rule)
    lines = joined(_among([element("code", line) for line in one.lines or (one.line,)]))
    told: list[tuple[str, str | Markup]] = [
        ("asked", one.asked),
        ("expected", _value(one.expected, one, "expected")),
        ("came", _value(one.came, one, "came")),
        ("found", "" if one.expected else one.why),
        ("rests on", lines),
        ("told by", "" if one.source == "frames" else one.source),
        (
            "before it",
            f"{counted(one.states, 'state')} that the group may have been in" if one.states else "",
        ),
    ]
    if len(one.nearest) > 1:
        told.insert(3, ("or", joined(_value(other, one, "other") for other in one.nearest[1:3])))
    label = f"violation-{number}"
    return element(
        "article",
        element("h2", element("code", one.rule), " in ", element("span", one.history), id=label),
        element("p", f"{_clock(one.at)} {one.line}".strip(), class_="at"),
        element("p", title) if title else None,
        _facts(told),
        element("h3", "What was said last") if one.said.lines else None,
        chart or None,
        _lines(one, label) if one.said.lines else None,
        class_="account",
        aria_labelledby=label,
    )


def _value(text: str, one: Violation, name: str) -> Markup | str:
    return element("span", with_names(text, one.said.names), class_=name) if text else ""


def _among(parts: Sequence[Markup]) -> Iterator[Markup | str]:
    for place, one in enumerate(parts):
        yield from (", ", one) if place else (one,)


def _chart(one: Violation) -> Markup:
    """The last lines, of which those are marked that the violation is about."""
    said, first = one.said, max(0, len(one.said.lines) - DRAWN)
    story = drawn(shortened(said.lines[first:], said.names), one.history, one.rule, "coordinator")
    marked = tuple(place - first + 1 for place in sorted(said.crucial) if place >= first)
    return picture(replace(story, marked=marked), f"What was said in {one.history}")


def _lines(one: Violation, label: str) -> Markup:
    """What was said, line by line, with where each stands."""
    said = one.said
    rows = (
        element(
            "tr",
            element("td", element("code", origin)),
            element("td", f"{line.at_ms:,.0f} ms"),
            element("td", line.who),
            element("td", line.mark),
            element("td", line.text),
            class_="crucial" if place in said.crucial else None,
        )
        for place, (line, origin) in enumerate(
            zip(shortened(said.lines, said.names), said.origins, strict=True)
        )
    )
    heads = ("line", "at", "who", "", "what")
    table = element(
        "table",
        element("thead", element("tr", *(element("th", head or element("span", "to or from", class_="unseen"),
                                                 scope="col") for head in heads))),
        element("tbody", joined(rows)),
    )  # fmt: skip
    names = [element("li", element("code", name), f" is {own}") for own, name in said.names.items()]
    return element(
        "details",
        element("summary", f"{counted(len(said.lines), 'line')}, and where each stands"),
        element("div", table, class_="worst", tabindex="0", role="region", aria_label=f"Lines of {label}"),
        element("ul", *names, class_="lines") if names else None,
    )


def _left(account: Account) -> Markup | None:
    """What is undecided, what was not checked, and what was late without being wrong."""
    rows = [
        ("undecided", group, cause, f"{number:,}")
        for (group, cause), number in account.undecided.most_common()
    ]
    rows += [
        ("not checked", source, what, f"{number:,}")
        for (what, source), number in account.not_checked.most_common()
    ]
    if account.quarantined:
        rows.append(("quarantined", "", "what could not be read", f"{account.quarantined:,}"))
    rows += [
        ("late, forgiven", group, f"{what}, by {seconds:.1f} s", "")
        for (group, what), seconds in sorted(account.late.items(), key=lambda one: -one[1])
    ]
    if not rows:
        return None
    heads = ("what became of it", "of", "what", "events")
    return element(
        "section",
        element("h2", "What was not judged"),
        _table(heads, rows[:MOST_ROWS], "What was not judged"),
        element("p", f"{len(rows) - MOST_ROWS:,} more are not told.", class_="quiet")
        if len(rows) > MOST_ROWS
        else None,
        class_="left-out",
    )


def _assumed(account: Account) -> Markup | None:
    if not account.assumed:
        return None
    rows = [(name, value) for name, value in account.assumed.items()]
    return element(
        "section",
        element("h2", "What was taken for granted"),
        element("p", "Settings that nobody gave with --set, and by which line of brokers it was judged."),
        _table(("name", "value"), rows, "What was taken for granted"),
    )


def junit(account: Account) -> str:
    """A suite with a case for each group: a violation is a failure, what is undecided an error."""
    root = ET.Element("testsuites", name="rota validate")
    suite = ET.SubElement(root, "testsuite", name="histories")
    causes = dict(account.undecided.keys())
    failed: dict[str, Violation] = {}
    for one in account.violations:
        failed.setdefault(one.history, one)
    groups = sorted(account.histories | causes.keys() | failed.keys())
    for group in groups:
        case = ET.SubElement(suite, "testcase", classname="history", name=in_xml(group))
        if group in failed:
            found = ET.SubElement(case, "failure", type=failed[group].rule, message=in_xml(failed[group].why))
            found.text = in_xml("\n".join(telling.told(failed[group])))
        elif group in causes:
            ET.SubElement(case, "error", type="undecided", message=in_xml(causes[group]))
    suite.set("tests", str(len(groups)))
    suite.set("failures", str(len(failed)))
    suite.set("errors", str(len(causes.keys() - failed.keys())))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def markdown(account: Account) -> str:
    """The verdict, and each violation."""
    found = [f"**{telling.verdict(account)}**", ""]
    for one in account.violations:
        found += [f"### `{one.rule}`: `{one.history}`", "", f"{one.why} (at `{one.line}`)", ""]
        if one.dialogue:
            found += ["```text", *one.dialogue, "```", ""]
    for (what, source), number in account.not_checked.most_common():
        found.append(f"- not checked: {counted(number, 'event')} of {source}: {what}")
    for (group, cause), number in account.undecided.most_common():
        found.append(f"- undecided: {counted(number, 'event')} of `{group}`: {cause}")
    return "\n".join(found) + "\n"
