"""JSON reports read back: what changed between two, several side by side, and files that are none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.told_results import STARTED, case_of, finished, result, unknown_group, with_frames, written
from rota.cli.conform import conform
from rota.conformance.catalogue import all_cases
from rota.conformance.results import CaseResult, KnownFailure, NotChecked, Verdict
from rota.report import changes as under_test
from rota.report.causes import causes
from rota.report.events import INTERRUPTED, WholeRun
from rota.report.frames import told_with_bytes
from rota.report.markdown import MarkdownReport
from rota.report.read_back import read_run

BEAT = "heartbeat.unknown-member.no-group"
SYNC = "sync.unknown-member.no-group"
LEAVE = "leave.unknown-group.refused"
ALIVE = "heartbeat.alive.stable"
LESSER = "join.next-generation.first"


def passed(id: str) -> CaseResult:
    return result(id, Verdict.PASS)


def failed(id: str) -> CaseResult:
    return with_frames(unknown_group(id, "Heartbeat"))


def lenient(id: str) -> CaseResult:
    return result(id, Verdict.LENIENT, "generation id 1", "generation id 2")


def undecided(id: str) -> CaseResult:
    return result(id, Verdict.UNDECIDED, because="could not reach a Stable group: expected x, got y")


def diff(folder: Path, before: Sequence[CaseResult], after: Sequence[CaseResult], *more: str) -> Result:
    """`rota conform --diff before.json after.json`."""
    named = [str(written(folder / "before.json", before)), str(written(folder / "after.json", after))]
    outcome = CliRunner().invoke(conform, ["--diff", *named, *more])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exc_info
    return outcome


BEFORE = [failed(BEAT), passed(SYNC), failed(LEAVE), passed(ALIVE), passed(LESSER)]
AFTER = [failed(BEAT), failed(SYNC), passed(LEAVE), undecided(ALIVE), lenient(LESSER)]


def kinds(outcome: Result) -> dict[str, str]:
    """Case -> what became of it, off the JSON object."""
    return {case["id"]: case["change"] for case in json.loads(outcome.stdout)["cases"]}


def test_what_is_new_mended_and_stays(tmp_path: Path) -> None:
    outcome = diff(tmp_path, BEFORE, AFTER, "--json")
    assert outcome.exit_code == 1
    assert kinds(outcome) == {
        SYNC: "new", ALIVE: "not judged any more", LESSER: "deviates anew", LEAVE: "mended", BEAT: "stays"
    }  # fmt: skip
    told = json.loads(outcome.stdout)
    assert (told["schema"], told["verdict"], told["judged_in_both"]) == (1, "worse", 4)
    assert {one["rule"]: (one["change"], one["before"], one["after"]) for one in told["causes"]} == {
        "sync.unknown-member": ("stays", 2, 2),
        "join.next-generation": ("deviates anew", 0, 1),
    }
    text = diff(tmp_path, BEFORE, AFTER).stdout
    for said in (
        "new: 1 case, failing now, and not before\n",
        f"  {SYNC} (MUST): pass → fail\n",
        "    actual       Heartbeat  GROUP_ID_NOT_FOUND (69)\n",
        f"  {LEAVE}  fail → pass\n",
        "    because      could not reach a Stable group",
        "causes, stays: sync.unknown-member (2)\n",
    ):
        assert said in text
    assert text.splitlines()[-1].startswith("worse: ")
    assert text.splitlines()[-1].endswith(
        ": 1 new, 1 not judged any more, 1 deviates anew, 1 mended, 1 stays (4 cases judged in both)"
    )
    assert diff(tmp_path, BEFORE, AFTER).stdout == text
    assert diff(tmp_path, BEFORE, AFTER, "--quiet").stdout == text.splitlines()[-1] + "\n"


DIED = replace(failed(BEAT), deviation=Verdict.DIED)
KNOWN = replace(failed(BEAT), known=KnownFailure(BEAT, "since ever"))


@pytest.mark.parametrize(
    ("before", "after", "kind", "code"),
    [
        (passed(BEAT), failed(BEAT), "new", 1),
        (undecided(BEAT), failed(BEAT), "new", 1),
        (None, failed(BEAT), "new", 1),
        (failed(BEAT), DIED, "new", 1),
        (KNOWN, failed(BEAT), "new", 1),
        (DIED, failed(BEAT), "stays", 0),
        (failed(BEAT), failed(BEAT), "stays", 0),
        (failed(BEAT), KNOWN, "stays", 0),
        (passed(BEAT), KNOWN, "deviates anew", 0),
        (passed(LESSER), lenient(LESSER), "deviates anew", 0),
        (lenient(LESSER), passed(LESSER), "mended", 0),
        (KNOWN, passed(BEAT), "mended", 0),
        (failed(BEAT), passed(BEAT), "mended", 0),
        (passed(BEAT), undecided(BEAT), "not judged any more", 3),
        (failed(BEAT), undecided(BEAT), "not judged any more", 3),
        (failed(BEAT), result(BEAT, Verdict.SKIPPED, prerequisite="join.barrier"), "not judged any more", 3),
        (passed(BEAT), result(BEAT, Verdict.UNSUPPORTED), "not judged any more", 3),
        (None, undecided(BEAT), "not judged any more", 3),
        (None, result(BEAT, Verdict.UNSUPPORTED), None, 0),
        (undecided(BEAT), undecided(BEAT), None, 0),
        (undecided(BEAT), passed(BEAT), None, 0),
        (passed(BEAT), passed(BEAT), None, 0),
        (failed(BEAT), None, None, 0),
    ],
)
def test_each_change_has_its_exit_code(
    tmp_path: Path, before: CaseResult | None, after: CaseResult | None, kind: str | None, code: int
) -> None:
    both = [[passed(ALIVE), *([one] if one else [])] for one in (before, after)]
    outcome = diff(tmp_path, *both, "--json")
    assert (list(kinds(outcome).values()), outcome.exit_code) == ([kind] if kind else [], code)


def test_nothing_that_was_judged_twice_is_undecided(tmp_path: Path) -> None:
    outcome = diff(tmp_path, [passed(ALIVE)], [passed(BEAT)])
    assert outcome.exit_code == 3
    assert outcome.stdout.splitlines()[-1].endswith("0 new, 0 mended, 0 stays (0 cases judged in both)")
    assert f"not compared: 1 case in {tmp_path / 'before.json'} alone: {ALIVE}" in " ".join(
        outcome.stdout.split()
    )


def test_what_an_interrupt_left_out_is_undecided(tmp_path: Path) -> None:
    before = written(tmp_path / "a.json", [passed(ALIVE), passed(BEAT)])
    after = written(tmp_path / "b.json", [passed(ALIVE)], [NotChecked(case_of(BEAT), INTERRUPTED)])
    outcome = CliRunner().invoke(conform, ["--diff", str(before), str(after), "--json"])
    assert (kinds(outcome), outcome.exit_code) == ({BEAT: "not judged any more"}, 3)
    after = written(tmp_path / "b.json", [passed(ALIVE)], [NotChecked(case_of(BEAT), "add --slow")])
    outcome = CliRunner().invoke(conform, ["--diff", str(before), str(after), "--json"])
    assert (kinds(outcome), outcome.exit_code) == ({}, 0)


def test_a_cause_is_new_mended_or_known_by_its_cases(tmp_path: Path) -> None:
    def causes_of(before: Sequence[CaseResult], after: Sequence[CaseResult]) -> list[tuple[str, str]]:
        told = json.loads(diff(tmp_path, before, after, "--json").stdout)
        return [(one["rule"], one["change"]) for one in told["causes"]]

    beat, sync = [failed(BEAT), passed(SYNC)], [passed(BEAT), failed(SYNC)]
    assert causes_of([passed(BEAT)], beat) == [("heartbeat.unknown-member", "new")]
    assert causes_of(beat, [passed(BEAT)]) == [("heartbeat.unknown-member", "mended")]
    assert causes_of(beat, sync) == [("sync.unknown-member", "new"), ("heartbeat.unknown-member", "mended")]
    assert causes_of(beat, [failed(BEAT), failed(SYNC)]) == [("sync.unknown-member", "stays")]


def test_only_the_cases_that_are_named_are_compared(tmp_path: Path) -> None:
    outcome = diff(tmp_path, BEFORE, AFTER, "--json", "leave", BEAT)
    assert (kinds(outcome), outcome.exit_code) == ({LEAVE: "mended", BEAT: "stays"}, 0)
    outcome = diff(tmp_path, BEFORE, AFTER, "nonsense")
    assert (outcome.exit_code, outcome.stdout) == (2, "")


def test_changes_go_into_files_too(tmp_path: Path) -> None:
    files = [word for kind in ("md", "html") for word in ("--report", f"{kind}={tmp_path / kind}")]
    assert diff(tmp_path, BEFORE, AFTER, *files).exit_code == 1
    page = (tmp_path / "md").read_text()
    assert page.startswith("# worse\n\nworse: ")
    assert f"| `{SYNC}` | MUST | pass → fail | " in page
    assert f"| `{LEAVE}` | MUST | fail → pass | " in page
    html = (tmp_path / "html").read_text()
    for id, where in ((SYNC, "after"), (ALIVE, "after"), (LEAVE, "before"), (BEAT, "after")):
        assert html.count(f'id="{where}-case-{id}"') == 1
    assert "00 00 00 " in html
    refused = diff(tmp_path, BEFORE, AFTER, "--report", f"junit={tmp_path / 'x'}")
    assert refused.exit_code == 2
    assert "junit is for judging one target; of reports there are json, md, html" in refused.stderr


def test_the_cases_of_a_family_stand_together(tmp_path: Path) -> None:
    """And the page has the filters of the report on a run; one case alone stands for itself."""
    family = "heartbeat.illegal-generation.below"
    alike = [one.id for one in all_cases() if one.family == family][:3]
    after = [failed(alike[0]), failed(SYNC), *(failed(id) for id in alike[1:])]
    assert diff(tmp_path, [], after, "--report", f"html={tmp_path / 'html'}").exit_code == 1
    html = (tmp_path / "html").read_text()
    assert html.count('class="group family"') == 1
    _, _, within = html.partition('class="group family"')
    said, _, _ = within.partition("</summary>")
    assert f"<code>{family}</code>" in said
    assert '<span class="quiet">3</span>' in said
    (inner,) = re.findall(rf'class="group family".*?id="after-case-{re.escape(alike[-1])}"', html, re.DOTALL)
    assert [f'id="after-case-{id}"' in inner for id in (*alike, SYNC)] == [True, True, True, False]
    shown = re.findall(r'<select name="(\w+)">(.*?)</select>', html, re.DOTALL)
    offered = {name: re.findall(r'value="([^"]*)"', options) for name, options in shown}
    assert offered == {"part": ["", "sync", "heartbeat"], "verdict": ["", "fail"]}
    assert diff(tmp_path, BEFORE, BEFORE, "--report", f"html={tmp_path / 'html'}", SYNC).exit_code == 0
    assert "filters" not in (tmp_path / "html").read_text().partition("</style>")[2].partition("<script")[0]


def test_a_report_says_the_same_when_it_is_read_back(tmp_path: Path) -> None:
    known = replace(failed(LEAVE), known=KnownFailure(LEAVE, "since ever", "https://example.org/1"))
    late = replace(undecided(ALIVE), late=True)
    skipped = result("sync.unknown-member.pending", Verdict.SKIPPED, prerequisite="join.member-id-required")
    results = [
        failed(BEAT),
        known,
        late,
        skipped,
        lenient(LESSER),
        passed("heartbeat.alive.while-completing"),
    ]
    first = written(tmp_path / "a.json", results, [NotChecked(case_of(SYNC), "add --slow")])
    run = read_run(first)
    assert run.started == replace(STARTED, cases=len(results))
    told = finished(results, "violated", [NotChecked(case_of(SYNC), "add --slow")])
    assert run.finished.causes == causes(results)
    assert run.finished.reached == told.reached
    for name in ("verdict", "deviation", "expected", "actual", "because", "prerequisite", "late", "names"):
        assert [getattr(one, name) for one in run.finished.results] == [getattr(one, name) for one in results]
    assert [one.known.words if one.known else "" for one in run.finished.results][1] == (
        "since ever (https://example.org/1)"
    )
    assert list(told_with_bytes(run.finished.results[0])) == list(told_with_bytes(results[0]))
    pages: list[str] = []
    for started, over in ((run.started, run.finished), (replace(STARTED, cases=len(results)), told)):
        reader = MarkdownReport(pages.append)
        reader.on(started)
        reader.on(over)
    assert pages[0] == pages[1]


def test_fields_and_bytes_of_each_message_are_shown() -> None:
    shown = [line.strip() for line in told_with_bytes(failed(BEAT))]
    assert "1 ms  a → Heartbeat v4  generation 1  member_id @a" in shown
    assert "Heartbeat v4, correlation id 3" in shown
    assert 'member_id: "id-of-a"' in shown
    assert "error_code: 69" in shown
    assert any(line.startswith("0000  00 00 00 ") for line in shown)
    broken = replace(failed(BEAT).lines[1], data=b"\0\0\0\x06\0\0\0\x03\xff\xff", size=10)
    torn = replace(failed(BEAT), lines=(failed(BEAT).lines[0], broken))
    assert any("cannot be read: Heartbeat v4 response" in line for line in told_with_bytes(torn))
    alone = replace(failed(BEAT), lines=(broken,))
    assert any("cannot be read: nobody asked for it" in line for line in told_with_bytes(alone))
    cut = replace(failed(BEAT).lines[0], size=1_000_000)
    assert any("of 1,000,000 bytes" in line for line in told_with_bytes(replace(torn, lines=(cut,))))


Spoil = Callable[[str], str]

BAD: dict[str, tuple[Spoil, str]] = {
    "cut": (lambda text: text[:200], "is no JSON"),
    "empty": (lambda text: "", "it ends too early, so it was cut"),
    "no report": (lambda text: '{"schema": 1, "runs": []}', "is no report of rota conform"),
    "a list": (lambda text: "[]", "is no report of rota conform"),
    "another schema": (
        lambda text: text.replace('"schema": 1', '"schema": 7'), "has schema 7, and this rota reads 1"
    ),
    "older": (lambda text: text.replace('"causes"', '"reasons"'), "names no causes"),
    "a case without a verdict": (lambda text: text.replace('"verdict": "fail"', '"x": 1'), "no whole report"),
    "no such verdict": (lambda text: text.replace('"fail"', '"good"'), "'good' is not a valid Verdict"),
    "bytes that are none": (lambda text: text.replace('"bytes": "00', '"bytes": "zz'), "no whole report"),
    "a cause of other cases": (
        lambda text: text.replace('"first": "', '"first": "x'), f"a cause names 'x{BEAT}', which is no case"
    ),
    "cases that are none": (
        lambda text: text.replace('"cases": [\n  {', '"cases": [3, {', 1), "no whole report"
    ),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("option", ["--diff", "--matrix"])
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, option: str, bad: str) -> None:
    spoil, says = BAD[bad]
    good = written(tmp_path / "good.json", [failed(BEAT)])
    path = tmp_path / "bad.json"
    path.write_text(spoil(good.read_text()))
    outcome = CliRunner().invoke(conform, [option, str(good), str(path)])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"rota: {path}")
    assert says in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_report_beside_a_target_and_files_that_are_not_there(tmp_path: Path) -> None:
    good = str(written(tmp_path / "good.json", [failed(BEAT)]))
    for arguments, says in (
        (["--diff", good, "rota"], f"{good} is a report and rota is none"),
        (["--diff", good, "no-such.json"], "cannot read no-such.json: No such file"),
        (["--diff", good, good, "--strict"], "--strict is for judging one target"),
        (["--matrix"], "--matrix needs JSON reports"),
        (["--matrix", str(tmp_path)], f"cannot read {tmp_path}: Is a directory"),
    ):
        outcome = CliRunner().invoke(conform, arguments)
        assert (outcome.exit_code, outcome.stdout) == (2, "")
        assert says in outcome.stderr
    (tmp_path / "latin.json").write_bytes(b"\xff")
    outcome = CliRunner().invoke(conform, ["--matrix", str(tmp_path / "latin.json")])
    assert "is no text in UTF-8" in outcome.stderr


def test_several_targets_stand_side_by_side(tmp_path: Path) -> None:
    one = written(tmp_path / "one.json", BEFORE)
    other = written(tmp_path / "other.json", AFTER)
    files = [word for kind in ("md", "html") for word in ("--report", f"{kind}={tmp_path / kind}")]
    outcome = CliRunner().invoke(conform, ["--matrix", str(one), str(other), *files])
    assert outcome.exit_code == 1
    rows = [line.split("  ") for line in outcome.stdout.splitlines()]
    cells = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
    assert cells["questions reached"] == ["5 of 5", "4 of 5"]
    assert cells["heartbeat"] == ["1 of 2", "0 of 2"]
    assert cells["leave"] == ["0 of 1", "1 of 1"]
    assert cells["join.next-generation"] == ["1"]
    assert "| heartbeat | 1 of 2 | 0 of 2 |" in (tmp_path / "md").read_text()
    html = (tmp_path / "html").read_text()
    assert html.count(f'id="t1-case-{BEAT}"') == html.count(f'id="t2-case-{BEAT}"') == 1
    assert 'href="#t2-case-sync.unknown-member.no-group"' in html
    told = json.loads(CliRunner().invoke(conform, ["--matrix", str(one), str(other), "--json"]).stdout)
    assert (told["schema"], told["verdict"]) == (1, "violated")
    assert [target["reached"] for target in told["targets"]] == [
        {"questions": 5, "of": 5}, {"questions": 4, "of": 5}
    ]  # fmt: skip
    fine = written(tmp_path / "fine.json", [passed(BEAT)])
    assert CliRunner().invoke(conform, ["--matrix", str(fine), str(fine)]).exit_code == 0


MISTAKES: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "nothing is new": (under_test, "FAILS", lambda old: ()),
    "a death is no news": (under_test, "_kind", lambda old: lambda *both: _no_worse(old(*both))),
    "nothing is undecided": (under_test, "UNJUDGED", lambda old: ()),
    "what is mended is left out": (under_test, "DEVIATES", lambda old: ()),
    "runs are exchanged": (
        under_test, "_by_id", lambda old: lambda run: old(WholeRun(run.started, _other(run), run.path))
    ),
}  # fmt: skip


def _no_worse(kind: under_test.Kind | None) -> under_test.Kind | None:
    return under_test.Kind.STAYS if kind is under_test.Kind.NEW else kind


def _other(run: WholeRun) -> Any:
    assert run.path is not None
    name = {"before.json": "after.json", "after.json": "before.json"}[run.path.name]
    return read_run(run.path.with_name(name)).finished


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_noticed(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, plant = MISTAKES[mistake]
    monkeypatch.setattr(owner, attribute, plant(getattr(owner, attribute)))
    with pytest.raises(AssertionError):
        test_what_is_new_mended_and_stays(tmp_path)
