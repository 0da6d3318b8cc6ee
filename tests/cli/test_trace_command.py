"""`rota trace`: show, convert, replay, and what a broken file says."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli import trace as trace_command
from rota.cli import trace_forms
from rota.cli.main import main
from rota.cli.trace_forms import FORMS, Form
from rota.trace import Run, Trace, dumps, read, text

TOYS = Path(__file__).parents[1] / "systems"
TRUST = ("--system", "ticket_office:office")

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.setenv("PYTHONPATH", "")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["trace", *arguments])

    return run


@pytest.fixture
def file(invoke: Invoke, tmp_path: Path) -> Path:
    arguments = ["check", *TRUST, "--set", "fault=tickets.differ", "--engine", "reference", "--quiet"]
    assert CliRunner().invoke(main, arguments).exit_code == 1
    return tmp_path / "rota-out" / "trace-tickets.differ.jsonl"


def test_a_file_is_shown_as_text_or_as_it_is(invoke: Invoke, file: Path) -> None:
    told = read(file.read_text(encoding="utf-8"))
    shown = invoke(str(file))
    assert (shown.exit_code, shown.stdout) == (0, text(told))
    assert shown.stdout == file.with_suffix(".txt").read_text(encoding="utf-8")
    same = invoke(str(file), "--as", "jsonl")
    assert (same.exit_code, same.stdout) == (0, file.read_text(encoding="utf-8"))
    assert dumps(told) == same.stdout


def test_showing_runs_no_code(invoke: Invoke, file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    header = {**json.loads(lines[0]), "factory": "no_such_module:f"}
    file.write_text("\n".join([json.dumps(header), *lines[1:]]), encoding="utf-8")
    assert invoke(str(file)).exit_code == 0
    assert invoke(str(file), "--replay").exit_code == 2


def test_a_true_trace_is_reproduced(invoke: Invoke, file: Path) -> None:
    result = invoke(str(file), "--replay", *TRUST)
    assert (result.exit_code, result.stdout) == (0, "reproduced: tickets.differ after 2 steps\n")


def test_a_trace_of_another_system_differs(invoke: Invoke, file: Path) -> None:
    changed = file.read_text(encoding="utf-8").replace('"fault":"tickets.differ"', '"fault":""')
    file.write_text(changed, encoding="utf-8")
    result = invoke(str(file), "--replay", *TRUST)
    assert result.exit_code == 1
    assert result.stdout.startswith("differs: tickets.differ is not reproduced; step 2: ")
    assert result.stdout.count("\n") == 1


def test_settings_that_build_nothing_are_told_in_one_line(invoke: Invoke, file: Path) -> None:
    changed = file.read_text(encoding="utf-8").replace('"people":2', '"poeple":2')
    file.write_text(changed, encoding="utf-8")
    result = invoke(str(file), "--replay", *TRUST)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "cannot build the system of this trace (TypeError: " in result.stderr


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "line 1: the file is empty"),
        (b"hello\n", "line 1: this is not JSON"),
        (b"{}\n", "line 1: the header of a trace is due here"),
        (b"\xff\xfe", "byte 0 is no UTF-8"),
    ],
)
def test_a_file_that_is_no_trace_is_told_in_one_line(
    invoke: Invoke, tmp_path: Path, content: bytes, cause: str
) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    for more in ((), ("--replay",)):
        result = invoke("x.jsonl", *more)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith("rota: x.jsonl")
        assert cause in result.stderr


def test_a_file_cut_short_names_its_last_line(invoke: Invoke, file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    result = invoke(str(file))
    assert result.exit_code == 2
    assert "line 2: the file ends after 1 of the 2 steps" in result.stderr


def test_a_file_that_is_not_there_is_told(invoke: Invoke, tmp_path: Path) -> None:
    for path in ("nowhere.jsonl", str(tmp_path)):
        result = invoke(path)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert f"cannot read {path}: " in result.stderr


# ---- the forms


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a form of which only the states count."""

    def make(name: str, **how: bool) -> None:
        form = Form(f"{__name__}:told", ".told", **how)
        monkeypatch.setattr(trace_forms, "FORMS", {**FORMS, name: form})

    return make


def told(trace: Trace, run: Run | None) -> str:
    return f"{trace.property_name} of {0 if run is None else len(run.states)} states"


def test_a_form_gets_the_states_of_a_system_that_may_run(
    invoke: Invoke, file: Path, fake: Callable[..., None]
) -> None:
    fake("jsonl", states=True)
    trusted = invoke(str(file), "--as", "jsonl", *TRUST)
    assert (trusted.stdout, trusted.stderr) == ("tickets.differ of 3 states\n", "")
    without = invoke(str(file), "--as", "jsonl")
    assert (without.exit_code, without.stdout) == (0, "tickets.differ of 0 states\n")
    assert without.stderr.startswith("rota: shown without its states: the trace wants ticket_office:office")
    assert without.stderr.endswith("allow that with --system ticket_office:office\n")


def test_a_form_that_needs_the_states_says_so(invoke: Invoke, file: Path, fake: Callable[..., None]) -> None:
    fake("jsonl", states=True, needed=True)
    refused = invoke(str(file), "--as", "jsonl")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("rota: --as jsonl needs the states of the run: the trace wants")


def test_a_run_that_the_system_does_not_have_gives_no_states(
    invoke: Invoke, file: Path, fake: Callable[..., None]
) -> None:
    fake("jsonl", states=True)
    changed = file.read_text(encoding="utf-8").replace('"fault":"tickets.differ"', '"fault":""')
    file.write_text(changed, encoding="utf-8")
    without = invoke(str(file), "--as", "jsonl", *TRUST)
    assert (without.exit_code, without.stdout) == (0, "tickets.differ of 0 states\n")
    assert "the system does not do what the trace says (step 2: " in without.stderr


def test_a_form_goes_to_a_file(invoke: Invoke, file: Path, tmp_path: Path) -> None:
    result = invoke(str(file), "--as", "text", "--out", "deep/shown.txt")
    assert (result.exit_code, result.stdout) == (0, "text: deep/shown.txt\n")
    assert (tmp_path / "deep" / "shown.txt").read_text(encoding="utf-8") == text(read(file.read_text()))
    (tmp_path / "stray").write_text("", encoding="utf-8")
    for out in ("stray/x.txt", str(tmp_path)):
        assert invoke(str(file), "--out", out).exit_code == 2


def test_a_trace_is_not_overwritten_by_what_it_is_shown_as(invoke: Invoke, file: Path) -> None:
    before = file.read_bytes()
    result = invoke(str(file), "--out", str(file))
    assert (result.exit_code, file.read_bytes()) == (2, before)
    assert "is the trace itself; name another file" in result.stderr


def test_a_page_goes_beside_the_trace_where_a_person_looks(
    invoke: Invoke, file: Path, fake: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("html")
    assert invoke(str(file), "--as", "html").stdout == "tickets.differ of 0 states\n"
    monkeypatch.setattr(trace_command, "_to_a_terminal", lambda: True)
    result = invoke(str(file), "--as", "html")
    assert result.stdout == f"html: {file.with_suffix('.html')}\n"
    assert file.with_suffix(".html").read_text(encoding="utf-8") == "tickets.differ of 0 states\n"


def test_a_form_of_a_package_that_is_not_there_is_told(
    invoke: Invoke, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_forms, "FORMS", {**FORMS, "svg": Form("rota.nowhere:svg", ".svg")})
    result = invoke(str(file), "--as", "svg")
    assert result.exit_code == 4
    assert "--as svg` is not part of this installation (rota.nowhere is missing)" in result.stderr


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_there(name: str) -> None:
    module, _, function = FORMS[name].function.partition(":")
    assert callable(getattr(import_module(module), function))


def test_a_violation_names_the_command_that_makes_its_page(invoke: Invoke, file: Path) -> None:
    arguments = ["check", *TRUST, "--set", "fault=tickets.differ", "--engine", "reference"]
    told = CliRunner().invoke(main, arguments).stdout
    page = next(line for line in told.splitlines() if line.startswith("page:"))
    assert page == "page:   rota trace rota-out/trace-tickets.differ.jsonl --as html " + " ".join(TRUST)


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (("--replay", "--show", "office.last"), "--replay and --show are two questions; ask one at a time"),
        (
            ("--show", "office.last", "--set", "people=3"),
            "--show and --profile, --mutant, --without-mutant or",
        ),
        (("--play", "--replay"), "--replay and --play are two questions"),
        (("--replay", "--as", "svg"), "--as is for showing the trace, and --replay asks it; leave one out"),
        (("--replay", "--out", "x.txt"), "--out is for showing the trace"),
    ],
)
def test_one_question_is_asked_at_a_time(
    invoke: Invoke, file: Path, arguments: tuple[str, ...], cause: str
) -> None:
    result = invoke(str(file), *arguments, *TRUST)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert cause in result.stderr


def test_a_page_has_the_other_forms_to_copy(invoke: Invoke, file: Path) -> None:
    page = invoke(str(file), "--as", "html", *TRUST).stdout
    assert "def test_tickets_differ(system: SystemRef = SYSTEM)" in page
    assert ">a regression test<" in page
    assert ">a conformance case<" not in page
    assert ">a regression test<" not in invoke(str(file), "--as", "html").stdout
