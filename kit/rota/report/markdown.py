"""Markdown for an issue or a pull request: counts, a table of the deviations, each one in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rota.conformance.results import Verdict
from rota.report.events import Collected, RunFinished, RunStarted, counts
from rota.report.format import WIDTH
from rota.report.text import IN_FULL, in_full, known_lines, verdict_line


class MarkdownReport(Collected):
    """Gives the finished document, as text, to `write`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def finish(self, started: RunStarted, finished: RunFinished) -> None:
        self._write("\n".join(self._lines(started, finished)) + "\n")

    def _lines(self, started: RunStarted, finished: RunFinished) -> Iterator[str]:
        yield f"# {started.target} against profile {started.profile}"
        yield ""
        yield verdict_line(started, finished, self.results)
        yield ""
        yield ", ".join(f"{number} {verdict}" for verdict, number in counts(self.results).items())
        yield ""
        yield "| case | level | verdict | expected | actual |"
        yield "| --- | --- | --- | --- | --- |"
        for result in self.results:
            if result.verdict is not Verdict.PASS:
                case, actual = result.case, result.actual or result.because
                cells = (case.id, case.level.value, result.verdict.value, result.expected, actual)
                yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        yield ""
        yield from (f"- {line}" for line in known_lines(self.results, WIDTH))
        for result in self.results:
            if result.verdict in IN_FULL:
                yield ""
                yield f"## {result.case.id}"
                yield ""
                yield from (f"    {line}" for line in in_full(result, started, WIDTH))
