"""The formulas of the proofs and the spec's vote say the same, on every vote of three on three protocols."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, permutations

import pytest
import z3

from rota.proofs.counterexamples import candidate, vote_facts
from rota.proofs.encoding import intersection, wins
from rota.proofs.obligations import Claim
from rota.proofs.world import World
from rota.spec import voting

TRIO = World(("ann", "ben", "cid"), ("range", "roundrobin", "sticky"))
LISTS = [listed for size in range(4) for listed in permutations(TRIO.protocols, size)]
REPEATING = [("range", "range"), ("sticky", "range", "sticky")]

Lists = tuple[tuple[str, ...], ...]


@pytest.fixture(scope="module")
def vote() -> z3.Solver:
    claim = TRIO.ground_claim(Claim(vote_facts(TRIO, intersection), z3.BoolVal(True)))
    solver = z3.Solver()
    solver.add(*claim.given)
    return solver


def disagreements(vote: z3.Solver, cases: Iterator[Lists]) -> Iterator[tuple[Lists, str]]:
    """Lists and a protocol of which formula and spec say different things."""
    for lists in cases:
        candidates, winners = voting.candidates(lists), voting.winners(lists)
        vote.push()
        vote.add(TRIO.given(lists))
        assert vote.check() == z3.sat
        model = vote.model()
        for name in TRIO.protocols:
            p = TRIO.protocol(name)
            said = (
                z3.is_true(model.eval(f, model_completion=True)) for f in (candidate(p), TRIO.ground(wins(p)))
            )
            if tuple(said) != (name in candidates, name in winners):
                yield lists, name
        vote.pop()


def test_formula_and_spec_agree(vote: z3.Solver) -> None:
    """In a model of the lists; that all models of the same lists agree is the encoding's own test."""
    assert not list(disagreements(vote, combinations_with_replacement(LISTS, 3)))
    assert not list(disagreements(vote, combinations_with_replacement([*REPEATING, *LISTS[1:5]], 3)))


def test_a_spec_that_takes_the_union_disagrees(vote: z3.Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voting, "candidates", lambda lists: tuple(sorted(set().union(*lists))))
    assert list(disagreements(vote, combinations_with_replacement(LISTS[:5], 3)))
