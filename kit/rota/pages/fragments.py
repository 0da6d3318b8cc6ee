"""What pages are made of, each a function of a story: its head, why, copies, chart, and a step in full."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from rota.pages.document import Markup, element, joined
from rota.pages.state import knows_values
from rota.pages.strips import SIGNS
from rota.pages.values import lines
from rota.trace import chart as geometry
from rota.trace import svg
from rota.trace.markup import escaped, visible
from rota.trace.render import Difference
from rota.trace.story import Event, Light, Story

LEADS = ("meaning", "requirement")
"""Facts that are told in full below the title."""

FOUND = ("expected", "actual", "because", "known")
"""Facts about what was found, which stand by themselves."""

NAMED = re.compile(r"\b[Ss]teps? (\d+)\b")
"""What a sentence says of a step."""

BEGINS = re.compile(r"Step \d+, ")
"""How a sentence begins that tells what a step changed."""

LONG = 160
"""Letters of what a sentence sees, beyond which it is for who wants to know more."""

SEEN = re.compile(r"(?<=,) (?=after )|(?<=;) (?=\S+ before )")
"""Between the values that a sentence sees."""

SHORT = 56
"""Old and new values of so many letters together stand on one line."""

OLD = 90
"""The most letters of a value that is no more; it was shown in full when it came."""

SWITCH = element(
    "button", "◐", type="button", class_="theme", aria_label="Switch between dark and light", hidden=True
)
"""Chooses between day and night."""


def head(story: Story) -> Markup:
    """Title, verdict, meaning, facts, and what could not be found out."""
    known: dict[str, list[str]] = {}
    for name, text in story.facts:
        if text:
            known.setdefault(name, []).append(text)
    lead = [text for name in LEADS for text in known.pop(name, ())]
    found = [_fact(name, known.pop(name)) for name in FOUND if name in known]
    facts = [_fact(*one) for one in known.items()]
    sign = element("span", SIGNS[story.outcome], aria_hidden="true")
    verdict = element("p", sign, " ", story.verdict, class_=f"verdict {story.outcome.value}")
    return element(
        "header",
        element("div", element("span", "rota", class_="brand"), verdict, SWITCH, class_="bar"),
        element("h1", story.title),
        (element("p", text, class_="lead") for text in lead),
        element("dl", *found, class_="found") if found else None,
        element("dl", *facts, class_="facts") if facts else None,
        element("p", story.notice, class_="notice", role="note") if story.notice else None,
        class_="top",
    )


def _fact(name: str, texts: list[str]) -> Markup:
    """A fact; several of one name are one, to be opened."""
    if len(texts) == 1:
        return element("div", element("dt", name), element("dd", texts[0]))
    items = element("ul", *(element("li", text) for text in texts))
    told = element("details", element("summary", f"{len(texts)} sentences"), items)
    return element("div", element("dt", name), element("dd", told))


def why(story: Story, link: str = svg.STEP) -> Markup:
    """What leads to the contradiction, in numbered sentences that link to steps."""
    if not story.why:
        return joined()
    items = [element("li", _sentence(sentence, story, link)) for sentence in story.why]
    title = element("h2", "Why", id="why")
    return element(
        "section", title, element("ol", *items), class_=f"why {story.outcome.value}", aria_labelledby="why"
    )


def _sentence(sentence: str, story: Story, link: str) -> Markup:
    """What it says, and apart from it what is seen there: changes after a step, else whole values."""
    said, colon, seen = sentence.partition(": ")
    if colon and BEGINS.match(said):
        first, *others = (element("code", one) for one in seen.split("; "))
        apart = element("span", "; ", class_="unseen")
        parts = joined(": ", first, (joined(apart, one) for one in others))
        return joined(linked(said, story, link), element("span", parts, class_="seen"))
    if len(seen) <= LONG:
        return linked(sentence, story, link)
    text = "\n".join(line for piece in SEEN.split(seen) for line in lines(visible(piece)))
    value = element("pre", text, class_="detail", tabindex="0", aria_label="What is seen")
    return folded(joined(linked(said, story, link), ":"), value)


def folded(summary: str, content: Markup) -> Markup:
    """What the script folds away for who wants to know more; without it, and on paper, it is open."""
    return element("details", element("summary", summary), content, class_="more", open=True)


def linked(sentence: str, story: Story, link: str = svg.STEP) -> Markup:
    """A sentence in which `step 7` is a link."""
    result: list[Markup] = []
    end = 0
    for found in NAMED.finditer(sentence):
        if 1 <= int(found[1][:9]) <= len(story.events):
            result.append(escaped(sentence[end : found.start()]))
            result.append(element("a", found[0], href=f"#{link}{int(found[1])}"))
            end = found.end()
    return joined(*result, escaped(sentence[end:]))


def chart(story: Story, link: str = svg.STEP) -> Markup:
    """The sequence chart: titles of lanes that stay in sight, and below them a row for each event, a link."""
    laid = geometry.chart(story)
    titles = svg.drawing(laid, geometry.HEAD, svg.lanes(laid))
    rows = svg.drawing(laid, laid.height, svg.body(laid, link))
    return element(
        "div",
        element("div", titles, class_="titles", aria_hidden="true"),
        rows,
        class_="picture",
        tabindex="0",
        role="region",
        aria_label="Sequence chart",
    )


def picture(story: Story, label: str) -> Markup:
    """The sequence chart with its titles, one of several on a page: no row of it is a link."""
    laid = geometry.chart(story)
    drawn = joined(
        element("g", svg.lanes(laid), class_="head"),
        element("g", svg.body(laid), transform=f"translate(0 {geometry.HEAD})"),
    )
    image = svg.drawing(laid, laid.height + geometry.HEAD, drawn)
    return element("div", image, class_="picture", tabindex="0", role="region", aria_label=label)


def step(event: Event, story: Story, link: str = svg.STEP) -> Markup:
    """An event in full: rules, what it changed, what was violated then, further lines."""
    violated = _violated(story, event.index)
    marked = event.index in story.marks and story.outcome is Light.VIOLATED
    facts = [
        element("p", event.at, class_="at") if event.at else None,
        element("p", violated, class_="broken") if violated else None,
        joined(_changes(event, story)),
        joined(_detail(event)),
        _rules(event),
    ]
    return element(
        "article",
        element("h2", element("span", str(event.index), class_="number"), " ", event.label or "(no label)"),
        *facts,
        class_="step violated" if marked else "step",
        id=f"{link}{event.index}",
        data_step=event.index,
    )


def beginning(story: Story, link: str = svg.STEP) -> Markup:
    """What stands in the place of a step before the first one."""
    text = "This is how it starts." if knows_values(story) else "Nothing has happened yet."
    number = element("span", "0", class_="number")
    return element(
        "article",
        element("h2", number, " start"),
        element("p", text),
        class_="step",
        id=f"{link}0",
        data_step=0,
    )


def _violated(story: Story, index: int) -> Markup | None:
    """Properties that are violated at a moment and were not in the one before."""
    if len(story.moments) <= index:
        return None
    now, before = story.moments[index].lights, story.moments[index - 1].lights
    fresh = [
        claim
        for claim in story.claims
        if now.get(claim.name) is Light.VIOLATED and before.get(claim.name) is not Light.VIOLATED
    ]
    shown = (
        element("span", "✗ violated: ", element("code", one.name), element("span", f" {one.meaning}"))
        for one in fresh
    )
    return joined(shown) if fresh else None


def _detail(event: Event) -> Iterator[Markup]:
    """Beside what it changed, it is for who wants to know more."""
    if not event.detail:
        return
    text = "\n".join(line for one in event.detail for line in lines(visible(one)))
    shown = element("pre", text, class_="detail", tabindex="0", aria_label="Details")
    if event.differences:
        yield folded("Messages in full", shown)
    else:
        yield shown


def _changes(event: Event, story: Story) -> Iterator[Markup]:
    titles = {lane.machine: lane.title for lane in story.lanes}
    for machine, changes in groupby(event.differences, key=lambda one: one.machine):
        rows = (element("tr", element("th", _path(one.path), scope="row"), _change(one)) for one in changes)
        caption = element("caption", titles.get(machine, machine))
        yield element("table", caption, element("tbody", joined(rows)), class_="changes")
    if knows_values(story) and not event.differences:
        yield element("p", "Nothing changes.", class_="quiet")


def _path(path: str) -> Markup:
    """Fields and keys, between which a line may be broken."""
    parts = re.split(r"(?<=\.)|(?=\[)", path or "value")
    return joined(joined(element("wbr") if number else None, part) for number, part in enumerate(parts))


def _change(change: Difference) -> Markup:
    if change.old is None:
        return element("td", element("span", "+ ", class_="sign"), _text(change.new or "", "new"))
    old = _text(_cut(change.old), "old")
    if change.new is None:
        return element("td", element("span", "− ", class_="sign"), old)
    long = len(_cut(change.old)) + len(change.new) > SHORT
    arrow = element("span", " → ", class_="to")
    return element("td", old, arrow, _text(change.new, "new"), class_="long" if long else None)


def _cut(text: str) -> str:
    """What is gone, as far as one must see it to know it."""
    if len(text) <= OLD:
        return text
    name, bracket, _ = text.partition("(")
    return f"{name}(…)" if bracket and name.isidentifier() else f"{text[:OLD]}…"


def _text(text: str, kind: str) -> Markup:
    return element("code", "\n".join(lines(visible(text))), class_=kind)


def _rules(event: Event) -> Markup | None:
    if not event.rules:
        return None
    slugs = (element("li", element("code", slug)) for slug in event.rules)
    return element("div", element("h3", "Rules that fired"), element("ul", joined(slugs), class_="rules"))


def copies(story: Story, room: int) -> Markup:
    """The run in other forms, each to be copied; without the script, or where it may not copy, to be read.

    room: so many bytes the page has for them; what is longer is named.
    """
    forms, left = [], []
    for name, text in story.copies.items():
        button = element(
            "button", "Copy", type="button", class_="copy", hidden=True, aria_label=f"Copy as {name}"
        )
        body = element("pre", text, tabindex="0", aria_label=f"The run as {name}")
        form = element("details", element("summary", name), button, body, class_="form")
        if len(form.encode()) > room:
            left.append(name)
            continue
        room -= len(form.encode())
        forms.append(form)
    if not forms:
        return joined()
    missing = (
        f"Too long for this page: {', '.join(left)}. `rota trace FILE --as FORM` writes it." if left else ""
    )
    return element(
        "section",
        element("h2", "Copy this run as", id="copies"),
        element("div", *forms, class_="forms"),
        element("p", missing, class_="quiet") if missing else None,
        class_="copies",
        aria_labelledby="copies",
    )
