"""What `rota prove` decided, line by line: decisions, what they come to, and the report for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rota.report.identity import UNIDENTIFIED, Identity

if TYPE_CHECKING:  # Z3 is an extra, and slow to import: `rota --help` does without it
    from rota.proofs import ObligationResult

SCHEMA = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""

Overall = Literal["holds", "violated", "undecided"]


@dataclass(frozen=True)
class Decision:
    """One line: an obligation, or a variant of one.

    Parameters: outcome; variant, what is changed in the obligation, '' for nothing; second, what became of
    it when it was asked otherwise, None if it was not.
    """

    outcome: ObligationResult
    variant: str = ""
    second: ObligationResult | None = None

    @property
    def name(self) -> str:
        """The obligation's name."""
        return self.outcome.obligation.name

    @property
    def contradicted(self) -> bool:
        """Whether the second answer is another than the first, and both are answers."""
        return self.second is not None and _differ(self.outcome.verdict, self.second.verdict)

    @property
    def wrong(self) -> bool:
        """Whether it is decided, but not as expected, or decided in two ways."""
        return self.contradicted or any(
            one.verdict != "unknown" and not one.as_expected for one in self.outcomes
        )

    @property
    def outcomes(self) -> tuple[ObligationResult, ...]:
        """One or two."""
        return (self.outcome,) if self.second is None else (self.outcome, self.second)

    @property
    def as_expected(self) -> bool:
        """Whether every answer is the expected one."""
        return all(one.as_expected for one in self.outcomes)

    @property
    def seconds(self) -> float:
        """Of all answers."""
        return sum(one.seconds for one in self.outcomes)


def _differ(one: str, other: str) -> bool:
    return one != other and "unknown" not in (one, other)


def overall(decisions: Sequence[Decision], selected: int) -> Overall:
    """holds if all selected ones came out as expected, violated if one is decided against that."""
    if any(decision.wrong for decision in decisions):
        return "violated"
    if len(decisions) < selected or not all(decision.as_expected for decision in decisions):
        return "undecided"
    return "holds"


@dataclass(frozen=True)
class Conditions:
    """How it was asked: seconds, of the whole run; the rest as the options of `rota prove`."""

    seconds: float
    workers: int
    timeout: float
    seed: int
    tactic: str
    z3: str
    not_proved: tuple[str, ...]
    identity: Identity = UNIDENTIFIED


def as_json(decisions: Sequence[Decision], selected: int, conditions: Conditions) -> dict[str, Any]:
    """The machine-readable report."""
    return {
        "schema": SCHEMA,
        "verdict": overall(decisions, selected),
        "seconds": round(conditions.seconds, 3),
        "seconds_together": round(sum(decision.seconds for decision in decisions), 3),
        "workers": conditions.workers,
        "timeout": conditions.timeout,
        "seed": conditions.seed,
        "tactic": conditions.tactic,
        "z3": conditions.z3,
        "selected": selected,
        "as_expected": sum(decision.as_expected for decision in decisions),
        "counts": dict(Counter(decision.outcome.verdict for decision in decisions)),
        "obligations": [_object(decision) for decision in decisions],
        "not_proved": list(conditions.not_proved),
        "identity": conditions.identity.as_json(),
    }


def _object(decision: Decision) -> dict[str, Any]:
    outcome, second = decision.outcome, decision.second
    return {
        "name": decision.name,
        "variant": decision.variant or None,
        "statement": outcome.obligation.statement,
        "expect": outcome.obligation.expect,
        "verdict": outcome.verdict,
        "seconds": round(outcome.seconds, 3),
        "reason": outcome.reason,
        "counterexample": outcome.counterexample and outcome.counterexample.as_json(),
        "second": second and {
            "verdict": second.verdict, "seconds": round(second.seconds, 3), "reason": second.reason,
        },
    }  # fmt: skip
