"""A regression test out of a trace: it follows the run to where the bug shows, and says what is right there.

Of a mutant that is what the spec does in its place. Of another trace it is known only that the property must
not be contradicted: the test fails on the system as it is, and passes on one that is mended.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rota.cli.errors import UsageError
from rota.cli.trace_systems import Elsewhere, beside
from rota.kernel import SystemRef
from rota.trace import DEADLOCK, Run, Trace
from rota.trace.parting import Parting, parting
from rota.trace.regression import Did, did, distinct
from rota.trace.text import printable
from rota.trace.words import steps

COLUMNS = 100


def pytest(trace: Trace, run: Run | None) -> str:
    """The module's text. Errors: UsageError for a trace that contradicts nothing, or nothing at its end."""
    if run is None:
        raise UsageError("a test is written from the states of a run, and there are none")
    if trace.origin.reach is not None:
        raise UsageError("this trace leads to a state that was searched for; a test is of a contradiction")
    lines = _beside_the_spec(trace, run) if trace.origin.mutant else _as_it_is(trace, run)
    return "".join(f"{line}\n" for line in lines)


def _beside_the_spec(trace: Trace, run: Run) -> Iterator[str]:
    """Of a mutant: what the spec does in its place."""
    run, ref = beside(run, Elsewhere(sound=True))
    parted = parting(run, ref.build())
    if parted is None or parted.before is None:
        raise UsageError("the spec does the same as the mutant in every step, so no test tells them apart")
    of_it = f"the mutant {trace.origin.mutant}"
    if parted.further:
        told = f"Then it can be gone on, other than with {of_it}."
    else:
        told = f"Step {parted.index} must lead to what the spec does there, and {of_it} does not."
    before = parted.index if parted.further else parted.index - 1
    yield from _head(trace, f"The first {steps(before)} are followed. {told}")
    wanted = "onward" if parted.further else "outcomes"
    yield from (
        "from rota.kernel import SystemRef",
        f"from rota.trace.regression import Did, follow, {wanted}",
    )
    yield from _system(ref)
    yield from _followed(run, before)
    yield from _further(trace, run, parted) if parted.further else _instead(trace, run, parted)


def _further(trace: Trace, run: Run, parted: Parting) -> Iterator[str]:
    assert parted.before is not None
    on = distinct(did(run.system, parted.before, one) for one in parted.further)
    yield from ("", *_comment("What leads on from there."))
    yield from _steps("ONWARD", on, "[]")
    yield from _function(trace, ("assert onward(judged, state) >= set(ONWARD)",))


def _instead(trace: Trace, run: Run, parted: Parting) -> Iterator[str]:
    assert parted.before is not None
    assert parted.transition is not None
    right = distinct(did(run.system, parted.before, one.transition) for one in parted.instead)
    yield from ("", *_comment(f"What step {parted.index} is, and what it leads to."))
    first = parted.transition.local_steps[0]
    yield f"ACTION = {literal((first.machine, first.label))}"
    if parted.possible:
        yield from _comment(
            f"It is not possible; what {first.machine} can begin: {'; '.join(parted.possible)}"
        )
    yield from _steps("RIGHT", right, "[]")
    yield from _function(trace, ("assert outcomes(judged, state, *ACTION) == RIGHT",))


def _as_it_is(trace: Trace, run: Run) -> Iterator[str]:
    """Of another trace: the property is not contradicted."""
    if trace.cycle is not None:
        cause = "this run never ends, and nobody says what is right in its place"
        raise UsageError(f"{cause}; a test can be written of a mutant's")
    origin = trace.origin
    assert origin.factory is not None  # it was built
    stuck = trace.property_name == DEADLOCK
    before = len(run.path) - (not stuck)
    if before < 0:
        raise UsageError("the state in which the system begins contradicts the property; there is no step")
    told = (
        "It must be possible to go on." if stuck else f"Step {before + 1} must not contradict the property."
    )
    yield from _head(trace, f"The first {steps(before)} are followed. {told}")
    wanted = "onward" if stuck else "breaking"
    names = f"Did, {wanted}, follow" if wanted < "follow" else f"Did, follow, {wanted}"
    yield from ("from rota.kernel import SystemRef", f"from rota.trace.regression import {names}")
    yield from _system(SystemRef(origin.factory, tuple(origin.settings.items())))
    yield from _followed(run, before)
    if stuck:
        yield from _function(trace, ("assert onward(judged, state)",))
        return
    first = run.path[-1].local_steps[0]
    yield from ("", f"ACTION = {literal((first.machine, first.label))}")
    yield from _function(
        trace, (f"assert breaking(judged, {literal(trace.property_name)}, state, *ACTION) == []",)
    )


def _head(trace: Trace, told: str) -> Iterator[str]:
    subject = printable(f"{trace.property_name}: {trace.meaning}")
    paragraphs = [f"{subject}", told, WRITTEN]
    for number, paragraph in enumerate(paragraphs):
        words = paragraph.replace("\\", "\\\\").replace('"', "'")
        lines = textwrap.wrap(words, COLUMNS, break_long_words=False, break_on_hyphens=False)
        yield from ('"""' + lines[0] if number == 0 else "", *(lines[1:] if number == 0 else lines))
    yield from ('"""', "")


WRITTEN = (
    "Written by `rota trace --as pytest`. If the steps before cannot be followed it fails as outdated; write "
    "it again if that is meant. To judge another system call it with how that is built."
)


def _system(ref: SystemRef) -> Iterator[str]:
    yield from ("", "SYSTEM = SystemRef(", f"    {literal(ref.factory)},", "    (")
    yield from (f"        ({literal(key)}, {literal(value)})," for key, value in ref.settings)
    yield from ("    ),", ")")


def literal(value: Any) -> str:
    """A value as people write it in Python: settings are numbers, texts, tuples and mappings."""
    if isinstance(value, str):
        plain = value.isprintable() and '"' not in value and "\\" not in value
        return f'"{value}"' if plain else repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    return repr(value)


def _followed(run: Run, count: int) -> Iterator[str]:
    pairs = zip(run.states[:count], run.path[:count], strict=True)
    yield ""
    yield from _steps("BEFORE", [did(run.system, state, one) for state, one in pairs], "()")


def _steps(name: str, several: Sequence[Did], brackets: str) -> Iterator[str]:
    if not several:
        kind = "list[Did]" if brackets == "[]" else "tuple[Did, ...]"
        yield f"{name}: {kind} = {brackets}"
        return
    yield f"{name} = {brackets[0]}"
    for one in several:
        yield "    Did("
        yield from (f"        {literal(one.machine)},", f"        {literal(one.action)},")
        yield from _texts("rules", one.rules)
        yield from _texts("changes", one.changes)
        if one.label:
            yield f"        label={literal(one.label)},"
        yield "    ),"
    yield brackets[1]


def _texts(name: str, texts: Sequence[str]) -> Iterator[str]:
    line = f"        {name}={literal(tuple(texts))},"
    if len(line) <= COLUMNS and texts:
        yield line
    elif texts:
        yield from (f"        {name}=(", *(f"            {literal(text)}," for text in texts), "        ),")


def _function(trace: Trace, asserted: Sequence[str]) -> Iterator[str]:
    name = re.sub(r"\W+", "_", trace.property_name, flags=re.ASCII).strip("_").lower() or "it"
    yield from ("", "", f"def test_{name}(system: SystemRef = SYSTEM) -> None:")
    yield from ("    judged = system.build()", "    state = follow(judged, BEFORE)")
    yield from (f"    {line}" for line in asserted)


def _comment(words: str) -> list[str]:
    return textwrap.wrap(
        printable(words), COLUMNS, initial_indent="# ", subsequent_indent="# ", break_long_words=False
    )
