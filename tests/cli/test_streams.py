"""Standard output and error that are closed, full, of another encoding, or a terminal that obeys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.thinned import but, long, some
from rota.cli.streams import ascii_json, fitted
from rota.trace.model import SCHEMA

Rota = Callable[..., CompletedProcess[bytes]]

OFFICE = ("check", "--engine", "reference", "--system", "ticket_office:office")
STUCK = (*OFFICE, "--set", "fault=deadlock")

CALLS: dict[str, tuple[int, tuple[str, ...]]] = {
    "holds": (0, OFFICE),
    "violated": (1, STUCK),
    "undecided": (3, (*OFFICE, "--max-states", "1")),
    "json": (1, (*STUCK, "--json")),
    "simulate": (3, ("simulate", "--runs", "2", "--system", "ticket_office:office")),
    "design": (0, ("design", "server-side", "--configuration", "two", "--engine", "reference")),
    "prove": (0, ("prove", "voting.empty-list")),
    "conform": (0, ("conform", "--embedded", "heartbeat.unknown-member.no-group")),
    "rules": (0, ("rules",)),
    "mutants": (0, ("check", "--list-mutants")),
    "trace": (2, ("trace", "no-such-file")),
    "usage": (2, ("check", "--scope", "tinny")),
    "help": (0, ("--help",)),
    "nothing": (5, ("prove", "nothing.at-all")),
}
"""Calls of every verb with the exit code that each has where nothing is in the way."""


ALWAYS = ("violated",)
"""Calls that each test plays: what was found must never be lost."""


def every_verb(turn: int) -> pytest.MarkDecorator:
    """All of them, dealt out: each test plays a quarter of them in `make test`. turn: 0, 1 or 2."""
    calls = [pytest.param(*call, id=name) for name, call in CALLS.items()]
    return pytest.mark.parametrize(("code", "arguments"), some(calls, 4, first=turn, always=ALWAYS))


CLOSED = 'exec "$@" <&- >&- 2>&-'
UNREAD = '{ "$@"; echo $? >code; } | true'
FULL = '"$@" >/dev/full'
BOTH_FULL = '"$@" >/dev/full 2>&1'


@every_verb(0)
def test_closed_streams_change_nothing(rota: Rota, code: int, arguments: tuple[str, ...]) -> None:
    assert rota(*arguments, shell=CLOSED).returncode == code


@every_verb(1)
def test_a_reader_that_goes_away_changes_nothing(
    rota: Rota, tmp_path: Path, code: int, arguments: tuple[str, ...]
) -> None:
    told = rota(*arguments, shell=UNREAD)
    assert int((tmp_path / "code").read_text()) == code
    assert b"rror" not in told.stderr
    if arguments == STUCK:
        assert (tmp_path / "rota-out" / "trace-deadlock.jsonl").exists()


@every_verb(2)
def test_output_on_a_full_disk_is_told_and_never_another_verdict(
    rota: Rota, code: int, arguments: tuple[str, ...]
) -> None:
    told = rota(*arguments, shell=FULL)
    printed = code not in (2, 5)
    assert told.returncode == (code or 2)
    cause = b"rota: cannot write standard output: No space left on device; make room where it goes"
    assert (cause in told.stderr) == printed
    assert b"internal" not in told.stderr


@pytest.mark.parametrize("call", but(["json", "rules"], ["violated", "json", "rules", "nothing"]))
def test_where_nothing_can_be_told_the_exit_code_is(rota: Rota, call: str) -> None:
    code, arguments = CALLS[call]
    assert rota(*arguments, shell=BOTH_FULL).returncode == (code or 2)


def test_progress_that_cannot_be_shown_is_dropped(rota: Rota) -> None:
    told = rota(*STUCK, shell='"$@" 2>/dev/full')
    assert (told.returncode, told.stdout.splitlines()[-1][:9]) == (1, b"violated:")


HEADER: dict[str, Any] = {
    "schema": SCHEMA, "what": "rota-trace", "property": "p", "kind": "safety", "meaning": "Nothing is odd.",
    "source": "", "guards": [], "system": "toy", "factory": None, "settings": {}, "scope": None,
    "configuration": None, "profile": None, "mutant": None, "steps": 0,
    "start": [{"machine": "m", "value": "v", "hash": "0"}], "why": [],
}  # fmt: skip


def written(path: Path, **changes: Any) -> str:
    """A trace file of a state alone."""
    path.write_text(json.dumps(HEADER | changes) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("environment", "charset", "shown"),
    [
        long(({"PYTHONIOENCODING": "utf-8"}, "utf-8", "to → é €")),
        long(({"PYTHONIOENCODING": "ascii"}, "ascii", "to > \\u00e9 \\u20ac")),
        ({"PYTHONIOENCODING": "latin-1"}, "latin-1", "to > é \\u20ac"),
        long(({"PYTHONIOENCODING": "cp1252"}, "cp1252", "to > é €")),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "ascii", "to > \\u00e9 \\u20ac"),
    ],
)
def test_characters_that_an_encoding_lacks_are_replaced(
    rota: Rota, tmp_path: Path, environment: dict[str, str], charset: str, shown: str
) -> None:
    file = written(tmp_path / "odd", start=[{"machine": "m", "value": "to → é €", "hash": "0"}])
    told = rota("trace", file, **environment)
    assert (told.returncode, told.stderr) == (0, b"")
    assert f"     m  {shown}\n" in told.stdout.decode(charset)
    lines = rota("trace", file, "--as", "jsonl", **environment).stdout.decode(charset)
    assert json.loads(lines)["start"][0]["value"][3] in "→>"


def test_a_name_that_is_no_text_is_shown(rota: Rota, tmp_path: Path) -> None:
    told = rota("trace", "x", shell='cp x "$(printf "\\377")"; "$@" "$(printf "\\377")"')
    assert told.returncode == 2
    assert b"\\udcff" in told.stderr


EVIL = ("\x1b]0;owned\x07", "\x1b[2J", "\x9b2J", "\r", "\b", "\x7f", "\u202e", "\u2028", "\n", "\x1b[8m")


@pytest.mark.parametrize("name", but(["machine"], ["machine", "value"]))
def test_what_a_file_says_moves_no_cursor_and_adds_no_line(rota: Rota, tmp_path: Path, name: str) -> None:
    one = {"machine": "m", "value": "v", "hash": "0"}
    start = [{**one, name: f"a{evil}reproduced: p after 1 step"} for evil in EVIL]
    plain = rota("trace", written(tmp_path / "plain", start=[one] * len(EVIL)))
    told = rota("trace", written(tmp_path / "evil", start=start))
    assert told.returncode == plain.returncode == 0
    lines = told.stdout.decode().split("\n")
    assert len(lines) == len(plain.stdout.decode().split("\n"))
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("reproduced") for line in lines)


def test_a_property_of_several_lines_fakes_no_verdict(rota: Rota, tmp_path: Path) -> None:
    odd = "p\nreproduced: p after 1 step\x1b[2J"
    told = rota("trace", written(tmp_path / "odd", property=odd), "--replay")
    assert b"\x1b" not in told.stdout + told.stderr
    assert not any(line.startswith(b"reproduced") for line in (told.stdout + told.stderr).split(b"\n"))


def test_what_rota_sends_itself_passes() -> None:
    assert fitted("\x1b[32m\x1b[1mholds\x1b[0m", "utf-8") == "\x1b[32m\x1b[1mholds\x1b[0m"
    assert fitted("\r\x1b[Kcore: 5 states", "utf-8") == "\r\x1b[Kcore: 5 states"
    assert fitted("\t→\n", "utf-8") == "\t→\n"


def test_json_means_the_same_in_every_encoding() -> None:
    content = {"text": "→ é \U0001f600 \x1b \ud800"}
    text = json.dumps(content, ensure_ascii=False)
    assert ascii_json(text).isascii()
    assert json.loads(ascii_json(text)) == content
    assert json.loads(fitted(json.dumps({"c1": "\x9b", "bidi": "\u202e"}, ensure_ascii=False), "utf-8")) == {
        "c1": "\x9b",
        "bidi": "\u202e",
    }


def test_json_of_a_dialogue_keeps_its_marks(rota: Rota) -> None:
    call = ("conform", "--embedded", "heartbeat.unknown-member.no-group", "--json")
    told = rota(*call, PYTHONIOENCODING="latin-1")
    assert "→" in "".join(json.loads(told.stdout)["cases"][0]["dialogue"])
