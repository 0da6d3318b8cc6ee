"""From rules and sentences to claims: the assumptions that they share, and the goal of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import z3

from rota.proofs.core import answers, history, shape
from rota.proofs.core.conjuncts import Conjunct
from rota.proofs.core.logic import Sort, Symbolic, Term, Universe, both, either, implies, no
from rota.proofs.core.moves import Args, Effect, Move
from rota.proofs.core.signature import SIGNATURE, State, symbolic
from rota.proofs.core.small import versions
from rota.proofs.core.words import resting, up_to
from rota.proofs.obligations import Claim

G, P = Sort.GENERATION, Sort.PROTOCOL

CONJUNCTS: tuple[Conjunct, ...] = tuple(
    value
    for module in (shape, history, answers)
    for value in vars(module).values()
    if isinstance(value, Conjunct)
)
"""The invariant."""

ORDER = "generations are in order"
"""The name of the axiom."""

GUARD = "the rule may run"
"""The name of the assumption that a rule's guard holds."""

JUST_MADE = "the group was just made"
"""The name of the assumption about the start."""

Goal = Callable[[State, State], Term]
"""What is to be shown of a step: of the states before and after."""

Rule = Callable[[State, Args], Effect]


@cache
def before() -> State:
    """The state before the step, of which nothing is known."""
    return symbolic(Symbolic())


def order(u: Universe) -> Term:
    """Generations are in a total order, and 0 is the first."""
    return both(
        u.every(G, lambda g: no(u.before(g, g))),
        u.every((G, G, G), lambda g, h, k: implies(both(u.before(g, h), u.before(h, k)), u.before(g, k))),
        u.every((G, G), lambda g, h: either(g == h, u.before(g, h), u.before(h, g))),
        u.every(G, lambda g: up_to(u, u.first, g)),
    )


@cache
def invariant() -> Mapping[str, Term]:
    """The conjuncts as formulas about `before`, by name."""
    return {one.name: one.formula(before()) for one in CONJUNCTS}


def assumptions() -> dict[str, Term]:
    """The order and the invariant."""
    return {ORDER: order(before().u), **invariant()}


def as_formula(term: Term) -> Any:
    """A Z3 term, also of what is plainly true or false."""
    return z3.BoolVal(term) if isinstance(term, bool) else term


@cache
def _effect(rule: Rule, move: Move) -> Effect:
    return rule(before(), move.symbols())


def after(move: Move) -> State:
    """The state after a step of the rule from `before`."""
    return _effect(move.effect, move)[1]


def step_claim(move: Move, goal: Goal, rule: Rule | None = None) -> Claim:
    """After a step of the rule from a state with the invariant the goal holds. rule: another effect."""
    guard, post = _effect(rule or move.effect, move)
    given = {**assumptions(), GUARD: as_formula(guard)}
    return Claim(given, as_formula(goal(before(), post)), models=versions(before()))


def wrong_claim(move: Move, goal: Goal, name: str, rule: Rule) -> Claim:
    """The same of a mutant of a rule. name: of the mistake; it stands in the model, for who reads it."""
    claim = step_claim(move, goal, rule)
    return Claim({**claim.assumptions, "the rule goes wrong": goes_wrong(name)}, claim.goal)


def goes_wrong(name: str) -> Any:
    """A constant that says which mistake is made."""
    return z3.Bool(f"goes wrong: {name}")


def kept_claim(move: Move, conjunct: Conjunct) -> Claim:
    """The rule keeps the conjunct."""
    return step_claim(move, kept_goal(conjunct))


def kept_goal(conjunct: Conjunct) -> Goal:
    """The conjunct holds after the step."""
    return lambda pre, post: conjunct.formula(post)


def touched(move: Move, conjunct: Conjunct) -> bool:
    """Whether the rule changes what the conjunct speaks of; else the formula is the same after it."""
    if changed(move).isdisjoint(_read(conjunct)):
        return False
    reached = conjunct.formula(after(move))
    return not isinstance(reached, bool) and not reached.eq(invariant()[conjunct.name])


@cache
def changed(move: Move) -> frozenset[str]:
    """The names in a state that the rule sets, perhaps to what they were."""
    reached = after(move)
    return frozenset(name for name in SIGNATURE if reached.parts[name] is not before().parts[name])


@cache
def _read(conjunct: Conjunct) -> frozenset[str]:
    return frozenset(symbols(invariant()[conjunct.name]))


def symbols(formula: Term) -> Iterator[str]:
    """Names of relations, functions and constants in a formula."""
    if z3.is_quantifier(formula):
        yield from symbols(formula.body())
    elif z3.is_app(formula):
        yield formula.decl().name()
        for child in formula.children():
            yield from symbols(child)


ANY_AT_FIRST = ("supports", "chosen")
"""Relations that need not be empty at the start: protocols of nobody, and that generation 0 has none."""


def start(s: State) -> Term:
    """A group that was just made: Empty, generation 0, nobody in it, nobody told anything."""
    u = s.u
    relations = (name for name, part in SIGNATURE.items() if part.domain and part.value is None)
    nothing = (
        u.every(SIGNATURE[name].domain, lambda *at, name=name: no(s.parts[name](*at)))
        for name in relations
        if name not in ANY_AT_FIRST
    )
    return both(
        resting(s),
        s.phase == u.EMPTY,
        s.generation == u.first,
        s.protocol == u.no_protocol,
        s.leader == u.nobody,
        no(s.initial),
        u.every((G, P), lambda g, p: s.chosen(g, p) == both(g == u.first, p == u.no_protocol)),
        *nothing,
    )


def start_claim(conjunct: Conjunct) -> Claim:
    """The conjunct holds at the start."""
    s = before()
    return Claim({ORDER: order(s.u), JUST_MADE: start(s)}, as_formula(conjunct.formula(s)))
