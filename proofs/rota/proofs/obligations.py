"""What has to be proved: claims, obligations, their mutants, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Verdict = Literal["proved", "refuted", "unknown"]
Expected = Literal["proved", "refuted"]
Formula = Any
"""A Z3 term; the package carries no types."""


@dataclass(frozen=True)
class Claim:
    """Named assumptions and a goal. The claim holds if no model has the assumptions without the goal.

    Parameters: assumptions by name; goal; lemmas, more assumptions, but such as other obligations prove,
    by induction: only infinite models break them; measure, an integer term that a counterexample makes as
    small as it can, None if any will do.
    """

    assumptions: dict[str, Formula]
    goal: Formula
    lemmas: dict[str, Formula] = field(default_factory=dict)
    measure: Formula | None = None

    @property
    def given(self) -> list[Formula]:
        """Assumptions and lemmas."""
        return [*self.assumptions.values(), *self.lemmas.values()]

    def without(self, name: str) -> Claim:
        """The same claim with one assumption dropped. Errors: KeyError."""
        kept = dict(self.assumptions)
        del kept[name]
        return replace(self, assumptions=kept)


@dataclass(frozen=True)
class Counterexample:
    """A vote that breaks the claim, in names.

    Parameters: lists, member and what it lists, in its order; ballots, member and what it votes for;
    candidates; votes, protocol and how many; winner; opposed, the members that do not list the winner.
    """

    lists: tuple[tuple[str, tuple[str, ...]], ...]
    ballots: tuple[tuple[str, str], ...]
    candidates: tuple[str, ...]
    votes: tuple[tuple[str, int], ...]
    winner: str
    opposed: tuple[str, ...]

    def as_lines(self) -> Iterator[str]:
        """For people."""
        ballots = dict(self.ballots)
        yield f"candidates: {_names(self.candidates)}"
        for member, protocols in self.lists:
            yield f"{member} lists {_names(protocols)} and votes for {ballots[member]}"
        yield "votes: " + ", ".join(f"{protocol} {count}" for protocol, count in self.votes)
        verb = "do" if len(self.opposed) > 1 else "does"
        against = f"which {_names(self.opposed)} {verb} not support" if self.opposed else "as others may too"
        yield f"{self.winner} may win, {against}"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "lists": {member: list(protocols) for member, protocols in self.lists},
            "ballots": dict(self.ballots),
            "candidates": list(self.candidates),
            "votes": dict(self.votes),
            "winner": self.winner,
            "opposed": list(self.opposed),
        }


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"


@dataclass(frozen=True)
class Mutant:
    """A variant of a proved claim with one definition changed: it must be refuted."""

    name: str
    build: Callable[[], Claim]


@dataclass(frozen=True)
class Obligation:
    """A sentence with its formula.

    Parameters: name, dotted; statement, in words; expect; build, makes the claim anew; mutants, for
    those to be proved, beside the ones that drop an assumption; explain, from a model to names, for
    those to be refuted.
    """

    name: str
    statement: str
    expect: Expected
    build: Callable[[], Claim]
    mutants: tuple[Mutant, ...] = ()
    explain: Callable[[Any], Counterexample] | None = None

    def all_mutants(self) -> Iterator[Mutant]:
        """Those that are listed, and one for each assumption, which drops it."""
        yield from self.mutants
        for name in self.build().assumptions:
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
