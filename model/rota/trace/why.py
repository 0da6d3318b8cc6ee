"""Why a property is contradicted: the steps that matter to it in order, then the contradiction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from rota.trace.model import Sight, Step, Trace
from rota.trace.render import Difference
from rota.trace.words import NO_LABEL, change, ending


def why(trace: Trace) -> tuple[str, ...]:
    """Sentences, each of which begins with the number of its step; the last one is the contradiction."""
    return (*(_sentence(step) for step in matters(trace)), contradiction(trace))


def matters(trace: Trace) -> Iterator[Step]:
    """The steps that matter, with nothing but what does: changes that decide, rules that it guards."""
    deciding = {one.step: one.parts for one in trace.decisive}
    for step in trace.steps:
        parts = deciding.get(step.index, ())
        kept = tuple(one for one in step.differences if (one.machine, one.path) in parts)
        guarded = [
            replace(one, rules=tuple(slug for slug in one.rules if slug in trace.guards))
            for one in step.local_steps
        ]
        if kept or any(one.rules for one in guarded):
            yield replace(step, differences=kept, local_steps=tuple(guarded))


def contradiction(trace: Trace) -> str:
    """The property's sentence and what it sees."""
    choices = (
        "; ".join(_sight(sight) for sight in sights)
        for _, sights in groupby(trace.why, key=lambda sight: sight.choice)
    )
    return " ".join(one for one in (trace.meaning, ending(trace), ". And also ".join(choices)) if one)


def _sentence(step: Step) -> str:
    rules = f"by {', '.join(step.rules)}" if step.rules else ""
    parts = [*(_changed(one) for one in step.differences), rules]
    return f"Step {step.index}, {step.label or NO_LABEL}: {'; '.join(filter(None, parts))}"


def _changed(one: Difference) -> str:
    return " ".join(filter(None, (one.machine, one.path, change(one))))


def _sight(sight: Sight) -> str:
    if sight.before is None:
        return f"{sight.machine} {sight.after}"
    return f"{sight.machine} before {sight.before}, after {sight.after}"
