"""What has to be proved: claims, obligations, their mutants and their results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

Verdict = Literal["proved", "refuted", "unknown", "vacuous"]
"""vacuous: the assumptions contradict each other, so that the claim says nothing. That is never a proof."""
Expected = Literal["proved", "refuted"]
Formula = Any
"""A Z3 term; the package carries no types."""

WITHOUT = "without "
"""What the name of a mutant that drops an assumption begins with."""

_NAME = re.compile(r"[a-z0-9_]+([.-][a-z0-9_]+)*")


@dataclass(frozen=True)
class Claim:
    """Named assumptions and a goal. The claim holds if no model has the assumptions without the goal.

    Parameters: assumptions by name; goal; lemmas, more assumptions, but such as other obligations prove,
    by induction: only infinite models break them; measure, an integer term that a counterexample makes as
    small as it can, None if any will do; instances, functions that make finite versions of the claim, free
    of quantifiers: a counterexample of one must be one of the claim, and is looked for there first; none
    for a claim that Z3 decides as it stands; models, the same for a claim that Z3 proves as it stands, but
    whose assumptions need a finite version to be seen to have a model; tactic, one of
    `rota.proofs.runner.TACTICS`, '' for Z3's own choice.
    """

    assumptions: dict[str, Formula]
    goal: Formula
    lemmas: dict[str, Formula] = field(default_factory=dict)
    measure: Formula | None = None
    instances: tuple[Callable[[Claim], Claim], ...] = ()
    models: tuple[Callable[[Claim], Claim], ...] = ()
    tactic: str = ""

    @property
    def given(self) -> list[Formula]:
        """Assumptions and lemmas."""
        return [*self.assumptions.values(), *self.lemmas.values()]

    def without(self, name: str) -> Claim:
        """The same claim with one assumption dropped, to be refuted in finite versions. Errors: KeyError."""
        kept = dict(self.assumptions)
        del kept[name]
        return replace(self, assumptions=kept, instances=self.instances or self.models)

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
    """A statement with its formula.

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

    def __post_init__(self) -> None:
        """Errors: ValueError for a name that would not do as the name of a file everywhere."""
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name for an obligation: {_NAME.pattern}")

    def all_mutants(self) -> Iterator[Mutant]:
        """Those that are listed, and one for each assumption that is needed, which drops it."""
        yield from self.mutants
        for name in self.build().assumptions if self.needed is None else self.needed:
            yield Mutant(WITHOUT + name, lambda name=name: self.build().without(name))  # type: ignore[misc]

    def mutated(self, mutant: str) -> Obligation:
        """A mutant as an obligation of its own, to be refuted. `without X` drops any assumption X.

        Errors: KeyError for a mutant that it does not have.
        """
        by_name = {one.name: one.build for one in self.mutants}
        if mutant in by_name:
            build = by_name[mutant]
        else:
            dropped = mutant.removeprefix(WITHOUT)
            known = dropped in (self.needed or ()) or dropped in self.build().assumptions
            if dropped == mutant or not known:
                raise KeyError(mutant)
            build = lambda: self.build().without(dropped)  # noqa: E731
        return replace(self, expect="refuted", build=build, mutants=(), needed=())


@dataclass(frozen=True)
class ObligationResult:
    """The result of asking the solver about an obligation.

    Parameters: seconds, wall clock; counterexample, if it is refuted and can be put in names; reason,
    why it is unknown or vacuous, else ''.
    """

    obligation: Obligation
    verdict: Verdict
    seconds: float
    counterexample: Counterexample | None = None
    reason: str = ""

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one that the obligation names."""
        return self.verdict == self.obligation.expect
