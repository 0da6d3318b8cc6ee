"""Reports that go to files: which kind, where."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from rota.report.events import Collected
from rota.report.html_report import HtmlReport
from rota.report.json_report import JsonReport
from rota.report.junit import JUnitReport
from rota.report.markdown import MarkdownReport

KINDS: dict[str, Callable[[Callable[[str], None]], Collected]] = {
    "json": JsonReport,
    "junit": JUnitReport,
    "md": MarkdownReport,
    "html": HtmlReport,
}
"""Kind of report -> its reader."""


class ReportError(ValueError):
    """A report that cannot be asked for like that."""


def parse_report(text: str) -> tuple[str, Path]:
    """Kind and path in `KIND=PATH`. Raises `ReportError` for anything else."""
    kind, equals, path = text.partition("=")
    if not equals or not path or kind not in KINDS:
        kinds, near = ", ".join(KINDS), get_close_matches(kind, KINDS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ReportError(f"cannot read the report {text!r}; {hint}write KIND=PATH with KIND one of {kinds}")
    return kind, Path(path)


def default_reports(target: str, folder: Path) -> list[tuple[str, Path]]:
    """Where the reports on a target go if nobody says otherwise."""
    stem = "conform-" + re.sub(r"[^A-Za-z0-9.]+", "-", target).strip("-")[:80]
    return [("json", folder / f"{stem}.json"), ("junit", folder / f"{stem}.junit.xml")]


def file_report(kind: str, path: Path, files: dict[Path, str]) -> Collected:
    """A reader that puts its report into `files` when it is finished."""
    return KINDS[kind](partial(files.__setitem__, path))
