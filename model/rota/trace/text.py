"""A trace for a person: what is contradicted, the start, each step with what it changed, and why."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from rota.trace.model import MISTAKE, Sight, Step, Trace
from rota.trace.why import matters
from rota.trace.words import NO_LABEL, by, change, ending, named_origin

WIDTH = 110
"""Columns."""

PATH = 0.4
"""Widest column of paths, of the page; longer paths push their values to the right."""

MARGIN, FURTHER = 30, 24
"""Columns that a value of several lines has at least; how far it is indented on lines of its own, else."""

Line = tuple[str, str]
"""A head and words after it, which are broken into lines as long as the page is wide."""

EMPTY = ("", "")

TOOK = "without one of these changes it would not be so"
GUARDED = "; the rules below are among those that it guards"
"""What is claimed of the steps that matter."""


def text(trace: Trace, columns: int = WIDTH) -> str:
    """The trace as lines of at most so many columns, where words allow it. Ends with a line end.

    What is in a trace may come from anywhere: what is no character of a line is written as JSON writes it.
    """
    lines = (
        line for head, words in _lines(trace, int(PATH * columns)) for line in _wrapped(head, words, columns)
    )
    return "".join(f"{printable(line)}\n" for line in lines)


def _lines(trace: Trace, paths: int) -> Iterator[Line]:
    yield "", f"{_what(trace)} {by(trace)}"
    yield "  ", trace.meaning
    yield from _origin(trace)
    yield EMPTY
    yield "start", ""
    width = max(len(name) for name in trace.machines)
    for component in trace.start:
        yield f"     {component.machine:<{width}}  ", component.value
    for step in trace.steps:
        if trace.cycle and step.index == len(trace.steps) - trace.cycle + 1:
            yield from (EMPTY, ("from here it repeats", ""))
        yield EMPTY
        yield from _step(step, width, paths)
    yield EMPTY
    if trace.cycle is not None:
        yield from (("", _goes_on(trace)), EMPTY)
    yield from _what_it_took(trace, width, paths)
    yield from _why(trace, width)


def _what(trace: Trace) -> str:
    if trace.kind == MISTAKE:
        return f"{trace.property_name} makes a mistake"
    if trace.origin.reach is not None:
        return "reached"
    kind = "" if trace.kind == trace.property_name else f" ({trace.kind})"
    return f"{trace.property_name}{kind} is violated"


def _goes_on(trace: Trace) -> str:
    """What comes after the last step of an endless run."""
    if not trace.cycle:
        return "here it stays: nothing that must happen in the end is possible"
    return f"and so on for ever: step {len(trace.steps) - trace.cycle + 1} comes next again"


def _origin(trace: Trace) -> Iterator[Line]:
    yield "  ", ", ".join(f"{what} {name}" for what, name in named_origin(trace))


def _step(step: Step, width: int, paths: int) -> Iterator[Line]:
    yield f"{step.index:>3}  ", step.label or NO_LABEL
    yield from _changes(step, width, paths)
    if not step.differences:
        yield "     nothing changes", ""
    yield from _rules(step, width)


def _changes(step: Step, width: int, paths: int) -> Iterator[Line]:
    path_width = min(paths, max((len(change.path) for change in step.differences), default=0))
    for machine, changes in groupby(step.differences, key=lambda change: change.machine):
        name = machine
        for one in changes:
            yield f"     {name:<{width}}  {one.path:<{path_width}}  ", change(one)
            name = ""


def _rules(step: Step, width: int) -> Iterator[Line]:
    if step.rules:
        yield f"     {'rules':<{width}}  ", ", ".join(step.rules)


def _what_it_took(trace: Trace, width: int, paths: int) -> Iterator[Line]:
    """The steps that matter, with what of them does."""
    steps = list(matters(trace))
    if steps:
        yield "what it took  ", TOOK + GUARDED * any(step.rules for step in steps)
    for step in steps:
        yield f"{step.index:>3}  ", step.label or NO_LABEL
        yield from _changes(step, width, paths)
        yield from _rules(step, width)
    if steps:
        yield EMPTY


def _why(trace: Trace, width: int) -> Iterator[Line]:
    yield "why  ", f"{trace.meaning} {ending(trace)}"
    shown: set[tuple[str, str]] = set()
    for choice, sights in groupby(trace.why, key=lambda sight: sight.choice):
        if choice > 1:
            yield "     and also", ""
        for sight in sights:
            seen = sight.machine, sight.after
            yield from _sight(replace(sight, after="as above") if seen in shown else sight, width)
            shown.add(seen)
    if trace.assumed:
        yield "     the run keeps what is assumed: ", " ".join(trace.assumed)
    if trace.guards:
        yield "     guarded by these rules: ", ", ".join(trace.guards)
    if trace.source:
        yield "     source: ", trace.source


def _sight(sight: Sight, width: int) -> Iterator[Line]:
    if sight.before is None:
        yield f"     {sight.machine:<{width}}  ", sight.after
    else:
        yield f"     {sight.machine:<{width}}  before  ", sight.before
        yield f"     {'':<{width}}  after   ", sight.after


def _wrapped(head: str, words: str, columns: int) -> Iterator[str]:
    """A head and words after it, the following lines indented like the first."""
    if len(head) > columns - MARGIN and len(head) + len(words) > columns and head.strip():
        yield head.rstrip()
        head = " " * FURTHER
    lines = textwrap.wrap(
        words,
        width=columns,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from lines or [head.rstrip()]


def printable(line: str) -> str:
    """The line; what is no character of one is written as JSON writes it."""
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in line)
