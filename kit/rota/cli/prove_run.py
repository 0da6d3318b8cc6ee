"""A run of `rota prove`: asks, prints in order, keeps what was decided, writes the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import click
import z3

from rota.cli.check_workers import MOST, cores
from rota.cli.prove_plan import Item
from rota.cli.prove_workers import Answer, Crew
from rota.proofs import FAMILIES, Asking, Outcome, not_proved
from rota.report.prove_model import Overall, Result, Run, as_json, overall
from rota.report.prove_progress import Progress
from rota.report.prove_text import Printer, last_lines


@dataclass(frozen=True)
class Options:
    """As those of `rota prove`. report: name of its file."""

    verbose: bool = False
    cross_check: bool = False
    seed: int = 0
    tactic: str | None = None
    timeout: float = 60.0
    workers: int | None = None
    json_only: bool = False
    out: Path = Path("rota-out")
    report: str = "prove.json"

    def askings(self) -> tuple[Asking, ...]:
        """The manners in which everything is asked: one, or two that share neither seed nor tactic."""
        first = Asking(self.timeout, self.seed, self.tactic or "")
        if not self.cross_check:
            return (first,)
        return first, Asking(
            self.timeout, self.seed + 1, "old-arith" if first.tactic != "old-arith" else "simple"
        )


@dataclass
class Proving:
    """Items being asked. Results come in their order."""

    items: Sequence[Item]
    options: Options
    results: list[Result] = field(default_factory=list)

    def run(self) -> Overall:
        """Ask everything. An interrupt keeps what was decided until then."""
        self.options.out.mkdir(parents=True, exist_ok=True)
        report = self.options.out / self.options.report
        began = monotonic()
        askings = self.options.askings()
        questions = [item.question(asking) for item in self.items for asking in askings]
        workers = min(self.options.workers or min(cores(), MOST), len(questions))
        try:
            with Crew(questions, workers) as crew:
                self._listen(crew, len(askings))
        finally:
            run = Run(
                monotonic() - began,
                workers,
                self.options.timeout,
                self.options.seed,
                self.options.tactic or "",
                z3.get_version_string(),
                tuple(not_proved()),
            )
            text = json.dumps(as_json(self.results, len(self.items), run), indent=2)
            report.write_text(text + "\n", encoding="utf-8")
        if self.options.json_only:
            click.echo(text)
        else:
            for line in last_lines(self.results, len(self.items), run, report):
                click.echo(line)
        return overall(self.results, len(self.items))

    def _listen(self, crew: Crew, each: int) -> None:
        """Take answers as they come, and tell results in order. each: how often an item is asked."""
        progress = Progress(sys.stderr, len(self.items), silent=self.options.json_only)

        def say(line: str) -> None:
            progress.clear()
            if not self.options.json_only:
                click.echo(line)

        names = [item.obligation.name for item in self.items]
        variants = {item.variant for item in self.items}
        words = _words() if variants == {""} else {}
        same = variants.pop() if len(variants) == 1 else ""
        printer = Printer(say, names, words, self.options.verbose, same)
        answers: dict[int, Answer] = {}
        try:
            for heard in crew.answers():
                if heard is not None:
                    answers[heard[0]] = heard[1]
                    self._tell(answers, each, printer)
                running = [(names[number // each], since) for number, since in crew.running()]
                progress.show(len(answers) // each, running)
        finally:
            progress.clear()
            printer.flush()

    def _tell(self, answers: dict[int, Answer], each: int, printer: Printer) -> None:
        """Those results that are complete and whose turn it is."""
        while len(self.results) < len(self.items):
            number = len(self.results)
            numbers = range(number * each, (number + 1) * each)
            if not all(one in answers for one in numbers):
                return
            item = self.items[number]
            outcomes = [outcome(item, answers[one]) for one in numbers]
            self.results.append(Result(outcomes[0], item.variant, outcomes[1] if each == 2 else None))
            printer.on(self.results[-1])


def _words() -> dict[str, str]:
    """What families and groups are about, by name."""
    found = {family.name: family.about for family in FAMILIES}
    for family in FAMILIES:
        found |= family.sentences()
    return found


def outcome(item: Item, answer: Answer) -> Outcome:
    """The answer beside what it answers."""
    return Outcome(item.obligation, answer.verdict, answer.seconds, answer.counterexample, answer.reason)
