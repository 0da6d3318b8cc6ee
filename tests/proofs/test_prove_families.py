"""Obligations of all families: as expected, not by contradiction, and broken by what must break them.

Of each group some are asked; with -m long the others, and `rota prove` asks all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from harness.thinned import some
from rota.cli.prove_plan import Item, plan
from rota.cli.prove_workers import Answer, Provers
from rota.proofs import FAMILIES, Asking, Claim, Family, Obligation, decide, family_of, select
from rota.report.prove_text import group_of

ALL = select()
PROVED = [one for one in ALL if one.expect == "proved"]
LARGE = 200
"""Of a family with more variants a sample is asked here, and some obligations are asked twice; the command
asks all: `rota prove --cross-check`, `rota prove --negative`."""


def sampled(items: Sequence[Item]) -> Iterator[Item]:
    """The first of each variant (a planted mistake, a dropped assumption), and every fifth of the others."""
    for _, members in groupby(items, lambda item: family_of(item.obligation)):
        of_family, seen = list(members), set()
        for number, item in enumerate(of_family):
            if len(of_family) <= LARGE or item.variant not in seen or number % 5 == 0:
                yield item
            seen.add(item.variant)


TWICE = list(sampled([Item(one) for one in ALL]))[::4]
ALL_NEGATIVE = plan((), None, negative=True)
NEGATIVE = list(sampled(ALL_NEGATIVE))


def named(one: Obligation | Item | Family) -> str:
    if isinstance(one, Item):
        return f"{one.obligation.name}: {one.variant}" if one.variant else one.obligation.name
    return one.name


def group(one: Obligation | Item) -> str:
    """What is printed together."""
    return group_of(named(one))


Answers = dict[tuple[str, int], Answer]
"""By what is asked, and how often it was asked before."""


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest) -> Answers:
    """What tests look at, in two processes: obligations, many with another seed and tactic, variants."""
    again = Asking(seed=1, tactic="old-arith")
    every = [(Item(one), 0, Asking()) for one in ALL] + [(item, 1, again) for item in TWICE]
    every += [(item, 0, Asking()) for item in NEGATIVE]
    wanted = {
        named(one)
        for test in request.session.items
        if test.path == Path(__file__) and hasattr(test, "callspec")
        for one in test.callspec.params.values()
    }
    asked = [one for one in every if named(one[0]) in wanted]
    with Provers([item.question(asking) for item, _, asking in asked], 2) as provers:
        heard = dict(one for one in provers.answers() if one)
    return {(named(item), turn): heard[number] for number, (item, turn, _) in enumerate(asked)}


@pytest.mark.parametrize("one", some(ALL, 14, kind=group), ids=named)
def test_verdicts(one: Obligation, answers: Answers) -> None:
    name = named(Item(one))
    for turn in (0, 1) if (name, 1) in answers else (0,):
        answer = answers[name, turn]
        assert answer.verdict == one.expect, (turn, answer.reason)
        assert (answer.counterexample is not None) == (one.expect == "refuted")


@pytest.mark.parametrize("item", some(NEGATIVE, 8, kind=group, name=named), ids=named)
def test_variants_are_refuted(item: Item, answers: Answers) -> None:
    answer = answers[named(item), 0]
    assert answer.verdict == "refuted", answer.reason
    assert answer.counterexample is not None


def test_every_group_of_proofs_has_a_variant() -> None:
    """Or what it says is an assumption that another claim needs: a conjunct of an invariant."""
    broken = {group_of(item.obligation.name) for item in ALL_NEGATIVE}
    needed = {f"{family_of(one).name}.{name}" for one in PROVED for name in one.needed or ()}
    assert {group_of(one.name) for one in PROVED} <= broken | needed


STEPS = 1_000_000
"""Of Z3, a third of a second."""


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
    """Without them no proof is found, by as many steps as find one with them. Mostly only infinite models
    break it then: none is found. Steps are counted and not seconds: where a time-out comes at another step
    Z3 may be where it does not look at its clock for minutes."""
    with_lemmas = {name: claim for name, claim in claims.items() if claim.lemmas}
    assert with_lemmas
    for name, claim in with_lemmas.items():
        assert decide(claim, Asking(steps=STEPS))[0] == "proved", name
        assert decide(replace(claim, lemmas={}), Asking(steps=STEPS))[0] != "proved", name


def test_names_are_unique_and_lie_in_their_family() -> None:
    assert max(Counter(one.name for one in ALL).values()) == 1
    assert all(one in family_of(one).obligations() for one in ALL)


def test_sentences_are_of_groups_that_there_are() -> None:
    for family in FAMILIES:
        assert set(family.sentences()) <= {group_of(one.name) for one in family.obligations()}
