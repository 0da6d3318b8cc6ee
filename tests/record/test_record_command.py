"""`rota record` as people run it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.scripted_broker import Client
from rota.history import Kind, conversations, event_of
from rota.server import running
from rota.wire import decode_response

ROTA = (sys.executable, "-m", "rota.cli", "record")
PATIENCE = 60.0


@contextlib.contextmanager
def recording(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The verb in front of rota's own server, and the port where clients begin."""
    port_file = folder / "port"
    with running({}) as address:
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
        f"recorded 2 requests and 2 responses on 1 connections: 6 lines in {out}",
    ]
    assert not (tmp_path / "port").exists()
    events = [event_of(line) for line in out.read_bytes().splitlines()]
    exchanges = list(conversations(events))
    assert [one.asked and one.asked.group for one in exchanges] == ["g", "g"]
    assert events[-1].kind is Kind.CLOSED


def test_without_a_file_the_lines_are_printed_and_all_else_is_said_beside_them(tmp_path: Path) -> None:
    with recording(tmp_path, "--redact", "--seconds", "1.5") as (process, port):
        asyncio.run(say(port))
        printed, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert [json.loads(line)["kind"] for line in printed.splitlines()][:2] == ["opened", "request"]
    assert "recorded 2 requests" in said
    assert '"g"' not in printed


def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    with recording(tmp_path, "--out", "/dev/full") as (process, port):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            asyncio.run(say(port))
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    assert "cannot write /dev/full any more: No space left on device; make room" in said


def mistaken(*options: str) -> tuple[int, str]:
    run = subprocess.run((*ROTA, *options), capture_output=True, text=True, timeout=PATIENCE, check=False)
    return run.returncode, run.stderr


def test_mistakes_are_told_with_what_helps(tmp_path: Path) -> None:
    there = tmp_path / "night.jsonl"
    there.write_text("precious\n")
    with socket.create_server(("127.0.0.1", 0)) as taken, running({}) as address:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        told = {
            ("--target", address, "--out", str(there)): (2, "is there already; name a new file with --out"),
            ("--target", address, "--listen", place): (2, "address already in use; name another --listen"),
            ("--target", address, "--listen", "tea"): (2, "write HOST:PORT"),
            ("--target", "127.0.0.1:1"): (3, "nothing listens at 127.0.0.1:1"),
        }
        for options, (code, words) in told.items():
            got, said = mistaken(*options)
            assert (got, words in said) == (code, True), said
    assert there.read_text() == "precious\n"
