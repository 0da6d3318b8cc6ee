"""What real clients saw on a target: for people, as JSON, as JUnit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rota.clients.judging import Outcome
from rota.conformance.results import Verdict
from rota.report.events import CONFORMS, UNDECIDED, VIOLATED
from rota.report.format import wrapped
from rota.report.table import Column, Table, names

_VERDICTS = {0: CONFORMS, 1: VIOLATED, 3: UNDECIDED}
_ELEMENT = {Verdict.FAIL: "failure", Verdict.UNDECIDED: "error", Verdict.UNSUPPORTED: "skipped"}

SHOWN = 5
"""So many lines of what is wrong with a history are printed; files have all."""


@dataclass(frozen=True)
class Seen:
    """All that was seen of a target, and the exit code of that."""

    target: str
    outcomes: Sequence[Outcome]
    seconds: float
    code: int

    @property
    def verdict(self) -> str:
        """In a word."""
        return _VERDICTS.get(self.code, UNDECIDED)

    def line(self) -> str:
        """The verdict in one line."""
        number = Counter(outcome.verdict for outcome in self.outcomes)
        counts = ", ".join(f"{number[verdict]} {verdict.value}" for verdict in Verdict if number[verdict])
        return f"{self.verdict}: {self.target} as real clients see it: {counts} ({self.seconds:.0f} s)"


def table(outcomes: Sequence[str]) -> Table:
    """A row for each performance, of these scenarios."""
    return Table(
        [
            Column("verdict", 11, left=True, gap=0),
            names("scenario", outcomes, gap=1),
            Column("clients", 17, left=True, gap=2),
            Column("assignor", 18, left=True, gap=1),
            Column("time", 7, gap=1),
        ],
        spared=("assignor",),
    )


def row(outcome: Outcome) -> dict[str, str]:
    """The cells of a performance."""
    return {
        "verdict": outcome.verdict.value,
        "scenario": outcome.case.scenario,
        "clients": outcome.case.group,
        "assignor": outcome.case.assignor,
        "time": f"{outcome.seconds:.1f} s",
    }


def explained(outcome: Outcome) -> Iterator[str]:
    """Why it is so, below its row."""
    for line in outcome.why[:SHOWN]:
        yield wrapped(" " * 12, line)
    if len(outcome.why) > SHOWN:
        yield f"{'':12}and {len(outcome.why) - SHOWN} more"
    if outcome.again and outcome.verdict is Verdict.PASS:
        yield f"{'':12}at the second attempt: clients have races of their own"


def histories(seen: Seen, folder: Path) -> dict[Path, str]:
    """A file for each performance that did not pass: what is wrong, and all that happened."""
    return {
        folder / f"clients-{outcome.case}.txt": "\n".join((*outcome.why, "", outcome.history, ""))
        for outcome in seen.outcomes
        if outcome.history
    }


def as_json(seen: Seen) -> str:
    """One JSON object."""
    performances = [
        {
            "scenario": outcome.case.scenario,
            "clients": outcome.case.group,
            "assignor": outcome.case.assignor,
            "verdict": outcome.verdict.value,
            "why": list(outcome.why),
            "second_attempt": outcome.again,
            "seconds": round(outcome.seconds, 3),
        }
        for outcome in seen.outcomes
    ]
    found = {
        "target": seen.target,
        "verdict": seen.verdict,
        "exit_code": seen.code,
        "seconds": round(seen.seconds, 3),
        "performances": performances,
    }
    return json.dumps(found, indent=2) + "\n"


def as_junit(seen: Seen) -> str:
    """A suite of the performances."""
    kinds = [_ELEMENT.get(outcome.verdict, "") for outcome in seen.outcomes]
    suite = ET.Element(
        "testsuite",
        name=f"rota conform --clients {seen.target}",
        tests=str(len(kinds)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
        time=f"{seen.seconds:.3f}",
    )
    for outcome, kind in zip(seen.outcomes, kinds, strict=True):
        test = ET.SubElement(
            suite,
            "testcase",
            classname=f"rota.clients.{outcome.case.group}",
            name=f"{outcome.case.scenario}-{outcome.case.assignor}",
            time=f"{outcome.seconds:.3f}",
        )
        if kind:
            why = outcome.why[0] if outcome.why else outcome.verdict.value
            ET.SubElement(test, kind, message=why).text = "\n".join((*outcome.why, outcome.history))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
