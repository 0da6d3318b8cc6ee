"""`rota record` as people run it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.scripted_broker import Client
from rota.history import Kind, conversations, event_of
from rota.reading import Tally, read
from rota.server import running
from rota.wire import decode_response

ROTA = (sys.executable, "-m", "rota.cli", "record")
PATIENCE = 300.0


@contextlib.contextmanager
def recording(
    folder: Path, *options: str, broker: contextlib.ExitStack | None = None
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The verb in front of rota's own server, and the port where clients begin.

    broker: ends the server when it is closed.
    """
    port_file = folder / "port"
    with contextlib.ExitStack() as stack:
        address = (broker or stack).enter_context(running({}))
        command = (*ROTA, "--target", address, "--port-file", str(port_file), *options)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            until = time.monotonic() + PATIENCE
            while not port_file.exists() or not port_file.read_text():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < until
                time.sleep(0.02)
            yield process, int(port_file.read_text())
        finally:
            process.kill()
            process.communicate()


async def beat(port: int, forever: bool = False) -> None:
    """A heartbeat; with `forever` one after the other until the connection ends."""
    client = Client(*await asyncio.open_connection("127.0.0.1", port))
    await client.ask("Heartbeat", 4, {"group_id": "g", "member_id": "m"})
    while forever:
        await client.ask("Heartbeat", 4, {"group_id": "g", "member_id": "m"})
    client.writer.close()


async def say(port: int) -> None:
    client = Client(*await asyncio.open_connection("127.0.0.1", port))
    answer = await client.ask("FindCoordinator", 4, {"coordinator_keys": ["g"]})
    place = decode_response("FindCoordinator", 4, answer).body["coordinators"][0]
    assert place["port"] == port
    await client.ask("Heartbeat", 4, {"group_id": "g", "member_id": "m"})
    client.writer.close()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)], ids=["ctrl-c", "terminated"]
)
def test_a_signal_ends_it_with_a_line_of_what_was_recorded(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "night.jsonl"
    with recording(tmp_path, "--out", str(out)) as (process, port):
        asyncio.run(say(port))
        process.send_signal(number)
        said, complained = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, complained
    assert said.splitlines() == [
        f"listening on 127.0.0.1:{port}",
        f"recorded 2 requests and 2 responses on 1 connection: 6 lines in {out}",
    ]
    assert not (tmp_path / "port").exists()
    events = [event_of(line) for line in out.read_bytes().splitlines()]
    exchanges = list(conversations(events))
    assert [one.asked and one.asked.group for one in exchanges] == ["g", "g"]
    assert events[-1].kind is Kind.CLOSED


def test_without_a_file_the_lines_are_printed_and_all_else_is_said_beside_them(tmp_path: Path) -> None:
    with recording(tmp_path, "--redact") as (process, port):
        asyncio.run(say(port))
        process.send_signal(signal.SIGTERM)
        printed, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert [json.loads(line)["kind"] for line in printed.splitlines()][:2] == ["opened", "request"]
    assert "recorded 2 requests" in said
    assert '"g"' not in printed


def test_it_ends_when_its_time_is_over() -> None:
    with running({}) as address:
        command = (*ROTA, "--target", address, "--seconds", "0.1")
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.splitlines()[1] == "recorded 0 requests and 0 responses on 0 connections: 0 lines"


def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    with recording(tmp_path, "--out", "/dev/full") as (process, port):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            asyncio.run(say(port))
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    assert "cannot write /dev/full any more: No space left on device; make room" in said


def test_a_file_that_may_not_grow_ends_it_with_whole_lines(tmp_path: Path) -> None:
    out = tmp_path / "night.jsonl"
    with recording(tmp_path, "--out", str(out)) as (process, port):
        most = 4096
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            asyncio.run(beat(port, forever=True))
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    lines = out.read_bytes().splitlines(keepends=True)
    assert (
        f"cannot write {out} any more: File too large; make room; what it has is whole: {len(lines)} lines"
        in said
    )
    assert [event_of(line).origin for line in lines] == [f"night.jsonl#{n + 1}" for n in range(len(lines))]
    assert most - 1000 < out.stat().st_size <= most


def test_what_a_recorder_has_written_that_was_killed_is_read(tmp_path: Path) -> None:
    out = tmp_path / "night.jsonl"
    with recording(tmp_path, "--out", str(out)) as (process, port):
        asyncio.run(beat(port))
        until = time.monotonic() + PATIENCE
        while out.read_bytes().count(b"\n") < 4 and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    whole = [*read([str(out)])]
    assert [event.kind for event in whole[:3]] == [Kind.OPENED, Kind.REQUEST, Kind.RESPONSE]
    out.write_bytes(out.read_bytes()[:-20])
    tally = Tally()
    assert [*read([str(out)], tally=tally)] == whole[:-1]
    assert list(tally.quarantined) == ["the last line is cut off"]


def test_clients_are_told_at_once_when_the_broker_goes_and_the_recorder_stays(tmp_path: Path) -> None:
    out = tmp_path / "night.jsonl"

    async def ask_and_lose(port: int, go: Callable[[], None]) -> None:
        client = Client(*await asyncio.open_connection("127.0.0.1", port))
        await client.ask("Heartbeat", 4, {"group_id": "g", "member_id": "m"})
        go()
        assert await client.reader.read() == b""
        later = Client(*await asyncio.open_connection("127.0.0.1", port))
        assert await later.reader.read() == b""

    with contextlib.ExitStack() as stack:
        server = stack.enter_context(contextlib.ExitStack())
        process, port = stack.enter_context(recording(tmp_path, "--out", str(out), broker=server))
        asyncio.run(asyncio.wait_for(ask_and_lose(port, server.close), PATIENCE))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    reasons = [
        event.reason for event in map(event_of, out.read_bytes().splitlines()) if event.kind is Kind.CLOSED
    ]
    assert reasons == ["closed by the broker", "the broker cannot be reached: connection refused"]


def mistaken(*options: str) -> tuple[int, str]:
    run = subprocess.run((*ROTA, *options), capture_output=True, text=True, timeout=PATIENCE, check=False)
    return run.returncode, run.stderr


def test_mistakes_are_told_with_what_helps(tmp_path: Path) -> None:
    there = tmp_path / "night.jsonl"
    there.write_text("precious\n")
    with socket.create_server(("127.0.0.1", 0)) as taken, running({}) as address:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        options = ("--target", address, "--listen", place, "--out", str(tmp_path / "unused.jsonl"))
        told = {
            options: (2, "address already in use; name another --listen"),
            ("--target", address, "--out", str(tmp_path)): (2, f"--out {tmp_path} is a folder; name a file"),
            ("--target", address, "--out", str(there)): (2, "is there already; name a new file with --out"),
            ("--target", address, "--listen", "tea"): (2, "write HOST:PORT"),
            ("--target", "127.0.0.1:1"): (3, "nothing listens at 127.0.0.1:1"),
        }
        for options, (code, words) in told.items():
            got, said = mistaken(*options)
            assert (got, words in said) == (code, True), said
    assert there.read_text() == "precious\n"
    assert not (tmp_path / "unused.jsonl").exists()
