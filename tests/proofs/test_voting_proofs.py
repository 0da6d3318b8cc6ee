"""The obligations of the vote: verdicts, mutants, assumptions, counterexamples re-checked in plain Python."""

from __future__ import annotations

from dataclasses import replace

import pytest
import z3

from rota.proofs import (
    Asking,
    Claim,
    Mutant,
    Obligation,
    UnknownObligation,
    check_assumptions,
    decide,
    prove,
    select,
    smt2,
)

OBLIGATIONS = select(["voting"])
PROVED = [obligation for obligation in OBLIGATIONS if obligation.expect == "proved"]
REFUTED = [obligation for obligation in OBLIGATIONS if obligation.expect == "refuted"]


def named(obligation: Obligation) -> str:
    return obligation.name


MUTANTS = [
    pytest.param(mutant, id=f"{obligation.name}: {mutant.name}")
    for obligation in PROVED
    for mutant in obligation.all_mutants()
]


@pytest.mark.parametrize("obligation", OBLIGATIONS, ids=named)
def test_verdicts(obligation: Obligation) -> None:
    outcome = prove(obligation)
    assert outcome.verdict == obligation.expect, outcome.reason
    assert (outcome.counterexample is not None) == (obligation.expect == "refuted")


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_refuted(mutant: Mutant) -> None:
    assert decide(mutant.build())[0] == "refuted"


@pytest.mark.parametrize("obligation", PROVED, ids=named)
def test_every_proof_has_a_mutant(obligation: Obligation) -> None:
    assert list(obligation.all_mutants())


@pytest.mark.parametrize("obligation", PROVED, ids=named)
def test_assumptions_have_a_model(obligation: Obligation) -> None:
    assert check_assumptions(obligation.build()) == ""


@pytest.mark.parametrize("obligation", [one for one in PROVED if one.build().lemmas], ids=named)
def test_lemmas_are_needed(obligation: Obligation) -> None:
    """Without its lemma no proof is found; only infinite models break the claim, so none is found either."""
    claim = obligation.build()
    assert decide(replace(claim, lemmas={}), Asking(seconds=1.0))[0] == "unknown"


def test_contradicting_assumptions_are_no_proof() -> None:
    x = z3.Int("x")
    empty = Obligation("voting.empty", "", "proved", lambda: Claim({"no x": z3.And(x > 0, x < 0)}, x == 1))
    assert decide(empty.build())[0] == "proved"
    outcome = prove(empty)
    assert outcome.verdict == "unknown"
    assert "contradict" in outcome.reason


def test_what_is_too_hard_is_unknown() -> None:
    a, b, c = (z3.Int(name) for name in "abc")
    fermat = Claim({"positive": z3.And(a > 1, b > 1, c > 1)}, a * a * a + b * b * b != c * c * c)
    verdict, model, reason = decide(fermat, Asking(seconds=0.2))
    assert verdict == "unknown"
    assert model is None
    assert reason


@pytest.mark.parametrize("obligation", REFUTED, ids=named)
def test_counterexamples_hold_in_plain_python(obligation: Obligation) -> None:
    example = prove(obligation).counterexample
    assert example is not None
    lists = dict(example.lists)
    assert set(lists) == {"alice", "bob"}
    for member, ballot in example.ballots:
        assert ballot == next(p for p in lists[member] if p in example.candidates)
    cast = [ballot for _, ballot in example.ballots]
    assert {protocol: count for protocol, count in example.votes if count} == {
        protocol: cast.count(protocol) for protocol in cast
    }
    assert cast.count(example.winner) == max(cast.count(protocol) for protocol in cast)
    assert set(example.opposed) == {
        member for member, listed in lists.items() if example.winner not in listed
    }
    candidates = {
        "voting.union": set().union(*lists.values()),
        "voting.winner-is-unique": set.intersection(*map(set, lists.values())),
        "voting.counters.by-entry": {
            p for p in ("range", "roundrobin") if sum(listed.count(p) for listed in lists.values()) == 2
        },
    }
    assert set(example.candidates) == candidates[obligation.name]
    if obligation.name == "voting.winner-is-unique":
        assert cast.count("range") == cast.count("roundrobin") == 1
    else:
        assert example.opposed


@pytest.mark.parametrize(
    ("name", "entries"),
    [("voting.union", 2), ("voting.winner-is-unique", 4), ("voting.counters.by-entry", 4)],
)
def test_counterexamples_are_the_shortest(name: str, entries: int) -> None:
    example = prove(select([name])[0]).counterexample
    assert example is not None
    assert sum(len(listed) for _, listed in example.lists) == entries


def test_a_counterexample_reads_in_names() -> None:
    example = prove(select(["voting.counters.by-entry"])[0]).counterexample
    assert example is not None
    text = list(example.as_lines())
    assert len(text) == 5
    assert text[0] == "candidates: range, roundrobin"
    assert text[-1].endswith(f"may win, which {example.opposed[0]} does not support")


def test_selection_by_name_and_by_what_lies_under_it() -> None:
    assert select([])[: len(OBLIGATIONS)] == OBLIGATIONS
    assert [one.name for one in select(["voting.tally"])] == ["voting.tally.base", "voting.tally.step"]
    assert [one.name for one in select(["voting.union"])] == ["voting.union"]
    with pytest.raises(UnknownObligation):
        select(["voting.tal"])


def test_names_are_unique() -> None:
    assert len({one.name for one in OBLIGATIONS}) == len(OBLIGATIONS)


@pytest.mark.parametrize("name", ["voting.counters.add", "voting.winner-exists", "voting.union"])
def test_smt2_asks_the_same_question(name: str) -> None:
    obligation = select([name])[0]
    solver = z3.Solver()
    solver.from_string(smt2(obligation))
    assert solver.check() == (z3.unsat if obligation.expect == "proved" else z3.sat)
