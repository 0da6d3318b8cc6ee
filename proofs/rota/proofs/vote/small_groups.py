"""Finite groups with names: where counterexamples are looked for and the encoding is checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula
from rota.proofs.vote.encoding import MEMBER, PROTOCOL, casts, entries, rank, votes


@dataclass(frozen=True)
class World:
    """All the members and all the protocols that there are. Parameters: their names."""

    members: tuple[str, ...]
    protocols: tuple[str, ...]

    def member(self, name: str) -> Formula:
        """The constant of a member."""
        return z3.Const(f"member {name}", MEMBER)

    def protocol(self, name: str) -> Formula:
        """The constant of a protocol."""
        return z3.Const(f"protocol {name}", PROTOCOL)

    def _all(self, sort: Formula) -> list[Formula]:
        if sort == MEMBER:
            return [self.member(name) for name in self.members]
        if sort == PROTOCOL:
            return [self.protocol(name) for name in self.protocols]
        raise ValueError(f"no finite world of {sort}")

    def ground(self, formula: Formula) -> Formula:
        """The formula with each quantifier written out for all members or protocols."""
        if not z3.is_quantifier(formula):
            inner = list(_outermost_quantifiers(formula))
            return (
                z3.substitute(formula, *((part, self.ground(part)) for part in inner)) if inner else formula
            )
        sorts = [formula.var_sort(i) for i in range(formula.num_vars())]
        # variables are numbered from the innermost, that is the last one
        cases = [
            self.ground(z3.substitute_vars(formula.body(), *reversed(values)))
            for values in product(*map(self._all, sorts))
        ]
        return z3.And(cases) if formula.is_forall() else z3.Or(cases)

    def ground_claim(self, claim: Claim) -> Claim:
        """The claim about this world alone: a model that breaks it breaks the general claim too."""
        assumptions = {name: self.ground(formula) for name, formula in claim.assumptions.items()}
        lemmas = {name: self.ground(formula) for name, formula in claim.lemmas.items()}
        goal = self.ground(claim.goal)
        assumptions["world"] = self._closed([*assumptions.values(), *lemmas.values(), goal])
        return Claim(assumptions, goal, lemmas, claim.measure)

    def _closed(self, formulas: Sequence[Formula]) -> Formula:
        """Names are different, and every other constant is one of them."""
        facts = [z3.Distinct(self._all(sort)) for sort in (MEMBER, PROTOCOL)]
        for constant in {term for formula in formulas for term in _constants(formula)}:
            facts.append(z3.Or([constant == one for one in self._all(constant.sort())]))
        return z3.And(facts)

    def tally(self) -> Formula:
        """The axiom *tally*, unfolded for the members one after the other."""
        return z3.And([votes(self.protocol(name)) == self._ballots(name) for name in self.protocols])

    def _ballots(self, protocol: str) -> Formula:
        for_it = [casts(self.member(name), self.protocol(protocol)) for name in self.members]
        return z3.Sum([z3.If(cast, 1, 0) for cast in for_it])

    def length(self) -> Formula:
        """Entries of all lists together."""
        pairs = product(self.members, self.protocols)
        return z3.Sum([entries(self.member(m), self.protocol(p)) for m, p in pairs])

    def given(self, preferences: Sequence[Sequence[str]]) -> Formula:
        """Exactly these lists: one per member, of protocol names, repeats allowed."""
        facts = []
        for name, listed in zip(self.members, preferences, strict=True):
            for protocol in self.protocols:
                pair = self.member(name), self.protocol(protocol)
                facts.append(entries(*pair) == listed.count(protocol))
                if protocol in listed:
                    facts.append(rank(*pair) == listed.index(protocol))
        return z3.And(facts)


SMALL = tuple(
    World(("ann", "ben", "cid")[:size], ("range", "roundrobin", "sticky")[:size]) for size in (1, 2, 3)
)
"""Groups in which a counterexample is looked for before the general question is asked."""


def group_claim(
    assumptions: dict[str, Formula], goal: Formula, lemmas: dict[str, Formula] | None = None
) -> Claim:
    """A claim about groups of any size, whose instances are those of `SMALL`."""
    return Claim(assumptions, goal, lemmas or {}, instances=tuple(world.ground_claim for world in SMALL))


def _outermost_quantifiers(formula: Formula) -> Iterator[Any]:
    if z3.is_quantifier(formula):
        yield formula
        return
    for child in formula.children():
        yield from _outermost_quantifiers(child)


def _constants(formula: Formula) -> Iterator[Any]:
    """Uninterpreted constants of the two sorts."""
    if z3.is_const(formula) and formula.sort() in (MEMBER, PROTOCOL):
        yield formula
    for child in formula.children():
        yield from _constants(child)
