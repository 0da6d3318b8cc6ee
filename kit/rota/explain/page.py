"""Accounts as a page: one file, with a timeline of each incident."""

from __future__ import annotations

from collections.abc import Iterator

from rota.explain import telling
from rota.explain.diagnosis import Diagnosis, account, evidence, worst_gaps
from rota.explain.moments import clock, zone_shown
from rota.explain.rebalance import Rebalance
from rota.explain.timeline import legend, timeline
from rota.explain.worst import Explained, visible
from rota.pages.document import document, part
from rota.pages.fragments import SWITCH
from rota.report.format import counted
from rota.trace.markup import Markup, element, joined

ACCOUNTS = 8
"""Rebalances of an incident that are told one by one."""


def page(found: Explained, read: str) -> str:
    """The whole page. read: what was read, in words."""
    first = found.first
    title = telling.none(found) if first is None else first.headline
    head = element(
        "header",
        element("div", element("span", "rota", class_="brand"), SWITCH, class_="bar"),
        element("h1", "Why it rebalanced"),
        element("p", title, class_="lead"),
        element("dl", *_facts(found, read), class_="facts"),
        class_="top",
    )
    said = element("p", class_="unseen said", role="status", aria_live="polite")
    skip = element("a", "Skip to the incidents", href="#incidents", class_="skip")
    inner = joined(_groups(found), _incidents(found))
    body = joined(skip, head, element("main", inner, class_="accounts"), said)
    return document(f"rota: {telling.verdict(found)}", body, styles=[part("account.css")])


def _facts(found: Explained, read: str) -> Iterator[Markup]:
    told = {
        "rebalances": f"{found.rebalances:,}",
        "without an assignment": "not visible" if visible(found) is None else f"{telling.cost(found)} s",
        "read": read,
        "times": zone_shown(),
    }
    for name, text in told.items():
        yield element("div", element("dt", name), element("dd", text))


def _groups(found: Explained) -> Markup:
    heads = ("group", "rebalances", "incidents", "seconds", "costliest cause", "last")
    rows = (
        element(
            "tr",
            element("th", one.group, scope="row"),
            element("td", f"{one.rebalances:,}"),
            element("td", f"{one.incidents:,}"),
            element("td", "not visible" if visible(one) is None else telling.cost(one)),
            element("td", one.worst),
            element("td", f"{clock(one.last, day=True)}{', goes on' if one.open else ''}"),
        )
        for one in found.groups[: telling.GROUPS * 5]
    )
    table = element(
        "table",
        element("thead", element("tr", *(element("th", one, scope="col") for one in heads))),
        element("tbody", joined(rows)),
    )
    shown = element("div", table, class_="worst", tabindex="0", role="region", aria_labelledby="groups")
    return element("section", element("h2", "Groups, the costliest first", id="groups"), shown)


def _incidents(found: Explained) -> Markup:
    left = element("p", f"{counted(found.left_out, 'incident')} that cost less are not told.", class_="quiet")
    return element(
        "section",
        element("h2", "Incidents", id="incidents"),
        legend() if found.incidents else element("p", telling.none(found)),
        joined(_incident(one, number) for number, one in enumerate(found.incidents, 1)),
        left if found.left_out else None,
        aria_labelledby="incidents",
    )


def _account(one: Rebalance) -> Markup:
    at = one.ended if one.began is None else one.began
    return element("li", element("time", clock(at)), f" {'; '.join(account(one))}.")


def _begun(one: Diagnosis) -> str:
    """What happened, as a sentence begins; a member's id stays as it is."""
    return one.sentence if one.cause.sentence.startswith("{who}") else telling.capital(one.sentence)


def _incident(one: Diagnosis, number: int) -> Markup:
    found = one.incident
    told = found.told[:ACCOUNTS]
    more = found.number - len(told)
    accounts = [_account(each) for each in told]
    change = [element("li", element("code", setting) if setting else None, ": " if setting else None, words)
              for setting, words in one.cause.change]  # fmt: skip
    facts = [
        ("without a consumer", worst_gaps(found)) if found.gaps else None,
        ("not visible here", "; ".join(one.not_visible)) if one.not_visible else None,
        ("rule", one.cause.rule) if one.cause.rule else None,
        ("known of Kafka", ", ".join(one.cause.weaknesses)) if one.cause.weaknesses else None,
    ]
    shown, unshown = evidence(found)
    lines = [element("li", telling.told(event)) for event in shown]
    lines += [element("li", f"{counted(unshown, 'event')} more", class_="quiet")] if unshown else []
    return element(
        "article",
        element("h3", f"{one.cause.title}: ", element("span", found.group), id=f"incident-{number}"),
        element("p", telling.span(found), class_="at"),
        element("p", f"{_begun(one)}; {one.cost}."),
        element("p", f"{telling.capital(one.before)}.", class_="quiet") if one.before else None,
        timeline(one),
        element("h4", "What happened"),
        element("ol", *accounts, element("li", f"{more} more", class_="quiet") if more > 0 else None),
        element("h4", "What to change") if change else None,
        element("ul", *change) if change else None,
        element("dl", *(element("div", element("dt", one[0]), element("dd", one[1])) for one in facts if one),
                class_="facts"),
        element("details", element("summary", "What it rests on"), element("ul", *lines, class_="lines")),
        class_="account",
    )  # fmt: skip
