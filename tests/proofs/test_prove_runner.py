"""What decides obligations: verdicts, time limits, contradictions, models in words, names, variants."""

from __future__ import annotations

from dataclasses import replace

import pytest
import z3

from rota.proofs import (
    TACTICS,
    Asking,
    Claim,
    Obligation,
    UnknownObligation,
    check_assumptions,
    decide,
    prove,
    select,
)
from rota.proofs.vote.small_groups import World, group_claim

X = z3.Int("x")
VOTING = select(["voting"])


def obligation(claim: Claim) -> Obligation:
    return Obligation("planted.claim", "a planted claim", "proved", lambda: claim)


def test_contradicting_assumptions_are_no_proof() -> None:
    claim = Claim({"odd": X % 2 == 1, "above": X > 0}, X == 1, {"below": X < 0})
    assert decide(claim)[0] == "proved"
    outcome = prove(obligation(claim))
    assert outcome.verdict == "vacuous"
    assert not outcome.as_expected
    assert outcome.reason == "these assumptions contradict each other: above; below"


def test_assumptions_of_a_claim_about_groups_have_a_finite_model() -> None:
    one = select(["voting.winner-exists"])[0].build()
    assert check_assumptions(one) is None
    nobody = z3.ForAll([z3.Const("m", z3.DeclareSort("Member"))], z3.BoolVal(False))
    flaw = check_assumptions(group_claim({**one.assumptions, "nobody": nobody}, one.goal))
    assert flaw is not None
    assert flaw.verdict == "vacuous"
    assert flaw.reason == "these assumptions contradict each other: nobody"


def test_assumptions_that_nobody_can_decide_are_no_proof() -> None:
    a, b, c = (z3.Int(name) for name in "abc")
    cubes = z3.And(a > 1, b > 1, c > 1, a * a * a + b * b * b == c * c * c)
    outcome = prove(obligation(Claim({"cubes": cubes}, X == X)), Asking(seconds=0.2))
    assert outcome.verdict == "unknown"
    assert outcome.reason == "no model of the assumptions was found: time-out after 0.2 s"


def test_what_is_too_hard_is_unknown() -> None:
    a, b, c = (z3.Int(name) for name in "abc")
    fermat = Claim({"positive": z3.And(a > 1, b > 1, c > 1)}, a * a * a + b * b * b != c * c * c)
    verdict, model, reason = decide(fermat, Asking(seconds=0.2))
    assert verdict == "unknown"
    assert model is None
    assert reason == "time-out after 0.2 s"


def test_a_counterexample_is_as_small_as_the_measure_tells() -> None:
    claim = Claim({"at least": X >= 7}, X < 7, measure=X)
    _, model, _ = decide(claim)
    assert model.eval(X).as_long() == 7


@pytest.mark.parametrize("tactic", TACTICS)
def test_every_tactic_decides(tactic: str) -> None:
    """Also with a seed; what is false is refuted and what is true proved."""
    true, false = select(["voting.counters.add", "voting.union"])
    assert prove(true, Asking(seed=5, tactic=tactic)).verdict == "proved"
    assert prove(false, Asking(seed=5, tactic=tactic)).verdict == "refuted"


def test_the_seed_reaches_z3() -> None:
    """Pigeons: Z3 searches, and searches otherwise with another seed."""

    def conflicts(seed: int) -> int:
        at = [[z3.Bool(f"{pigeon} in {hole}") for hole in range(5)] for pigeon in range(6)]
        alone = [z3.Not(z3.And(a[hole], b[hole])) for a in at for b in at if a is not b for hole in range(5)]
        before = z3.get_param("smt.random_seed")
        seen: list[z3.Solver] = []

        class Kept(z3.Solver):
            def __init__(self, context: z3.Context) -> None:
                super().__init__(ctx=context)
                seen.append(self)

        TACTICS["kept"] = Kept
        try:
            housed = {"each is housed": z3.And([z3.Or(row) for row in at])}
            assert (
                decide(Claim(housed, z3.Not(z3.And(alone))), Asking(seed=seed, tactic="kept"))[0] == "proved"
            )
        finally:
            del TACTICS["kept"]
        assert z3.get_param("smt.random_seed") == before
        return int(next(value for key, value in seen[0].statistics() if "conflicts" in key))

    assert conflicts(1) == conflicts(1)
    assert len({conflicts(seed) for seed in range(4)}) > 1


def seven(claim: Claim) -> Claim:
    return replace(claim, assumptions={**claim.assumptions, "small": X == 7}, models=())


def test_small_versions_of_a_claim_that_z3_decides_as_it_stands() -> None:
    """They make no proof; they give the model of a refutation, and show that there is a model at all."""
    _, model, _ = decide(Claim({"above": X > 0}, X == 1, models=(seven,)))
    assert model.eval(X).as_long() == 7
    assert decide(Claim({"above": X > 0}, X != 8, models=(seven,)))[0] == "refuted"
    a, b, c = (z3.Int(name) for name in "abc")
    hard = z3.And(a > 1, b > 1, c > 1, z3.Or(X == 7, a * a * a + b * b * b == c * c * c))
    assert check_assumptions(Claim({"hard": hard}, X == X, models=(seven,)), Asking(seconds=0.2)) is None


def test_models_that_nobody_explains_are_answered_in_names() -> None:
    one = select(["voting.winner-is-supported"])[0].mutated("without ballots")
    example = prove(one).counterexample
    assert example is not None
    winner = example.as_json()["values"]["x"]
    assert f"votes({winner}) = 1" in "\n".join(example.as_lines())
    assert f"ann, {winner}" not in example.as_json()["relations"]["lists"]


def test_sets_are_answered_by_their_members() -> None:
    example = prove(select(["voting.counters.meaning"])[0].mutated("one short is enough")).counterexample
    assert example is not None
    text = "\n".join(example.as_lines())
    assert "group = {" in text
    assert "Store" not in text
    assert "If(" not in text


def test_selection_by_name_and_by_what_lies_under_it() -> None:
    assert select(["voting"]) == tuple(one for one in select() if one.name.startswith("voting."))
    assert [one.name for one in select(["voting.tally"])] == ["voting.tally.base", "voting.tally.step"]
    assert [one.name for one in select(["voting.union"])] == ["voting.union"]
    with pytest.raises(UnknownObligation) as unknown:
        select(["voting.taly.base"])
    assert unknown.value.near[0] == "voting.tally.base"


def test_a_variant_is_to_be_refuted() -> None:
    one = select(["voting.tally.step"])[0]
    assert one.mutated("a vote adds nothing").expect == "refuted"
    assert "up to now" not in one.mutated("without up to now").build().assumptions
    for unknown in ("up to now", "without votes", "a vote"):
        with pytest.raises(KeyError):
            one.mutated(unknown)


@pytest.mark.parametrize("name", ["Voting.x", "voting/x", "voting.", "..", "voting x", ""])
def test_names_do_as_names_of_files(name: str) -> None:
    with pytest.raises(ValueError, match="is no name for an obligation"):
        Obligation(name, "", "proved", lambda: Claim({}, X == X))


def test_a_claim_is_looked_at_in_finite_versions_first() -> None:
    """A claim that only groups of three break: the world that shows it is the third."""
    members = World(("ann", "ben", "cid"), ("range",))
    m, n = (z3.Const(name, members.member("ann").sort()) for name in "mn")
    two = z3.Not(z3.Exists([m, n], z3.And(m != n, *(z3.Const("k", m.sort()) != one for one in (m, n)))))
    verdict, model, _ = decide(group_claim({}, two))
    assert verdict == "refuted"
    assert len(model.get_universe(m.sort())) == 3


def test_what_was_asked_before_changes_nothing() -> None:
    """The same counterexample, first or after others: what is printed can be compared."""
    one = select(["voting.counters.add"])[0].mutated("counts twice")

    def lines() -> list[str]:
        example = prove(one).counterexample
        assert example is not None
        return list(example.as_lines())

    first = lines()
    for other in select(["voting.counters", "voting.union"]):
        prove(other, Asking(seed=4))
    assert lines() == first
