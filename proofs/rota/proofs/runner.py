"""Runs obligations: first in small finite groups, where a counterexample shows quickly, then in general."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import z3

from rota.proofs.obligations import Claim, Obligation, Outcome, Verdict
from rota.proofs.world import World

SMALL = tuple(
    World(("ann", "ben", "cid")[:size], ("range", "roundrobin", "sticky")[:size]) for size in (1, 2, 3)
)
"""Groups in which a counterexample is looked for before the general question is asked."""


def prove(obligation: Obligation, seconds: float = 60.0) -> Outcome:
    """Decide the claim within a time limit per question to Z3.

    A proof counts only if the assumptions have a model: from a contradiction everything follows.
    """
    start = time.monotonic()
    claim = obligation.build()
    verdict, model, reason = decide(claim, seconds)
    if verdict == "proved" and (flaw := check_assumptions(claim, seconds)):
        verdict, reason = "unknown", flaw
    example = obligation.explain(model) if model is not None and obligation.explain else None
    return Outcome(obligation, verdict, time.monotonic() - start, example, reason)


def decide(claim: Claim, seconds: float = 60.0) -> tuple[Verdict, Any, str]:
    """Verdict, a model when it is refuted (of least measure), and the reason when it is unknown."""
    for world in SMALL:
        refuter = _solver(world.ground_claim(claim), seconds)
        if _ask(refuter) == z3.sat:
            return "refuted", _least(refuter, claim), ""
    solver = _solver(claim, seconds)
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


def check_assumptions(claim: Claim, seconds: float = 60.0) -> str:
    """'' if assumptions and lemmas together have a finite model, else what is wrong with them."""
    nothing_follows = replace(claim, goal=z3.BoolVal(False))
    for world in SMALL:
        if _ask(_solver(world.ground_claim(nothing_follows), seconds)) == z3.sat:
            return ""
    return "no finite model of the assumptions was found: they may contradict each other"


def smt2(obligation: Obligation) -> str:
    """The question to the solver in SMT-LIB 2, with the sentence and the expected answer on top."""
    answer = "unsat" if obligation.expect == "proved" else "sat"
    text: str = _solver(obligation.build(), 60.0).to_smt2()
    return f"; {obligation.name}: {obligation.statement}\n; expected: {obligation.expect} ({answer})\n{text}"


def _solver(claim: Claim, seconds: float) -> Any:
    solver = z3.Solver()
    solver.set("timeout", int(seconds * 1000))
    solver.add(*claim.given, z3.Not(claim.goal))
    return solver


def _ask(solver: Any) -> Any:
    """The solver's answer. Z3 catches the interrupt and says unknown; here it is raised again."""
    answer = solver.check()
    if answer == z3.unknown and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    return answer
