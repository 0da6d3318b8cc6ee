"""Lists of known failures: a TOML file with an id, a reason and a link each; read, checked, and added to.

[[known]]
id = "sync.leader-assigns.left-out"
reason = "members that the leader forgets wait for ever"
link = "https://example.org/tracker/17"
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rota.conformance.results import (
    NOT_DECIDED,
    CaseResult,
    KnownFailure,
    Verdict,
    passing_though_known,
)

_KEYS = ("id", "reason", "link", "verdict")

_TOLD_APART = {verdict.value: verdict for verdict in (Verdict.DIED, *NOT_DECIDED)}
"""What `verdict` may say; without it any deviation is meant, but no death."""

_HEAD = """\
# What `rota conform --known` takes for known: the ids of cases, each with a reason and a link.
# A case that is not listed here and fails still fails the run. See docs/judging-a-coordinator.md.
"""


class KnownError(ValueError):
    """A list of known failures that cannot be read or written: the file, the line, what is wrong."""


def read_known(path: Path, cases: Mapping[str, tuple[str, ...]]) -> dict[str, KnownFailure]:
    """The failures that a file lists, by case; a family stands for its cases, which may be listed, too.

    `cases` are the ids that each name stands for. Raises `KnownError` for whatever is not as it should be.
    """
    listed = _List(path, _text(path), frozenset(cases)).entries()
    found: dict[str, KnownFailure] = {}
    for name in sorted(listed, key=lambda name: cases[name] == (name,)):
        family = "" if cases[name] == (name,) else name
        found |= {case: replace(listed[name], id=case, family=family) for case in cases[name]}
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise KnownError(f"{path} is no text in UTF-8; write it as such") from error
    except OSError as error:
        raise KnownError(f"cannot read {path}: {error.strerror}; check the path") from error


class _List:
    """The text of a list, and what is wrong with it."""

    def __init__(self, path: Path, text: str, cases: frozenset[str]) -> None:
        self._path, self._text, self._cases = path, text, cases

    def entries(self) -> dict[str, KnownFailure]:
        """Every entry, by its id."""
        found: dict[str, KnownFailure] = {}
        for number, table in enumerate(self._tables()):
            entry = self._entry(number, table)
            if entry.id in found:
                raise self._wrong(_has(number, "id"), f"{entry.id} is listed twice", "keep one")
            found[entry.id] = entry
        return found

    def _tables(self) -> Sequence[Any]:
        try:
            document = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise KnownError(f"{self._path} is no TOML: {error}; mend it there") from error
        for key in document:
            if key != "known":
                raise self._wrong(_begins(key), f"there is no {key!r}", "write [[known]] for each failure")
        tables = document.get("known", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self._wrong(_begins("known"), "known is no list of tables", "write [[known]]")
        return tables

    def _entry(self, number: int, table: Mapping[str, Any]) -> KnownFailure:
        for key, value in table.items():
            if key not in _KEYS:
                remedy = f"keys are {', '.join(_KEYS)}"
                raise self._wrong(_has(number, key), f"there is no key {key!r}", remedy)
            if not isinstance(value, str):
                raise self._wrong(_has(number, key), f"{key} is no text", "put it in quotes")
        if "id" not in table:
            raise self._wrong(lambda found: len(found.get("known", ())) > number, "no id", "say which case")
        case = table["id"]
        if case not in self._cases:
            close = get_close_matches(case, self._cases, n=1)
            remedy = f"did you mean {close[0]}?" if close else "`rota conform --list` shows them"
            raise self._wrong(_has(number, "id"), f"no case is called {case!r}", remedy)
        verdict = table.get("verdict")
        if verdict is not None and verdict not in _TOLD_APART:
            remedy = f"it may be {' or '.join(_TOLD_APART)}; leave it out for any deviation"
            raise self._wrong(_has(number, "verdict"), f"the verdict {verdict!r} cannot be known", remedy)
        told = _TOLD_APART.get(verdict or "")
        return KnownFailure(case, table.get("reason", ""), table.get("link", ""), told)

    def _wrong(self, holds: Callable[[Any], bool], what: str, remedy: str) -> KnownError:
        return KnownError(f"{self._path}, line {self._line(holds)}: {what}; {remedy}")

    def _line(self, holds: Callable[[Any], bool]) -> int:
        """The last line of the shortest beginning of the text of which this holds: TOML knows no lines."""
        lines = self._text.splitlines(keepends=True)
        for number in range(1, len(lines)):
            try:
                if holds(tomllib.loads("".join(lines[:number]))):
                    return number
            except tomllib.TOMLDecodeError:
                continue  # within a value of several lines
        return len(lines)


def _begins(key: str) -> Callable[[Any], bool]:
    """Whether a document has this key."""
    return lambda document: key in document


def _has(number: int, key: str) -> Callable[[Any], bool]:
    """Whether a document has this key in the entry of this number."""

    def holds(document: Mapping[str, Any]) -> bool:
        tables = document.get("known", ())
        return len(tables) > number and key in tables[number]

    return holds


@dataclass(frozen=True)
class Written:
    """A list as it is to be written: what is new in it, and which old entries need a hand."""

    path: Path
    text: str
    new: Sequence[str]
    kept: Sequence[str]
    passing: Sequence[str]
    other: Sequence[str]
    late: Sequence[str]

    def lines(self) -> list[str]:
        """For people."""
        told = [f"{self.path}: {len(self.new)} new, {len(self.kept)} kept as they were"]
        if self.new:
            told[0] += "; fill in the reasons"
        if self.passing:
            told.append(f"{self.path}: passing now, take them out: {', '.join(self.passing)}")
        if self.late:
            told.append(f"{self.path}: not written, since only the kit was late: {', '.join(self.late)}")
        if self.other:
            told.append(f"{self.path}: fail in another way now, see to them: {', '.join(self.other)}")
        return told


def added_to_known(path: Path, before: Mapping[str, KnownFailure], results: Sequence[CaseResult]) -> Written:
    """The list in a file, which may not be there yet, with what failed in a run; what is there stays.

    `before` is what the file lists already. Raises `KnownError` where it cannot be read.
    """
    failed = [result for result in results if failure_of(result) is not None]
    new = [result for result in failed if result.case.id not in before]
    text = _text(path) if path.exists() else _HEAD
    if text and not text.endswith("\n"):
        text += "\n"
    text += "".join(_entry_text(result) for result in new)
    again = [replace(r, known=before[r.case.id]) for r in results if r.case.id in before]
    return Written(
        path,
        text,
        new=[result.case.id for result in new],
        kept=sorted({entry.family or name for name, entry in before.items()}),
        passing=passing_though_known(again),
        late=[r.case.id for r in results if r.late and r.verdict is Verdict.UNDECIDED],
        other=[r.case.id for r in again if failure_of(r) and not before[r.case.id].covers(r)],
    )


def failure_of(result: CaseResult) -> Verdict | None:
    """What in this case keeps a run from ending with exit code 0, unless that is the kit's fault."""
    verdict = result.deviation if result.verdict is Verdict.KNOWN else result.verdict
    failing = (Verdict.FAIL, Verdict.DIED, *NOT_DECIDED)
    return verdict if verdict in failing and not result.late else None


def _entry_text(result: CaseResult) -> str:
    seen = result.because or f"expected {result.expected}, got {result.actual}"
    lines = [f"# {seen}", "[[known]]", f'id = "{result.case.id}"', 'reason = ""', 'link = ""']
    if (verdict := failure_of(result)) in _TOLD_APART.values():
        lines.append(f'verdict = "{verdict}"')
    return "\n" + "\n".join(lines) + "\n"
