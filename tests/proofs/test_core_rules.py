"""The core's rules as formulas: all of the spec's, a history that nothing reads, one text in two readings."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import z3

from harness.thinned import some
from rota.proofs.core.claims import CONJUNCTS, as_formula, before, changed, symbols, touched
from rota.proofs.core.coverage import COVERED, MOVES, OUTSIDE, PARTS, WORDS, moves_of
from rota.proofs.core.logic import (
    CONSTANTS,
    RIGID,
    SWITCHES,
    Z3_SORTS,
    Everything,
    Finite,
    Kind,
    Phase,
    Point,
    Sort,
    Symbolic,
    symbol,
)
from rota.proofs.core.moves import GIVEN, Move
from rota.proofs.core.signature import SIGNATURE, State, symbolic
from rota.spec import RULES, GroupState, RecordKind

HISTORY = {name for name, part in SIGNATURE.items() if part.role == "history"}


def named(move: Move) -> str:
    return move.name


def test_every_rule_of_the_core_is_covered_or_outside_with_a_reason() -> None:
    of_the_core = {slug for slug in RULES if slug.partition(".")[0] in PARTS}
    assert of_the_core == COVERED | set(OUTSIDE) | set(WORDS)
    assert len(COVERED) + len(OUTSIDE) + len(WORDS) == len(of_the_core)
    assert all(OUTSIDE.values())
    assert all(RULES[slug].decides for slug in WORDS)
    assert not any(RULES[slug].decides for slug in COVERED)


def test_moves_by_slug() -> None:
    assert [one.part for one in moves_of("leave.batch")] == ["begins", "ends"]
    with pytest.raises(KeyError):
        moves_of("join.barrier")
    assert len({one.name for one in MOVES}) == len(MOVES)


def applied(post: State, name: str) -> Any:
    """A part of the state as one formula or term."""
    value, domain = post.parts[name], SIGNATURE[name].domain
    at = [symbol(f"at {i}", (), sort) for i, sort in enumerate(domain)]
    return as_formula(value(*at) if domain else value)


@pytest.mark.parametrize("move", MOVES, ids=named)
def test_nothing_depends_on_the_history(move: Move) -> None:
    guard, post = move.effect(before(), move.symbols())
    read = set(symbols(as_formula(guard)))
    for name in changed(move) - HISTORY:
        read |= set(symbols(applied(post, name)))
    assert not read & HISTORY


def test_a_rule_that_reads_the_history_is_noticed() -> None:
    def spoiled(s: State, a: Any) -> tuple[Any, State]:
        return s.led(s.generation, s.leader), s

    guard, _ = spoiled(before(), None)
    assert set(symbols(guard)) & HISTORY


def test_refusals_change_nothing() -> None:
    silent = {one.name for one in MOVES if not changed(one)}
    refused = ("fenced-instance-id", "unknown-member")
    assert {one.name for one in MOVES if one.slug.endswith(refused)} < silent
    assert {one for one in silent if one.startswith("heartbeat")} == {
        one.name for one in MOVES if one.slug.startswith("heartbeat") and one.slug != "heartbeat.alive"
    }


def test_what_a_rule_does_not_touch_is_the_same_term() -> None:
    pairs = [(move, one) for move in MOVES for one in CONJUNCTS if not touched(move, one)]
    assert len(pairs) > 1000
    for move, one in random.Random(1).sample(pairs, 60):
        post = move.effect(before(), move.symbols())[1]
        solver = z3.Solver()
        solver.add(as_formula(one.formula(before())), z3.Not(as_formula(one.formula(post))))
        assert solver.check() == z3.unsat, (move.name, one.name)


# One text, two readings: random small states as plain values and as facts for Z3.

ELEMENTS = {
    Sort.MEMBER: ("nobody", "ann", "ben"),
    Sort.INSTANCE: ("dynamic", "x"),
    Sort.GENERATION: ("first", "second"),
    Sort.PROTOCOL: ("no_protocol", "range"),
    Sort.ASSIGNMENT: ("nothing", "all"),
    Sort.RECORD: ("r",),
}
Z3_ELEMENTS = {
    (sort, name): symbol(name if name in CONSTANTS else f"the {name}", (), sort)
    for sort, names in ELEMENTS.items()
    for name in names
}
U = Symbolic()


def values(kind: Any) -> tuple[Any, ...]:
    if kind is None:
        return (False, True)
    return ELEMENTS[kind] if isinstance(kind, Sort) else tuple(kind)


def as_z3(kind: Any, value: Any) -> Any:
    if kind is None:
        return z3.BoolVal(value)
    return Z3_ELEMENTS[kind, value] if isinstance(kind, Sort) else getattr(U, value.name)


class Random:
    """Random values under names, kept as tables, with the facts that say the same to Z3."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.facts: list[Any] = []

    def value(self, name: str, domain: tuple[Sort, ...], kind: Any, often: float = 0.5) -> Any:
        table = {}
        for row in product(*(ELEMENTS[sort] for sort in domain)):
            table[row] = self.draw.random() < often if kind is None else self.draw.choice(values(kind))
        self.facts += facts_of(name, domain, kind, table.__getitem__)
        return (lambda *at: table[at]) if domain else table[()]


def facts_of(name: str, domain: tuple[Sort, ...], kind: Any, at: Callable[[Any], Any]) -> Iterator[Any]:
    term = symbol(name, domain, kind)
    for row in product(*(ELEMENTS[sort] for sort in domain)):
        where = [as_z3(sort, one) for sort, one in zip(domain, row, strict=True)]
        yield (term(*where) if domain else term) == as_z3(kind, at(row))


def closed() -> Iterator[Any]:
    for sort, names in ELEMENTS.items():
        yield z3.Distinct([Z3_ELEMENTS[sort, name] for name in names]) if len(names) > 1 else z3.BoolVal(True)
        one = z3.Const("one", Z3_SORTS[sort])
        yield z3.ForAll([one], z3.Or([one == Z3_ELEMENTS[sort, name] for name in names]))


def random_step(move: Move, seed: int) -> tuple[Random, State, Any]:
    made = Random(seed)
    meanings = {name: made.value(name, *signature) for name, signature in RIGID.items()}
    meanings |= {name: name for name in CONSTANTS} | {name: made.value(name, (), None) for name in SWITCHES}
    universe = Finite(Everything(ELEMENTS), meanings)
    parts = {name: made.value(name, part.domain, part.value) for name, part in SIGNATURE.items()}
    args = {}
    for name, kind in move.args.items():
        signature = ((Sort.MEMBER,), Sort.ASSIGNMENT) if name == GIVEN else ((), kind)
        signature = (kind, None) if isinstance(kind, tuple) and name != GIVEN else signature
        args[name] = made.value(f"arg {name}", *signature)
    return made, State(universe, parts), SimpleNamespace(**args)


def agrees(facts: list[Any], formula: Any, expected: bool) -> bool:
    solver = z3.Solver()
    solver.add(*closed(), *facts)
    assert solver.check() == z3.sat
    solver.add(as_formula(formula) != expected)
    return bool(solver.check() == z3.unsat)


@pytest.mark.parametrize("move", some(MOVES, 4, name=named), ids=named)
def test_both_readings_agree(move: Move) -> None:
    """On the guard, on the state afterwards, and on one that differs from it in one place."""
    made, pre, args = random_step(move, seed=len(move.name))
    guard, post = move.effect(pre, args)
    symbols_before, symbols_after = symbolic(U), symbolic(U, "'")
    assert agrees(made.facts, move.effect(symbols_before, move.symbols())[0], guard)
    free = replace_guard(move)
    for name, part in SIGNATURE.items():
        value = post.parts[name]
        at = (lambda row, value=value: value(*row)) if part.domain else (lambda row, value=value: value)
        made.facts += facts_of(name + "'", part.domain, part.value, at)
    assert free.transition(pre, State(pre.u, frozen(post)), args) is True
    assert agrees(made.facts, free.transition(symbols_before, symbols_after, move.symbols()), True)


def replace_guard(move: Move) -> Move:
    """The rule without its guard: random states seldom meet one."""
    return replace(move, effect=lambda s, a: (True, move.effect(s, a)[1]))


def frozen(post: State) -> dict[str, Any]:
    """The same values as tables."""
    parts = {}
    for name, part in SIGNATURE.items():
        if not part.domain:
            parts[name] = post.parts[name]
            continue
        table = {row: post.parts[name](*row) for row in product(*(ELEMENTS[sort] for sort in part.domain))}
        parts[name] = lambda *at, table=table: table[at]
    return parts


def test_a_state_that_differs_in_one_place_is_no_outcome() -> None:
    for move in MOVES:
        _, pre, args = random_step(move, seed=7)
        free, draw = replace_guard(move), random.Random(move.name)
        after = frozen(move.effect(pre, args)[1])
        name = draw.choice([name for name, part in SIGNATURE.items() if part.value is None and part.domain])
        row = tuple(draw.choice(ELEMENTS[sort]) for sort in SIGNATURE[name].domain)
        true = after[name]
        wrong = {**after, name: lambda *at, true=true, row=row: true(*at) != (at == row)}
        assert free.transition(pre, State(pre.u, after), args) is True
        assert free.transition(pre, State(pre.u, wrong), args) is False, (move.name, name, row)


def test_a_universe_says_what_everything_means() -> None:
    with pytest.raises(ValueError, match=r"must say what .*sync_timer"):
        Finite(Everything(), {})
    with pytest.raises(ValueError, match="exactly phase"):
        State(U, {})
    with pytest.raises(AttributeError, match="no state has a colour"):
        _ = before().colour
    with pytest.raises(AttributeError, match="universe has no colour"):
        _ = U.colour


def test_enumerations_are_those_of_the_spec() -> None:
    assert [one.value for one in Phase] == [one.value for one in GroupState if one is not GroupState.DEAD]
    assert {one.value for one in Kind} < {one.value for one in RecordKind}
    assert len(Point) == len({one.value for one in Point})
