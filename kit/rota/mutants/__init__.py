"""Planted bugs: the table of rules with one entry replaced, addressed by name.

A checker proves itself by finding them. Each mutant names the configuration in which it dies first and the
properties that kill it; tests hold both true.
"""

from rota.mutants.mutant import Mutant
from rota.mutants.registry import (
    FOUND_BY_DIALOGUES,
    KILLS_ALONE,
    MUTANTS,
    ODD_REQUESTS,
    UnknownMutantError,
    every_mutant,
    system,
)

__all__ = [
    "FOUND_BY_DIALOGUES",
    "KILLS_ALONE",
    "MUTANTS",
    "ODD_REQUESTS",
    "Mutant",
    "UnknownMutantError",
    "every_mutant",
    "system",
]
