"""Violations as a page, as JUnit's XML and as Markdown."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from rota.pages.document import document
from rota.pages.fragments import SWITCH
from rota.report.format import counted
from rota.report.junit import in_xml
from rota.trace.markup import Markup, element, joined
from rota.validate import telling
from rota.validate.account import Account, Violation


def page(account: Account, read: str) -> str:
    """The whole page. read: what was read, in words."""
    verdict = telling.verdict(account)
    facts = {
        "groups": f"{len(account.histories):,} of {len(account.groups):,} judged",
        "events": f"{account.judged:,} of {account.events:,} judged",
        "read": read,
        "assumed": "; ".join(f"{name}: {value}" for name, value in account.assumed.items()),
    }
    rows = (element("div", element("dt", name), element("dd", text)) for name, text in facts.items())
    head = element(
        "header",
        element("div", element("span", "rota", class_="brand"), SWITCH, class_="bar"),
        element("h1", "What was recorded, judged"),
        element("p", verdict, class_="lead"),
        element("dl", *rows, class_="facts"),
        class_="top",
    )
    main = element("main", joined((*_violations(account), _left(account))))
    return document(f"rota: {verdict}", joined((head, main)))


def _violations(account: Account) -> Iterator[Markup]:
    for one in account.violations:
        parts = [
            element("h2", f"{one.rule}: {one.history}"),
            element("p", one.why),
            element("p", f"At {one.line}; it rests on {', '.join(one.lines) or 'that alone'}."),
        ]
        if one.dialogue:
            said = element("pre", "\n".join(one.dialogue))
            parts.append(element("div", said, tabindex="0", role="region", aria_label="What was said"))
        yield element("section", *parts)


def _left(account: Account) -> Markup:
    items = [
        element("li", f"not checked, {counted(number, 'event')} of {source}: {what}")
        for (what, source), number in account.not_checked.most_common()
    ]
    items += [
        element("li", f"undecided, {counted(number, 'event')} of {group}: {cause}")
        for (group, cause), number in account.undecided.most_common()
    ]
    return element("section", element("h2", "What was not judged"), element("ul", *items))


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
