"""`rota trace --show`: a table of values along a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ticket_office import office

from rota.cli import trace_show
from rota.cli.main import main
from rota.explore.reference import explore
from rota.trace import Trace, dumps, record
from rota.trace.along import Column

TRUST = ("--system", "ticket_office:office")
Invoke = Callable[..., Result]


def found(fault: str) -> Trace:
    system = office(fault=fault)
    violation = explore(system).violation
    assert violation is not None
    return record(system, violation.name, violation.start, violation.path)


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    Path("t.jsonl").write_text(dumps(found("office.counts-up")), encoding="utf-8")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["trace", "t.jsonl", *arguments])

    return run


def test_a_line_per_state_and_changes_marked(invoke: Invoke) -> None:
    result = invoke("--show", "office.last", "--show", "len(office.holders)", *TRUST)
    assert result.exit_code == 0
    rows = [line.rstrip() for line in result.stdout.splitlines()]
    assert rows[0] == " step    office.last    len(office.holders)"
    assert rows[1] == "start    0              0"
    assert rows[2].startswith("    1  * 1            * 1                     p")
    assert rows[2].endswith(" asks for a ticket")
    assert rows[4] == "    3  * 1              2                     the office turns its counter back"
    assert rows[-1] == "a value that is not what it was one step before is marked *"


def test_what_is_nowhere_is_named(invoke: Invoke) -> None:
    result = invoke("--show", "office.last.digits", *TRUST)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (
        0,
        "office.last.digits is nowhere along this trace",
    )


def test_mistakes_are_told_as_by_reach(invoke: Invoke) -> None:
    misspelt = invoke("--show", "office.lst", *TRUST)
    assert (misspelt.exit_code, misspelt.stdout) == (2, "")
    assert misspelt.stderr == "rota: --show office has no lst; it has last, holders, late\n"
    untrusted = invoke("--show", "office.last")
    assert (untrusted.exit_code, untrusted.stdout) == (2, "")
    assert "allow that with --system ticket_office:office" in untrusted.stderr


def test_a_trace_that_is_not_reproduced_has_no_values(invoke: Invoke) -> None:
    Path("t.jsonl").write_text(dumps(found("tickets.differ")).replace('"last"', '"lost"'), encoding="utf-8")
    result = invoke("--show", "office.last", *TRUST)
    assert result.exit_code == 1
    assert result.stdout.startswith("differs: tickets.differ is not reproduced; ")


def test_columns_that_do_not_fit_are_below_each_other() -> None:
    trace = found("office.counts-up")
    wide = [Column(name * 60, ("x",) * 4) for name in "ab"]
    assert [line for line in trace_show.lines(trace, wide) if line.startswith(" step")] == [
        f" step    {'a' * 60}",
        f" step    {'b' * 60}",
    ]
    long = Column("long", ("short", "word " * 40, "", "\x1b[31mred"))
    told = list(trace_show.lines(trace, [long]))
    assert max(map(len, told)) <= 110
    assert told[:2] == ["long", "start    short"]
    assert "    3  * \\u001b[31mred" in told


def test_where_an_endless_run_comes_back_is_marked() -> None:
    trace = replace(found("office.counts-up"), cycle=1)
    told = list(trace_show.lines(trace, [Column("a", ("1", "2", "3", "4"))]))
    assert told.index("       from here it repeats") == 4
