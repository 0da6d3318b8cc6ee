"""Mistakes planted in the kit itself: a report that swallows a failure, a known list that hides a new one.

`everyone_tells` is what notices them: the same run has to come out of the exit code and of every report.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.thinned import some
from rota.cli import conform_known, conform_run
from rota.cli.conform import conform
from rota.conformance import runner
from rota.conformance.results import CaseResult, KnownFailure, Verdict
from rota.coordinator import HeartbeatReply, core
from rota.pages import report_page_cases, report_page_tables
from rota.report import causes, events, json_report, junit, markdown, reached, text

KNOWN = "heartbeat.illegal-generation.older"
NEW = "heartbeat.illegal-generation.newer"
"""A failure of the same rule."""

OTHER = "heartbeat.unknown-member.stranger"
"""A failure of the same part."""

FINE = "heartbeat.alive.stable"

CAUSES = [
    ("heartbeat.illegal-generation", [KNOWN, NEW], NEW),
    ("heartbeat.unknown-member", [OTHER], OTHER),
]
"""Rule, cases and the one to look at."""

NEEDED = [("2", "ILLEGAL_GENERATION"), ("1", "UNKNOWN_MEMBER_ID")]
"""How many cases need which error, cause by cause."""


def everyone_tells(outcome: Result, folder: Path) -> None:
    """Two failures, one known, one pass: said by the exit code and by each report."""
    failed, known, all_four = {NEW, OTHER}, {KNOWN}, {KNOWN, NEW, OTHER, FINE}
    assert outcome.exit_code == 1

    printed = outcome.stdout
    assert {line.split()[1] for line in printed.splitlines() if line.startswith("fail ")} == failed
    assert "\n\nquestions reached: 4 of 4\n" in printed
    assert re.findall(r"^(\d) cases? needs? ([A-Z_]+)$", printed, re.MULTILINE) == NEEDED
    assert set(re.findall(r"^FAIL (\S+) \(MUST\)$", printed, re.MULTILINE)) == failed
    assert set(re.findall(r"^known: (\S+): ", printed, re.MULTILINE)) == known
    assert "\n1 pass, 2 fail, 1 known\n" in printed
    assert "broken rules: heartbeat.unknown-member, heartbeat.illegal-generation\n" in printed
    says = "violated: rota against profile rota: 2 rules broken in heartbeat, 1 known (4 cases in "
    assert printed.splitlines()[-1].startswith(says)

    report = json.loads((folder / "json").read_text())
    assert report["verdict"] == "violated"
    assert report["counts"] == {"pass": 1, "fail": 2, "known": 1}
    assert report["reached"] == {"questions": 4, "of": 4}
    assert [(cause["rule"], cause["cases"], cause["first"]) for cause in report["causes"]] == CAUSES
    carried = {case["id"] for case in report["cases"] if case["frames"]}
    assert carried == {KNOWN, *failed}
    verdicts = {case["id"]: case["verdict"] for case in report["cases"]}
    assert verdicts == {KNOWN: "known", FINE: "pass", **dict.fromkeys(failed, "fail")}

    root = ET.parse(folder / "junit").getroot()
    cases = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert cases == {KNOWN: ["skipped"], FINE: [], **{name: ["failure"] for name in failed}}
    assert [(suite.get("failures"), suite.get("skipped")) for suite in root] == [("2", "1")]
    told = [one.get("value") for one in root.iter("property") if one.get("name") == "cause"]
    assert told == [
        f"{rule}: {number} {'case needs' if number == '1' else 'cases need'} {error}; look at {first}"
        for (rule, _, first), (number, error) in zip(reversed(CAUSES), reversed(NEEDED), strict=True)
    ]

    page = (folder / "md").read_text()
    assert "questions reached: **4 of 4**" in page
    assert set(re.findall(r"^    FAIL (\S+) \(MUST\)$", page, re.MULTILINE)) == failed
    causes = re.findall(r"^\| `(\S+)` \(fail\): .* \| (\d) \| `(\S+)` \|", page, re.MULTILINE)
    assert causes == [(rule, str(len(cases)), first) for rule, cases, first in CAUSES]
    table = dict(re.findall(r"^\| (\S+) \| MUST \| (\w+) \|", page, re.MULTILINE))
    assert table == {KNOWN: "known", **dict.fromkeys(failed, "fail")}
    assert says in page
    assert set(verdicts) == all_four

    html = (folder / "html").read_text()
    shown = dict(re.findall(r'class="case" id="case-([^"]*)" data-part="\w+" data-verdict="(\w+)"', html))
    assert shown == verdicts
    assert "questions reached: <b>4 of 4</b>" in html
    summaries = re.findall(r"(\d) cases?</span> <code>([^<]*)</code>", html)
    assert summaries == [(str(len(cases)), rule) for rule, cases, _ in CAUSES]
    assert html.count("00 00 00 ") >= 3 * len(carried)


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Judges a coordinator that looks at no heartbeat, and asks everyone what came of it."""
    monkeypatch.setattr(core.heartbeat, "heartbeat", lambda *_: HeartbeatReply(0))

    def judge() -> None:
        files = [
            word
            for kind in ("json", "junit", "md", "html")
            for word in ("--report", f"{kind}={tmp_path / kind}")
        ]
        fixed = ["--embedded", "--seed", "1", "--known", KNOWN, *files]
        everyone_tells(CliRunner().invoke(conform, [*fixed, KNOWN, NEW, OTHER, FINE]), tmp_path)

    return judge


def test_nothing_planted(judged: Callable[[], None]) -> None:
    judged()


@dataclass(frozen=True)
class Mistake:
    """What is exchanged in the kit, and for what."""

    owner: Any
    attribute: str
    plant: Callable[[Any], Any]


def without_failures(found: list[CaseResult]) -> list[CaseResult]:
    return [result for result in found if result.verdict is not Verdict.FAIL]


def swallowing(original: Any) -> Any:
    """A report that hears of no failure at its end."""

    def on(self: Any, event: Any) -> None:
        if isinstance(event, events.RunFinished):
            object.__setattr__(event, "results", without_failures(list(event.results)))
        original(self, event)

    return on


def deaf(original: Any) -> Any:
    """A report that hears of no failure when it happens."""

    def on(self: Any, event: Any) -> None:
        if not (isinstance(event, events.CaseFinished) and event.result.verdict is Verdict.FAIL):
            original(self, event)

    return on


def hiding(alike: Callable[[str, str], bool]) -> Callable[[Any], Any]:
    """A known list that excuses every case whose id is so much like a listed one."""

    def plant(original: Any) -> Any:
        def judge(case: Any, result: Any, options: Any) -> CaseResult:
            excused = any(alike(case.id, listed) for listed in options.known)
            judged: CaseResult = original(case, result, options)
            return replace(judged, known=KnownFailure(case.id) if excused else None)

        return judge

    return plant


def same_rule(one: str, other: str) -> bool:
    return one.rpartition(".")[0] == other.rpartition(".")[0]


def same_part(one: str, other: str) -> bool:
    return one.partition(".")[0] == other.partition(".")[0]


MISTAKES = {
    "all reports swallow failures": Mistake(events.Collected, "on", swallowing),
    "the text says no failure when it happens": Mistake(text.TextReport, "on", deaf),
    "the text leaves failures out at the end": Mistake(text, "IN_FULL", lambda old: old[1:]),
    "the text leaves broken rules out": Mistake(text, "broken_rules", lambda old: lambda found: []),
    "the text leaves known failures out": Mistake(text, "known_lines", lambda old: lambda found: iter(())),
    "the counts leave failures out": Mistake(
        text, "counts", lambda old: lambda found: old(without_failures(found))
    ),
    "JSON leaves a failure out": Mistake(
        json_report, "case_object", lambda old: lambda result: {**old(result), "verdict": "pass"}
    ),
    "JSON counts no failure": Mistake(
        json_report, "counts", lambda old: lambda found: old(without_failures(found))
    ),
    "JUnit has no failures": Mistake(junit, "_ELEMENT", lambda old: {Verdict.DIED: "failure"}),
    "JUnit shows the known as failures": Mistake(junit, "_SKIPPED", lambda old: (Verdict.UNSUPPORTED,)),
    "JUnit names no causes": Mistake(
        junit, "_suite", lambda old: lambda *asked: old(*asked[:-1], {})
    ),
    "Markdown leaves failures out": Mistake(markdown, "IN_FULL", lambda old: old[1:]),
    "Markdown cuts the causes": Mistake(markdown, "_causes", lambda old: lambda found: old(found[1:])),
    "the page leaves causes out": Mistake(
        report_page_tables, "_cause", lambda old: lambda cause, prefix: old(replace(cause, rule=""), prefix)
    ),
    "the page shows no bytes": Mistake(report_page_cases, "BROKEN", lambda old: ()),
    "JSON carries no bytes": Mistake(json_report, "BROKEN", lambda old: ()),
    "all failures have one cause": Mistake(causes, "evidence", lambda old: lambda result: ("rule",)),
    "what is known was not asked": Mistake(reached, "UNJUDGED", lambda old: (*old, Verdict.FAIL)),
    "the exit code is always 0": Mistake(conform_run, "exit_code", lambda old: lambda *_: 0),
    "the exit code is undecided": Mistake(conform_run, "exit_code", lambda old: lambda *_: 3),
    "a known list hides the rule": Mistake(runner, "judge", hiding(same_rule)),
    "a known list hides the part": Mistake(runner, "judge", hiding(same_part)),
    "a known list hides everything": Mistake(runner, "judge", hiding(lambda *_: True)),
    "a known list excuses nothing": Mistake(KnownFailure, "covers", lambda old: lambda self, result: False),
    "a known list names other cases": Mistake(
        conform_known, "_known", lambda old: lambda given, ids: {NEW: KnownFailure(NEW)}
    ),
    "a result gets lost": Mistake(
        conform_run, "play_all", lambda old: lambda *asked: iter(list(old(*asked))[1:])
    ),
    "a failure counts as a deviation of less": Mistake(
        runner, "DEVIATION_VERDICT", lambda old: dict.fromkeys(old, Verdict.NOTED)
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", some(MISTAKES))
def test_a_planted_mistake_is_noticed(
    mistake: str, judged: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = MISTAKES[mistake]
    original = getattr(planted.owner, planted.attribute)
    monkeypatch.setattr(planted.owner, planted.attribute, planted.plant(original))
    with pytest.raises(AssertionError):
        judged()
