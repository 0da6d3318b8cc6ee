"""What a conjunct of the invariant is, and the words in which they are said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rota.proofs.core.logic import Sort, Term, both, either, implies
from rota.proofs.core.signature import State
from rota.proofs.core.words import calm, in_generation

Formula = Callable[[State], Term]


@dataclass(frozen=True)
class Conjunct:
    """One part of the invariant: a sentence about every state between two rules.

    needed_by: (rule, conjunct) of an obligation that fails without it; why: what a strengthening is for, ''
    for what is wanted for itself.
    """

    name: str
    statement: str
    formula: Formula
    needed_by: tuple[str, str]
    why: str = ""

    @property
    def full_statement(self) -> str:
        """The statement, with what a strengthening is for."""
        return f"{self.statement} (needed: {self.why})" if self.why else self.statement


def conjunct(
    name: str, statement: str, *, needed_by: tuple[str, str], why: str = ""
) -> Callable[[Formula], Conjunct]:
    """Make a `Conjunct` of its formula."""
    return lambda formula: Conjunct(name, statement, formula, needed_by, why)


def every_member(s: State, body: Callable[[Term], Term]) -> Term:
    """For all members."""
    return s.u.every(Sort.MEMBER, lambda m: implies(s.member(m), body(m)))


def every_append(s: State, kind: Term, body: Callable[[Term], Term]) -> Term:
    """For all records of a kind that the log has not answered."""
    return s.u.every(Sort.RECORD, lambda r: implies(both(s.appended(r), s.u.kind(r) == kind), body(r)))


def at(s: State, *points: Term) -> Term:
    """One of these rules is next."""
    return either(*(s.point == point for point in points))


def in_force(s: State) -> Term:
    """The group has a generation, and nobody has come or gone in this step."""
    return both(calm(s), in_generation(s))
