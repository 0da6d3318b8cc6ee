"""Proofs with Z3: what holds for any number of members and protocols, beyond what is enumerated.

An *obligation* is a sentence with a formula and the verdict that is expected of it, proved or refuted;
those that must be refuted carry a counterexample with names. `rota prove` runs them.
"""

from rota.proofs.catalogue import FAMILIES, Family, UnknownObligation, family_of, not_proved, select
from rota.proofs.obligations import (
    WITHOUT,
    Claim,
    Counterexample,
    Mutant,
    Obligation,
    ObligationResult,
    Verdict,
)
from rota.proofs.runner import TACTICS, Asking, Flaw, check_assumptions, decide, prove, smt2

__all__ = [
    "FAMILIES",
    "TACTICS",
    "WITHOUT",
    "Asking",
    "Claim",
    "Counterexample",
    "Family",
    "Flaw",
    "Mutant",
    "Obligation",
    "ObligationResult",
    "UnknownObligation",
    "Verdict",
    "check_assumptions",
    "decide",
    "family_of",
    "not_proved",
    "prove",
    "select",
    "smt2",
]
