"""Results of cases as a run leaves them, made up for tests of what is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.script import Case, Level
from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import CaseResult, Ending, KnownFailure, NotChecked, Verdict
from rota.report.events import RunFinished, RunStarted
from rota.report.json_report import JsonReport
from rota.wire import encode_request, encode_response, frame

_CASES: Mapping[str, Case] = {case.id: case for case in all_cases()}

ABORT = "the process ended with signal SIGABRT: pid 4711 at 0x7f21bc006770: Assertion `leader' failed."

STARTED = RunStarted("127.0.0.1:9092", "kafka-4.x", 7, 3)


def case_of(id: str) -> Case:
    """The case of the catalogue that is called so, or one that could be there."""
    made = Case(
        id=id,
        rule=id.rpartition(".")[0],
        level=Level.MUST,
        sentence="It has to be so.",
        source="nowhere",
        play=lambda _: None,
    )
    return _CASES.get(id, made)


def answered(api: str, wanted: str) -> str:
    """What a case expects, as the vocabulary of dialogues says it."""
    return f"{api} answered with error {wanted}"


def result(
    id: str,
    verdict: Verdict,
    expected: str = "",
    actual: str = "",
    *,
    request: str = "",
    because: str = "",
    prerequisite: str = "",
    known: KnownFailure | None = None,
    late: bool = False,
) -> CaseResult:
    """A case that ended so. request: the one whose answer was not the right one, as transcripts say it."""
    asked = request or (f'{expected.split(" ")[0]} v4  member_id ""' if expected else "")
    lines = [Line(1.0, "a", "→", asked)] if asked else []
    if actual.partition(" ")[0].isalpha() and not actual.startswith(("no answer", "the ")):
        lines.append(Line(2.0, "a", "←", actual))
    return CaseResult(
        ending=Ending.FINISHED if verdict is Verdict.PASS else Ending.DEVIATED,
        case=case_of(id),
        deviation=verdict,
        expected=expected,
        actual=actual,
        because=because,
        prerequisite=prerequisite,
        known=known,
        late=late,
        lines=tuple(lines),
        names={"id-of-a": "@a"},
        versions={"Heartbeat": 4},
    )


def unknown_group(id: str, api: str, verdict: Verdict = Verdict.FAIL) -> CaseResult:
    """Whoever asks about a group that is not there is told another error."""
    said = f"{api}  GROUP_ID_NOT_FOUND (69)"
    asked = f'{api} v4  generation 1  member_id "never-handed-out"'
    return result(id, verdict, answered(api, "UNKNOWN_MEMBER_ID (25)"), said, request=asked)


def with_frames(one: CaseResult) -> CaseResult:
    """The same with a request and an answer that were on the wire."""
    body = {"group_id": "g", "generation_id": 1, "member_id": "id-of-a", "group_instance_id": None}
    request = frame(encode_request("Heartbeat", 4, body, 3, "a"))
    answer = frame(encode_response("Heartbeat", 4, {"throttle_time_ms": 0, "error_code": 69}, 3))
    lines = (
        Line(1.0, "a", "→", "Heartbeat v4  generation 1  member_id @a", request, len(request)),
        Line(2.0, "a", "←", "Heartbeat  GROUP_ID_NOT_FOUND (69)", answer, len(answer)),
    )
    return CaseResult(**{**vars(one), "lines": lines})


def finished(
    results: Sequence[CaseResult], verdict: str = "violated", skipped: Sequence[NotChecked] = ()
) -> RunFinished:
    """A run that ended so."""
    return RunFinished(verdict, results, skipped, {"LeaveGroup": {5: "closed"}}, 1.5)


def written(path: Path, results: Sequence[CaseResult], skipped: Sequence[NotChecked] = ()) -> Path:
    """The JSON report on such a run, as a file."""
    failing = any(one.verdict in (Verdict.FAIL, Verdict.DIED) for one in results)
    texts: list[str] = []
    reader = JsonReport(texts.append)
    reader.on(STARTED)
    reader.on(finished(results, "violated" if failing else "conforms", skipped))
    path.write_text(texts[0], encoding="utf-8")
    return path
