"""A trace as a Mermaid sequence diagram."""

from __future__ import annotations

from rota.trace.model import Trace
from rota.trace.replay import Run
from rota.trace.sequence import chart
from rota.trace.telling import telling


def mermaid(trace: Trace, run: Run | None = None) -> str:
    """The text of the diagram. run: its states, without which there are no notes about generations."""
    return chart(telling(trace, run))
