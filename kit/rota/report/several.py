"""Several targets side by side, from the reports on them: as text, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from rota.conformance.dialogues.registry import PARTS
from rota.conformance.results import Verdict
from rota.report.causes import Cause
from rota.report.events import CONFORMS, UNDECIDED, VIOLATED, WholeRun
from rota.report.markdown import code, row
from rota.report.table import Column, Table, names
from rota.report.text import verdict_line

SCHEMA = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""


def named(runs: Sequence[WholeRun]) -> list[str]:
    """A name for each run: its target, with its file and number where several are of one target."""
    targets = [run.started.target for run in runs]
    return [
        target if targets.count(target) == 1 else f"{target} ({number}: {run.path})"
        for number, (target, run) in enumerate(zip(targets, runs, strict=True), 1)
    ]


def worst(runs: Sequence[WholeRun]) -> str:
    """The verdict on all: violated if any is, conforms if all do, else undecided."""
    verdicts = {run.finished.verdict for run in runs}
    return VIOLATED if VIOLATED in verdicts else CONFORMS if verdicts == {CONFORMS} else UNDECIDED


def parts_of(runs: Sequence[WholeRun]) -> list[str]:
    """The parts of which any run played a case."""
    played = {result.case.part for run in runs for result in run.finished.results}
    return [part for part in PARTS if part in played]


def passed(run: WholeRun, part: str) -> tuple[int, int]:
    """How many cases of a part passed, of how many that were played."""
    verdicts = [one.verdict for one in run.finished.results if one.case.part == part]
    return verdicts.count(Verdict.PASS), len(verdicts)


def shared(runs: Sequence[WholeRun]) -> list[tuple[str, Sequence[Cause | None]]]:
    """The name of each cause, and the cause on each target that has it: what most have comes first."""
    found = [{cause.name: cause for cause in run.finished.causes} for run in runs]
    rules = sorted({rule for one in found for rule in one}, key=lambda rule: _spread(rule, found))
    return [(rule, [one.get(rule) for one in found]) for rule in rules]


def _spread(rule: str, found: Sequence[Mapping[str, Cause]]) -> tuple[int, int, str]:
    those = [one[rule] for one in found if rule in one]
    return -len(those), -sum(len(cause.cases) for cause in those), rule


def verdict_lines(runs: Sequence[WholeRun]) -> Iterator[str]:
    """The verdict on each."""
    for run in runs:
        yield verdict_line(run.started, run.finished, run.finished.results)


def as_text(runs: Sequence[WholeRun]) -> Iterator[str]:
    """A row for each part and for each cause, a column for each target; the verdicts last."""
    titles = named(runs)
    parts, causes = parts_of(runs), shared(runs)
    first = names("cases that passed", [*parts, *(rule for rule, _ in causes)], gap=0)
    table = Table([first, *(Column(title, max(len(title), 10), gap=2) for title in titles)])
    yield table.head()
    reached = {name: run.finished.reached.words for name, run in zip(titles, runs, strict=True)}
    yield table.row({first.title: "questions reached", **reached})
    for part in parts:
        cells = {name: _passed(run, part) for name, run in zip(titles, runs, strict=True)}
        yield table.row({first.title: part, **cells})
    if causes:
        yield ""
        yield table.row({first.title: "cases of each cause", **dict.fromkeys(titles, "")})
    for rule, each in causes:
        numbers = {name: _number(one) for name, one in zip(titles, each, strict=True)}
        yield table.row({first.title: rule, **numbers})
    yield ""
    yield from verdict_lines(runs)


def _passed(run: WholeRun, part: str) -> str:
    number, of = passed(run, part)
    return f"{number} of {of}" if of else "–"


def _number(cause: Cause | None) -> str:
    return str(len(cause.cases)) if cause is not None else ""


def as_markdown(runs: Sequence[WholeRun]) -> str:
    """Tables of parts and of causes, a column for each target."""
    return "".join(f"{line}\n" for line in _lines(runs))


def _lines(runs: Sequence[WholeRun]) -> Iterator[str]:
    titles = named(runs)
    yield f"# {', '.join(titles)}"
    yield ""
    yield from (f"- {line}" for line in verdict_lines(runs))
    yield ""
    yield row("passed", *map(code, titles))
    yield row("---", *["---:"] * len(runs))
    yield row("questions reached", *(run.finished.reached.words for run in runs))
    for part in parts_of(runs):
        yield row(part, *(_passed(run, part) for run in runs))
    if causes := shared(runs):
        yield ""
        yield row("cause", *map(code, titles))
        yield row("---", *["---:"] * len(runs))
        yield from (row(code(rule), *map(_number, each)) for rule, each in causes)


def _object(run: WholeRun, part: str) -> dict[str, int]:
    number, of = passed(run, part)
    return {"pass": number, "of": of}


def as_json(runs: Sequence[WholeRun]) -> str:
    """One object: of each target the verdict, what was reached, parts and causes."""
    whole = {
        "schema": SCHEMA,
        "verdict": worst(runs),
        "targets": [
            {
                "report": str(run.path),
                "target": run.started.target,
                "profile": run.started.profile,
                "verdict": run.finished.verdict,
                "reached": {"questions": run.finished.reached.questions, "of": run.finished.reached.of},
                "parts": {part: _object(run, part) for part in parts_of([run])},
                "causes": {cause.name: len(cause.cases) for cause in run.finished.causes},
            }
            for run in runs
        ],
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
