"""The properties as documents: names, sentences, the rules that they guard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rota.invariants import classic
from rota.invariants.weaknesses import WEAKNESSES
from rota.kernel import Kind, Property
from rota.scopes import load
from rota.spec import RULES

SETTINGS = {"budget": (("fault", 1),)}
ALL = classic(SETTINGS)
EVERYTHING = [one.settings for one in load("endless").configurations]


@pytest.mark.parametrize("prop", ALL, ids=lambda prop: prop.name)
def test_property_is_a_sentence_about_rules(prop: Property) -> None:
    assert prop.meaning.endswith(".")
    assert set(prop.rules) <= set(RULES)
    assert prop.source or prop.kind in (Kind.WITNESS, Kind.TERMINAL)


WITHOUT_PREMISE = {
    "timers.match-state": "an equation, about every value of the coordinator",
    "parked.answered-once": "a history variable, which is about all answers there were",
    "offsets.commit-by-current-member": "a history variable, which is about all commits there were",
    "offsets.acknowledged-is-told": "a history variable, which is about all fetches there were",
}
"""The properties of all states and steps that are no implications, and why."""


def test_what_is_an_implication_has_a_premise() -> None:
    every = {prop.name: prop for settings in EVERYTHING for prop in classic(settings, strict=True)}
    every |= {one.name: one.sentence for one in WEAKNESSES if isinstance(one.sentence, Property)}
    plain = {name for name, prop in every.items() if prop.counted and prop.given is None}
    assert plain == WITHOUT_PREMISE.keys()


def test_names_are_unique() -> None:
    assert len({prop.name for prop in ALL}) == len(ALL)


def test_known_weaknesses_are_looked_for_or_hold() -> None:
    """Where their cause is they are looked for, or violated if strict; where it is not they must hold."""
    kinds = kinds_of(classic(SETTINGS))
    assert kinds["weakness.replaced-request-unanswered"] is Kind.WITNESS
    assert Kind.WITNESS not in kinds_of(classic(SETTINGS, strict=True)).values()
    found = {name for name, kind in kinds_of(classic({})).items() if kind is Kind.WITNESS}
    assert found == {"weakness.newcomer-remembered"}
    assert Kind.WITNESS not in kinds_of(classic({"profile": "rota"})).values()


def kinds_of(properties: tuple[Property, ...]) -> dict[str, Kind]:
    names = {one.name for one in WEAKNESSES}
    return {prop.name: prop.kind for prop in properties if prop.name in names}


def test_the_findings_have_every_known_weakness() -> None:
    text = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `([a-z.-]+)` \|", text, re.MULTILINE))
    assert told | {"weakness.replaced-request-waits"} == {one.name for one in WEAKNESSES}
