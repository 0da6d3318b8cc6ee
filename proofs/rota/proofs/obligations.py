"""What has to be proved: claims, obligations, their mutants, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

Verdict = Literal["proved", "refuted", "unknown"]
Expected = Literal["proved", "refuted"]
Formula = Any
"""A Z3 term; the package carries no types."""


@dataclass(frozen=True)
class Claim:
    """Named assumptions and a goal. The claim holds if no model has the assumptions without the goal.

    Parameters: assumptions by name; goal; lemmas, more assumptions, but such as other obligations prove,
    by induction: only infinite models break them; measure, an integer term that a counterexample makes as
    small as it can, None if any will do; instances, functions that make finite versions of the claim, free
    of quantifiers: a counterexample of one must be one of the claim, and is looked for there first; none
    for a claim that Z3 decides as it stands; tactic, one of `rota.proofs.runner.TACTICS`, '' for Z3's own
    choice.
    """

    assumptions: dict[str, Formula]
    goal: Formula
    lemmas: dict[str, Formula] = field(default_factory=dict)
    measure: Formula | None = None
    instances: tuple[Callable[[Claim], Claim], ...] = ()
    tactic: str = ""

    @property
    def given(self) -> list[Formula]:
        """Assumptions and lemmas."""
        return [*self.assumptions.values(), *self.lemmas.values()]

    def without(self, name: str) -> Claim:
        """The same claim with one assumption dropped. Errors: KeyError."""
        kept = dict(self.assumptions)
        del kept[name]
        return replace(self, assumptions=kept)

    def finite(self) -> Iterator[Claim]:
        """The claim's finite versions, from the smallest."""
        return (make(self) for make in self.instances)


class Counterexample(Protocol):
    """What breaks a claim, in names: a vote, or a state and the step after it. It travels by pickle."""

    def as_lines(self) -> Iterator[str]:
        """For people."""

    def as_json(self) -> dict[str, Any]:
        """For programs."""


@dataclass(frozen=True)
class Mutant:
    """A variant of a proved claim with one definition changed: it must be refuted."""

    name: str
    build: Callable[[], Claim]


@dataclass(frozen=True)
class Obligation:
    """A sentence with its formula.

    Parameters: name, dotted, its family first; statement, in words; expect; build, makes the claim anew;
    mutants, for those to be proved, beside the ones that drop an assumption; explain, from a model of
    the claim's assumptions and its goal's negation to names: those to be refuted have one; needed, the
    assumptions without which the claim must be refuted, None for all of them. Where claims share an
    assumption (a conjunct of an invariant), it is enough that one of them needs it.
    """

    name: str
    statement: str
    expect: Expected
    build: Callable[[], Claim]
    mutants: tuple[Mutant, ...] = ()
    explain: Callable[[Any], Counterexample] | None = None
    needed: tuple[str, ...] | None = None

    def all_mutants(self) -> Iterator[Mutant]:
        """Those that are listed, and one for each assumption that is needed, which drops it."""
        yield from self.mutants
        for name in self.build().assumptions if self.needed is None else self.needed:
            yield Mutant(f"without {name}", lambda name=name: self.build().without(name))  # type: ignore[misc]


@dataclass(frozen=True)
class Outcome:
    """What became of an obligation. seconds: wall clock; reason: why it is unknown, else ''."""

    obligation: Obligation
    verdict: Verdict
    seconds: float
    counterexample: Counterexample | None = None
    reason: str = ""

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one that the obligation names."""
        return self.verdict == self.obligation.expect
