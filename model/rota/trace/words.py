"""What every reader of traces says in the same words."""

from __future__ import annotations

from rota.trace.model import DEADLOCK, MISTAKE, Trace
from rota.trace.render import Difference

REACHED = "The last state is one:"
ENDING = "The last state says otherwise:"
ENDINGS = {
    "step": "The last step says otherwise:",
    "liveness": "For ever, or again and again, it is otherwise:",
    DEADLOCK: REACHED,
    MISTAKE: "",
}
"""What stands between the property's sentence and what it sees, by the property's kind."""


def ending(trace: Trace) -> str:
    """What stands between the property's sentence and what it sees."""
    return REACHED if trace.origin.reach is not None else ENDINGS.get(trace.kind, ENDING)


NO_LABEL = "(a step without a label)"

OLD, REMOVED = 40, 80
"""Longest text of a value that another one replaces, and of one that is gone; the rest is cut."""


def title(trace: Trace) -> str:
    """What the trace is about: a property, a described state, or whose mistake."""
    return trace.property_name if trace.origin.reach is None else trace.origin.reach


def verdict(trace: Trace) -> str:
    """What became of that, and by how long a run."""
    if trace.kind == MISTAKE:
        return f"makes a mistake {by(trace)}"
    return f"{'violated' if trace.origin.reach is None else 'reached'} {by(trace)}"


def by(trace: Trace) -> str:
    """How long the run is."""
    if trace.cycle is None:
        return f"after {steps(len(trace.steps))}"
    ever = f"{trace.cycle} more that repeat for ever" if trace.cycle else "nothing more for ever"
    return f"by a run that never ends: {steps(len(trace.steps) - trace.cycle)}, then {ever}"


def steps(count: int) -> str:
    """A number of steps in words."""
    return "1 step" if count == 1 else f"{count} steps"


def named_origin(trace: Trace) -> tuple[tuple[str, str], ...]:
    """Where the trace comes from: (what, name), as far as there are names."""
    origin = trace.origin
    named = (
        ("system", trace.system),
        ("scope", origin.scope),
        ("configuration", origin.configuration),
        ("profile", origin.profile),
        ("mutant", origin.mutant),
    )
    return tuple((what, name) for what, name in named if name)


def change(one: Difference) -> str:
    """A change in one line."""
    if one.old is None:
        return f"+ {one.new}"
    if one.new is None:
        return f"- {_cut(one.old, REMOVED)}"
    return f"{_cut(one.old, OLD)} -> {one.new}"


def _cut(text: str, width: int) -> str:
    """What is gone was shown in full when it came."""
    if len(text) <= width:
        return text
    name, bracket, _ = text.partition("(")
    return f"{name}(…)" if bracket and name.isidentifier() else text[: width - 1] + "…"
