"""What verbs write: when all is said, whole or not at all, and never instead of a verdict."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_IMODE

import pytest
from click.testing import CliRunner, Result

from harness.thinned import long
from rota.cli.main import main
from rota.report import writing
from rota.report.writing import CannotWrite, try_out, write

TOYS = Path(__file__).parents[1] / "systems"
OFFICE = ("check", "--engine", "reference", "--system", "ticket_office:office")
STUCK = (*OFFICE, "--set", "fault=deadlock")
STUCK_WALKS = ("simulate", "--runs", "2", *STUCK[3:])
DESIGN = ("design", "watchers", "--configuration", "lag", "--engine", "reference")
CASE = "heartbeat.unknown-member.no-group"

WRITERS: dict[str, tuple[int, str, tuple[str, ...], int]] = {
    "holds": (0, "holds: ", OFFICE, 1),
    "violated": (1, "violated: ", STUCK, 3),
    "undecided": (3, "undecided: ", (*OFFICE, "--max-states", "1"), 1),
    "json": (1, "}", (*STUCK, "--json"), 3),
    "simulate": (1, "violated: ", STUCK_WALKS, 3),
    "design": (1, "violated: ", DESIGN, 3),
    "prove": (0, "holds: ", ("prove", "voting.empty-list", "--workers", "1"), 1),
    "conform": (0, "conforms: ", ("conform", "--embedded", CASE), 2),
}
"""By name: the exit code where every file can be written, how the last line begins, the call, its files."""

every_writer = pytest.mark.parametrize(("code", "last", "arguments", "files"), WRITERS.values(), ids=WRITERS)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


Planted = dict[Path, str]
Rota = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Planted:
    """A disk on which nothing fits: what should have been written, and the last line printed until then."""
    tried: Planted = {}

    def planted(path: Path, content: bytes) -> None:
        tried[path] = sys.stdout.buffer.getvalue().decode().splitlines()[-1]  # type: ignore[attr-defined]
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing, "_replace", planted)
    return tried


@every_writer
def test_on_a_full_disk_the_verdict_is_printed_first_and_stays(
    full: Planted, code: int, last: str, arguments: tuple[str, ...], files: int
) -> None:
    told = invoke(*arguments)
    assert told.exit_code == (code or 2)
    assert len(full) == files
    assert all(line.startswith(last) for line in full.values())
    for path in full:
        cause = f"rota: cannot write {path.relative_to(Path.cwd())}: No space left on device; make room"
        assert cause in told.stderr
    assert "internal" not in told.output
    if "--json" in arguments:
        assert json.loads(told.stdout)["verdict"] == "violated"
    if last == "violated: ":
        assert " is violated after " in told.stdout
    assert not list(Path("rota-out").iterdir())


@every_writer
def test_where_nothing_can_be_written_no_work_begins(
    code: int, last: str, arguments: tuple[str, ...], files: int
) -> None:
    Path("taken").write_text("")
    told = invoke(*arguments, "--out", "taken/deep")
    assert (told.exit_code, told.stdout, told.stderr.count("\n")) == (2, "", 1)
    assert told.stderr.startswith("rota: cannot write taken/deep/")
    assert "; " in told.stderr


@every_writer
def test_on_a_read_only_disk_no_work_begins(
    monkeypatch: pytest.MonkeyPatch, code: int, last: str, arguments: tuple[str, ...], files: int
) -> None:
    def planted(path: Path) -> Path:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(writing, "_half", planted)
    told = invoke(*arguments)
    assert (told.exit_code, told.stdout, told.stderr.count("\n")) == (2, "", 1)
    assert ": Read-only file system; " in told.stderr


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("conform", "--embedded", CASE, "--report", "json=taken/x"), "taken/x"),
        (("conform", "--embedded", CASE, "--report", "md=ok.md", "--report", "junit=folder"), "folder"),
        (("conform", "--diff", "rota", "rota", CASE, "--out", "taken/x"), "taken/x/diff-rota-rota.txt"),
        (("prove", "voting.empty-list", "--smt2", "taken/x"), "taken/x/voting.empty-list.smt2"),
        (("serve", "--port-file", "taken/x"), "taken/x"),
    ],
)
def test_a_path_that_cannot_be_is_named(arguments: tuple[str, ...], path: str) -> None:
    Path("taken").write_text("")
    Path("folder").mkdir()
    told = invoke(*arguments)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith(f"rota: cannot write {path}: ")
    assert sorted(path.name for path in Path().iterdir()) == ["folder", "taken"]


def test_what_is_violated_stays_so_when_the_disk_is_full_for_the_next_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rota.cli import checking
    from rota.cli.exploration import Exploration, explored

    calls = []

    def second_fails(*given: object) -> Exploration:
        calls.append(given)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", "states-000001")
        return explored(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(checking, "explored", second_fails)
    two = ("--configuration", "leave", "--configuration", "core")
    told = invoke(
        "check", "--scope", "tiny", "--mutant", "leader-not-replaced", *two, "--engine", "reference"
    )
    assert len(calls) == 2
    assert told.exit_code == 1
    assert told.stdout.splitlines()[-1].startswith("violated: join.leader-is-a-member")
    assert "rota: states-000001: No space left on device; make room" in told.stderr
    report = json.loads(Path("rota-out", "check.json").read_text())
    assert (report["verdict"], len(report["runs"])) == ("violated", 1)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EAGAIN, errno.EFBIG])
def test_what_the_machine_refuses_leaves_it_undecided(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(*given: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("rota.cli.checking.explored", refused)
    told = invoke(*OFFICE)
    assert told.exit_code == 3
    assert told.stderr.startswith(f"rota: {os.strerror(number)}; ")


# ---- the one way to write a file


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (Path, "chmod"), (Path, "replace")])
def test_what_fails_leaves_what_was_there(monkeypatch: pytest.MonkeyPatch, owner: object, step: str) -> None:
    def fail(*given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    Path("report").write_bytes(b"old")
    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(CannotWrite, match="cannot write report: No space left on device"):
        write(Path("report"), "new")
    assert [path.name for path in Path().iterdir()] == ["report"]
    assert Path("report").read_bytes() == b"old"


@pytest.mark.parametrize(("arguments", "code"), [long((OFFICE, 2)), (STUCK, 1)])
def test_a_limit_of_the_system_is_no_other_verdict(rota: Rota, arguments: tuple[str, ...], code: int) -> None:
    told = rota(*arguments, shell='ulimit -f 0; "$@"')
    assert told.returncode == code
    assert b"rota: cannot write rota-out/check.json: File too large; " in told.stderr
    assert told.stdout.splitlines()[-1].startswith(b"violated: " if code == 1 else b"holds: ")
    assert not list(Path("rota-out").iterdir())


def test_a_link_stays_a_link_and_a_file_keeps_who_may_read_it() -> None:
    Path("real").write_text("old")
    Path("real").chmod(0o640)
    Path("link").symlink_to("real")
    write(Path("link"), "new")
    assert Path("link").is_symlink()
    assert (Path("real").read_text(), S_IMODE(Path("real").stat().st_mode)) == ("new", 0o640)


def test_a_device_is_written_to_and_not_replaced() -> None:
    os.mkfifo("pipe")
    try_out(Path("pipe"))
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) as reader:
        write(Path("pipe"), "text")
        assert reader.communicate()[0] == b"text"
    assert Path("pipe").is_fifo()
    with pytest.raises(CannotWrite, match="cannot write /dev/full: No space left on device"):
        write(Path("/dev/full"), "text")
    assert Path("/dev/full").is_char_device()


def test_standard_output_can_be_a_report(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "rota", "conform", "--embedded", CASE, "--quiet", "--report"]
    told = subprocess.run([*call, "json=/dev/stdout"], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout.partition("\n")[2])["verdict"] == "conforms"


def test_trying_out_leaves_only_the_folder() -> None:
    try_out(Path("deep", "er", "report.json"))
    assert [path.name for path in Path("deep").iterdir()] == ["er"]
    assert not list(Path("deep", "er").iterdir())


def test_a_folder_that_goes_away_meanwhile_is_made_again() -> None:
    write(Path("gone", "report.json"), "{}")
    assert Path("gone", "report.json").read_text() == "{}"


def test_a_long_text_is_written_piece_by_piece() -> None:
    path = Path("long")
    write(path, (f"{number}\n" for number in range(3)))
    assert path.read_text() == "0\n1\n2\n"

    def broken() -> Iterator[str]:
        yield "half"
        raise MemoryError

    with pytest.raises(MemoryError):
        write(path, broken())
    assert path.read_text() == "0\n1\n2\n"
    assert [one.name for one in Path().iterdir()] == ["long"]
    seen: list[int] = []

    def pieces() -> Iterator[str]:
        for _ in range(100):
            seen.append(sum(one.stat().st_size for one in Path().iterdir() if one != path))
            yield "a line\n" * 10_000

    write(path, pieces())
    assert seen[-1] > 90 * 70_000, "what was told before is in the file, and not in memory"


def test_what_is_no_character_can_be_read_again() -> None:
    write(Path("odd.json"), json.dumps("\ud800", ensure_ascii=False))
    assert json.loads(Path("odd.json").read_bytes()) == "\ud800"


WRITER = """
import json, sys
from pathlib import Path
from rota.report.writing import write
for number in range(300):
    write(Path("report.json"), json.dumps([sys.argv[1]] * int(sys.argv[2])))
"""


def test_two_who_write_one_file_leave_it_whole_at_every_moment() -> None:
    sizes = {"a": 20_000, "b": 10}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name, str(size)]) for name, size in sizes.items()
    ]
    seen = set()
    for content in while_any_runs(writers):
        seen.add((content[0], len(content)))
        assert content == [content[0]] * sizes[content[0]]
    assert seen == set(sizes.items())
    assert [path.name for path in Path().iterdir()] == ["report.json"]


def while_any_runs(processes: list[subprocess.Popen[bytes]]) -> Iterator[list[str]]:
    """What is in the file, again and again."""
    while any(process.poll() is None for process in processes):
        if Path("report.json").exists():
            yield json.loads(Path("report.json").read_text())
    assert [process.wait() for process in processes] == [0, 0]


def test_two_runs_in_one_folder_leave_whole_files_of_one_of_them(rota: Rota) -> None:
    names = ("deadlock", "tickets.differ")
    first, second = (f'"$@" --set fault={name} & ' for name in names)
    rota(*OFFICE, shell=f"{first}{second}wait")
    assert json.loads(Path("rota-out", "check.json").read_text())["violation"]["property"] in names
    left = sorted(path.name for path in Path("rota-out").iterdir())
    assert left == sorted(
        ["check.json", *(f"trace-{name}.{end}" for name in names for end in ("jsonl", "txt"))]
    )
    for name in names:
        told = rota("trace", f"rota-out/trace-{name}.jsonl", "--replay", "--system", "ticket_office:office")
        assert told.returncode == 0, told.stderr
