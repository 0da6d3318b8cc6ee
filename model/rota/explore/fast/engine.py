"""The fast engine: compiled where numba is there, the same search in numpy where it is not."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import cast

from rota.explore.fast import numpy_search as in_numpy
from rota.explore.mistakes import finding
from rota.explore.result import CheckpointError, Limits, Progress, Result
from rota.explore.tables.system import Tables
from rota.kernel import System

__all__ = ["Tables", "explore"]


@finding
def explore(
    system: System,
    limits: Limits | None = None,
    *,
    progress: Progress | None = None,
    tables: Tables | None = None,
) -> Result:
    """Visit every reachable state.

    Parameters: system; limits; progress, called after each level; tables, what an earlier run on the same
    system learned. Errors: UserError for a mistake of the system's, Impure if a function of it answers
    otherwise when it is asked again, EngineError if a sample disagrees with `System.successors`, EngineLimit,
    CheckpointError.
    """
    if find_spec("numba") is None:
        if limits and (limits.checkpoint or limits.memory or limits.symmetry or limits.fingerprints):
            raise CheckpointError("this needs compiled code; pip install 'rota[fast]', which brings numba")
        return in_numpy.explore(system, limits, progress=progress, tables=tables)
    compiled = import_module("rota.explore.fast.search")
    return cast(Result, compiled.explore(system, limits, progress=progress, tables=tables))
