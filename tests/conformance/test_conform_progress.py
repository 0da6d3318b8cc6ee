"""While `rota conform` runs: what is done is printed, progress is shown, an interrupt loses nothing."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click import unstyle
from click.testing import CliRunner

from rota.cli.conform import conform
from rota.conformance.catalogue import all_cases, select
from rota.conformance.results import CaseResult, Ending, Verdict
from rota.report import live_line
from rota.report.conform_progress import ConformProgress
from rota.report.events import CaseFinished
from rota.report.live_line import CLEAR, LiveLine
from rota.wire import decode_request, encode_response, frame

SLOW = "static.replaced.haunted"
"""Five seconds, and the first in the catalogue's order."""

QUICK = ["heartbeat.unknown-member.no-group", "leave.unknown-group.refused"]

COMMAND = [sys.executable, "-m", "rota", "conform"]


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self) -> bool:
        return True


def test_who_is_played_again_alone_counts_once() -> None:
    """As when a target dies that several had a part in."""
    cases = select(all_cases(), ["heartbeat"])[:2]
    clock = Clock()
    progress = ConformProgress(LiveLine(io.StringIO(), clock=clock), cases, parallel=2, clock=clock)
    for case in (*cases, cases[0]):
        progress.watch.begun(case)
        clock.now += 1.0
        progress.watch.over(case)
    assert progress.text().startswith("conform: 2 of 2 cases, 3 s")


def test_the_line_says_done_time_left_failures_and_what_takes_longest() -> None:
    clock = Clock()
    cases = select(all_cases(), ["heartbeat"])[:8]
    progress = ConformProgress(LiveLine(io.StringIO(), clock=clock), cases, parallel=2, clock=clock)
    watch = progress.watch
    assert progress.text() == f"conform: 0 of {len(cases)} cases, 0 s, about 5 s left"
    for case in cases[:5]:
        watch.begun(case)
        clock.now += 2.6
        watch.over(case)
    (failed,) = select(all_cases(), [cases[0].id])
    for verdict in (Verdict.FAIL, Verdict.PASS):
        progress.on(CaseFinished(CaseResult(case=failed, deviation=verdict, ending=Ending.DEVIATED)))
    watch.begun(cases[5])
    clock.now += 0.6
    watch.begun(cases[6])
    assert progress.text() == (  # 7.1 planned seconds were done in 13.6; 0.7, 1.3 and 1.3 are left
        f"conform: 5 of 8 cases, 14 s, about 6 s left; 1 failed, {cases[5].id} for 1 s, 1 more at once"
    )


def test_into_a_pipe_there_is_a_line_every_ten_seconds() -> None:
    clock, stream = Clock(), io.StringIO()
    cases = select(all_cases(), ["heartbeat"])
    watch = ConformProgress(LiveLine(stream, clock=clock), cases, parallel=2, clock=clock).watch
    for _ in range(250):
        clock.now += 0.1
        watch.waiting()
    assert stream.getvalue().count(f"0 of {len(cases)} cases") == 2
    assert stream.getvalue().endswith("\n")


def test_a_run_shows_it_in_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_line, "PIPE_EVERY", 1.0)
    arguments = ["--embedded", "--out", str(tmp_path), SLOW, *QUICK]
    outcome = CliRunner().invoke(conform, arguments)
    assert outcome.exit_code == 0
    lines = outcome.stderr.splitlines()
    assert 2 <= len(lines) <= 6
    assert re.fullmatch(rf"conform: 2 of 3 cases, \d+ s(, about \d+ s left)?; {SLOW} for \d s", lines[1])
    assert CLEAR not in outcome.output
    quiet = CliRunner().invoke(conform, ["--quiet", *arguments])
    assert quiet.stderr == ""


def test_what_is_done_is_printed_when_it_is_done_and_reported_in_order(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(conform, ["--embedded", "--out", str(tmp_path), SLOW, *QUICK])
    said = [line.split()[1] for line in outcome.stdout.splitlines() if line.startswith("pass ")]
    assert sorted(said[:2]) == sorted(QUICK)
    assert said[2] == SLOW
    report = json.loads((tmp_path / "conform-rota.json").read_text())
    assert [case["id"] for case in report["cases"]] == [SLOW, *QUICK]


def test_on_a_terminal_one_line_is_written_over(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    command = [*COMMAND, "--embedded", "--out", str(tmp_path), SLOW, *QUICK]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = everything(ours)
    assert process.returncode == 0
    live = [part for part in shown.split(CLEAR) if "of 3 cases" in part.partition("\r\n")[0]]
    assert len(live) > 5
    assert max(len(part.partition("\r\n")[0]) for part in live) < 80
    for line in shown.split("\r\n"):
        last = line.rpartition(CLEAR)[2]  # what stays of the line
        assert "of 3 cases" not in last, line
    assert unstyle(shown.rstrip().rpartition("\n")[2]).startswith(
        "conforms: rota against profile rota (3 cases in "
    )


def everything(end: int) -> str:
    """What the other end of a terminal shows until it is closed."""
    data = b""
    try:
        while more := os.read(end, 65536):
            data += more
    except OSError:  # how Linux says that nobody has the other end any more
        pass
    os.close(end)
    return data.decode()


def test_an_interrupt_keeps_what_is_there_and_names_the_rest(tmp_path: Path) -> None:
    command = [*COMMAND, "--embedded", "--out", str(tmp_path), "--slow"]
    waiting = "timers.new-member-expired.five-minutes"
    known = tmp_path / "known.toml"
    command += ["--write-known", str(known), waiting, *QUICK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = [next(process.stdout) for _ in range(4)]
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
    assert [line.split()[0] for line in first] == ["rota", "verdict", "pass", "pass"]
    assert process.returncode == 130
    assert "not judged: interrupted: 1 case\n" in rest
    assert rest.splitlines()[-1].startswith("interrupted: rota against profile rota (2 of 3 cases in ")
    report = json.loads((tmp_path / "conform-rota.json").read_text())
    assert (report["verdict"], len(report["cases"])) == ("interrupted", 2)
    assert [skipped["id"] for skipped in report["not_checked"]] == [waiting]
    suites = ET.parse(tmp_path / "conform-rota.junit.xml").getroot()
    assert suites.find(f".//testcase[@name='{waiting}']/skipped") is not None
    assert not known.exists()


def test_an_interrupt_does_not_wait_for_a_target_that_hangs(
    hostile: Callable[[Callable[[socket.socket], None]], Any],
    next_request: Callable[[socket.socket], bytes],
    tmp_path: Path,
) -> None:
    def asleep_after_the_preflight(connection: socket.socket) -> None:
        while (request := decode_request(next_request(connection))).client_id != "rota-conform":
            ranges = [{"api_key": key, "min_version": 0, "max_version": 4} for key in (11, 12, 13, 14)]
            body = {"api_keys": ranges} if request.api.name == "ApiVersions" else {"error_code": 25}
            answer = encode_response(request.api.name, request.version, body, request.correlation_id)
            connection.sendall(frame(answer))
        connection.recv(1)

    target = ["--target", hostile(asleep_after_the_preflight).name, "--timeout", "100"]
    command = [*COMMAND, *target, "--out", str(tmp_path), "heartbeat"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "profile kafka-4.x" in process.stdout.readline()
        time.sleep(3)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - began < 20
    assert rest.splitlines()[-1].startswith("interrupted: ")
