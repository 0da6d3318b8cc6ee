"""The properties as documents: names, sentences, the rules that they guard."""

from __future__ import annotations

import pytest

from rota.invariants import classic
from rota.invariants.safety import KNOWN_WEAKNESSES
from rota.kernel import Kind, Property
from rota.spec import RULES

SETTINGS = {"budget": (("fault", 1),)}
ALL = classic(SETTINGS)


@pytest.mark.parametrize("prop", ALL, ids=lambda prop: prop.name)
def test_property_is_a_sentence_about_rules(prop: Property) -> None:
    assert prop.meaning.endswith(".")
    assert set(prop.rules) <= set(RULES)
    assert prop.source or prop.kind in (Kind.WITNESS, Kind.TERMINAL)


def test_names_are_unique() -> None:
    assert len({prop.name for prop in ALL}) == len(ALL)


def test_known_weaknesses_are_looked_for_or_violated() -> None:
    """Without a fault their cause is not there; strict makes them properties like all others."""
    names = {weakness.name for weakness in KNOWN_WEAKNESSES}
    kinds = {prop.name: prop.kind for prop in ALL if prop.name in names}
    strict = {prop.name: prop.kind for prop in classic(SETTINGS, strict=True) if prop.name in names}
    assert set(kinds.values()) == {Kind.WITNESS}
    assert set(strict.values()) == {Kind.SAFETY}
    assert not names & {prop.name for prop in classic({})}
