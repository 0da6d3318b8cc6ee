"""The report as a page: one file of HTML, to be looked at in a browser and kept with a build."""

from __future__ import annotations

from collections.abc import Callable

from rota.pages.report_page import page
from rota.report.events import Collected, RunFinished, RunStarted, WholeRun


class HtmlReport(Collected):
    """Gives the finished page, as text, to `write`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def finish(self, started: RunStarted, finished: RunFinished) -> None:
        self._write(page([WholeRun(started, finished)]))
