"""All obligations of all families: as expected, not by contradiction, and broken by what must break them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import pytest

from rota.cli.prove_plan import Item, plan
from rota.cli.prove_workers import Answer, Crew
from rota.proofs import FAMILIES, Asking, Claim, Family, Obligation, decide, family_of, select
from rota.report.prove_text import group_of

ALL = select()
PROVED = [one for one in ALL if one.expect == "proved"]
LARGE = 200
"""Negative checks; of a family that has more, a sample is asked here, all by `rota prove --negative`."""


def sampled(items: Sequence[Item]) -> Iterator[Item]:
    """The first of each name (a planted mistake, a dropped assumption), and every tenth of the others."""
    for _, members in groupby(items, lambda item: family_of(item.obligation)):
        of_family, seen = list(members), set()
        for number, item in enumerate(of_family):
            if len(of_family) <= LARGE or item.variant not in seen or number % 10 == 0:
                yield item
            seen.add(item.variant)


ALL_NEGATIVE = plan((), None, negative=True)
NEGATIVE = list(sampled(ALL_NEGATIVE))


def decided(items: list[Item], asking: Asking | None = None) -> list[Answer]:
    """What becomes of the items, in two processes."""
    questions = [item.question(asking or Asking()) for item in items]
    with Crew(questions, 2) as crew:
        answers = dict(heard for heard in crew.answers() if heard)
    return [answers[number] for number in range(len(items))]


def named(one: Obligation | Item | Family) -> str:
    if isinstance(one, Item):
        return f"{one.obligation.name}: {one.variant}"
    return one.name


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Answer]:
    return dict(zip((one.name for one in ALL), decided([Item(one) for one in ALL]), strict=True))


@pytest.mark.parametrize("one", ALL, ids=named)
def test_verdicts(one: Obligation, verdicts: dict[str, Answer]) -> None:
    answer = verdicts[one.name]
    assert answer.verdict == one.expect, answer.reason
    assert (answer.counterexample is not None) == (one.expect == "refuted")


def test_another_seed_and_tactic_agree(verdicts: dict[str, Answer]) -> None:
    again = decided([Item(one) for one in ALL], Asking(seed=1, tactic="old-arith"))
    differ = {
        one.name: answer for one, answer in zip(ALL, again, strict=True) if answer.verdict != one.expect
    }
    assert differ == {}


@pytest.fixture(scope="module")
def broken() -> dict[str, Answer]:
    return dict(zip(map(named, NEGATIVE), decided(NEGATIVE), strict=True))


@pytest.mark.parametrize("item", NEGATIVE, ids=named)
def test_variants_are_refuted(item: Item, broken: dict[str, Answer]) -> None:
    answer = broken[named(item)]
    assert answer.verdict == "refuted", answer.reason
    assert answer.counterexample is not None
    assert list(answer.counterexample.as_lines()) or not item.obligation.build().assumptions


def test_every_group_of_proofs_has_a_variant() -> None:
    assert {group_of(one.name) for one in PROVED} == {group_of(item.obligation.name) for item in ALL_NEGATIVE}


@pytest.fixture(scope="module")
def claims() -> dict[str, Claim]:
    return {one.name: one.build() for one in PROVED}


@pytest.mark.parametrize("family", FAMILIES, ids=named)
def test_every_assumption_is_needed(family: Family, claims: dict[str, Claim]) -> None:
    """By one of the obligations, at least, that assume it under this name."""
    assumed, needed = defaultdict(list), set()
    for one in family.obligations():
        if one.expect == "proved":
            for name in claims[one.name].assumptions:
                assumed[name].append(one.name)
            needed.update(claims[one.name].assumptions if one.needed is None else one.needed)
    assert not {name: where[:3] for name, where in assumed.items() if name not in needed}


def test_lemmas_are_needed(claims: dict[str, Claim]) -> None:
    """Without them no proof is found. Mostly only infinite models break it then: none is found."""
    with_lemmas = {name: claim for name, claim in claims.items() if claim.lemmas}
    assert with_lemmas
    for name, claim in with_lemmas.items():
        assert decide(replace(claim, lemmas={}), Asking(seconds=0.5))[0] != "proved", name


def test_names_are_unique_and_lie_in_their_family() -> None:
    assert max(Counter(one.name for one in ALL).values()) == 1
    assert all(one in family_of(one).obligations() for one in ALL)


def test_sentences_are_of_groups_that_there_are() -> None:
    for family in FAMILIES:
        assert set(family.sentences()) <= {group_of(one.name) for one in family.obligations()}
