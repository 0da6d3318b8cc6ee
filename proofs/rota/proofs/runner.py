"""Asks Z3: first in a claim's finite versions, where a counterexample shows quickly, then in general."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import z3

from rota.proofs.obligations import Claim, Obligation, ObligationResult, Verdict
from rota.proofs.readout import read

_EQUATIONS = ("simplify", "propagate-values", "solve-eqs", "smt")

TACTICS: dict[str, Callable[[Any], Any]] = {
    "": lambda context: z3.Solver(ctx=context),
    "simple": lambda context: z3.SimpleSolver(ctx=context),
    "solve-eqs": lambda context: z3.Then(*_EQUATIONS, ctx=context).solver(),
    "old-arith": lambda context: z3.With(z3.Tactic("smt", context), **{"arith.solver": 2}).solver(),
}
"""Set-ups of the solver by name: Z3's own choice (''), its core without strategies, equations solved before,
the core with its older decision procedure for arithmetic."""

Watch = Callable[[], None]
"""Called before each question to Z3."""


@dataclass(frozen=True)
class Asking:
    """How Z3 is asked.

    Parameters: seconds, for each question; seed, of its random choices; tactic, a name in `TACTICS`, ''
    for what the claim says; steps, for each question, as Z3 counts what it does, which is the same on every
    machine, 0: any number.
    """

    seconds: float = 60.0
    seed: int = 0
    tactic: str = ""
    steps: int = 0


class Flaw(NamedTuple):
    """Why a proof does not count. verdict: vacuous, or unknown if no model was found either way."""

    verdict: Verdict
    reason: str


def prove(
    obligation: Obligation, asking: Asking | None = None, watch: Watch | None = None
) -> ObligationResult:
    """Decide the claim. A proof counts only if the assumptions have a model: else everything follows.

    That is not asked where a refutation is expected: there a proof is wrong in either case.
    """
    start = time.monotonic()
    solving = _Solving(asking or Asking(), watch)
    claim = obligation.build()
    verdict, model, reason = solving.decide(claim)
    if verdict == obligation.expect == "proved" and (flaw := solving.flaw(claim)):
        verdict, reason = flaw
    example = (obligation.explain or read)(model) if model is not None else None
    return ObligationResult(obligation, verdict, time.monotonic() - start, example, reason)


def decide(claim: Claim, asking: Asking | None = None) -> tuple[Verdict, Any, str]:
    """Verdict, a model when it is refuted (of least measure), and the reason when it is unknown."""
    return _Solving(asking or Asking()).decide(claim)


def check_assumptions(claim: Claim, asking: Asking | None = None) -> Flaw | None:
    """None if assumptions and lemmas together have a model, else what is wrong with them.

    The model is looked for in the claim's finite versions, or, without those, for the claim itself.
    """
    return _Solving(asking or Asking()).flaw(claim)


class _Solving:
    """Asks Z3 in one manner."""

    def __init__(self, asking: Asking, watch: Watch | None = None) -> None:
        self._asking, self._watch = asking, watch

    def decide(self, claim: Claim) -> tuple[Verdict, Any, str]:
        if (model := self._refuted_in(claim.finite(), claim)) is not None:
            return "refuted", model, ""
        solver = self.solver(claim)
        answer = self._ask(solver)
        if answer == z3.unsat:
            return "proved", None, ""
        model = self._refuted_in((make(claim) for make in claim.models), claim)
        if model is None and answer == z3.sat:
            model = self._least(solver, claim)
        return ("unknown", None, self._why(solver)) if model is None else ("refuted", model, "")

    def _refuted_in(self, versions: Iterator[Claim], claim: Claim) -> Any:
        """A model of the first of these versions that has one, None if none has."""
        for version in versions:
            solver = self.solver(version)
            if self._ask(solver) == z3.sat:
                return self._least(solver, claim)
        return None

    def _least(self, solver: Any, claim: Claim) -> Any:
        """The solver's model, made as small as the claim's measure can tell."""
        model = solver.model()
        measure = None if claim.measure is None else claim.measure.translate(solver.ctx)
        while measure is not None:
            solver.add(measure < model.eval(measure, model_completion=True))
            if self._ask(solver) != z3.sat:
                break
            model = solver.model()
        return model.translate(z3.main_ctx())

    def flaw(self, claim: Claim) -> Flaw | None:
        """See `check_assumptions`. What has a model is remembered: claims share their assumptions."""
        key = frozenset(formula.get_id() for formula in claim.given)
        if key not in _SATISFIABLE:
            if flaw := self._flaw(claim):
                return flaw
            _SATISFIABLE[key] = claim.given
        return None

    def _flaw(self, claim: Claim) -> Flaw | None:
        nothing_follows = replace(claim, goal=z3.BoolVal(False))
        finite = (make(nothing_follows) for make in claim.instances or claim.models)
        for version in chain(finite, (nothing_follows,)):
            solver = self.solver(version)
            if (answer := self._ask(solver)) == z3.sat:
                return None
        if answer == z3.unsat:
            return Flaw("vacuous", f"these assumptions contradict each other: {self._core(claim)}")
        return Flaw("unknown", f"no model of the assumptions was found: {self._why(solver)}")

    def _core(self, claim: Claim) -> str:
        """Names of assumptions that contradict each other, as few as Z3 finds."""
        solver = self._set_up("")
        solver.set("core.minimize", True)
        for name, formula in (claim.assumptions | claim.lemmas).items():
            solver.assert_and_track(formula.translate(solver.ctx), name)
        found = (
            {str(name).strip("|") for name in solver.unsat_core()} if self._ask(solver) == z3.unsat else ()
        )
        return "; ".join(name for name in claim.assumptions | claim.lemmas if not found or name in found)

    def solver(self, claim: Claim) -> Any:
        """Z3 with the assumptions and the goal denied: what it finds is a counterexample."""
        solver = self._set_up(self._asking.tactic or claim.tactic)
        for formula in (*claim.given, z3.Not(claim.goal)):
            solver.add(formula.translate(solver.ctx))
        return solver

    def _set_up(self, tactic: str) -> Any:
        """A solver in a context of its own: what it finds does not depend on what was asked before."""
        solver = TACTICS[tactic](z3.Context())
        solver.set("timeout", int(self._asking.seconds * 1000))
        if self._asking.seed:
            solver.set("random_seed", self._asking.seed)
        if self._asking.steps:
            solver.set("rlimit", self._asking.steps)
        return solver

    def _why(self, solver: Any) -> str:
        """Why Z3 does not know."""
        reason: str = solver.reason_unknown()
        timed_out = reason in ("timeout", "canceled") and not self._asking.steps
        return f"time-out after {self._asking.seconds:g} s" if timed_out else f"Z3 gave up: {reason}"

    def _ask(self, solver: Any) -> Any:
        """The solver's answer. Z3 catches the interrupt and says unknown; here it is raised again."""
        if self._watch:
            self._watch()
        answer = solver.check()
        if answer == z3.unknown and "interrupted" in solver.reason_unknown():
            raise KeyboardInterrupt
        return answer


_SATISFIABLE: dict[frozenset[int], list[Any]] = {}
"""Assumptions that have a model, by the numbers of their terms; terms stay, or numbers would be reused."""


def smt2(obligation: Obligation) -> str:
    """The question in SMT-LIB 2: sentence and expected answer on top, a name above each assertion.

    It is the general question, but for a claim that is to be refuted: one of its finite versions that is.
    """
    answer = "unsat" if obligation.expect == "proved" else "sat"
    claim = obligation.build()
    version = claim if obligation.expect == "proved" else _refuted_version(claim)
    text: str = _Solving(Asking()).solver(replace(version, tactic="")).to_smt2()
    head, *assertions = text.split("\n(assert")
    names = [
        *(f"assumed: {name}" for name in version.assumptions),
        *(f"lemma: {name}" for name in version.lemmas),
    ]
    named = zip([*names, "not the claim"], assertions, strict=True)
    body = "".join(f"\n; {name}\n(assert{asserted}" for name, asserted in named)
    heading = f"; {obligation.name}: {obligation.statement}\n; expected: {obligation.expect} ({answer})\n"
    return heading + head.replace(":status unknown", f":status {answer}") + body


def _refuted_version(claim: Claim) -> Claim:
    """The first finite version that is refuted; the claim itself if none is."""
    return next((version for version in claim.finite() if decide(version)[0] == "refuted"), claim)
