"""What `rota prove` tells people: a line per obligation or per group, counterexamples, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap

from rota.report.prove_model import Result, Run, overall

FEW = 30
"""Up to so many obligations get a line each; of more only the groups, and what is not as expected."""

TOLD = 5
"""Of many, so many that are not as expected are told in full, the others by their line."""

SLOW = 1.0
"""Seconds; from here on a group's slowest obligation is named."""

INDENT = "      "


def group_of(name: str) -> str:
    """What an obligation is told under if there are many: the first two parts of its name."""
    return ".".join(name.split(".")[:2])


class Printer:
    """Prints results in the order of the obligations, as they come.

    Parameters: say, takes lines; names, of all that will come; verbose, a line, the sentence and the
    counterexample of each, however many there are.
    """

    def __init__(self, say: Callable[[str], None], names: Sequence[str], verbose: bool = False) -> None:
        self._say, self._verbose = say, verbose
        self._each = verbose or len(names) <= FEW
        self._left = Counter(map(group_of, names))
        self._width = max((len(name if self._each else group_of(name)) for name in names), default=0)
        self._groups: dict[str, list[Result]] = {}
        self._odd = 0

    def on(self, result: Result) -> None:
        """The next one."""
        self._odd += not result.as_expected
        if self._each or not result.as_expected:
            lines = list(_in_full(result, self._width, self._verbose))
            for line in lines if self._each or self._odd <= TOLD else lines[:1]:
                self._say(line)
        if self._each:
            return
        group = group_of(result.name)
        self._groups.setdefault(group, []).append(result)
        self._left[group] -= 1
        if not self._left[group]:
            self._say(_together(self._groups.pop(group), self._width))

    def flush(self) -> None:
        """The lines of groups that were begun: there was an interrupt."""
        for results in self._groups.values():
            late = self._left[group_of(results[0].name)]
            self._say(_together(results, self._width) + f", {late} not decided")
        self._groups = {}


def _in_full(result: Result, width: int, verbose: bool) -> Iterator[str]:
    """A result's line, and what there is to say of it."""
    outcome = result.outcome
    name = f"{result.name:<{width}}" + (f"  {result.variant}" if result.variant else "")
    told = outcome.verdict if outcome.as_expected else f"{outcome.verdict}, not {outcome.obligation.expect}"
    yield f"{_mark(result)} {name}  {told:<7} {outcome.seconds:6.2f} s"
    example = outcome.counterexample if verbose or not (result.variant and result.as_expected) else None
    if verbose or example or not result.as_expected:
        yield from _paragraph(f"claim: {outcome.obligation.statement}")
    if outcome.reason:
        yield from _paragraph(f"why: {outcome.reason}")
    if result.second and result.second.verdict != outcome.verdict:
        told = f"asked again, another way: {result.second.verdict}"
        yield from _paragraph(f"{told}; {result.second.reason}" if result.second.reason else told)
    for line in example.as_lines() if example else ():
        yield from _paragraph(line)


def _together(results: Sequence[Result], width: int) -> str:
    """One line for a group."""
    fine = [result for result in results if result.as_expected]
    counts = Counter(result.outcome.verdict for result in results)
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    seconds = sum(result.seconds for result in results)
    slowest = max(results, key=lambda result: result.seconds)
    mark = "ok " if len(fine) == len(results) else "NOT"
    line = f"{mark} {group_of(results[0].name):<{width}}  {told:<21} {seconds:6.2f} s"
    if len(results) > 1 and slowest.seconds >= SLOW:
        rest = slowest.name.removeprefix(group_of(slowest.name)).lstrip(".")
        line += f", slowest {slowest.seconds:.1f} s: {rest or slowest.name}"
    return line


def _mark(result: Result) -> str:
    return "ok " if result.as_expected else "NOT"


def _paragraph(text: str) -> Iterator[str]:
    columns = max(60, get_terminal_size().columns)
    return iter(wrap(text, columns, initial_indent=INDENT, subsequent_indent=INDENT + "  "))


def last_lines(results: Sequence[Result], selected: int, run: Run, report: Path) -> Iterator[str]:
    """How to see more, what stays open, and the verdict; the line that counts is the last."""
    if len(results) > FEW:
        yield "each in words, with counterexamples: rota prove NAME -v"
    if not any(result.variant for result in results):
        columns = max(60, get_terminal_size().columns)
        yield from wrap(f"not proved: {'; '.join(run.not_proved)}", columns, subsequent_indent="  ")
    yield f"report: {report}"
    twice = [result for result in results if result.second]
    if twice:
        agreeing = sum(result.outcome.verdict == result.second.verdict for result in twice if result.second)
        yield f"asked twice, with other seeds and tactics: {agreeing} of {len(twice)} agree"
    counts = Counter(result.outcome.verdict for result in results)
    told = ", ".join(
        f"{counts[name]} {name}" for name in ("proved", "refuted", "vacuous", "unknown") if counts[name]
    )
    agreeing = sum(result.as_expected for result in results)
    late = f", {selected - len(results)} not decided" if len(results) < selected else ""
    of = f"{agreeing} of {len(results)} as expected{late}, in {run.seconds:.1f} s"
    yield f"{overall(results, selected)}: {told or 'nothing'}; {of}"
