"""What `rota prove` prints for people: a line per obligation or per group, counterexamples, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from rota.report.format import NARROWEST, coloured, emphasised, width, wrapped
from rota.report.progress import Progress, duration
from rota.report.prove_model import Conditions, Decision, overall

FEW = 30
"""Up to so many lines: each obligation by itself, or else the groups of a family, or else the family."""

IN_FULL = 5
"""Of many, so many that are not as expected are printed in full, the others by their line."""

SLOW = 1.0
"""Seconds; from here on a group's slowest obligation is named."""

VERDICT = 7
"""Columns of the verdict on an obligation."""

INDENT = "      "


def group_of(name: str) -> str:
    """The group that an obligation is printed under if there are many: the first two parts of its name."""
    return ".".join(name.split(".")[:2])


def family_of(name: str) -> str:
    """The family that groups are printed under if there are many of them: the first part of the name."""
    return name.partition(".")[0]


def level(names: Sequence[str]) -> Callable[[str], str]:
    """From the name of an obligation to what it is printed under: itself, its group, or its family."""
    if len(names) <= FEW:
        return str
    groups = Counter(map(family_of, set(map(group_of, names))))
    large = {name for name, count in groups.items() if count > FEW and len(groups) > 1}
    return lambda name: family_of(name) if family_of(name) in large else group_of(name)


class Printer:
    """Prints decisions in the order of the obligations, as they come.

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
        if names:
            verdict = VERDICT if self._each else _room()
            title = f"    {'obligation':<{self._width}}  "
            say(emphasised(wrapped(title, f"{'verdict':<{verdict}} {'time':>8}")))
        self._begun: dict[str, list[Decision]] = {}
        self._odd = 0

    def on(self, decision: Decision) -> None:
        """The next one."""
        self._odd += not decision.as_expected
        if self._each or not decision.as_expected:
            changed = decision.variant if decision.variant != self._variant else ""
            lines = list(_in_full(decision, changed, self._width, self._verbose))
            for line in lines if self._each or self._odd <= IN_FULL else lines[:1]:
                self._say(line)
        if self._each:
            return
        label = self._label(decision.name)
        self._begun.setdefault(label, []).append(decision)
        self._left[label] -= 1
        if not self._left[label]:
            self._print(label)

    def flush(self) -> None:
        """Those that were begun: there was an interrupt."""
        for label in list(self._begun):
            self._print(label)

    def _print(self, label: str) -> None:
        decisions, late = self._begun.pop(label), self._left[label]
        words = _together(label, decisions)
        words += f", {late} not decided" if late else ""
        self._say(wrapped(_label(label, decisions, self._width), words))
        alone = decisions[0].outcome.obligation.statement if len(decisions) == 1 else ""
        if self._words and (words := self._words.get(label, alone)):
            for part in _paragraph(words):
                self._say(part)


def _in_full(decision: Decision, changed: str, width: int, verbose: bool) -> Iterator[str]:
    """A decision's line, and what there is to say of it. changed: what is, '' if that is known."""
    outcome = decision.outcome
    name = f"{decision.name:<{width}}" + (f"  {changed}" if changed else "")
    verdict = (
        outcome.verdict if outcome.as_expected else f"{outcome.verdict}, not {outcome.obligation.expect}"
    )
    yield wrapped(f"{_mark(decision)} {name}  ", f"{verdict:<{VERDICT}} {outcome.seconds:6.2f} s")
    example = outcome.counterexample if verbose or not (decision.variant and decision.as_expected) else None
    if verbose or example or not decision.as_expected:
        yield from _paragraph(f"claim: {outcome.obligation.statement}")
    if outcome.reason:
        yield from _paragraph(f"why: {outcome.reason}")
    if decision.second and decision.second.verdict != outcome.verdict:
        again = f"asked again, another way: {decision.second.verdict}"
        yield from _paragraph(f"{again}; {decision.second.reason}" if decision.second.reason else again)
    for line in example.as_lines() if example else ():
        yield from _paragraph(line)


def _together(label: str, decisions: Sequence[Decision]) -> str:
    """What is said of a group or a family in one line."""
    counts = Counter(decision.outcome.verdict for decision in decisions)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    seconds = sum(decision.seconds for decision in decisions)
    slowest = max(decisions, key=lambda decision: decision.seconds)
    line = f"{verdicts:<{_room()}} {seconds:6.2f} s"
    if len(decisions) > 1 and slowest.seconds >= SLOW:
        line += f", slowest {slowest.seconds:.1f} s: {slowest.name.removeprefix(f'{label}.')}"
    return line


def _room() -> int:
    """Columns of the verdicts on a group."""
    return min(21, width() - NARROWEST)


def _label(label: str, decisions: Sequence[Decision], width: int) -> str:
    return f"{_mark(*decisions)} {label:<{width}}  "


def _mark(*decisions: Decision) -> str:
    fine = all(decision.as_expected for decision in decisions)
    return coloured("ok ", "holds") if fine else coloured("NOT", "violated")


def _paragraph(text: str) -> Iterator[str]:
    """Lines of what stands below a decision; words with hyphens are names, and stay whole."""
    further = INDENT + " " * (len(text) - len(text.lstrip()) + 2)
    return iter(wrap(INDENT + text, width(), subsequent_indent=further, break_on_hyphens=False))


def far(decided: int, total: int, seconds: float, running: Sequence[tuple[str, float]]) -> str:
    """How many obligations are decided, and what is asked now: (name, seconds since it began) of each.

    Nothing is said of the rest: an obligation takes Z3 anything between a millisecond and its time limit.
    """
    now = [f"{name} for {duration(since)}" for name, since in running]
    return Progress("prove", decided, total, "obligations", seconds, now=now).line()


def last_lines(
    decisions: Sequence[Decision], selected: int, conditions: Conditions, report: Path
) -> Iterator[str]:
    """How to see more, what stays open, and the verdict; the line that counts is the last."""
    if len(decisions) > FEW:
        yield wrapped("more: ", "rota prove NAME; each in words, with its counterexample: rota prove NAME -v")
    if not any(decision.variant for decision in decisions):
        yield from wrap(f"not proved: {'; '.join(conditions.not_proved)}", width(), subsequent_indent="  ")
    yield wrapped("judged by: ", conditions.identity.words())
    yield f"report: {report}"
    twice = [(one.outcome, one.second) for one in decisions if one.second]
    if twice:
        agreeing = sum(first.verdict == second.verdict for first, second in twice)
        yield f"asked twice, with other seeds and tactics: {agreeing} of {len(twice)} agree"
    counts = Counter(decision.outcome.verdict for decision in decisions)
    verdicts = ", ".join(
        f"{counts[name]} {name}" for name in ("proved", "refuted", "vacuous", "unknown") if counts[name]
    )
    agreeing = sum(decision.as_expected for decision in decisions)
    late = f", {selected - len(decisions)} not decided" if len(decisions) < selected else ""
    of = f"{agreeing} of {len(decisions)} as expected{late}, in {conditions.seconds:.1f} s"
    verdict = overall(decisions, selected)
    yield f"{coloured(verdict, verdict)}: {verdicts or 'nothing'}; {of}"
