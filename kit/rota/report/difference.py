"""What `rota conform --diff` prints and writes: where two targets differ, as text, side by side, as JSON."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from rota.conformance.comparison.compare import PLAYS, DialogueComparison, Likeness
from rota.conformance.dialogues.script import Case
from rota.conformance.results import Ending, NotChecked
from rota.report.events import INTERRUPTED
from rota.report.format import counted, wrapped

SCHEMA = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""

COLUMN = 88
"""The width of each of the two columns of the file in which dialogues stand side by side."""

VERDICTS = {0: "same", 1: "different", 3: "undecided", 130: INTERRUPTED}
"""Exit code -> what is said of the whole."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of the targets `left` and `right`; interrupted: it ended before all was compared.

    given: what the command line said besides, word by word, without which it would go otherwise.
    """

    left: str
    right: str
    seed: int
    compared: Sequence[DialogueComparison]
    not_checked: Sequence[NotChecked]
    seconds: float
    interrupted: bool = False
    given: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        """130 if it was interrupted, else 1 if any dialogue differs, else 3 if any is undecided, else 0."""
        if self.interrupted:
            return 130
        found = {one.likeness for one in self.compared}
        return 1 if Likeness.DIFFERS in found else 3 if Likeness.UNDECIDED in found else 0

    def those(self, likeness: Likeness) -> list[DialogueComparison]:
        """The dialogues of which this is said."""
        return [one for one in self.compared if one.likeness is likeness]


def as_text(result: Comparison, files: Sequence[Path]) -> Iterator[str]:
    """For each difference where it begins; then what is not known; the verdict last."""
    for one in result.those(Likeness.DIFFERS):
        yield from _difference(one, result)
    for one in result.those(Likeness.UNDECIDED):
        target, why = (
            (result.left, one.left) if one.endings[0] is Ending.UNDECIDED else (result.right, one.right)
        )
        yield wrapped("undecided: ", f"{one.script.id}: {target}: {why[0].removeprefix('· ')}")
    for skipped in result.not_checked:
        if skipped.why != INTERRUPTED:
            yield wrapped("not checked: ", f"{skipped.case.id}: {skipped.why}")
    if missed := sum(skipped.why == INTERRUPTED for skipped in result.not_checked):
        yield f"not checked: {counted(missed, 'dialogue')}: {INTERRUPTED}"
    parts = Counter(one.script.part for one in result.those(Likeness.DIFFERS))
    if parts:
        named = ", ".join(f"{part} {number}" for part, number in parts.items())
        yield wrapped("differing by part: ", named)
    for path in files:
        yield f"report: {path}"
    yield verdict_line(result)


def verdict_line(result: Comparison) -> str:
    """The verdict in one line."""
    differ, unknown = (len(result.those(kind)) for kind in (Likeness.DIFFERS, Likeness.UNDECIDED))
    verb = "differs" if differ == 1 else "differ"
    found = f"{differ} of {counted(len(result.compared), 'dialogue')} {verb}" if differ else "no difference"
    more = f", {unknown} undecided" if unknown else ""
    of = "" if differ else f" in {counted(len(result.compared), 'dialogue')}"
    verdict = VERDICTS[result.exit_code]
    return f"{verdict}: {result.left} and {result.right}: {found}{of}{more} ({result.seconds:.1f} s)"


def _difference(one: DialogueComparison, result: Comparison) -> Iterator[str]:
    width = max(len(result.left), len(result.right), len("sentence"))
    yield f"DIFFERS {one.script.id}{_level(one)}{_so_far(one, result)}"
    yield wrapped(f"  {'sentence':<{width}}  ", one.script.sentence)
    if one.at:
        yield _said(f"  {'after':<{width}}  ", one.left[one.at - 1])
    for target, said in ((result.left, one.left), (result.right, one.right)):
        yield _said(f"  {target:<{width}}  ", said[one.at] if one.at < len(said) else "· nothing more")
    if isinstance(one.script, Case):
        yield wrapped(f"  {'rule':<{width}}  ", one.script.rule)
    yield wrapped(f"  {'source':<{width}}  ", one.script.source)
    yield wrapped(f"  {'again':<{width}}  ", _again(one, result))
    yield ""


def _level(one: DialogueComparison) -> str:
    return f" ({one.script.level.value})" if isinstance(one.script, Case) else ""


def _so_far(one: DialogueComparison, result: Comparison) -> str:
    """That a dialogue might have gone alike in a play that did not come to be."""
    return f" in {one.plays} of {PLAYS} plays" if result.interrupted and one.plays < PLAYS else ""


def _again(one: DialogueComparison, result: Comparison) -> str:
    words = (result.left, result.right, *result.given, one.script.id)
    return f"rota conform --diff {shlex.join(words)}"


def _said(head: str, line: str) -> str:
    """A line of a dialogue after a head; fields are parted by one space here, so that it can be broken."""
    return wrapped(head, re.sub(" {2,}", "  ", line))


def side_by_side(result: Comparison) -> Iterator[str]:
    """Every differing dialogue whole, in two columns; `*` marks lines that differ."""
    yield verdict_line(result)
    for one in result.those(Likeness.DIFFERS):
        yield ""
        yield f"{one.script.id}{_level(one)}{_so_far(one, result)}: {one.script.sentence}"
        yield f"  {result.left:<{COLUMN}} | {result.right}"
        yield f"  {'-' * COLUMN}-+-{'-' * COLUMN}"
        for mark, left, right in _rows(one.left, one.right):
            for number, (a, b) in enumerate(_columns(left, right)):
                yield f"{mark if number == 0 else ' '} {a:<{COLUMN}} | {b}".rstrip()


def _rows(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Equal lines beside each other, the others in the order in which they come."""
    for kind, a, b, c, d in SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        for n in range(max(b - a, d - c)):
            one = left[a + n] if a + n < b else ""
            other = right[c + n] if c + n < d else ""
            yield " " if kind == "equal" else "*", one, other


def _columns(left: str, right: str) -> Iterator[tuple[str, str]]:
    both = [textwrap.wrap(text, COLUMN, subsequent_indent="    ") for text in (left, right)]
    for n in range(max(map(len, both))):
        one, other = (lines[n] if n < len(lines) else "" for lines in both)
        yield one, other


def as_json(result: Comparison, files: Sequence[Path]) -> str:
    """One object; both dialogues are given where they differ."""
    whole = {
        "schema": SCHEMA,
        "verdict": VERDICTS[result.exit_code],
        "targets": [result.left, result.right],
        "seed": result.seed,
        "seconds": round(result.seconds, 3),
        "counts": {kind.value: len(result.those(kind)) for kind in Likeness},
        "dialogues": [_object(one) for one in result.compared],
        "not_checked": [{"id": skipped.case.id, "why": skipped.why} for skipped in result.not_checked],
        "reports": [str(path) for path in files],
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _object(one: DialogueComparison) -> dict[str, Any]:
    script, same = one.script, one.likeness is Likeness.SAME
    is_case = isinstance(script, Case)
    return {
        "id": script.id,
        "kind": "case" if is_case else "probe",
        "part": script.part,
        "rule": script.subject if is_case else None,
        "sentence": script.sentence,
        "source": script.source,
        "verdict": one.likeness.value,
        "plays": one.plays,
        "first_difference": None if same else one.at,
        "dialogues": None if same else [list(one.left), list(one.right)],
    }
