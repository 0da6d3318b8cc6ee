"""From rules and sentences to claims: the assumptions that they share, and the goal of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import z3

from rota.proofs.core import history, shape, told
from rota.proofs.core.conjuncts import Conjunct
from rota.proofs.core.logic import Sort, Symbolic, Term, Universe, both, either, implies, no
from rota.proofs.core.moves import Args, Effect, Move
from rota.proofs.core.signature import SIGNATURE, State, symbolic
from rota.proofs.core.words import resting, up_to
from rota.proofs.obligations import Claim

G = Sort.GENERATION

CONJUNCTS: tuple[Conjunct, ...] = tuple(
    value
    for module in (shape, history, told)
    for value in vars(module).values()
    if isinstance(value, Conjunct)
)
"""The invariant."""

ORDER = "generations are in order"
"""The name of the axiom."""

GUARD = "the rule may run"
"""The name of the assumption that a rule's guard holds."""

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


def assumptions(*names: str) -> dict[str, Term]:
    """The order and these conjuncts; all of them where none is named."""
    known = invariant()
    return {ORDER: order(before().u)} | {name: known[name] for name in names or known}


def as_formula(term: Term) -> Any:
    """A Z3 term, also of what is plainly true or false."""
    return z3.BoolVal(term) if isinstance(term, bool) else term


def step_claim(move: Move, goal: Goal, rule: Rule | None = None) -> Claim:
    """After a step of the rule from a state with the invariant the goal holds. rule: another effect."""
    pre = before()
    guard, post = (rule or move.effect)(pre, move.symbols())
    given = {**assumptions(), GUARD: as_formula(guard)}
    return Claim(given, as_formula(goal(pre, post)))


def kept_claim(move: Move, conjunct: Conjunct, rule: Rule | None = None) -> Claim:
    """The rule keeps the conjunct."""
    return step_claim(move, lambda pre, post: conjunct.formula(post), rule)


def touched(move: Move, conjunct: Conjunct) -> bool:
    """Whether the rule changes what the conjunct speaks of; else the formula is the same after it."""
    after = conjunct.formula(move.effect(before(), move.symbols())[1])
    return not isinstance(after, bool) and not after.eq(invariant()[conjunct.name])


ANY_AT_FIRST = ("supports", "chosen")
"""Relations that need not be empty at the start: protocols of nobody, and that generation 0 has none."""


def start(s: State) -> Term:
    """A group that was just made: Empty, generation 0, nobody in it, nobody told anything."""
    u = s.u
    first = lambda g, p: both(g == u.first, p == u.no_protocol)  # noqa: E731
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
        u.every((G, Sort.PROTOCOL), lambda g, p: s.chosen(g, p) == first(g, p)),
        *nothing,
    )


def start_claim(conjunct: Conjunct) -> Claim:
    """The conjunct holds at the start."""
    s = before()
    return Claim({ORDER: order(s.u), "the group was just made": start(s)}, conjunct.formula(s))
