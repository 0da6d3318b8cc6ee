"""Why a property is contradicted: the events that matter to it in order, then the contradiction."""

from __future__ import annotations

from itertools import groupby

from rota.trace.model import Sight, Trace
from rota.trace.replay import Run
from rota.trace.words import ending


def why(trace: Trace, run: Run | None = None) -> tuple[str, ...]:
    """Numbered sentences, of which the last one is the contradiction."""
    return (contradiction(trace),)


def contradiction(trace: Trace) -> str:
    """The property's sentence and what it sees."""
    choices = (
        "; ".join(_sight(sight) for sight in sights)
        for _, sights in groupby(trace.why, key=lambda sight: sight.choice)
    )
    return " ".join(one for one in (trace.meaning, ending(trace), ". And also ".join(choices)) if one)


def _sight(sight: Sight) -> str:
    if sight.before is None:
        return f"{sight.machine} {sight.after}"
    return f"{sight.machine} before {sight.before}, after {sight.after}"
