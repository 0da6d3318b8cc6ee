"""Markdown for a comment on a pull request: the verdict, a table of the causes, and more to be opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rota.conformance.results import CaseResult, Verdict
from rota.report.causes import Cause, by_id
from rota.report.events import Collected, RunFinished, RunStarted, counts
from rota.report.format import WIDTH, counted
from rota.report.text import IN_FULL, causes_in_a_line, in_full, known_lines, undecided_alone, verdict_line

ROOM = 60_000
"""Letters that may be in it: code hosts take comments of 65,536."""

BROKEN_OFF = 200
"""Letters of what a target said that stand in a table."""

FURTHER = "Too long for a comment: {left}. `--report html=PATH` has everything."


class MarkdownReport(Collected):
    """Gives the finished document, as text, to `write`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def finish(self, started: RunStarted, finished: RunFinished) -> None:
        self._write(within(ROOM, _sections(started, finished)))


Section = tuple[str, str]
"""What it is called, and its text."""


def within(room: int, sections: Iterator[Section]) -> str:
    """The sections that there is room for, in order; the others are named."""
    text, left = "", []
    for name, section in sections:
        if len(text) + len(section) > room:
            left.append(name)
        else:
            text += f"{section}\n"
    if len(left) > 1:
        left = [f"{left[0]} and {len(left) - 1} more"]
    return text + (f"{FURTHER.format(left=left[0])}\n" if left else "")


def _sections(started: RunStarted, finished: RunFinished) -> Iterator[Section]:
    results = by_id(finished.results)
    yield "the verdict", "\n".join(_head(started, finished))
    failing = [cause for cause in finished.causes if cause.verdict in (Verdict.FAIL, Verdict.DIED)]
    lesser = [cause for cause in finished.causes if cause not in failing]
    if failing:
        yield "the causes", "\n".join(_causes(failing))
    if lesser:
        title = f"{counted(len(lesser), 'cause')} that {'fails' if len(lesser) == 1 else 'fail'} no run"
        yield title, opened(title, "\n".join(_causes(lesser)))
    yield from (("what is known", f"- {line}\n") for line in known_lines(finished.results, WIDTH))
    for cause in finished.causes:
        if results[cause.first].verdict in IN_FULL:
            yield cause.rule, opened(f"{cause.rule}: {cause.headline}", _told(results[cause.first], started))
    for result in undecided_alone(finished):
        yield result.case.id, opened(f"undecided: {result.case.id}", _told(result, started))
    if missed := finished.reached.missed:
        lines = (f"- {why}: {', '.join(code(id) for id in ids)}" for why, ids in missed.items())
        yield (
            "what was not judged",
            opened(f"not judged: {counted(sum(map(len, missed.values())), 'case')}", "\n".join(lines)),
        )
    if deviating := [one for one in finished.results if one.verdict is not Verdict.PASS]:
        yield "the table of all cases", opened("every case that did not pass", "\n".join(_table(deviating)))


def _head(started: RunStarted, finished: RunFinished) -> Iterator[str]:
    yield f"# {started.target} against profile {started.profile}"
    yield ""
    yield f"questions reached: **{finished.reached.words}**"
    yield ""
    yield verdict_line(started, finished, finished.results)
    yield ""
    told = [f"{number} {verdict}" for verdict, number in counts(finished.results).items()]
    yield ", ".join(told)
    if finished.causes:
        yield ""
        yield f"{causes_in_a_line(finished)}:"
    yield ""


def _causes(causes: Sequence[Cause]) -> Iterator[str]:
    yield "| cause | cases | look at | seen there | also breaks |"
    yield "| --- | ---: | --- | --- | --- |"
    for cause in causes:
        rule = f"{code(cause.rule)} ({cause.verdict}): {cell(cause.sentence)}"
        also = ", ".join(map(code, cause.also_breaks))
        yield row(rule, str(len(cause.cases)), code(cause.first), code(cause.seen), also)
    yield ""


def _told(result: CaseResult, started: RunStarted) -> str:
    """A case in full, as code: in running text @a would be somebody's name."""
    return "\n".join(f"    {line}" for line in in_full(result, started, WIDTH))


def _table(results: Sequence[CaseResult]) -> Iterator[str]:
    yield "| case | level | verdict | expected | actual |"
    yield "| --- | --- | --- | --- | --- |"
    for result in results:
        case, actual = result.case, result.actual or result.because
        yield row(case.id, case.level.value, result.verdict.value, code(result.expected), code(actual))


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    """Somebody's words for a table, as code: in them nothing is markup, a name or a link."""
    short = text if len(text) <= BROKEN_OFF else f"{text[:BROKEN_OFF]}…"
    return f"`{short.replace('`', chr(39)).replace('|', chr(92) + '|')}`" if text.strip() else ""


def cell(text: str) -> str:
    """Our own words for a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def opened(title: str, text: str) -> str:
    """What is behind its title until somebody opens it."""
    return f"<details><summary>{cell(title)}</summary>\n\n{text}\n\n</details>\n"
