"""What is printed follows the terminal's width; into a pipe it is always the same."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from click import unstyle

from harness.thinned import but
from rota.report import format as layout
from rota.report.check_text import RunTable
from rota.report.format import coloured, reflowed, width, wrapped
from rota.report.live_line import LiveLine
from rota.report.simulate import WalkTable
from rota.report.table import Column, Table, names
from rota.trace import read, text

TOYS = Path(__file__).parents[1] / "systems"
CHECK = ("check", "--engine", "reference", "--scope", "tiny")

CALLS = {
    "holds": (*CHECK, "--configuration", "core", "--configuration", "leave"),
    "violated": (*CHECK, "--configuration", "leave", "--mutant", "leader-not-replaced"),
    "simulate": ("simulate", "--scope", "tiny", "--configuration", "core", "--runs", "2"),
    "design": ("design", "server-side", "--configuration", "two", "--engine", "reference"),
    "prove": ("prove", "voting.vote-is-unique", "-v", "--workers", "1"),
    "obligations": ("prove", "voting", "--list"),
    "conform": ("conform", "--embedded", "heartbeat.unknown-member.no-group"),
    "cases": ("conform", "--list", "sync"),
    "case": ("conform", "--show", "sync.unknown-member.stranger"),
    "rule": ("rules", "join.leader"),
    "rules": ("rules", "voting"),
    "matrix": ("rules", "voting", "--matrix"),
    "mutants": ("check", "--list-mutants"),
    "help": ("--help",),
    "help of a verb": ("check", "--help"),
}

COPIED = re.compile(r"(trace|replay|page|report): |rota \d|  +again |  rota [a-z]")
"""Lines with a path or a command, which is to be copied as it is."""


def on_terminal(columns: int, folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Exit code, and lines on a terminal of so many columns, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "rota", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**known, "TERM": "xterm", "PYTHONPATH": str(TOYS)},
    )
    os.close(theirs)
    seen = b""
    while part := _more(ours):
        seen += part
    os.close(ours)
    shown = re.sub("\x1b\\[[0-9;]*[mK]", "", seen.decode())
    return process.wait(), shown.replace("\r", "").splitlines()


def _more(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # nobody writes to it any more
        return b""


def too_long(lines: list[str], columns: int) -> list[str]:
    """Lines that words would have allowed to be shorter. The last one is the verdict, which is one line."""
    return [
        line
        for line in lines[:-1]
        if len(line) > columns and not COPIED.match(line) and len(line.split()) > 1
    ]


WIDTHS = [
    *(pytest.param(call, 60, id=name) for name, call in CALLS.items()),
    pytest.param(CALLS["violated"], 80, id="violated, wider"),
    pytest.param(CALLS["help of a verb"], 80, id="help, wider"),
]


LIKE_OTHERS = (
    *("holds", "violated, wider", "prove", "conform", "rules", "cases", "case", "rule"),
    *("mutants", "help of a verb"),
)
"""Of each verb another is played always, or it is said in the same tables as those of another."""


@pytest.mark.parametrize(
    ("arguments", "columns"),
    but(LIKE_OTHERS, WIDTHS),
)
def test_lines_fit_the_terminal(tmp_path: Path, arguments: tuple[str, ...], columns: int) -> None:
    code, lines = on_terminal(columns, tmp_path, *arguments)
    assert code in (0, 1, 3)
    assert too_long(lines, columns) == []
    assert len(lines) > 1


Rota = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_into_a_pipe_it_is_the_same_whatever_the_terminal_is(rota: Rota) -> None:
    told = [rota("rules", "voting", **environment).stdout for environment in ({}, {"COLUMNS": "60"})]
    assert told[0] == told[1]
    assert 80 < max(len(line) for line in told[0].decode().splitlines()) <= 110


def test_a_narrow_terminal_changes_no_verdict_and_no_file(tmp_path: Path) -> None:
    """And what is told of the trace afterwards is as wide as the page."""
    made = {}
    for columns in (60, 110):
        code, lines = on_terminal(columns, tmp_path, *CALLS["violated"], "--out", f"o{columns}")
        trace = (tmp_path / f"o{columns}" / "trace-join.leader-is-a-member.txt").read_bytes()
        made[columns] = (code, lines[-1].partition(" (")[0], trace)
    assert made[60] == made[110]
    _is_as_wide_as_the_page(tmp_path / "o60" / "trace-join.leader-is-a-member.jsonl")


def _is_as_wide_as_the_page(path: Path) -> None:
    """What is told of a trace."""
    trace = read(path.read_text(encoding="utf-8"))
    for page in (60, 80, 110):
        assert too_long([*text(trace, page).splitlines(), ""], page) == []
    assert text(trace) == text(trace, layout.WIDTH)


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Says how wide the terminal is."""

    def set_to(number: int) -> None:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(number))

    return set_to


@pytest.mark.parametrize(("terminal", "lines"), [(20, 60), (60, 60), (99, 99), (110, 110), (300, 110)])
def test_the_width_is_that_of_the_terminal_within_bounds(
    columns: Callable[[int], None], terminal: int, lines: int
) -> None:
    assert width() == 110
    columns(terminal)
    assert width() == lines


def test_words_that_have_no_room_beside_their_head_come_below_it() -> None:
    head, words = f"  {'name':<38}  ", "a sentence that is somewhat longer than that"
    assert wrapped(head, words, 110) == head + words
    assert wrapped(head, words, 60).splitlines() == ["  name", f"{'':10}{words}"]
    assert wrapped(head, "short", 60) == f"{head}short"
    assert wrapped("  \x1b[32mhead\x1b[0m ", "words " * 20, 60).splitlines()[1].startswith(" " * 7 + "words")


def test_columns_that_have_no_room_are_left_out_in_order(columns: Callable[[int], None]) -> None:
    table = [Column("a", 30, left=True, gap=0), Column("b", 20), Column("c", 20), Column("d", 6, gap=2)]
    assert unstyle(Table(table, ["c", "b"]).head()).split() == ["a", "b", "c", "d"]
    columns(70)
    assert unstyle(Table(table, ["c", "b"]).head()).split() == ["a", "b", "d"]
    columns(60)
    assert Table(table, ["c", "b"]).row(dict.fromkeys("abcd", "x")) == f"x{'':29}{'':20}x{'':7}x"[:60]
    assert len(unstyle(Table(table, ["c", "b"]).head())) <= 60


@pytest.mark.parametrize("table", [RunTable, WalkTable])
def test_verdict_and_name_are_never_left_out(
    columns: Callable[[int], None], table: type[RunTable] | type[WalkTable]
) -> None:
    columns(60)
    titles = unstyle(table(["fault-leave-and-rejoin"]).head())
    assert titles.split()[:2] == ["configuration", "verdict"]
    assert len(titles) <= 60


def test_words_of_a_table_go_on_below_themselves(columns: Callable[[int], None]) -> None:
    table = Table([names("name", ["a", "bb"], gap=0), Column("meaning", left=True, gap=2, words=True)])
    columns(60)
    row = table.row({"name": "a", "meaning": "word " * 20})
    assert [line[:7] for line in row.splitlines()] == ["a     w", "      w"]
    assert max(map(len, row.splitlines())) <= 60


def test_colours_take_no_room_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = Table([Column("verdict", 9, left=True, gap=0), Column("states", 7)])
    row = table.row({"verdict": coloured("holds", "holds"), "states": "12"})
    assert row != unstyle(row) == f"{'holds':<9}{'12':>8}"
    monkeypatch.setenv("NO_COLOR", "1")
    assert table.row({"verdict": coloured("holds", "holds"), "states": "12"}) == unstyle(row)
    assert table.head() == unstyle(table.head())


def test_paragraphs_are_broken_anew_only_where_they_are_too_wide(columns: Callable[[int], None]) -> None:
    paragraphs = f"short\nlines\n\n{'word ' * 15}"
    assert list(reflowed("  ", paragraphs))[:3] == ["  short", "  lines", ""]
    columns(60)
    assert max(map(len, reflowed("  ", paragraphs))) <= 60
    assert list(reflowed("  ", paragraphs))[:2] == ["  short", "  lines"]


def test_a_live_line_fits_the_terminal_that_it_is_on() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 66, 0, 0))
    clock = iter((0.0, 9.0))
    with open(theirs, "w", encoding="utf-8") as terminal:
        LiveLine(terminal, clock=lambda: next(clock)).show(lambda: "x" * 500)
        assert len(os.read(ours, 1000).decode().removeprefix("\r\x1b[K")) == 65
    os.close(ours)
