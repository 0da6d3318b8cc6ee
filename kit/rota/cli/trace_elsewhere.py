"""The actions of a trace in another system: whether it parts from the trace, and what is there instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rota.cli.errors import HOLDS, VIOLATED, UsageError
from rota.cli.trace_systems import Elsewhere, beside
from rota.kernel import System, SystemRef, Transition
from rota.report.format import coloured, counted, wrapped
from rota.trace import Difference, Run, differences
from rota.trace.parting import Parting, parting
from rota.trace.text import printable
from rota.trace.words import change

MOST = 3
"""Outcomes of an action that are shown."""


def played(run: Run, elsewhere: Elsewhere) -> tuple[list[str], int]:
    """What becomes of a run in another system, as lines, and the exit code: 1 if it parts.

    Errors: UsageError.
    """
    run, ref = beside(run, elsewhere)
    try:
        found = parting(run, _built(ref))
    except ValueError as error:
        raise UsageError(f"{error}; leave out the setting that makes them others") from None
    if found is None:
        same = f"all of {counted(len(run.path), 'step')} {elsewhere.words()}"
        return [f"{coloured('same', 'holds')}: {same}"], HOLDS
    verdict = f"{coloured('parts', 'violated')}: {_verdict(found, elsewhere)}"
    lines = [printable(line).rstrip() for part in _lines(run, found, elsewhere) for line in part.split("\n")]
    return [*lines, "", verdict], VIOLATED


def _built(ref: SystemRef) -> System:
    try:
        return ref.build()
    except Exception as error:  # whatever the factory makes of these settings
        cause = f"cannot build that system ({type(error).__name__}: {error})"
        raise UsageError(f"{cause}; check --profile, --mutant and --set") from error


def _verdict(found: Parting, elsewhere: Elsewhere) -> str:
    words = elsewhere.words()
    if found.further:
        return f"after step {found.index}, where it can go on {words}"
    if found.transition is None:
        return f"at the start, which is another one {words}"
    if not found.instead:
        return f"at step {found.index}, which is not possible {words}"
    return f"at step {found.index}, which leads elsewhere {words}"


def _lines(run: Run, found: Parting, elsewhere: Elsewhere) -> Iterator[str]:
    if found.further:
        yield f"the same {elsewhere.words()} for {counted(found.index, 'step')}"
        yield ""
        yield f"{elsewhere.words()}, and not in the trace, what can be done then:"
        yield from (wrapped("     ", label) for label in dict.fromkeys(one.label for one in found.further))
        return
    if found.transition is None or found.before is None:
        yield "the systems do not begin alike"
        return
    if found.index > 1:
        yield f"the same {elsewhere.words()} for {counted(found.index - 1, 'step')}"
        yield ""
    yield f"step {found.index} in the trace: {found.transition.label}"
    names = tuple(one.name for one in run.system.machines)
    changes = [
        one
        for name, old, new in zip(names, found.before, found.transition.target, strict=True)
        for one in differences(name, old, new)
    ]
    yield from _changes(changes, names)
    yield from _rules(found.transition, names)
    yield ""
    yield from _instead(found, elsewhere, names)


def _instead(found: Parting, elsewhere: Elsewhere, names: tuple[str, ...]) -> Iterator[str]:
    assert found.transition is not None
    machine = found.transition.local_steps[0].machine
    if not found.instead:
        yield f"{elsewhere.words()}: not possible here"
        if found.possible:
            yield wrapped(f"     {machine} can begin: ", "; ".join(found.possible))
        else:
            yield f"     {machine} can begin nothing"
        return
    for number, one in enumerate(found.instead[:MOST]):
        if number:
            yield ""
        yield f"{'or ' * bool(number)}{elsewhere.words()}: {one.transition.label}"
        if one.differences:
            yield "     another value than in the trace (in the trace -> here):"
        yield from _changes(one.differences, names)
        yield from _rules(one.transition, names, found.transition)
    if len(found.instead) > MOST:
        yield f"     and {len(found.instead) - MOST} more outcomes"


def _changes(changes: Sequence[Difference], names: tuple[str, ...]) -> Iterator[str]:
    width = max(map(len, names))
    paths = min(40, max((len(one.path) for one in changes), default=0))
    for machine, some in groupby(changes, key=lambda one: one.machine):
        name = machine
        for one in some:
            yield wrapped(f"     {name:<{width}}  {one.path:<{paths}}  ", change(one))
            name = ""


def _rules(one: Transition, names: tuple[str, ...], trace: Transition | None = None) -> Iterator[str]:
    """The rules that fired; beside another transition's, which fired in one of them only."""
    width = max(map(len, names))
    rules = tuple(dict.fromkeys(one.rules))
    yield wrapped(f"     {'rules':<{width}}  ", ", ".join(rules) or "none")
    if trace is None:
        return
    others = tuple(dict.fromkeys(trace.rules))
    for told, some in (
        ("only here", [slug for slug in rules if slug not in others]),
        ("only in the trace", [slug for slug in others if slug not in rules]),
    ):
        if some:
            yield wrapped(f"     {'':<{width}}  {told}: ", ", ".join(some))
