"""The core's invariant: counterexamples hold in plain values, nothing is proved from a contradiction."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import z3

from harness.thinned import some
from rota.proofs import Obligation, decide, prove, select
from rota.proofs.core.claims import CONJUNCTS, Rule, before, goes_wrong, kept_claim, kept_goal, order
from rota.proofs.core.conjuncts import Conjunct
from rota.proofs.core.coverage import MOVES
from rota.proofs.core.logic import (
    CONSTANTS,
    RIGID,
    SWITCHES,
    Everything,
    Finite,
    Sort,
    both,
    symbol,
)
from rota.proofs.core.moves import GIVEN, Args, Effect, Move
from rota.proofs.core.mutants import WRONG_RULES, WrongRule
from rota.proofs.core.reading import Words, reader
from rota.proofs.core.sentences import SENTENCES
from rota.proofs.core.signature import SIGNATURE, State
from rota.proofs.core.wishes import WISHES, Wish

BY_NAME = {one.name: one for one in CONJUNCTS}
MOVE = {one.name: one for one in MOVES}
STRENGTHENINGS = [one for one in CONJUNCTS if one.why]


def named(one: Any) -> str:
    return one.name


class Plain:
    """A model as plain values: elements are their names in the model."""

    def __init__(self, model: Any) -> None:
        self.words = Words(model, frozenset())
        self.of = {sort: [str(one) for one in self.words.elements(sort)] for sort in Sort}
        self.known = {str(one): one for sort in Sort for one in self.words.elements(sort)}
        meanings = {name: self.table(name, *signature) for name, signature in RIGID.items()}
        meanings |= {name: self.table(name, (), sort) for name, sort in CONSTANTS.items()}
        meanings |= {name: self.table(name, (), None) for name in SWITCHES}
        parts = {name: self.table(name, part.domain, part.value) for name, part in SIGNATURE.items()}
        self.state = State(Finite(Everything(self.of), meanings), parts)

    def table(self, name: str, domain: tuple[Sort, ...], kind: Any) -> Any:
        term, table = symbol(name, domain, kind), {}
        for row in product(*(self.of[sort] for sort in domain)):
            at = term(*(self.known[one] for one in row)) if domain else term
            table[row] = self.plain(kind, self.words.value(at))
        return (lambda *at: table[at]) if domain else table[()]

    def plain(self, kind: Any, value: Any) -> Any:
        if kind is None:
            return z3.is_true(value)
        return str(value) if isinstance(kind, Sort) else kind[str(value).upper()]

    def args(self, move: Move) -> Args:
        found = {}
        for name, kind in move.args.items():
            signature = ((Sort.MEMBER,), Sort.ASSIGNMENT) if name == GIVEN else ((), kind)
            signature = (kind, None) if isinstance(kind, tuple) and name != GIVEN else signature
            found[name] = self.table(f"arg {name}", *signature)
        return SimpleNamespace(**found)


def breaks(model: Any, move: Move, rule: Rule, broken: Conjunct, without: str = "") -> None:
    """In plain values: the invariant holds, the rule may run, and then the sentence does not hold."""
    plain = Plain(model)
    pre = plain.state
    assert order(pre.u) is True
    assert [one.name for one in CONJUNCTS if one.name != without and one.formula(pre) is not True] == []
    guard, post = rule(pre, plain.args(move))
    assert guard is True
    assert broken.formula(post) is False


def variant(obligation: Obligation, name: str) -> Any:
    build = {one.name: one.build for one in obligation.all_mutants()}[name]
    verdict, model, reason = decide(build())
    assert verdict == "refuted", reason
    return model


@pytest.mark.parametrize("one", some(STRENGTHENINGS, 2, name=named), ids=named)
def test_without_a_strengthening_a_step_breaks_the_invariant(one: Conjunct) -> None:
    rule, kept = one.needed_by
    model = variant(select([f"core.{kept}.{rule}"])[0], f"without {one.name}")
    breaks(model, MOVE[rule], MOVE[rule].effect, BY_NAME[kept], without=one.name)
    assert one.formula(Plain(model).state) is False


@pytest.mark.parametrize("wrong", some(WRONG_RULES, 2, name=named), ids=named)
def test_a_wrong_rule_breaks_the_conjunct_that_is_named(wrong: WrongRule) -> None:
    model = variant(select([f"core.{wrong.breaks}.{wrong.move.name}"])[0], wrong.name)
    breaks(model, wrong.move, wrong.rule, BY_NAME[wrong.breaks])


@pytest.mark.parametrize("wish", WISHES, ids=named)
def test_a_wish_is_broken_though_it_held(wish: Wish) -> None:
    obligation = select([f"core.wish.{wish.name}"])[0]
    verdict, model, _ = decide(obligation.build())
    assert verdict == "refuted"
    assert wish.formula(Plain(model).state) is True
    move = MOVE[wish.broken_by]
    breaks(model, move, move.effect, wish.conjunct)


def test_a_wish_as_a_conjunct_is_answered_to_be_broken() -> None:
    """A false conjunct that is planted fails like one that is not kept."""
    planted = next(one for one in WISHES if one.name == "debts-of-members")
    broken = [move.name for move in MOVES if decide(_with(planted, move))[0] == "refuted"]
    assert broken == ["static.replaced", "static.replacement-failed"]


def _with(wish: Wish, move: Move) -> Any:
    claim = kept_claim(move, wish.conjunct)
    claim.assumptions[wish.name] = wish.formula(before())
    return claim


def test_a_rule_that_can_never_run_proves_nothing() -> None:
    def never(s: State, a: Args) -> Effect:
        return both(s.point == s.u.RESTING, s.member(a.who), s.pending(a.who)), s.drop("member", a.who)

    move = Move("join.never", "", {"who": Sort.MEMBER}, never)
    kept = Obligation(
        "core.leader-is-a-member.join.never",
        "",
        "proved",
        lambda: kept_claim(move, BY_NAME["leader-is-a-member"]),
    )
    outcome = prove(kept)
    assert outcome.verdict == "vacuous"
    assert "pending-are-no-members" in outcome.reason
    assert "the rule may run" in outcome.reason


def test_a_contradiction_between_conjuncts_is_no_proof() -> None:
    one = select(["core.one-leader.join.next-generation"])[0]
    claim = one.build()
    false = {**claim.assumptions, "nobody leads": z3.BoolVal(False)}
    outcome = prove(Obligation("core.planted", "", "proved", lambda: type(claim)(false, claim.goal)))
    assert outcome.verdict == "vacuous"
    assert outcome.reason == "these assumptions contradict each other: nobody leads"


def test_names_that_sentences_use() -> None:
    for sentence in SENTENCES:
        assert set(sentence.uses) <= set(BY_NAME)
    assert {one.needed_by[0] for one in CONJUNCTS} <= set(MOVE)
    assert len(BY_NAME) == len(CONJUNCTS)


def test_a_step_reads_in_names() -> None:
    wrong = next(one for one in WRONG_RULES if one.name == "held by two")
    model = variant(select([f"core.{wrong.breaks}.{wrong.move.name}"])[0], wrong.name)
    assert z3.is_true(model[goes_wrong(wrong.name)])
    broken = BY_NAME[wrong.breaks]
    explain = reader(wrong.move, kept_goal(broken), broken.statement, {wrong.name: wrong.rule})
    told = explain(model)
    lines = list(told.as_lines())
    assert lines[0] == told.before[0]
    assert [line for line in lines if " of x: a member" in line]
    assert any(line.startswith("then static.new-member with fresh ") for line in lines)
    assert lines[-1] == "and it is not so that no two members have the same instance id"
    assert told.as_json()["broken"] == "no two members have the same instance id"


def test_what_follows_from_nothing_is_a_state_in_names() -> None:
    one = select(["core.follows.same-protocol-for-all"])[0]
    build = {mutant.name: mutant.build for mutant in one.all_mutants()}["without one-protocol"]
    verdict, model, _ = decide(build())
    assert verdict == "refuted"
    assert one.explain is not None
    lines = list(one.explain(model).as_lines())
    assert sum(line.startswith("answered_protocol(") for line in lines) >= 2
    assert not any(line.startswith("then ") for line in lines)
