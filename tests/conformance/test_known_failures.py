"""Lists of known failures: what they excuse and what not, how they are checked, how they are written."""

from __future__ import annotations

import json
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.conform import conform
from rota.conformance.catalogue import all_cases, select
from rota.conformance.known_failures import added_to_known
from rota.conformance.results import CaseResult, Ending, KnownFailure, Verdict
from rota.coordinator import HeartbeatReply, core

OLDER = "heartbeat.illegal-generation.older"
NEWER = "heartbeat.illegal-generation.newer"
STABLE = "heartbeat.alive.stable"

ENTRY = """
# our tracker has it
[[known]]
id = "heartbeat.illegal-generation.older"
reason = "generations are not looked at"
link = "https://example.org/17"
"""


@pytest.fixture
def every_heartbeat_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the cases in this file those about generations fail."""
    monkeypatch.setattr(core.heartbeat, "heartbeat", lambda *_: HeartbeatReply(0))


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(conform, ["--embedded", "--out", str(folder), "--seed", "1", *arguments])


def listed(folder: Path, text: str = ENTRY) -> str:
    path = folder / "known.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("every_heartbeat_is_fine")
def test_a_known_failure_is_said_with_its_reason_everywhere(tmp_path: Path) -> None:
    reports = [f"{kind}={tmp_path / kind}" for kind in ("json", "junit", "md")]
    asked = [word for report in reports for word in ("--report", report)]
    outcome = run(tmp_path, "--known", listed(tmp_path), *asked, OLDER, STABLE)
    assert outcome.exit_code == 0
    why = "generations are not looked at (https://example.org/17)"
    lines = outcome.stdout.splitlines()
    assert lines[-1].startswith("conforms but for 1 known: rota against profile rota (2 cases in ")
    assert f"known: {OLDER}: {why}" in lines
    report = json.loads((tmp_path / "json").read_text())
    assert (report["verdict"], report["counts"]) == ("conforms", {"pass": 1, "known": 1})
    (known,) = [case["known"] for case in report["cases"] if case["id"] == OLDER]
    reason, link = "generations are not looked at", "https://example.org/17"
    assert known == {"reason": reason, "link": link, "verdict_without": "fail"}
    suite = ET.parse(tmp_path / "junit").getroot()[0]
    skipped = suite.find(f"./testcase[@name='{OLDER}']/skipped")
    assert skipped is not None
    assert (skipped.get("message") or "").startswith(f"known: {why}: expected Heartbeat answered with error")
    says = suite.find("./properties/property[@name='verdict']")
    assert says is not None
    assert (says.get("value") or "").startswith("conforms but for 1 known: ")
    page = (tmp_path / "md").read_text()
    assert "conforms but for 1 known: " in page
    assert f"- known: {OLDER}: {why}" in page


@pytest.mark.usefixtures("every_heartbeat_is_fine")
def test_a_failure_that_is_not_listed_fails_the_run(tmp_path: Path) -> None:
    outcome = run(tmp_path, "--known", listed(tmp_path), OLDER, NEWER)
    assert outcome.exit_code == 1
    assert f"FAIL {NEWER} (MUST)" in outcome.stdout
    assert f"FAIL {OLDER}" not in outcome.stdout
    last = outcome.stdout.splitlines()[-1]
    assert last.startswith(
        "violated: rota against profile rota: 1 rule broken in heartbeat, 1 known (2 cases in "
    )


@pytest.mark.parametrize("strict", [False, True])
def test_a_known_failure_that_passes_is_named(tmp_path: Path, strict: bool) -> None:
    flag = ["--strict"] if strict else []
    outcome = run(tmp_path, "--known", listed(tmp_path), *flag, OLDER, STABLE)
    assert outcome.exit_code == (1 if strict else 0)
    assert f"passes, though known to fail: {OLDER}; take it out of the list" in outcome.stdout
    verdict = "violated" if strict else "conforms"
    says = f"{verdict}: rota against profile rota: 1 known failure passes (2 cases in "
    assert outcome.stdout.splitlines()[-1].startswith(says)
    report = json.loads((tmp_path / "conform-rota.json").read_text())
    assert (report["passing_though_known"], report["strict"]) == ([OLDER], strict)
    suite = ET.parse(tmp_path / "conform-rota.junit.xml").getroot()[0]
    found = suite.find(f"./testcase[@name='{OLDER}']/{'failure' if strict else 'system-out'}")
    assert found is not None
    assert suite.get("failures") == str(int(strict))
    assert "passes, though known to fail" in (found.get("message") or found.text or "")


def test_an_id_needs_no_file(tmp_path: Path, every_heartbeat_is_fine: None) -> None:
    outcome = run(tmp_path, "--known", OLDER, OLDER)
    assert outcome.exit_code == 0
    assert f"known: {OLDER}: no reason given" in outcome.stdout


BAD = {
    "no such id": ('\n[[known]]\nid = "heartbeat.alive.stabel"\n', 3, f"did you mean {STABLE}?"),
    "a misspelt key": (ENTRY + 'raeson = "x"\n', 7, "there is no key 'raeson'"),
    "a misspelt table": (f'[[knwon]]\nid = "{OLDER}"\n', 1, "there is no 'knwon'"),
    "no id": ('[[known]]\nreason = "x"\n\n[[known]]\n', 1, "no id"),
    "twice": (ENTRY + ENTRY, 10, f"{OLDER} is listed twice"),
    "no text": (f'[[known]]\nid = "{OLDER}"\nlink = 3\n', 3, "link is no text"),
    "no list": ("known = 3\n", 1, "known is no list"),
    "no such verdict": (ENTRY + 'verdict = "pass"\n', 7, "the verdict 'pass' cannot be known"),
    "behind a text of several lines": (
        f'[[known]]\nid = "{OLDER}"\nreason = """\n[[known]]\nkey = 1"""\nkey = 2\n',
        6,
        "there is no key 'key'",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_wrong_in_a_list_is_said_with_its_line(tmp_path: Path, bad: str) -> None:
    text, line, says = BAD[bad]
    path = listed(tmp_path, text)
    outcome = run(tmp_path, "--known", path, OLDER)
    assert outcome.exit_code == 2
    assert outcome.stderr.count("\n") == 1
    assert f"rota: {path}, line {line}: " in outcome.stderr
    assert says in outcome.stderr


def test_what_is_no_list_at_all(tmp_path: Path) -> None:
    for content, says in ((b"[[known]\n", "is no TOML: "), (b"\xff\xfe", "is no text in UTF-8")):
        path = tmp_path / "known.toml"
        path.write_bytes(content)
        outcome = run(tmp_path, "--known", str(path), OLDER)
        assert outcome.exit_code == 2
        assert f"{path} {says}" in outcome.stderr
    outcome = run(tmp_path, "--known", "no-such.toml", OLDER)
    assert outcome.exit_code == 2
    assert "there is no file no-such.toml" in outcome.stderr
    outcome = run(tmp_path, "--known", OLDER, "--known", listed(tmp_path), OLDER)
    assert outcome.exit_code == 2
    assert f"{OLDER} is given as known twice" in outcome.stderr


def result(deviation: Verdict, known: KnownFailure | None, late: bool = False) -> CaseResult:
    (case,) = select(all_cases(), [OLDER])
    return CaseResult(case=case, deviation=deviation, known=known, ending=Ending.DEVIATED, late=late)


@pytest.mark.parametrize(
    ("deviation", "listed_as", "verdict"),
    [
        (Verdict.FAIL, None, Verdict.KNOWN),
        (Verdict.LENIENT, None, Verdict.KNOWN),
        (Verdict.DIED, None, Verdict.DIED),
        (Verdict.UNDECIDED, None, Verdict.UNDECIDED),
        (Verdict.UNSUPPORTED, None, Verdict.UNSUPPORTED),
        (Verdict.DIED, Verdict.DIED, Verdict.KNOWN),
        (Verdict.FAIL, Verdict.DIED, Verdict.KNOWN),
        (Verdict.UNDECIDED, Verdict.UNDECIDED, Verdict.KNOWN),
        (Verdict.FAIL, Verdict.UNDECIDED, Verdict.FAIL),
        (Verdict.DIED, Verdict.UNDECIDED, Verdict.DIED),
        (Verdict.PASS, Verdict.DIED, Verdict.PASS),
    ],
)
def test_a_failure_of_another_kind_is_not_known(
    deviation: Verdict, listed_as: Verdict | None, verdict: Verdict
) -> None:
    assert result(deviation, KnownFailure(OLDER, verdict=listed_as)).verdict is verdict
    assert result(deviation, None).verdict is deviation
    assert result(deviation, KnownFailure(NEWER, verdict=listed_as)).verdict is deviation


def test_that_the_kit_was_late_is_known_only_if_somebody_says_so_by_hand(tmp_path: Path) -> None:
    said = KnownFailure(OLDER, verdict=Verdict.UNDECIDED)
    assert result(Verdict.UNDECIDED, said, late=True).verdict is Verdict.KNOWN
    path = tmp_path / "known.toml"
    written = added_to_known(path, {}, [result(Verdict.UNDECIDED, None, late=True)])
    assert tomllib.loads(written.text) == {}
    assert written.lines()[-1] == f"{path}: not written, since only the kit was late: {OLDER}"
    written = added_to_known(path, {}, [result(Verdict.UNDECIDED, None)])
    assert tomllib.loads(written.text)["known"][0]["verdict"] == "undecided"


@pytest.mark.usefixtures("every_heartbeat_is_fine")
def test_a_list_is_written_and_excuses_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "written.toml"
    first = run(tmp_path, "--write-known", str(path), OLDER, NEWER, STABLE)
    assert first.exit_code == 1
    assert f"{path}: 2 new, 0 kept as they were; fill in the reasons" in first.stderr
    assert [entry["id"] for entry in tomllib.loads(path.read_text())["known"]] == [OLDER, NEWER]
    seen = "expected Heartbeat answered with error ILLEGAL_GENERATION (22), where the leader asks (Stable, "
    assert f"# {seen}one dynamic member), got Heartbeat  NONE" in path.read_text()
    again = run(tmp_path, "--known", str(path), OLDER, NEWER, STABLE)
    assert again.exit_code == 0
    assert again.stdout.splitlines()[-1].startswith("conforms but for 2 known: ")


@pytest.mark.usefixtures("every_heartbeat_is_fine")
def test_what_a_list_says_already_is_kept(tmp_path: Path) -> None:
    before = ENTRY + f'[[known]]\nid = "{STABLE}"\nreason = "was so once"'  # without a last line end
    path = listed(tmp_path, before)
    outcome = run(tmp_path, "--known", path, "--write-known", path, OLDER, NEWER, STABLE)
    assert outcome.exit_code == 1
    assert Path(path).read_text().startswith(before + "\n")
    entries = {entry["id"]: entry for entry in tomllib.loads(Path(path).read_text())["known"]}
    assert set(entries) == {OLDER, NEWER, STABLE}
    assert entries[OLDER]["reason"] == "generations are not looked at"
    assert f"{path}: 1 new, 2 kept as they were; fill in the reasons" in outcome.stderr
    assert f"{path}: passing now, take them out: {STABLE}" in outcome.stderr
    assert [found.name for found in tmp_path.glob("known*")] == ["known.toml"]


@pytest.mark.usefixtures("every_heartbeat_is_fine")
def test_one_that_fails_in_another_way_now_is_named(tmp_path: Path) -> None:
    path = listed(tmp_path, ENTRY + 'verdict = "undecided"\n')
    outcome = run(tmp_path, "--known", path, "--write-known", path, OLDER)
    assert outcome.exit_code == 1
    assert f"not known so: {OLDER}: fail, known is undecided" in outcome.stdout
    assert f"{path}: fail in another way now, see to them: {OLDER}" in outcome.stderr


def test_a_list_that_cannot_be_written_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = run(tmp_path, "--write-known", str(tmp_path / "file" / "known.toml"), OLDER)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "name another file" in outcome.stderr
    broken = listed(tmp_path, "[[known]\n")
    outcome = run(tmp_path, "--write-known", broken, OLDER)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert Path(broken).read_text() == "[[known]\n"


def test_an_argument_that_is_a_file_lists_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text(f"# what we care for\n{OLDER}\n\n{STABLE}  # this too\n")
    Path("heartbeat").write_text("a file that is called as a part is; names come first\n")

    def ids(*arguments: str) -> list[str]:
        played = json.loads(run(tmp_path, "--json", *arguments).stdout)["cases"]
        return sorted(case["id"] for case in played)

    assert ids("mine.txt") == sorted([OLDER, STABLE])
    assert ids(listed(tmp_path), NEWER) == sorted([OLDER, NEWER])
    assert len(ids("heartbeat")) > 10


@pytest.mark.parametrize(
    ("text", "says"),
    [(f"{OLDER}\nheartbeat.nonsense\n", "mine.txt, line 2: no case"), ("# nothing\n", "lists no case")],
)
def test_a_file_of_ids_that_says_nothing_that_there_is(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(text)
    outcome = run(tmp_path, str(path))
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert says in outcome.stderr
