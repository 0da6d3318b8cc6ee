"""From a trace, or from any run of a system, to what is drawn of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from rota.kernel import Arrow, Depiction, Lane, State, System, Transition, UserError
from rota.kernel.depiction import PLAIN
from rota.kernel.mistakes import Call
from rota.trace.lights import claims, lights
from rota.trace.model import DEADLOCK, MISTAKE, Step, Trace
from rota.trace.reach import unwrapped
from rota.trace.record import components, steps_of
from rota.trace.replay import Run
from rota.trace.sequence import chart
from rota.trace.story import Event, Light, Moment, Story
from rota.trace.why import why
from rota.trace.words import NO_LABEL, named_origin, steps, title, verdict

NOT_AT_HAND = (
    "The system that this trace comes from is not at hand, so nothing is known of its states but what the "
    "trace says: machines, messages and differences."
)
NOT_FOLLOWED = (
    "The run to a mistake of the system's own is not followed again, so nothing is known of its states but "
    "what the trace says: machines, messages and differences."
)

MERMAID = "Mermaid"
"""The form in which every story can be copied."""


def telling(trace: Trace, run: Run | None = None) -> Story:
    """What is drawn of a trace.

    Parameters: trace; run, its states and transitions (`replay`); without it there are no moments, and what
    is drawn is what the trace says.
    """
    story = _by_itself(trace) if run is None else _followed(trace, run)
    story = replace(
        story,
        title=title(trace),
        verdict=verdict(trace),
        facts=tuple(_facts(trace)),
        why=why(trace),
        cycle=trace.cycle,
        **_outcome(trace),
    )
    return replace(story, copies={MERMAID: chart(story)})


def told(system: System, states: Sequence[State], path: Sequence[Transition]) -> Story:
    """What is drawn of a run that contradicts nothing in particular, such as one that is still being made.

    Parameters: system; states, one more than transitions, the first one an initial state; path.
    """
    story = replace(
        _drawn(system, states, path),
        title=system.name,
        verdict=f"after {steps(len(path))}" if path else "at the start",
        facts=(("system", system.name),),
        outcome=Light.SILENT,
    )
    return replace(story, copies={MERMAID: chart(story)})


def _outcome(trace: Trace) -> dict[str, Any]:
    """A run to a described state violates nothing; its last step is there."""
    if trace.origin.reach is None:
        return {}
    return {"outcome": Light.HOLDS, "marked": (len(trace.steps),) if trace.steps else ()}


def _followed(trace: Trace, run: Run) -> Story:
    """The run, judged by the properties of the system that was searched, also if for a described state."""
    if trace.origin.reach is None:
        return _drawn(run.system, run.states, run.path, trace.property_name, trace.cycle)
    ref = run.system.ref
    searched = replace(run.system, properties=()) if ref is None else unwrapped(ref)[0].build()
    return _drawn(searched, run.states, run.path)


def _drawn(
    system: System,
    states: Sequence[State],
    path: Sequence[Transition],
    first: str = "",
    cycle: int | None = None,
) -> Story:
    """The lanes, events, moments and claims of a run. first, cycle: as in `rota.trace.lights.claims`.

    A depiction that makes a mistake is not followed; the notice says so.
    """
    named = claims(system, first, cycle)
    lit = lights(system, states, path, named, cycle)
    try:
        story = _pictured(system, _watched(system.depiction), states, path, lit)
    except UserError as error:
        notice = f"The system's own depiction makes a mistake, so it is drawn without: {error}"
        story = replace(_pictured(system, PLAIN, states, path, lit), notice=notice)
    return replace(story, claims=named)


def _watched(depiction: Depiction) -> Depiction:
    """A depiction whose mistakes are told from ours."""
    names = [one.name for one in fields(depiction)]
    return Depiction(**{name: Call("depiction", name, getattr(depiction, name)) for name in names})


def _pictured(
    system: System,
    depiction: Depiction,
    states: Sequence[State],
    path: Sequence[Transition],
    lit: Sequence[Mapping[str, Light]],
) -> Story:
    """What a depiction makes of a run."""
    names = tuple(machine.name for machine in system.machines)
    values: list[Mapping[str, Any]] = [dict(zip(names, state, strict=True)) for state in states]
    lanes = tuple(depiction.lanes(system.machines))
    drawn = {lane.machine for lane in lanes}
    arrows = [depiction.arrows(before, one) for before, one in zip(values, path, strict=False)]
    parts = steps_of(names, states[0], path)
    return Story(
        title="",
        verdict="",
        lanes=lanes,
        events=tuple(
            _event(part, [one for one in going if {one.source, one.target} <= drawn])
            for part, going in zip(parts, arrows, strict=True)
        ),
        moments=tuple(
            Moment(
                values=components(names, state),
                captions=depiction.captions(there),
                bands=depiction.bands(there),
                owners=depiction.owners(there),
                lights=shining,
            )
            for state, there, shining in zip(states, values, lit, strict=True)
        ),
    )


def _by_itself(trace: Trace) -> Story:
    """The run as far as its trace says it."""
    notice = NOT_FOLLOWED if trace.kind == MISTAKE else NOT_AT_HAND
    lanes = tuple(Lane(name, name) for name in trace.machines)
    return Story(
        "", "", lanes=lanes, events=tuple(_event(one, _messages(one)) for one in trace.steps), notice=notice
    )


def _messages(step: Step) -> Iterator[Arrow]:
    """An arrow for each message, by the name in front of its text."""
    for one in step.local_steps:
        if one.sender is not None:
            yield Arrow(one.sender, one.machine, (one.message or "").partition("(")[0])


def _event(step: Step, arrows: Sequence[Arrow] | Iterator[Arrow]) -> Event:
    """What a step is. Its messages stand below it in full."""
    return Event(
        index=step.index,
        label=step.label or NO_LABEL,
        machine=step.local_steps[0].machine if step.local_steps else "",
        arrows=tuple(arrows),
        differences=step.differences,
        rules=step.rules,
        detail=tuple(
            f"{one.sender} to {one.machine}: {one.message}"
            for one in step.local_steps
            if one.sender is not None
        ),
    )


def _facts(trace: Trace) -> Iterator[tuple[str, str]]:
    """What is known of a trace beside its steps."""
    yield "meaning", trace.meaning
    if trace.kind not in (DEADLOCK, MISTAKE) and trace.origin.reach is None:
        yield "kind", trace.kind
    yield from named_origin(trace)
    yield from (("assumed", one) for one in trace.assumed)
    if trace.guards:
        yield "guarded by", ", ".join(trace.guards)
    if trace.source:
        yield "source", trace.source
