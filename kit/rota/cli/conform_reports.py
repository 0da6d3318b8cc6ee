"""`rota conform` over JSON reports: what changed between two of them, and several of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from rota.cli.errors import HOLDS, UNDECIDED, VIOLATED, UsageError
from rota.cli.keeping import keep, try_files
from rota.cli.streams import ascii_json
from rota.conformance.dialogues.script import Script
from rota.pages import report_page, report_page_changes
from rota.report import changes_text, several
from rota.report.changes import Changes
from rota.report.events import CONFORMS, WholeRun
from rota.report.events import VIOLATED as BREAKS
from rota.report.files import ReportError, parse_report
from rota.report.read_back import NoReport, read_run

SUFFIX = ".json"
"""How the path of a report ends, by which it is told from a target."""

Kinds = Mapping[str, Callable[[], str]]
"""Kind of a report -> what makes its text."""


def are_reports(named: Sequence[str]) -> bool:
    """Whether these are reports and no targets. Errors: UsageError where some are."""
    found = [text for text in named if text.endswith(SUFFIX)]
    if found and len(found) < len(named):
        other = next(text for text in named if text not in found)
        raise UsageError(f"{found[0]} is a report and {other} is none; give two targets or two JSON reports")
    return bool(found)


def show_changes(
    named: tuple[str, str],
    scripts: Sequence[Script],
    chosen: bool,
    reports: Sequence[str],
    as_object: bool,
    quiet: bool,
) -> int:
    """What is new, mended and stays between two reports; the exit code. chosen: scripts are not all."""
    before, after = map(_read, named)
    only = frozenset(script.id for script in scripts) if chosen else None
    changes = Changes(before, after, only)
    kinds: Kinds = {
        "json": lambda: changes_text.as_json(changes),
        "md": lambda: changes_text.as_markdown(changes),
        "html": lambda: report_page_changes.page(changes),
    }
    lines = [changes_text.verdict_line(changes)] if quiet else changes_text.as_text(changes)
    return _tell(lines, kinds, reports, as_object, changes.exit_code)


def show_matrix(named: Sequence[str], reports: Sequence[str], as_object: bool, quiet: bool) -> int:
    """Several reports side by side; the exit code: of the worst among their verdicts."""
    if not named:
        raise UsageError("--matrix needs JSON reports; name them: rota conform --matrix A.json B.json")
    runs = [_read(path) for path in named]
    code = {CONFORMS: HOLDS, BREAKS: VIOLATED}.get(several.worst(runs), UNDECIDED)
    kinds: Kinds = {
        "json": lambda: several.as_json(runs),
        "md": lambda: several.as_markdown(runs),
        "html": lambda: report_page.page(runs),
    }
    lines = several.verdict_lines(runs) if quiet else several.as_text(runs)
    return _tell(lines, kinds, reports, as_object, code)


def _read(path: str) -> WholeRun:
    try:
        return read_run(Path(path))
    except NoReport as error:
        raise UsageError(str(error)) from error


def _tell(
    lines: Iterator[str] | Sequence[str], kinds: Kinds, reports: Sequence[str], as_object: bool, code: int
) -> int:
    """Print what was asked for and write the reports; the exit code."""
    try:
        asked = [parse_report(text) for text in reports]
    except ReportError as error:
        raise UsageError(str(error)) from error
    for kind, _ in asked:
        if kind not in kinds:
            raise UsageError(f"{kind} is for judging one target; of reports there are {', '.join(kinds)}")
    try_files([path for _, path in asked], "choose another path")
    files = {path: kinds[kind]() for kind, path in asked}
    if as_object:
        click.echo(ascii_json(kinds["json"]()), nl=False)
    else:
        for line in lines:
            click.echo(line)
    return keep(files, code)
