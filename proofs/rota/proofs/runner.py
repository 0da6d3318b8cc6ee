"""Asks Z3: first in a claim's finite versions, where a counterexample shows quickly, then in general."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import z3

from rota.proofs.obligations import Claim, Obligation, Outcome, Verdict

TACTICS: dict[str, Callable[[], Any]] = {
    "": z3.Solver,
    "simple": z3.SimpleSolver,
    "smt": lambda: z3.Tactic("smt").solver(),
    "solve-eqs": lambda: z3.Then("simplify", "propagate-values", "solve-eqs", "smt").solver(),
}
"""Set-ups of the solver by name; '' is what Z3 chooses by itself."""


@dataclass(frozen=True)
class Asking:
    """How Z3 is asked.

    Parameters: seconds, for each question; seed, of its random choices; tactic, a name in `TACTICS`, ''
    for what the claim says.
    """

    seconds: float = 60.0
    seed: int = 0
    tactic: str = ""


def prove(obligation: Obligation, asking: Asking | None = None) -> Outcome:
    """Decide the claim. A proof counts only if the assumptions have a model: else everything follows."""
    asking = asking or Asking()
    start = time.monotonic()
    claim = obligation.build()
    verdict, model, reason = decide(claim, asking)
    if verdict == "proved" and (flaw := check_assumptions(claim, asking)):
        verdict, reason = "unknown", flaw
    example = obligation.explain(model) if model is not None and obligation.explain else None
    return Outcome(obligation, verdict, time.monotonic() - start, example, reason)


def decide(claim: Claim, asking: Asking | None = None) -> tuple[Verdict, Any, str]:
    """Verdict, a model when it is refuted (of least measure), and the reason when it is unknown."""
    asking = asking or Asking()
    for instance in claim.finite():
        refuter = _solver(instance, asking)
        if _ask(refuter) == z3.sat:
            return "refuted", _least(refuter, claim), ""
    solver = _solver(claim, asking)
    answer = _ask(solver)
    if answer == z3.sat:
        return "refuted", _least(solver, claim), ""
    return ("proved", None, "") if answer == z3.unsat else ("unknown", None, solver.reason_unknown())


def _least(solver: Any, claim: Claim) -> Any:
    """The solver's model, made as small as the claim's measure can tell."""
    model = solver.model()
    while claim.measure is not None:
        solver.add(claim.measure < model.eval(claim.measure, model_completion=True))
        if _ask(solver) != z3.sat:
            break
        model = solver.model()
    return model


def check_assumptions(claim: Claim, asking: Asking | None = None) -> str:
    """'' if assumptions and lemmas together have a model, else what is wrong with them.

    The model is looked for in the claim's finite versions, or, without those, for the claim itself.
    """
    asking = asking or Asking()
    nothing_follows = replace(claim, goal=z3.BoolVal(False))
    for version in nothing_follows.finite() if claim.instances else (nothing_follows,):
        if _ask(_solver(version, asking)) == z3.sat:
            return ""
    kind = "finite model" if claim.instances else "model"
    return f"no {kind} of the assumptions was found: they may contradict each other"


def smt2(obligation: Obligation) -> str:
    """The question to the solver in SMT-LIB 2, with the sentence and the expected answer on top."""
    answer = "unsat" if obligation.expect == "proved" else "sat"
    text: str = _solver(obligation.build(), Asking()).to_smt2()
    return f"; {obligation.name}: {obligation.statement}\n; expected: {obligation.expect} ({answer})\n{text}"


def _solver(claim: Claim, asking: Asking) -> Any:
    solver = TACTICS[asking.tactic or claim.tactic]()
    solver.set("timeout", int(asking.seconds * 1000))
    if asking.seed:
        solver.set("random_seed", asking.seed)
    solver.add(*claim.given, z3.Not(claim.goal))
    return solver


def _ask(solver: Any) -> Any:
    """The solver's answer. Z3 catches the interrupt and says unknown; here it is raised again."""
    answer = solver.check()
    if answer == z3.unknown and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    return answer
