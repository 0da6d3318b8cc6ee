"""JSON reports read back: what was judged, of which target, as a run that has just ended tells it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.script import Case, Level, Script
from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import CaseResult, Ending, KnownFailure, NotChecked, Verdict
from rota.report.causes import Cause
from rota.report.events import RunFinished, RunStarted, WholeRun
from rota.report.identity import Identity
from rota.report.json_report import SCHEMA

_LINE = re.compile(r" *(\d+) ms  (\S*?) *([→←…×·↻]) (.*)", re.DOTALL)
_NAME = re.compile(r' *(@\S+)  is (".*")')

AGAIN = "make it again with `rota conform … --report json=PATH`"


class NoReport(ValueError):
    """A file that cannot be read as a report: which, why, and what to do."""


def read_run(path: Path) -> WholeRun:
    """The run that a report tells of. Errors: NoReport."""
    whole = _object(path)
    try:
        return WholeRun(*_run(whole), path)
    except KeyError as missing:
        raise NoReport(f"{path} is no whole report: {missing} is missing; {AGAIN}") from missing
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise NoReport(f"{path} is no whole report: {error}; {AGAIN}") from error


def _object(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NoReport(f"{path} is no text in UTF-8; name a JSON report of rota conform") from error
    except OSError as error:
        raise NoReport(f"cannot read {path}: {error.strerror}; check the path") from error
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        end = " it ends too early, so it was cut;" if _cut(error, text) else ""
        raise NoReport(f"{path} is no JSON ({error});{end} {AGAIN}") from error
    if not isinstance(whole, dict) or not {"schema", "target", "cases"} <= whole.keys():
        raise NoReport(f"{path} is no report of rota conform on a target; {AGAIN}")
    if whole["schema"] != SCHEMA:
        raise NoReport(f"{path} has schema {whole['schema']}, and this rota reads {SCHEMA}; {AGAIN}")
    if "causes" not in whole:
        raise NoReport(f"{path} names no causes, so an older rota made it; {AGAIN}")
    return whole


def _cut(error: Exception, text: str) -> bool:
    """Whether nothing is left of a text where something is missing."""
    at_end = isinstance(error, json.JSONDecodeError) and not text[error.pos :].strip()
    return at_end or "Unterminated" in str(error)


def _run(whole: Mapping[str, Any]) -> tuple[RunStarted, RunFinished]:
    results = [_result(case) for case in whole["cases"]]
    told = whole["identity"]
    identity = Identity(told["sources"], told["versions"], told["settings"], told["unknown"] or "")
    started = RunStarted(
        whole["target"],
        whole["profile"],
        whole["seed"],
        len(results),
        identity,
        whole["strict"],
        tuple(map(str, whole.get("given", ()))),
    )
    unread = {
        api: {int(version): why for version, why in versions.items()}
        for api, versions in whole["unread_versions"].items()
    }
    skipped = [NotChecked(_script(one["id"]), one["why"]) for one in whole["not_checked"]]
    ids = {one.case.id for one in results}
    causes = [_cause(one, ids) for one in whole["causes"]]
    seconds = float(whole["seconds"])
    return started, RunFinished(whole["verdict"], results, skipped, unread, seconds, told_causes=causes)


def _cause(told: Mapping[str, Any], ids: Collection[str]) -> Cause:
    needed = [one.name for one in fields(Cause) if one.name in told or one.default is MISSING]
    words: dict[str, Any] = {
        name: tuple(told[name]) if isinstance(told[name], list) else told[name] for name in needed
    }
    for case in (told["first"], *told["cases"]):
        if case not in ids:
            raise ValueError(f"a cause names {case!r}, which is no case of it")
    return Cause(**{**words, "verdict": Verdict(told["verdict"])})


def _script(id: str) -> Script:
    return Script(id=str(id), sentence="", source="", play=_cannot_be_played)


def _cannot_be_played(_: Dialogue) -> None:
    raise NotImplementedError("a case that was read from a report is only told")


def _result(told: Mapping[str, Any]) -> CaseResult:
    case = Case(
        id=str(told["id"]),
        rule=str(told["rule"]),
        level=Level(told["level"]),
        sentence=str(told["requirement"]),
        source=str(told["source"]),
        older=told["older"] or "",
        family=told.get("family") or "",
        play=_cannot_be_played,
    )
    verdict, known = Verdict(told["verdict"]), told["known"]
    deviation = Verdict(known["verdict_without"]) if known else verdict
    frames = {frame["line"]: frame for frame in told["frames"]}
    return CaseResult(
        case=case,
        deviation=deviation,
        known=_known(case.id, known, verdict, deviation) if known else None,
        ending=Ending.FINISHED if deviation is Verdict.PASS else Ending.DEVIATED,
        expected=told["expected"] or "",
        actual=told["actual"] or "",
        because=told["because"] or "",
        prerequisite=told["prerequisite"] or "",
        lines=tuple(_lines(told["dialogue"], frames)),
        names=dict(_names(told["dialogue"])),
        versions=told["versions"],
        seconds=float(told["seconds"]),
        late=bool(told["late"]),
    )


def _known(id: str, known: Mapping[str, Any], verdict: Verdict, deviation: Verdict) -> KnownFailure:
    """What the list said, so that it covers the case if it did then."""
    covers = verdict is Verdict.KNOWN and deviation in (Verdict.DIED, Verdict.UNDECIDED)
    return KnownFailure(id, known["reason"], known["link"], deviation if covers else None)


def _lines(dialogue: list[str], frames: Mapping[int, Mapping[str, Any]]) -> Iterator[Line]:
    for number, text in enumerate(dialogue):
        if found := _LINE.fullmatch(text):
            frame = frames.get(number, {"bytes": "", "size": 0})
            data = bytes.fromhex(frame["bytes"])
            yield Line(float(found[1]), found[2], found[3], found[4], data, int(frame["size"]))
        elif not _NAME.fullmatch(text):
            raise ValueError(f"line {number} of a dialogue is {text!r}")


def _names(dialogue: list[str]) -> Iterator[tuple[str, str]]:
    for text in dialogue:
        if (found := _NAME.fullmatch(text)) and not _LINE.fullmatch(text):
            yield json.loads(found[2]), found[1]
