"""A run of `rota prove`: asks, prints in order, keeps what was decided, writes the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import click
import z3

from rota.cli.check_workers import MOST, cores
from rota.cli.keeping import keep, try_files
from rota.cli.prove_options import ProveOptions
from rota.cli.prove_plan import Item
from rota.cli.prove_workers import Answer, Provers
from rota.cli.reporting import EXIT_CODES
from rota.proofs import FAMILIES, Asking, ObligationResult, not_proved
from rota.report.identity import identified
from rota.report.live_line import LiveLine
from rota.report.prove_model import Conditions, Decision, as_json, overall
from rota.report.prove_text import Printer, far, last_lines


@dataclass
class Proving:
    """Items being asked. Decisions come in their order. report: name of its file."""

    items: Sequence[Item]
    options: ProveOptions
    report: str = "prove.json"
    decisions: list[Decision] = field(default_factory=list)

    def run(self) -> int:
        """Ask everything; the exit code. An interrupt keeps what was decided until then."""
        report = self.options.out / self.report
        try_files([report])
        began = monotonic()
        askings = askings_of(self.options)
        questions = [item.question(asking) for item in self.items for asking in askings]
        workers = min(self.options.workers or min(cores(), MOST), len(questions))
        try:
            with Provers(questions, workers) as provers:
                self._listen(provers, len(askings))
        except BaseException:
            self._keep(report, self._conditions(began, workers))
            raise
        conditions = self._conditions(began, workers)
        if self.options.as_json:
            click.echo(self._json(conditions), nl=False)
        else:
            lines = list(last_lines(self.decisions, len(self.items), conditions, report))
            for line in lines[-1:] if self.options.quiet else lines:
                click.echo(line)
        return self._keep(report, conditions)

    def _conditions(self, began: float, workers: int) -> Conditions:
        return Conditions(
            monotonic() - began,
            workers,
            self.options.timeout,
            self.options.seed,
            self.options.tactic or "",
            z3.get_version_string(),
            tuple(not_proved()),
            identified(__name__, (), ("z3-solver",), self._settings()),
        )

    def _json(self, conditions: Conditions) -> str:
        return json.dumps(as_json(self.decisions, len(self.items), conditions), indent=2) + "\n"

    def _keep(self, report: Path, conditions: Conditions) -> int:
        """Write the report; the exit code."""
        return keep({report: self._json(conditions)}, EXIT_CODES[overall(self.decisions, len(self.items))])

    def _settings(self) -> dict[str, Any]:
        """What was asked for."""
        asked = ("seed", "tactic", "timeout", "cross_check")
        return {name: getattr(self.options, name) for name in asked}

    def _listen(self, provers: Provers, each: int) -> None:
        """Take answers as they come, and print decisions in order. each: how often an item is asked."""
        live = LiveLine(sys.stderr, silent=self.options.quiet)

        def say(line: str) -> None:
            live.clear()
            if not (self.options.as_json or self.options.quiet):
                click.echo(line)

        names = [item.obligation.name for item in self.items]
        variants = {item.variant for item in self.items}
        words = _words() if variants == {""} else {}
        same = variants.pop() if len(variants) == 1 else ""
        printer = Printer(say, names, words, self.options.verbose, same)
        answers: dict[int, Answer] = {}
        began = monotonic()
        try:
            for heard in provers.answers():
                if heard is not None:
                    answers[heard[0]] = heard[1]
                    self._decide(answers, each, printer)
                running = [(names[number // each], since) for number, since in provers.running()]
                seconds = monotonic() - began
                live.show(partial(far, len(answers) // each, len(self.items), seconds, running))
        finally:
            live.clear()
            printer.flush()

    def _decide(self, answers: dict[int, Answer], each: int, printer: Printer) -> None:
        """Print the next decisions, as far as their answers are there."""
        while len(self.decisions) < len(self.items):
            number = len(self.decisions)
            numbers = range(number * each, (number + 1) * each)
            if not all(one in answers for one in numbers):
                return
            item = self.items[number]
            outcomes = [outcome(item, answers[one]) for one in numbers]
            self.decisions.append(Decision(outcomes[0], item.variant, outcomes[1] if each == 2 else None))
            printer.on(self.decisions[-1])


def _words() -> dict[str, str]:
    """What families and groups are about, by name."""
    found = {family.name: family.about for family in FAMILIES}
    for family in FAMILIES:
        found |= family.sentences()
    return found


def outcome(item: Item, answer: Answer) -> ObligationResult:
    """The answer beside what it answers."""
    return ObligationResult(
        item.obligation, answer.verdict, answer.seconds, answer.counterexample, answer.reason
    )


def askings_of(options: ProveOptions) -> tuple[Asking, ...]:
    """The manners in which everything is asked: one, or two that share neither seed nor tactic."""
    first = Asking(options.timeout, options.seed, options.tactic or "")
    if not options.cross_check:
        return (first,)
    other = "old-arith" if first.tactic != "old-arith" else "simple"
    return first, Asking(options.timeout, options.seed + 1, other)
