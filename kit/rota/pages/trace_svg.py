"""The chart of a trace as a file of its own."""

from __future__ import annotations

from rota.trace import Run, Trace
from rota.trace.svg import svg as drawn
from rota.trace.telling import telling


def svg(trace: Trace, run: Run | None) -> str:
    """The sequence chart. run: the trace's replay, None where its system is not at hand."""
    return drawn(telling(trace, run), standalone=True)
