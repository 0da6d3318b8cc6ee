"""A session as what the page shows: texts, numbers, and pieces of markup in which every text is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from rota.designs import suites
from rota.kernel import Transition
from rota.pages import fragments
from rota.pages.document import Markup, element, joined
from rota.pages.state import state_panel
from rota.pages.strips import SIGNS, ownership_strip
from rota.play.offers import Offer, Refused
from rota.play.rules_tried import Asked, Trial, trials
from rota.play.session import Session
from rota.spec import RULES
from rota.trace.story import Claim, Light, Moment
from rota.trace.telling import told

Json = dict[str, Any]

AT = "at-"
"""Before the number of a step in what links to it."""

WORDS = {Light.VIOLATED: "violated", Light.HOLDS: "hold", Light.SILENT: "claim nothing here"}


def view(session: Session) -> Json:
    """All that the page shows of a session."""
    story = told(session.system, session.states, session.path)
    moment = story.moments[session.at]
    titles = {lane.machine: lane.title for lane in story.lanes}
    order = [*titles, *(one.machine for one in session.offers if one.machine not in titles)]
    offers = sorted(session.offers, key=lambda one: order.index(one.machine))
    return {
        "at": session.at,
        "last": len(session.path),
        "step": story.events[session.at - 1].label if session.at else "at the start",
        "chart": fragments.chart(story, AT) if session.path else "",
        "state": state_panel(story, session.at),
        "owners": _owners(ownership_strip(story, AT)),
        "lights": lights(story.claims, moment),
        "offers": [_offer(session, one, titles) for one in offers],
        "refused": joined(_refused(one, titles) for one in offers),
        "notice": story.notice,
    }


def _owners(strip: Markup) -> Markup:
    return joined(element("h3", "Who owns what"), strip) if strip else joined()


# ---- what is possible


def _offer(session: Session, offer: Offer, titles: Mapping[str, str]) -> Json:
    numbers = {move: number for number, move in enumerate(session.moves)}
    return {
        "title": titles.get(offer.machine, offer.machine),
        "mistake": offer.mistake,
        "moves": [_move(session, numbers[move], move) for move in offer.moves],
    }


def _move(session: Session, number: int, move: Transition) -> Json:
    """A move, with what it would change."""
    story = told(session.system, (session.state, move.target), (move,))
    event, (before, after) = story.events[0], story.moments
    breaks = [
        name
        for name, light in after.lights.items()
        if light is Light.VIOLATED and before.lights.get(name) is not Light.VIOLATED
    ]
    tried = trials(session.system, session.state, move)
    return {
        "number": number,
        "label": event.label,
        "still": move.target == session.state,
        "breaks": breaks,
        "rules": list(dict.fromkeys(event.rules)),
        "preview": joined(fragments.step(event, story, "would-"), _trials(tried)),
    }


def _trials(tried: Sequence[Trial]) -> Markup:
    """The rules that were asked, in order, with what refused."""
    parts = []
    for one in tried:
        title = f"Rules that {one.machine} asks about {one.about}"
        lines = element("ol", joined(_asked(each) for each in one.asked), class_="asked")
        parts.append(element("section", element("h4", title), lines))
    return joined(parts)


def _asked(one: Asked) -> Markup:
    sign, said = ("✓", "fires") if one.fired else ("✗", "refuses")
    guard = None
    if one.guard is not None:
        place = element("span", one.guard.place, class_="quiet")
        guard = element("p", "since ", element("code", one.guard.text), " ", place)
    words = titles_of_rules().get(one.rule, "")
    return element(
        "li",
        element("span", f"{sign} ", aria_hidden="true"),
        element("code", one.rule),
        element("span", f" {said}", class_="quiet"),
        element("p", words) if words else None,
        guard,
        class_="fires" if one.fired else "refuses",
    )


@cache
def titles_of_rules() -> Mapping[str, str]:
    """The first line of every rule that rota knows, by its slug."""
    tables = (RULES, *(design.rules for design in suites.DESIGNS.values()))
    return {slug: rule.title for table in tables for slug, rule in table.items()}


# ---- what is not possible


def _refused(offer: Offer, titles: Mapping[str, str]) -> Markup:
    """What a machine cannot begin, those with the same reason together."""
    if not offer.refused:
        return joined()

    def why(one: Refused) -> str:
        own = one.by == offer.machine and one.reason
        return one.reason if own else one.said

    ordered = sorted(offer.refused, key=lambda one: (not one.message, why(one)))
    rows = (_reason(said, list(several)) for said, several in groupby(ordered, key=why))
    title = titles.get(offer.machine, offer.machine)
    return element("section", element("h4", title), element("dl", joined(rows), class_="reasons"))


def _reason(said: str, several: Sequence[Refused]) -> Markup:
    labels = joined(element("li", _label(one)) for one in several)
    return element("div", element("dt", said), element("dd", element("ul", labels)))


def _label(one: Refused) -> Iterator[Markup]:
    yield element("span", one.label)
    if one.message:
        yield element("code", one.message, class_="message", title=f"what {one.by} refuses")


# ---- what is claimed


def lights(claims: Sequence[Claim], moment: Moment) -> Markup:
    """What the properties say of a moment: those that are violated in full, the others behind a summary."""
    lit = [(one, moment.lights[one.name]) for one in claims if one.name in moment.lights]
    if not lit:
        return element("p", "This system claims nothing of its states.", class_="quiet")
    bad = [one for one in lit if one[1] is Light.VIOLATED]
    fine = sorted((one for one in lit if one not in bad), key=lambda one: one[1] is Light.SILENT)
    counts = ((sum(light is each for _, light in lit), each) for each in WORDS)
    summary = joined(
        element("span", element("b", SIGNS[light]), f" {count} {WORDS[light]}", class_=f"count {light.value}")
        for count, light in counts
        if count
    )
    return joined(
        element("ul", joined(_claim(*one) for one in bad), class_="claims") if bad else None,
        element(
            "details",
            element("summary", summary, class_="counts"),
            element("ul", joined(_claim(*one) for one in fine), class_="claims"),
        ),
    )


def _claim(claim: Claim, light: Light) -> Markup:
    return element(
        "li",
        element("b", SIGNS[light], title=WORDS[light]),
        element("span", element("code", claim.name), f" {claim.meaning}"),
        class_=light.value,
    )
