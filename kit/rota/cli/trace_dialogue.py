"""A trace of the world as a dialogue: the text that can be edited, and played with `rota trace --play`."""

from __future__ import annotations

from rota.cli.errors import UsageError
from rota.stage.of_run import CannotTell, staged
from rota.stage.text import text
from rota.trace import Run, Trace
from rota.trace.words import steps


def dialogue(trace: Trace, run: Run | None) -> str:
    """The dialogue as the run has it, a mutant's mistakes included.

    Errors: UsageError for another system.
    """
    if run is None:
        raise UsageError("a dialogue is told of the states of a run, and there are none")
    try:
        told = staged(run)
    except CannotTell as error:
        raise UsageError(f"{error}; show it in another form, such as --as mermaid") from None
    if told.end:
        told.stage.marks[len(told.stage.happenings)] = f"what follows cannot be told: {told.end}"
    return text(trace.property_name, _point(trace), trace.source or "rota check", told.stage)


def _point(trace: Trace) -> str:
    origin = trace.origin
    by = f" by the mutant {origin.mutant}" if origin.mutant else ""
    return f"{trace.meaning} This is contradicted{by} after {steps(len(trace.steps))}."
