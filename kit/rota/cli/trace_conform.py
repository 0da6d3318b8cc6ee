"""A conformance case out of a trace: what a raw client can play of it, held against what the spec answers.

The dialogue of the run is played on a stage by the rules of the spec, whatever mutant is in the trace; what
is answered there is what is expected. At the end everybody who has an id heartbeats, and once more when the
next timer of the group is due, so that what shows in no answer of the run shows in those.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from rota.cli.errors import UsageError
from rota.cli.trace_conform_steps import Playing, Unplayable
from rota.cli.trace_pytest import literal
from rota.cli.trace_systems import Elsewhere, beside
from rota.conformance.dialogues.broker_settings import MAX_SIZE
from rota.mutants import every_mutant
from rota.spec import RULES, BrokerConfig
from rota.stage.of_run import CannotTell, Staged, staged
from rota.trace import Run, Trace
from rota.trace.parting import parting
from rota.trace.text import printable

COLUMNS = 100


def conform(trace: Trace, run: Run | None) -> str:
    """The script's text. Errors: UsageError for a run of which a raw client can play nothing."""
    if run is None:
        raise UsageError("a case is written from the states of a run, and there are none")
    try:
        told = staged(run, sound=True)
    except CannotTell as error:
        raise UsageError(f"{error}; a broker can be asked only what its clients ask") from None
    playing = Playing(told, _parts(run))
    try:
        body = list(playing.lines())
    except Unplayable as error:
        raise UsageError(f"a raw client can play nothing of it: {error}") from None
    lines = [*_head(trace, told, playing), *body, *FOOT]
    return "".join(f"{line}\n" for line in lines)


FOOT = (
    "",
    "",
    'if __name__ == "__main__":',
    "    raise SystemExit(main(CASES[ID], sys.argv[1:]))",
)


def _parts(run: Run) -> int:
    """The step at which the spec does otherwise, 1 where that is not known: what is before leads to it."""
    if run.trace.origin.mutant is None:
        return 1
    kept, ref = beside(run, Elsewhere(sound=True))
    found = parting(kept, ref.build())
    return found.index if found is not None and not found.further else 1


def _rule(trace: Trace, told: Staged) -> str:
    """The rule that the case is about: a mutant's own, else one that the property guards, else the last."""
    mutant = trace.origin.mutant
    fired = (slug for one in reversed(told.stage.happenings) for slug in reversed(one.rules))
    wanted = (*((every_mutant()[mutant].slug,) if mutant else ()), *trace.guards, *fired)
    return next((slug for slug in wanted if slug in RULES), next(iter(RULES)))


def _head(trace: Trace, told: Staged, playing: Playing) -> Iterator[str]:
    rule = _rule(trace, told)
    name = trace.origin.mutant or trace.property_name.replace(".", "-")
    config = told.stage.config
    yield from _docstring(trace, playing)
    yield from ("", "import sys", "")
    yield "from rota.conformance.alone import main"
    yield f"from rota.conformance.dialogues.dialogue import {', '.join(playing.names())}"
    yield "from rota.conformance.dialogues.registry import CASES, case"
    yield from ("", f"ID = {literal(f'{rule}.{name}')}", "", "")
    delay = config.group_initial_rebalance_delay_ms
    yield from ("@case(", "    ID,", f"    {literal(printable(trace.meaning))},")
    yield f"    {literal(printable(trace.source or RULES[rule].source))},"
    yield f"    needs={_mapping({api: (one, one) for api, one in playing.versions.items()})},"
    yield from (f"    initial_delay_ms={delay},", f"    least_delay_ms={delay},")
    settings = _settings(config)
    if settings:
        yield f"    settings={_mapping(settings)},"
    yield from (f"    seconds={playing.seconds:.1f},", ")", "def play(d: Dialogue) -> None:")


def _settings(config: BrokerConfig) -> dict[str, object]:
    limited = config.group_max_size != BrokerConfig().group_max_size
    return {MAX_SIZE: config.group_max_size} if limited else {}


def _mapping(items: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{literal(key)}: {value!r}" for key, value in items.items()) + "}"


def _docstring(trace: Trace, playing: Playing) -> Iterator[str]:
    of = f" with the mutant {trace.origin.mutant}" if trace.origin.mutant else ""
    paragraphs = [
        f"{trace.property_name}: {trace.meaning}",
        f"From a run{of}, held against the spec. Written by `rota trace --as conform`; play it with `python "
        "FILE [TARGET]`, TARGET as for `rota conform`, rota's own server if none is named.",
        *(["What a raw client cannot play of the run:"] if playing.omitted else []),
    ]
    for number, paragraph in enumerate(paragraphs):
        words = printable(paragraph).replace("\\", "\\\\").replace('"', "'")
        lines = textwrap.wrap(words, COLUMNS, break_long_words=False, break_on_hyphens=False)
        yield from ('"""' + lines[0], *lines[1:]) if number == 0 else ("", *lines)
    for words in playing.omitted:
        told = printable(words).replace("\\", "\\\\").replace('"', "'")
        yield from textwrap.wrap(told, COLUMNS, initial_indent="- ", subsequent_indent="  ")
    yield '"""'
