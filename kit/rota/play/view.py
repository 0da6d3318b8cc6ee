"""A session as what the page shows: nothing but texts, numbers, lists and objects of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any

from rota.designs import suites
from rota.kernel import State, Transition
from rota.play.offers import Offer, Refused
from rota.play.rules_tried import Trial, trials
from rota.play.session import Session
from rota.spec import RULES
from rota.trace import render
from rota.trace.lights import claims, lights
from rota.trace.record import steps_of
from rota.trace.story import Light, Moment, Story
from rota.trace.telling import told

Json = dict[str, Any]


def view(session: Session) -> Json:
    """All that the page shows of a session."""
    story = told(session.system, session.states, session.path)
    moment = story.moments[session.at]
    return {
        "at": session.at,
        "run": [{"label": event.label, "machine": event.machine} for event in story.events],
        "machines": list(_machines(session, story, moment)),
        "offers": [_offer(session, offer) for offer in session.offers],
        "claims": [
            {**asdict(claim), "light": moment.lights[claim.name].value}
            for claim in story.claims
            if claim.name in moment.lights
        ],
        "notice": story.notice,
    }


# ---- the state


def _machines(session: Session, story: Story, moment: Moment) -> Iterator[Json]:
    """The machines: those with lanes first, in their order."""
    titles = {lane.machine: lane.title for lane in story.lanes}
    names = [machine.name for machine in session.system.machines]
    changed = story.events[session.at - 1].differences if session.at else ()
    for name in sorted(names, key=lambda one: [*titles].index(one) if one in titles else len(titles)):
        yield {
            "name": name,
            "title": titles.get(name, name),
            "band": moment.bands.get(name, ""),
            "caption": list(moment.captions.get(name, ())),
            "owns": [what for what, holders in moment.owners.items() if name in holders],
            "value": tree("", session.state[names.index(name)]),
            "changed": [_change(one) for one in changed if one.machine == name],
        }


def tree(name: str, value: Any) -> Json:
    """A value with its parts. usual: it is what it is where nothing has happened, so a page may hide it."""
    parts = [
        {**tree(part, inner), "usual": usual} for part, inner, usual in _parts(value)
    ] if not isinstance(value, str | bytes) else []
    return {"name": name, "text": "" if parts else render(value), "kind": _kind(value), "parts": parts}


def _parts(value: Any) -> Iterator[tuple[str, Any, bool]]:
    if is_dataclass(value) and not isinstance(value, type):
        if "__str__" in vars(type(value)):
            return
        for one in fields(value):
            inner = getattr(value, one.name)
            yield one.name, inner, bool(inner == one.default)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield render(key), inner, False
    elif isinstance(value, tuple) and any(is_dataclass(one) for one in value):
        for number, inner in enumerate(value, 1):
            yield str(number), inner, False


def _kind(value: Any) -> str:
    return type(value).__name__ if is_dataclass(value) else ""


# ---- what is possible, and what is not


def _offer(session: Session, offer: Offer) -> Json:
    numbers = {move: number for number, move in enumerate(session.moves)}
    return {
        "machine": offer.machine,
        "mistake": offer.mistake,
        "moves": [_move(session, numbers[move], move) for move in offer.moves],
        "refused": [_refused(one) for one in offer.refused],
    }


def _move(session: Session, number: int, move: Transition) -> Json:
    names = [machine.name for machine in session.system.machines]
    (step,) = steps_of(names, session.state, (move,))
    return {
        "number": number,
        "label": step.label or f"a step of {move.local_steps[0].machine}",
        "rules": [{"rule": slug, "title": titles().get(slug, "")} for slug in step.rules],
        "changes": [{"machine": one.machine, **_change(one)} for one in step.differences],
        "messages": [
            {"sender": one.sender, "machine": one.machine, "text": one.message}
            for one in step.local_steps
            if one.sender is not None
        ],
        "breaks": breaks(session, session.state, move),
        "trials": [_trial(one) for one in trials(session.system, session.state, move)],
    }


def breaks(session: Session, state: State, move: Transition) -> list[str]:
    """The properties that a move, or the state after it, contradicts and that held before."""
    named = claims(session.system)
    before, after = lights(session.system, (state, move.target), (move,), named)
    bad = Light.VIOLATED
    return [name for name, light in after.items() if light is bad and before.get(name) is not bad]


def _change(one: Any) -> Json:
    return {"path": one.path, "old": one.old, "new": one.new}


def _refused(one: Refused) -> Json:
    return {**asdict(one), "said": one.said}


def _trial(one: Trial) -> Json:
    asked: Sequence[Json] = [
        {
            "rule": each.rule,
            "title": titles().get(each.rule, ""),
            "fired": each.fired,
            "guard": each.guard.text if each.guard else "",
            "place": each.guard.place if each.guard else "",
        }
        for each in one.asked
    ]
    return {"machine": one.machine, "about": one.about, "asked": asked}


@cache
def titles() -> Mapping[str, str]:
    """The first line of every rule that rota knows, by its slug."""
    tables = (RULES, *(design.rules for design in suites.DESIGNS.values()))
    return {slug: rule.title for table in tables for slug, rule in table.items()}
