"""Engines: every state of a system, with one meaning. They know the kernel and nothing of the protocol.

All of them answer with the same `Result`: verdict, counts, depth histogram, digest, violation.
"""

from rota.explore.result import (
    CheckpointError,
    Limits,
    MissingExtra,
    PropertyVerdict,
    Result,
    Verdict,
    Violation,
)

__all__ = ["CheckpointError", "Limits", "MissingExtra", "PropertyVerdict", "Result", "Verdict", "Violation"]
