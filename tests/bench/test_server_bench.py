"""The benchmark of the server: what its clients count, what they refuse, and a ratio that falls is told.

Nothing here is timed: rounds are a moment long, and comparisons are of made-up figures.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from time import process_time, sleep

import pytest
from bench.server_page import TOLERANCE, Report, Row, as_json, changes, from_json, page

from bench import coordinator_growth, server, server_client, server_data, server_sides, server_starts
from rota.conformance.targets.ports import free_ports
from rota.coordinator import GroupCoordinator, OffsetRecord
from rota.log import LogOptions
from rota.server import DataDir, running
from rota.server.groups import GroupService
from rota.server.storage import Storage
from rota.wire import encode_response, frame

DOCS = Path(__file__).resolve().parents[2] / "docs"
NO_DELAY = {"group.initial.rebalance.delay.ms": 0}

with_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler for C")


def row(what: str = "fast", ours: float = 100.0, theirs: float = 50.0, more: bool = True) -> Row:
    return Row("heartbeats", what, "a second", more, (ours,) * 3, (theirs,) * 3, "Kafka", 0.8)


ROWS = (row(), row("slow", 30), row("short", 5, 10, more=False), replace(row("alone"), theirs=()))
REPORT = Report("a machine", 3, ROWS)


def test_the_committed_page_is_made_of_the_committed_figures() -> None:
    text = (DOCS / server.FILE).read_text(encoding="utf-8")
    assert as_json(from_json(text)) == text
    assert page(from_json(text)) == (DOCS / server.PAGE).read_text(encoding="utf-8")


def test_the_committed_figures_are_complete() -> None:
    """Every measurement that there is has its rows, and each has all its rounds."""
    report = from_json((DOCS / server.FILE).read_text(encoding="utf-8"))
    nobody = server_sides.Side("Kafka 4.4.0", "127.0.0.1:1", None)
    assert report.rounds == server.ROUNDS >= 5
    wanted = {}
    for section, measurements in server.MEASUREMENTS.items():
        for measurement in measurements(nobody, nobody, Path("client")):
            rounds = 1 if measurement.exact else report.rounds
            others = rounds if measurement.theirs else 0
            for figure in measurement.figures:
                wanted[section, figure.what, figure.unit] = (figure.wanted, rounds, others)
    assert {row.key: (row.wanted, len(row.ours), len(row.theirs)) for row in report.rows} == wanted


def test_a_ratio_above_one_is_better_whatever_is_counted() -> None:
    assert [each.ratio for each in ROWS] == [2, 0.6, 2, None]
    assert (
        Row("s", "w", "u", True, (1, 9, 2), (4, 1, 100), "Kafka").ratio == 0.5
    )  # medians: a bad round is no matter


def test_the_page_has_every_figure_and_says_how_it_was_measured() -> None:
    text = page(REPORT)
    assert "| fast | a second | 100 | 50 (Kafka) | 2.00 | 0.80 |" in text
    assert "| slow | a second | 30 | 50 (Kafka) | 0.60 | 0.80 |" in text
    assert "| alone | a second | 100 |  |  | 0.80 |" in text
    assert "median of 3 rounds" in text
    assert "a machine" in text


def test_the_file_is_read_as_it_was_written() -> None:
    assert from_json(as_json(REPORT)) == REPORT


@pytest.mark.parametrize(
    ("now", "fell"),
    [
        (ROWS, []),
        ((row(ours=100 * (1 - TOLERANCE) + 1), *ROWS[1:]), []),
        ((row(ours=100 * (1 - TOLERANCE) - 1), *ROWS[1:]), ["fast"]),
        ((*ROWS[:2], row("short", 7, 10, more=False), ROWS[3]), ["short"]),
        ((row(ours=1000), *ROWS[1:], row("new", 1)), []),
        (ROWS[1:], ["fast"]),
        ((replace(ROWS[0], theirs=()), *ROWS[1:]), ["fast"]),
    ],
)
def test_what_has_fallen(now: Sequence[Row], fell: list[str]) -> None:
    found = list(changes(ROWS, now, TOLERANCE))
    assert [change.row.what for change in found if change.fell] == fell
    assert {change.row.key for change in found} == {each.key for each in (*ROWS, *now)}
    assert all(("FELL" in change.line()) == change.fell for change in found)


Bench = Callable[..., int]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    """Runs the command with sides that are not there and these rows as measured."""

    @contextmanager
    def nobody() -> Iterator[server_sides.Side]:
        yield server_sides.Side("nobody", "127.0.0.1:1", None)

    def run(*words: str, rows: Sequence[Row] = ROWS) -> int:
        def measure(sections: Sequence[str], *sides: object) -> Iterator[Row]:
            return iter(() if sections == [server.ALONE] else rows)

        monkeypatch.setattr(server, "measure", measure)
        return server.main(["--docs", str(tmp_path), *words])

    monkeypatch.setattr(server, "rota", nobody)
    monkeypatch.setattr(server, "kafka", nobody)
    return run


def test_figures_are_compared_and_not_overwritten(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("--write") == 0
    file, text = (tmp_path / name for name in (server.FILE, server.PAGE))
    written = file.read_bytes(), text.read_bytes()
    assert bench() == 0
    capsys.readouterr()
    worse = (row(ours=10), *ROWS[1:])
    assert bench(rows=worse) == 1
    told = capsys.readouterr().out
    (line,) = [line for line in told.splitlines() if "FELL" in line]
    assert line.split()[-3:] == ["2.00", "0.20", "FELL"]
    assert "1 of 4 ratios fell by more than 20%" in told
    assert (file.read_bytes(), text.read_bytes()) == written
    assert bench("--tolerance", "0.95", rows=worse) == 0
    assert bench("--target", "127.0.0.1:1", rows=worse) == 0
    assert bench("--write", rows=worse) == 0
    assert from_json(file.read_text()).rows[0].ratio == 0.2
    assert "0.20" in text.read_text()


def test_one_section_leaves_the_others(bench: Bench, tmp_path: Path) -> None:
    other = replace(ROWS[0], section="rebalances", what="ten members")
    assert bench("--write", rows=(*ROWS, other)) == 0
    assert bench("--only", "rebalances", rows=(other,)) == 0
    assert bench("--only", "heartbeats", rows=(other,)) == 1
    better = replace(other, ours=(500.0,) * 3)
    assert bench("--only", "rebalances", "--write", rows=(better,)) == 0
    kept = from_json((tmp_path / server.FILE).read_text())
    assert kept.rows == (*ROWS, better)


def test_a_page_without_figures(bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--page") == 2
    assert "measure with --write" in capsys.readouterr().err
    assert bench("--write") == 0
    (tmp_path / server.PAGE).write_text("")
    assert bench("--page") == 0
    assert (tmp_path / server.PAGE).read_text() == page(from_json((tmp_path / server.FILE).read_text()))


def test_a_side_that_fails_is_undecided(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def broken() -> Iterator[server_sides.Side]:
        raise server.NotStarted("no Java found")
        yield

    monkeypatch.setattr(server, "kafka", broken)
    assert bench() == 3
    assert "no Java found" in capsys.readouterr().err


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS", 0.2)  # enough for an answer on a busy machine
    monkeypatch.setattr(server, "CONNECTIONS", (1, 2))
    monkeypatch.setattr(server, "MEMBERS", (1, 3))
    monkeypatch.setattr(server, "MANY", 5)
    monkeypatch.setattr(server, "MOST", 20)
    monkeypatch.setattr(server, "HOURS", 2)
    monkeypatch.setattr(server, "RECORDS", 2_000)
    monkeypatch.setattr(server, "COMMITS_UNDER_WAY", (2,))
    monkeypatch.setattr(coordinator_growth, "HEARTBEATS", 40)
    monkeypatch.setattr(coordinator_growth, "BEAT_MS", 20_000)


@with_compiler
@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_every_measurement_has_a_value_for_each_round_and_side() -> None:
    sections = [each for each in server.MEASUREMENTS if each != server.ALONE]
    with running(NO_DELAY) as ours, running(NO_DELAY) as theirs:
        sides = [server_sides.at(address, "rota") for address in (ours, theirs)]
        assert {side.pid for side in sides} == {os.getpid()}
        rows = list(server.measure(sections, *sides, rounds=2, warm_ups=1))
    assert {row.section for row in rows} == set(sections)
    assert len(rows) == 4 + 8 + 4 + 2 + 3 * 2 + 2 * 2 + 5 + 3
    exact = [row for row in rows if not row.theirs]
    assert {row.unit for row in exact} == {"bytes"}
    assert all(len(row.ours) == 1 for row in exact)
    assert all(len(side) == 2 for row in rows if row.theirs for side in (row.ours, row.theirs))
    certain = [row for row in rows if "processor" not in row.unit and "virtual" not in row.what]
    assert all(min(row.ours + row.theirs) > 0 for row in certain)
    assert {row.beside for row in rows if row.theirs} == {
        *("rota", "rota with 3"),
        *("wanted", "a group of ten", "ten groups"),
    }


def test_a_start_has_a_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """With servers in this process; the second is slow to start, which is told."""
    monkeypatch.setattr(server, "started", lambda: Here(0.0))
    monkeypatch.setattr(server, "OTHERS", {"a slow one": lambda: Here(0.5)})
    monkeypatch.setattr(server_starts, "cpu_seconds", lambda pid: float(pid == os.getpid()))
    rows = list(server.measured([server.ALONE], None))
    assert [(row.what, row.unit, row.beside) for row in rows] == [
        ("first answer", "s", "wanted"),
        ("until groups are coordinated, beside a slow one", "s", "a slow one"),
        ("processor until then, beside a slow one", "s", "a slow one"),
        ("memory then, beside a slow one", "MB", "a slow one"),
    ]
    first, beside, processor, memory = rows
    assert set(first.theirs) == {server.READY_SECONDS}
    assert min(beside.theirs) > 0.5
    assert min(beside.ours) > 0
    assert {*processor.ours, *processor.theirs} == {1.0}
    assert min(memory.ours) > 10


class Here:
    """rota in this process, so many seconds later."""

    def __init__(self, late: float) -> None:
        sleep(late)
        self._running = running(NO_DELAY)
        host, _, port = self._running.__enter__().rpartition(":")
        self.address = host, int(port)

    def post_mortem(self, grace: float) -> str | None:
        return None

    def stop(self) -> None:
        self._running.__exit__(None, None, None)


def test_an_answer_is_waited_for_and_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    monkeypatch.setattr(server_starts, "PATIENCE", 0.1)
    with pytest.raises(server.NotStarted, match=r"nothing listens after 0\.1 s"):
        server_starts.first_answer(("127.0.0.1", port))
    answer = frame(encode_response("ApiVersions", 0, {"error_code": 35, "api_keys": []}, 1))
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as pool:
        waiting = pool.submit(server_starts.first_answer, listening.getsockname())
        connection, _ = listening.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(answer)
            with pytest.raises(server.NotStarted, match="its first answer is an error"):
                waiting.result(10)


@pytest.mark.parametrize(
    ("commits_of", "kept"),
    [(server_data.all_alive, {f"group-{number}": 100 for number in range(4)}),
     (server_data.overtaken, {f"group-{number}": 1 for number in range(4)})],
)  # fmt: skip
def test_the_log_of_a_start_has_what_is_said(
    commits_of: Callable[[int], Iterable[Sequence[OffsetRecord]]], kept: dict[str, int], tmp_path: Path
) -> None:
    server_data.write_log(tmp_path / "data", commits_of(400), 4)
    storage = Storage.open(DataDir(str(tmp_path / "data")), 50, LogOptions())
    found = {group.group_id: group.offsets for group in storage.groups()}
    storage.close()
    assert {group_id: len(offsets) for group_id, offsets in found.items()} == kept
    last = {value.offset for offsets in found.values() for _, value in offsets}
    assert last == ({1} if commits_of is server_data.all_alive else {99})


def test_a_day_leaves_nothing_behind() -> None:
    """Three hours; what may be left is a level of the wheel."""
    assert coordinator_growth.grown(10, 3) < 8_000


def test_a_core_that_forgets_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: each commit's batch is kept for ever."""
    kept = []
    right = GroupCoordinator.offset_commit

    def keeping(self: GroupCoordinator, *arguments: object) -> object:
        kept.append(right(self, *arguments))  # type: ignore[arg-type]
        return kept[-1]

    monkeypatch.setattr(GroupCoordinator, "offset_commit", keeping)
    assert coordinator_growth.grown(10, 3) > 50_000


def test_memory_is_that_of_what_is_there() -> None:
    """Ten times the members take ten times the memory, more or less."""
    few, many = (coordinator_growth.held_by(lambda side, n=n: side.stable("g", n)) for n in (100, 1_000))  # type: ignore[misc]
    assert 5 * few < many < 15 * few


@pytest.mark.parametrize("client", ["Python", pytest.param("compiled", marks=with_compiler)])
def test_heartbeats_are_counted_and_an_error_among_them_ends_it(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    right = GroupService._heartbeat

    def counting(self: GroupService, *arguments: object) -> None:
        asked.append(1)
        right(self, *arguments)  # type: ignore[arg-type]

    def load(members: Sequence[server_client.Member]) -> tuple[int, float]:
        if client == "Python":
            return server_client.heartbeats(members, 4, 0.1)
        return server_client.heartbeats_compiled(server_client.compiled(tmp_path), members, 4, 0.1)

    monkeypatch.setattr(GroupService, "_heartbeat", counting)
    with running(NO_DELAY) as address, server_client.group(address, 2) as members:
        answers, seconds = load(members)
        assert seconds >= 0.1
        # One is asked for its answer beforehand; the compiled client ends with some under way.
        assert 0 <= len(asked) - 1 - answers <= 8
    codes = chain((0, 0, 0), repeat(27))
    monkeypatch.setattr(
        GroupService, "_heartbeat", lambda self, body, context: context.reply({"error_code": next(codes)})
    )
    with (
        running(NO_DELAY) as address,
        pytest.raises(server_client.Failed, match=r"another answer|heartbeat failed"),
        server_client.group(address, 2) as members,
    ):
        load(members)


def test_a_member_that_is_refused_ends_it() -> None:
    with (
        running(NO_DELAY | {"group.max.session.timeout.ms": 7000}) as address,
        pytest.raises(server_client.Failed, match="error 26 instead of 79"),
        server_client.group(address, 2),
    ):
        pass


def test_rota_is_started_as_its_users_do() -> None:
    with server_sides.rota() as side, server_client.group(side.address, 1) as members:
        assert server_client.heartbeats(members, 1, 0.01)[0] > 0
        assert side.pid == server_sides.listener(int(side.address.rpartition(":")[2]))
        assert side.cpu_seconds() > 0


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_client, "COMPILER", "no-such-compiler")
    with pytest.raises(server_client.Failed, match="install a compiler"):
        server_client.compiled(tmp_path)


def test_who_listens_and_what_it_costs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert server_sides.listener(listening.getsockname()[1]) == os.getpid()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        assert server_sides.listener(silent.getsockname()[1]) is None
    assert server_sides.cpu_seconds(os.getpid()) == pytest.approx(process_time(), abs=0.1)
    assert server_sides.Side("elsewhere", "x:1", None).cpu_seconds() == 0
