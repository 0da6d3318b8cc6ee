"""What `rota prove` tells people: a line per obligation or per group, counterexamples, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap

from rota.report.prove_model import Result, Run, overall

FEW = 30
"""Up to so many lines: each obligation by itself, or else the groups of a family, or else the family."""

TOLD = 5
"""Of many, so many that are not as expected are told in full, the others by their line."""

SLOW = 1.0
"""Seconds; from here on a group's slowest obligation is named."""

INDENT = "      "


def group_of(name: str) -> str:
    """What an obligation is told under if there are many: the first two parts of its name."""
    return ".".join(name.split(".")[:2])


def family_of(name: str) -> str:
    """What groups are told under if there are many of them: the first part of the name."""
    return name.partition(".")[0]


def level(names: Sequence[str]) -> Callable[[str], str]:
    """From the name of an obligation to what it is told under: itself, its group, or its family."""
    if len(names) <= FEW:
        return str
    groups = Counter(map(family_of, set(map(group_of, names))))
    large = {name for name, count in groups.items() if count > FEW and len(groups) > 1}
    return lambda name: family_of(name) if family_of(name) in large else group_of(name)


class Printer:
    """Prints results in the order of the obligations, as they come.

    Parameters: say, takes lines; names, of all that will come; words, what a group or a family is about;
    verbose, a line, the sentence and the counterexample of each, however many there are; variant, what is
    changed in all of them, '' if nothing is or not in all the same.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        names: Sequence[str],
        words: Mapping[str, str] | None = None,
        verbose: bool = False,
        variant: str = "",
    ) -> None:
        self._say, self._verbose, self._variant = say, verbose, variant
        if variant:
            say(f"{variant}:")
        self._label = str if verbose else level(names)
        self._each = self._label is str
        self._left = Counter(map(self._label, names))
        self._width = max(map(len, self._left), default=0)
        self._words = words if words and len(self._left) <= FEW else {}
        self._begun: dict[str, list[Result]] = {}
        self._odd = 0

    def on(self, result: Result) -> None:
        """The next one."""
        self._odd += not result.as_expected
        if self._each or not result.as_expected:
            changed = result.variant if result.variant != self._variant else ""
            lines = list(_in_full(result, changed, self._width, self._verbose))
            for line in lines if self._each or self._odd <= TOLD else lines[:1]:
                self._say(line)
        if self._each:
            return
        label = self._label(result.name)
        self._begun.setdefault(label, []).append(result)
        self._left[label] -= 1
        if not self._left[label]:
            self._tell(label)

    def flush(self) -> None:
        """Those that were begun: there was an interrupt."""
        for label in list(self._begun):
            self._tell(label)

    def _tell(self, label: str) -> None:
        results, late = self._begun.pop(label), self._left[label]
        line = _together(label, results, self._width)
        self._say(f"{line}, {late} not decided" if late else line)
        alone = results[0].outcome.obligation.statement if len(results) == 1 else ""
        if self._words and (words := self._words.get(label, alone)):
            for part in _paragraph(words):
                self._say(part)


def _in_full(result: Result, changed: str, width: int, verbose: bool) -> Iterator[str]:
    """A result's line, and what there is to say of it. changed: what is, '' if that is known."""
    outcome = result.outcome
    name = f"{result.name:<{width}}" + (f"  {changed}" if changed else "")
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


def _together(label: str, results: Sequence[Result], width: int) -> str:
    """One line for a group or a family."""
    fine = [result for result in results if result.as_expected]
    counts = Counter(result.outcome.verdict for result in results)
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    seconds = sum(result.seconds for result in results)
    slowest = max(results, key=lambda result: result.seconds)
    mark = "ok " if len(fine) == len(results) else "NOT"
    line = f"{mark} {label:<{width}}  {told:<21} {seconds:6.2f} s"
    if len(results) > 1 and slowest.seconds >= SLOW:
        line += f", slowest {slowest.seconds:.1f} s: {slowest.name.removeprefix(f'{label}.')}"
    return line


def _mark(result: Result) -> str:
    return "ok " if result.as_expected else "NOT"


def _paragraph(text: str) -> Iterator[str]:
    """Lines of what stands below a result; words with hyphens are names, and stay whole."""
    columns = max(60, get_terminal_size().columns)
    further = INDENT + " " * (len(text) - len(text.lstrip()) + 2)
    return iter(wrap(INDENT + text, columns, subsequent_indent=further, break_on_hyphens=False))


def last_lines(results: Sequence[Result], selected: int, run: Run, report: Path) -> Iterator[str]:
    """How to see more, what stays open, and the verdict; the line that counts is the last."""
    if len(results) > FEW:
        yield "more: rota prove NAME; each in words, with its counterexample: rota prove NAME -v"
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
