"""The report as a page: what is in it, in which order, how large it is, and strangers' texts in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.thinned import long
from rota.cli.conform import conform
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.script import Case
from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import CaseResult, Ending, KnownFailure, NotChecked, Verdict
from rota.pages import report_page, report_page_cases
from rota.report.events import RunFinished, RunStarted, WholeRun

HOSTILE = "</script><img src=x onerror=alert(1)>"
STARTED = RunStarted("127.0.0.1:9092", "kafka-4.x", 7, 3)


def result(case: Case, verdict: Verdict, text: str = "Heartbeat  NONE", lines: int = 8) -> CaseResult:
    """A case that ended so; text: what came, and the line of each of its messages."""
    said = [
        Line(3.0 * n, "a", "→" if n % 2 == 0 else "←", f"Heartbeat v4  member_id @a  {text}")
        for n in range(lines)
    ]
    return CaseResult(
        ending=Ending.FINISHED,
        case=case,
        deviation=verdict,
        expected="Heartbeat answered with error UNKNOWN_MEMBER_ID",
        actual=text,
        lines=tuple(said),
        names={text: "@a"},
        versions={"Heartbeat": 4},
    )


def finished(results: Sequence[CaseResult], verdict: str = "violated") -> RunFinished:
    skipped = [NotChecked(all_cases()[-1], "takes more than a minute; --slow plays it")]
    return RunFinished(verdict, results, skipped, {"LeaveGroup": {5: "closed"}}, 1.5)


def page_of(run: RunFinished, started: RunStarted = STARTED) -> str:
    return report_page.page([WholeRun(started, run)])


class Cases(HTMLParser):
    """Reads off a page: every element, the attributes of cases in order, what can be read."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.cases: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        if ("class", "case") in attrs:
            self.cases.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_failures_come_first_then_the_undecided_then_the_rest() -> None:
    verdicts = [Verdict.PASS, Verdict.LENIENT, Verdict.UNDECIDED, Verdict.FAIL, Verdict.DIED, Verdict.PASS]
    results = [result(case, verdict) for case, verdict in zip(all_cases(), verdicts, strict=False)]
    page = Cases(page_of(finished(results)))
    wanted = ["fail", "died", "undecided", "lenient", "pass", "pass"]
    assert [case["data-verdict"] for case in page.cases] == wanted
    assert ["open" in case for case in page.cases] == [True, True, True, False, False, False]
    assert len({case["id"] for case in page.cases}) == 6
    assert page.names.count("svg") == 4, "what passed is not drawn"


def test_a_failure_is_told_in_full() -> None:
    one = result(all_cases()[0], Verdict.FAIL)
    case = one.case
    text = Cases(page_of(finished([one]))).text
    for said in (
        *(case.id, case.requirement, case.source, case.rule, case.level.value),
        *("Heartbeat answered with error UNKNOWN_MEMBER_ID", "Heartbeat  NONE", "Heartbeat v4  member_id @a"),
        f"rota conform --target 127.0.0.1:9092 {case.id}",
        "violated: 127.0.0.1:9092 against profile kafka-4.x: 1 rule broken",
        *("takes more than a minute; --slow plays it", all_cases()[-1].id),
        "LeaveGroup v5: advertised, but the target cannot read it",
        "No case is about a log that fails or is slow",
    ):
        assert said in text


def test_the_matrix_has_the_worst_verdict_of_each_part() -> None:
    cases = [case for case in all_cases() if case.part == "leave"][:3]
    results = [result(case, Verdict.PASS) for case in cases[:2]]
    page = page_of(finished([*results, result(cases[2], Verdict.UNDECIDED)]))
    (cell,) = re.findall(r"<td .*?</td>", page)
    assert 'class="open"' in cell
    assert 'title="leave: 1 undecided, 2 pass"' in cell
    assert " 2 of 3</td>" in cell


def test_what_is_known_says_so() -> None:
    case = all_cases()[0]
    known = KnownFailure(case.id, "nobody asked", "https://example.org/1")
    failing = CaseResult(ending=Ending.DEVIATED, case=case, deviation=Verdict.FAIL, known=known)
    passing = CaseResult(ending=Ending.FINISHED, case=case, deviation=Verdict.PASS, known=known)
    page = Cases(page_of(finished([failing], "conforms")))
    assert page.cases[0]["data-verdict"] == "known"
    assert "nobody asked (https://example.org/1)" in page.text
    assert "✓ conforms" in page.text
    page = Cases(page_of(finished([passing], "conforms")))
    assert "passes, though known to fail" in page.text


def test_strangers_texts_stay_texts() -> None:
    started = RunStarted(HOSTILE, HOSTILE, 7, 1)
    one = result(all_cases()[0], Verdict.FAIL, HOSTILE)
    page = page_of(finished([one]), started)
    read = Cases(page)
    assert "img" not in read.names
    assert read.names.count("script") == 1
    assert HOSTILE in read.text
    assert HOSTILE not in page


@pytest.mark.parametrize("verdicts", [(Verdict.FAIL, Verdict.KNOWN), long((Verdict.PASS,))])
def test_the_page_stays_small(verdicts: Sequence[Verdict]) -> None:
    """As many cases as there are deviations of the worst target that is known; of two verdicts in turn."""
    many = [result(case, verdict, lines=60) for case, verdict in zip(all_cases()[::2], cycle(verdicts))]
    page = page_of(finished(many))
    assert len(page.encode()) < 5_000_000
    assert ("<svg" in page) == (Verdict.PASS not in verdicts)
    assert page.count('class="case"') == len(many)


@pytest.mark.parametrize(("room", "charts", "texts"), [(0, 0, 0), (5_000, 0, 2), (40_000, 1, 2)])
def test_dialogues_without_room_are_shown_as_text_or_not(
    monkeypatch: pytest.MonkeyPatch, room: int, charts: int, texts: int
) -> None:
    monkeypatch.setattr(report_page_cases, "ROOM", room)
    two = [result(case, Verdict.FAIL, lines=30) for case in all_cases()[:2]]
    page = Cases(page_of(finished(two)))
    assert page.names.count("svg") == charts
    assert page.names.count("pre") == texts


def test_what_a_target_says_at_length_is_cut() -> None:
    page = page_of(finished([result(all_cases()[0], Verdict.FAIL, "x" * 1_000_000, 1)]))
    assert len(page) < 500_000
    assert "letters more" in page


def test_the_command_writes_it(tmp_path: Path) -> None:
    page = tmp_path / "conform.html"
    chosen = ["--embedded", "--report", f"html={page}", "heartbeat.unknown-member.no-group"]
    outcome = CliRunner().invoke(conform, chosen)
    assert outcome.exit_code == 0, outcome.output
    assert f"report: {page}" in outcome.stdout
    read = Cases(page.read_text())
    assert [case["data-verdict"] for case in read.cases] == ["pass"]
    assert "✓ conforms" in read.text
